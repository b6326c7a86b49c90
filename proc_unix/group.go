//go:build unix

package procunix

import "golang.org/x/sys/unix"

// groupMember stands for the shell's whole process group where the system
// does not tell its members. Its id is the negative one that kill(2) takes.
// It returns nothing once the group is empty.
func groupMember(shell int) []member {
	if shell == 0 || unix.Kill(-shell, 0) == unix.ESRCH {
		return nil
	}
	return []member{{identity: identity{pid: -shell}, pgid: shell, sid: shell, direct: true}}
}

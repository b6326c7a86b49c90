//go:build freebsd && (amd64 || arm64 || riscv64)

package tree

import (
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// FreeBSD makes a process the reaper of its descendants and lists them
// (procctl(2)). The numbers and structs are those of <sys/procctl.h>.
const (
	pPID            = 0
	procReapAcquire = 2
	procReapStatus  = 4
	procReapGetPIDs = 5

	infoValid   = 0x01
	infoChild   = 0x02
	infoReaper  = 0x04
	infoZombie  = 0x08
	infoStopped = 0x10
	infoExiting = 0x20
)

type reaperStatus struct {
	flags, children, descendants uint32
	reaper, pid                  int32
	_                            [15]uint32
}

type reaperInfo struct {
	pid, subtree int32
	flags        uint32
	_            [15]uint32
}

type reaperPIDs struct {
	count uint32
	_     [15]uint32
	pids  *reaperInfo
}

func procctl(cmd int, data unsafe.Pointer) error {
	_, _, errno := unix.Syscall6(unix.SYS_PROCCTL, pPID, uintptr(unix.Getpid()), uintptr(cmd), uintptr(data), 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

// Adopts reports whether orphans become children of the process that calls
// AdoptOrphans, so that its tree is empty when it has no child.
const Adopts = true

// AdoptOrphans makes this process the parent of descendants whose own parent
// has ended.
func AdoptOrphans() error { return procctl(procReapAcquire, nil) }

// descendants lists the processes whose reaper this one is.
func descendants() []reaperInfo {
	for room := 0; ; {
		var st reaperStatus
		if err := procctl(procReapStatus, unsafe.Pointer(&st)); err != nil || st.descendants == 0 {
			return nil
		}
		// More may come in between. A list that is full may lack some.
		room = max(2*room, int(st.descendants)+16)
		infos := make([]reaperInfo, room)
		req := reaperPIDs{count: uint32(room), pids: &infos[0]}
		err := procctl(procReapGetPIDs, unsafe.Pointer(&req))
		runtime.KeepAlive(infos)
		if err != nil {
			return nil
		}
		n := 0
		for n < room && infos[n].flags&infoValid != 0 {
			n++
		}
		if n < room {
			return infos[:n]
		}
	}
}

func (i reaperInfo) member() (Member, bool) {
	m := Member{
		Identity: Identity{PID: int(i.pid)},
		Direct:   i.flags&infoChild != 0,
		Adopted:  i.flags&infoChild != 0 && i.pid != i.subtree,
	}
	switch {
	case i.flags&(infoZombie|infoExiting) != 0:
		m.State = Zombie
		return m, true
	case i.flags&infoStopped != 0:
		m.State = Stopped
	}
	var err error
	if m.SID, err = unix.Getsid(m.PID); err != nil {
		return m, false
	}
	m.PGID, err = unix.Getpgid(m.PID)
	return m, err == nil
}

// tracker has nothing to remember: the kernel does.
type tracker struct{}

func (*tracker) begin(*Tree)  {}
func (*tracker) update(*Tree) {}

func (*tracker) collect(*Tree) []Member {
	var ms []Member
	for _, i := range descendants() {
		if m, ok := i.member(); ok {
			ms = append(ms, m)
		}
	}
	return ms
}

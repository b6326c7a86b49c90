//go:build unix

package spill

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// diskFull reports whether the error says that there is no room.
func diskFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// private reports whether the folder is this user's and nobody else may write
// to it: then everything in it was put there by a server of this user.
func private(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Geteuid() && info.Mode().Perm()&0o077 == 0
}

// remove removes a file or an empty folder.
func remove(path string) error { return os.Remove(path) }

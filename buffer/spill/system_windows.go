package spill

import (
	"errors"
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/windows"
)

// diskFull reports whether the error says that there is no room.
func diskFull(err error) bool {
	return errors.Is(err, windows.ERROR_DISK_FULL) || errors.Is(err, windows.ERROR_HANDLE_DISK_FULL) ||
		errors.Is(err, windows.ERROR_DISK_QUOTA_EXCEEDED)
}

// private reports whether the folder is this user's. Modes say nothing of that
// here: who may enter a folder follows from the one that it is in.
func private(fs.FileInfo) bool { return true }

// removeBound is how long remove tries.
const removeBound = 2 * time.Second

// remove removes a file or an empty folder. Windows refuses that while somebody
// has it open, as another server's start does that looks whether its owner lives,
// and a virus scanner. Both are quick, and no event tells when they are done.
func remove(path string) error {
	for begun := time.Now(); ; time.Sleep(5 * time.Millisecond) {
		err := os.Remove(path)
		if !errors.Is(err, windows.ERROR_SHARING_VIOLATION) && !errors.Is(err, windows.ERROR_ACCESS_DENIED) &&
			!errors.Is(err, windows.ERROR_DIR_NOT_EMPTY) || time.Since(begun) > removeBound {
			return err
		}
	}
}

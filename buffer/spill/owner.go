package spill

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/gofrs/flock"
)

// Names in the folder that servers share.
const (
	folderPrefix = "yieldshell-"
	ownerName    = "owner"
)

// attempts is how often a folder is made anew because another server's start
// took it for one that was left behind.
const attempts = 20

// errSwept means that another server's start has taken the folder away before
// its lock was held.
var errSwept = errors.New("the new folder was removed")

// own makes a folder of this server's own in dir and locks it with lockFolder,
// which is lockOwner. The lock is held until it is closed or the process ends.
func own(dir string, lockFolder func(string) (*flock.Flock, error)) (folder string, lock *flock.Flock, err error) {
	for range attempts {
		var b [6]byte
		rand.Read(b[:]) // never fails
		folder = filepath.Join(dir, folderPrefix+hex.EncodeToString(b[:]))
		if err = os.Mkdir(folder, 0o700); err != nil {
			if errors.Is(err, fs.ErrExist) {
				continue
			}
			return "", nil, err
		}
		if lock, err = lockFolder(folder); err == nil {
			return folder, lock, nil
		}
		if !errors.Is(err, errSwept) {
			// On a file system without locks no later start could remove it.
			return "", nil, errors.Join(err, gone(remove(filepath.Join(folder, ownerName))), gone(remove(folder)))
		}
	}
	return "", nil, err
}

// lockOwner makes and locks the owner's file of a new folder. Between the two
// steps another start may lock and remove it: then the lock is on a file that is
// not there any more.
func lockOwner(folder string) (*flock.Flock, error) {
	path := filepath.Join(folder, ownerName)
	lock := flock.New(path, flock.SetFlag(os.O_CREATE|os.O_EXCL|os.O_RDWR), flock.SetPermissions(0o600))
	locked, err := lock.TryLock()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, errSwept
	case err != nil:
		return nil, err
	case !locked:
		return nil, errSwept
	}
	held, err := lock.Stat()
	if err == nil {
		var there fs.FileInfo
		if there, err = os.Stat(path); err == nil && os.SameFile(held, there) {
			return lock, nil
		}
	}
	lock.Close()
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return nil, errSwept
	}
	return nil, err
}

// sweep removes the folders in dir whose owners are gone. What cannot be removed
// is reported and left.
func sweep(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	var problems []error
	for _, entry := range entries {
		if !strings.HasPrefix(entry.Name(), folderPrefix) || !entry.IsDir() { // a link is no folder
			continue
		}
		info, err := entry.Info()
		if err != nil || !private(info) {
			continue // gone, or another user's
		}
		if err := sweepFolder(filepath.Join(dir, entry.Name())); err != nil {
			problems = append(problems, err)
		}
	}
	return errors.Join(problems...)
}

func sweepFolder(folder string) error {
	lock := flock.New(filepath.Join(folder, ownerName), flock.SetFlag(os.O_RDWR))
	locked, err := lock.TryLock()
	if errors.Is(err, fs.ErrNotExist) {
		return sweepUnowned(folder)
	}
	if err != nil {
		return fmt.Errorf("locking %s: %w", folder, err)
	}
	if !locked {
		return nil
	}
	return empty(folder, lock)
}

// sweepUnowned removes a folder without a lock. Its owner ended, or is, between
// making the two. An owner that finds the folder gone makes another, and one that
// was faster keeps it.
func sweepUnowned(folder string) error {
	err := gone(os.Remove(folder)) // at once: an owner that comes now is not waited for
	if err == nil {
		return nil
	}
	if _, there := os.Lstat(filepath.Join(folder, ownerName)); there == nil {
		return nil
	}
	return err
}

// empty removes a folder with all that is in it. The caller holds its lock,
// which is given up.
func empty(folder string, lock *flock.Flock) error {
	entries, err := os.ReadDir(folder)
	problems := []error{gone(err)}
	for _, entry := range entries {
		if entry.Name() != ownerName && entry.Type().IsRegular() {
			problems = append(problems, gone(remove(filepath.Join(folder, entry.Name()))))
		}
	}
	// Windows removes no file that is open. Elsewhere the order does not matter:
	// whoever locks the owner's file from here on finds nothing else.
	problems = append(problems, lock.Close(),
		gone(remove(filepath.Join(folder, ownerName))), gone(remove(folder)))
	return errors.Join(problems...)
}

// gone is no error if the file is not there.
func gone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

//go:build unix

package clients

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// keepOwner gives a file the owner and group of the one that it replaces. A
// group that may not be given is let go; another owner is not.
func keepOwner(path string, old fs.FileInfo) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	was, ok := old.Sys().(*syscall.Stat_t)
	is, okToo := info.Sys().(*syscall.Stat_t)
	if !ok || !okToo {
		return nil
	}
	if was.Uid != is.Uid {
		if err := os.Lchown(path, int(was.Uid), int(was.Gid)); err != nil {
			return fmt.Errorf("keeping the file's owner: %w", err)
		}
		return nil
	}
	if was.Gid != is.Gid {
		if err := os.Lchown(path, -1, int(was.Gid)); err != nil && !errors.Is(err, fs.ErrPermission) {
			return fmt.Errorf("keeping the file's group: %w", err)
		}
	}
	return nil
}

// syncDir makes a rename last.
func syncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

package clients

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// ErrChanged: somebody else wrote the file after the plan was made.
var ErrChanged = errors.New("it has changed in the meantime; run the command again")

// mostLinks is how many symbolic links in a row are followed, as many as Linux
// follows.
const mostLinks = 40

// followLinks returns the file that a path stands for, which need not exist.
func followLinks(path string) (string, error) {
	for range mostLinks {
		info, err := os.Lstat(path)
		if errors.Is(err, fs.ErrNotExist) {
			return path, nil
		}
		if err != nil {
			return "", err
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			if !info.Mode().IsRegular() {
				return "", fmt.Errorf("%s is not a file", path)
			}
			return path, nil
		}
		next, err := os.Readlink(path)
		if err != nil {
			return "", err
		}
		if !filepath.IsAbs(next) {
			next = filepath.Join(filepath.Dir(path), next)
		}
		path = next
	}
	return "", fmt.Errorf("%s: too many symbolic links", path)
}

// Write makes the change. What was there before is copied to a file beside it
// first, which it returns; there is none for a new file. After a crash at any
// moment the file is the old one or the new one.
func (p Plan) Write(now time.Time) (backup string, err error) {
	dir := filepath.Dir(p.target)
	if !p.Existed {
		fileMode, dirMode := fs.FileMode(0o600), fs.FileMode(0o700)
		if p.File.Shared {
			fileMode, dirMode = 0o644, 0o755
		}
		if err := os.MkdirAll(dir, dirMode); err != nil {
			return "", err
		}
		return "", p.replace(dir, fileMode, nil)
	}
	old, err := os.Stat(p.target)
	if err != nil {
		return "", err
	}
	if backup, err = p.backUp(now, old.Mode().Perm()); err != nil {
		return "", fmt.Errorf("writing a backup: %w", err)
	}
	if err := p.replace(dir, old.Mode().Perm(), old); err != nil {
		return "", errors.Join(err, os.Remove(backup))
	}
	return backup, nil
}

// replace puts the new content in the old one's place, unless that is no
// longer what the plan was made for.
func (p Plan) replace(dir string, mode fs.FileMode, old fs.FileInfo) error {
	temporary, err := p.writeTemporary(dir, mode, old)
	if err != nil {
		return err
	}
	if err = p.unchanged(); err == nil {
		err = os.Rename(temporary, p.target)
	}
	if err != nil {
		return errors.Join(err, os.Remove(temporary))
	}
	return syncDir(dir)
}

// backUp copies what was there to a new file, which is named by the time.
func (p Plan) backUp(now time.Time, mode fs.FileMode) (string, error) {
	base := p.target + "." + now.Format("20060102-150405")
	for i := 1; ; i++ {
		name := base + ".bak"
		if i > 1 {
			name = fmt.Sprintf("%s-%d.bak", base, i)
		}
		f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return "", err
		}
		if err := fill(f, p.Before, mode); err != nil {
			return "", errors.Join(err, os.Remove(name))
		}
		return name, nil
	}
}

// writeTemporary writes the new content to a file beside the old one, with
// the same mode and owner.
func (p Plan) writeTemporary(dir string, mode fs.FileMode, old fs.FileInfo) (string, error) {
	f, err := os.CreateTemp(dir, "."+filepath.Base(p.target)+".*.tmp")
	if err != nil {
		return "", err
	}
	err = fill(f, p.After, mode)
	if err == nil && old != nil {
		err = keepOwner(f.Name(), old)
	}
	if err != nil {
		return "", errors.Join(err, os.Remove(f.Name()))
	}
	return f.Name(), nil
}

// fill writes, syncs and closes a new file.
func fill(f *os.File, text []byte, mode fs.FileMode) error {
	_, err := f.Write(text)
	if err == nil {
		err = f.Chmod(mode) // the umask has no say in what is there already
	}
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// unchanged reports whether the file is still what the plan was made for.
func (p Plan) unchanged() error {
	text, err := os.ReadFile(p.target)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !p.Existed:
		return nil
	case err != nil:
		return err
	case !p.Existed || !bytes.Equal(text, p.Before):
		return fmt.Errorf("%s: %w", p.File.Path, ErrChanged)
	}
	return nil
}

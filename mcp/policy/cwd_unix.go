//go:build unix

package policy

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// absolute puts a relative path behind base. It does not tidy the result:
// removing ".." from the text before links are resolved would name another
// directory than the one the kernel finds.
func absolute(path string, base func() (string, error)) (string, error) {
	if filepath.IsAbs(path) {
		return path, nil
	}
	dir, err := base()
	if err != nil {
		return "", err
	}
	return dir + "/" + path, nil
}

// resolve follows every link and ".." of an absolute path in the kernel's
// order (path_resolution(7)).
func resolve(path string) (string, error) { return filepath.EvalSymlinks(path) }

// plainPath is the absolute path to show and to start in when no roots bind.
func plainPath(path, resolved string) string {
	if slices.Contains(strings.Split(path, "/"), "..") {
		return resolved
	}
	return filepath.Clean(path)
}

// startPath is the path to start in when roots bind: where the check led.
func startPath(_, resolved string) string { return resolved }

// pathKey is what two paths to one place have in common.
func pathKey(path string) string { return path }

// enterable asks whether a process may make dir its working directory. Without
// this the start would fail later, with an error that seems to be about the
// shell.
func enterable(dir string) error {
	const execute = 1 // X_OK of access(2), which for a directory is search
	return syscall.Access(dir, execute)
}

func isNotDirectory(err error) bool { return errors.Is(err, syscall.ENOTDIR) }

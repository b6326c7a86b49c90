package procwindows

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/windows"
)

const (
	scriptsPrefix = "mcp-yieldshell-scripts-"
	// scriptsAge is how old a folder without a lock must be to count as left
	// behind: its owner makes the lock right after the folder.
	scriptsAge = time.Minute
)

// scripts keeps batch files in a folder that belongs to one server, made when
// it is first needed. The folder holds a file that the system deletes with its
// owner, however that ends; a folder without it is removed by the next server.
type scripts struct {
	temp string

	mu   sync.Mutex
	dir  string         // empty: none yet
	lock windows.Handle // of the file in dir
}

func newScripts(temp string) *scripts {
	s := &scripts{temp: temp}
	s.sweep()
	return s
}

// sweep removes what servers that were killed have left. Failures leave it to
// the next server.
func (s *scripts) sweep() {
	dirs, _ := filepath.Glob(filepath.Join(s.temp, scriptsPrefix+"*")) // the pattern is well-formed
	for _, dir := range dirs {
		fi, err := os.Stat(dir)
		if err != nil || time.Since(fi.ModTime()) < scriptsAge {
			continue
		}
		if _, err := os.Lstat(filepath.Join(dir, "lock")); errors.Is(err, os.ErrNotExist) {
			emptyDir(dir)
		}
	}
}

// emptyDir removes a folder of files.
func emptyDir(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		err = errors.Join(err, os.Remove(filepath.Join(dir, e.Name())))
	}
	return errors.Join(err, os.Remove(dir))
}

// write makes a batch file and returns its path. The caller removes it.
func (s *scripts) write(text string) (string, error) {
	if strings.Contains(s.temp, "%") { // cmd would look for a variable in the path
		return "", fmt.Errorf("batch file: the folder for temporary files, %s, has a %% in its path", s.temp)
	}
	dir, err := s.folder()
	if err != nil {
		return "", fmt.Errorf("batch file: %w", err)
	}
	f, err := os.CreateTemp(dir, "*.bat")
	if err != nil {
		return "", fmt.Errorf("batch file: %w", err)
	}
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Close()); err != nil {
		return "", errors.Join(fmt.Errorf("batch file: %w", err), os.Remove(f.Name()))
	}
	return f.Name(), nil
}

func (s *scripts) folder() (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dir != "" {
		return s.dir, nil
	}
	dir, err := os.MkdirTemp(s.temp, scriptsPrefix)
	if err != nil {
		return "", err
	}
	name, err := windows.UTF16PtrFromString(filepath.Join(dir, "lock"))
	if err == nil {
		s.lock, err = windows.CreateFile(name, windows.GENERIC_WRITE|windows.DELETE, 0, nil, windows.CREATE_NEW,
			windows.FILE_ATTRIBUTE_TEMPORARY|windows.FILE_FLAG_DELETE_ON_CLOSE, 0)
	}
	if err != nil {
		return "", errors.Join(err, os.Remove(dir))
	}
	s.dir = dir
	return dir, nil
}

// remove deletes a batch file. It may have been deleted already.
func (s *scripts) remove(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

func (s *scripts) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dir == "" {
		return nil
	}
	err := errors.Join(windows.CloseHandle(s.lock), emptyDir(s.dir))
	s.dir = ""
	return err
}

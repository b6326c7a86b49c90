//go:build unix

package clients

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestWriteKeepsTheMode(t *testing.T) {
	file := File{Path: filepath.Join(t.TempDir(), "mcp.json")}
	write(t, file.Path, "{}")
	for _, mode := range []os.FileMode{0o600, 0o664, 0o640} {
		write(t, file.Path, "{}")
		if err := os.Chmod(file.Path, mode); err != nil {
			t.Fatal(err)
		}
		backup, err := planFor(t, file).Write(noon)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{file.Path, backup} {
			if info, err := os.Stat(path); err != nil || info.Mode() != mode {
				t.Errorf("%s: %v %v, want %v", path, info.Mode(), err, mode)
			}
		}
	}
}

func TestNewFilesAreTheUsersOwn(t *testing.T) {
	dir := t.TempDir()
	for _, test := range []struct {
		file File
		want os.FileMode
	}{
		{File{Path: filepath.Join(dir, "own.json")}, 0o600},
		{File{Path: filepath.Join(dir, "shared.json"), Shared: true}, 0o644},
	} {
		if _, err := planFor(t, test.file).Write(noon); err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(test.file.Path); err != nil || info.Mode() != test.want {
			t.Errorf("%v: %v %v", test.file, info.Mode(), err)
		}
	}
}

// TestLinksAreFollowed: dotfiles are often links into a repository.
func TestLinksAreFollowed(t *testing.T) {
	dir := t.TempDir()
	target := filepath.Join(dir, "dotfiles", "mcp.json")
	write(t, target, "{}")
	link := filepath.Join(dir, "home", "mcp.json")
	write(t, filepath.Join(dir, "home", "x"), "")
	for _, to := range []string{"../home/second", "../dotfiles/mcp.json"} {
		name := link
		if to == "../dotfiles/mcp.json" {
			name = filepath.Join(dir, "home", "second")
		}
		if err := os.Symlink(to, name); err != nil {
			t.Fatal(err)
		}
	}
	backup, err := planFor(t, File{Path: link}).Write(noon)
	if err != nil {
		t.Fatal(err)
	}
	if filepath.Dir(backup) != filepath.Dir(target) {
		t.Errorf("the backup is %s", backup)
	}
	if to, err := os.Readlink(link); err != nil || to != "../home/second" {
		t.Errorf("the link is now %q, %v", to, err)
	}
	if !strings.Contains(read(t, target), self) {
		t.Error("the target has no entry")
	}

	// A link to a file that is not there yet makes that file.
	dangling := filepath.Join(dir, "home", "dangling")
	if err := os.Symlink("../dotfiles/new.json", dangling); err != nil {
		t.Fatal(err)
	}
	if _, err := planFor(t, File{Path: dangling}).Write(noon); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(read(t, filepath.Join(dir, "dotfiles", "new.json")), self) {
		t.Error("the new target has no entry")
	}

	loop := filepath.Join(dir, "home", "loop")
	if err := os.Symlink("loop", loop); err != nil {
		t.Fatal(err)
	}
	c, _ := Find("cursor")
	if _, err := c.Add(File{Path: loop}, Entry{Command: self}, self); err == nil || !strings.Contains(err.Error(), "too many") {
		t.Error(err)
	}
}

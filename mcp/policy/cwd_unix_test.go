//go:build unix

package policy

import (
	"os"
	"path/filepath"
	"testing"
)

func link(t *testing.T, target, name string) {
	t.Helper()
	if err := os.Symlink(target, name); err != nil {
		t.Fatal(err)
	}
}

func TestLinksAreResolvedBeforeRootsAreCompared(t *testing.T) {
	top := tree(t, "ok/in", "ok-evil", "out/deep")
	link(t, filepath.Join(top, "out"), filepath.Join(top, "ok/link"))
	link(t, filepath.Join(top, "ok/in"), filepath.Join(top, "good"))
	link(t, "../out/deep", filepath.Join(top, "ok/relative"))
	link(t, filepath.Join(top, "ok/in"), filepath.Join(top, "out/back"))
	link(t, "loop", filepath.Join(top, "ok/loop"))
	link(t, "nowhere", filepath.Join(top, "ok/dangling"))
	d := Dirs{Default: filepath.Join(top, "ok"), Roots: []string{filepath.Join(top, "ok")}}
	resolves(t, d, top+"/good", top+"/ok/in")
	resolves(t, d, top+"/good/..", top+"/ok")
	resolves(t, d, top+"/out/back/..", top+"/ok")
	for _, bad := range []string{"link", "relative", "link/deep", "link/..", "relative/..", "link/../ok-evil"} {
		refuses(t, d, bad, "allowed")
	}
	refuses(t, d, "loop", "too many links")
	refuses(t, d, "dangling", "does not exist")
	refuses(t, d, "missing/..", "does not exist")
	touch(t, top+"/ok/file")
	refuses(t, d, "file/..", "is not a directory")
	refuses(t, d, "file/", "is not a directory")

	// A root may be a link itself, and may be pointed elsewhere later.
	d.Roots = []string{filepath.Join(top, "moving")}
	refuses(t, d, "", "allowed")
	link(t, "ok", filepath.Join(top, "moving"))
	resolves(t, d, "in", top+"/ok/in")
	if err := os.Remove(filepath.Join(top, "moving")); err != nil {
		t.Fatal(err)
	}
	link(t, "out", filepath.Join(top, "moving"))
	refuses(t, d, "in", "allowed")
	resolves(t, d, "link/deep", top+"/out/deep")
}

func TestWithoutRootsLinksAreShownAsGiven(t *testing.T) {
	top := tree(t, "a/b", "c")
	link(t, filepath.Join(top, "a/b"), filepath.Join(top, "c/link"))
	d := Dirs{Default: filepath.Join(top, "c")}
	resolves(t, d, "link", top+"/c/link")
	resolves(t, d, "link/..", top+"/a")
	resolves(t, d, "link//.", top+"/c/link")
}

func TestDirectoryThatCannotBeEntered(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root may enter any directory")
	}
	top := tree(t, "closed/in")
	closed := filepath.Join(top, "closed")
	if err := os.Chmod(closed, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(closed, 0o700) }) // for the removal of the folder
	refuses(t, Dirs{}, closed, "permission")
	refuses(t, Dirs{}, filepath.Join(closed, "in"), "permission")
}

func TestSystemReportsAVanishedDirectory(t *testing.T) {
	top := tree(t, "gone")
	t.Chdir(filepath.Join(top, "gone"))
	if err := os.Remove(filepath.Join(top, "gone")); err != nil {
		t.Skipf("this system keeps a directory that is in use: %v", err)
	}
	refuses(t, Dirs{}, "", "is gone")
	resolves(t, Dirs{}, top, top)
}

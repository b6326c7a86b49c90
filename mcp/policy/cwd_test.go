package policy

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestParseRoots(t *testing.T) {
	sep := string(os.PathListSeparator)
	for _, test := range []struct {
		value string
		want  []string
	}{
		{"", nil},
		{"/a", []string{"/a"}},
		{"/a" + sep + "/b c", []string{"/a", "/b c"}},
		{sep + "/a" + sep + sep + " " + sep, []string{"/a"}},
		{"~/x", []string{"~/x"}},
	} {
		if got, err := ParseRoots(test.value); err != nil || !slices.Equal(got, test.want) {
			t.Errorf("%q: %q, %v", test.value, got, err)
		}
	}
	for _, value := range []string{sep, sep + sep, " ", " " + sep + "\t"} {
		_, err := ParseRoots(value)
		want(t, value, err, AllowedCwdsVariable, "no directory")
	}
}

// tree makes the directories in a fresh folder whose own path has no links.
func tree(t *testing.T, dirs ...string) string {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range dirs {
		if err := os.MkdirAll(filepath.Join(top, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return top
}

func touch(t *testing.T, path string) {
	t.Helper()
	if err := os.WriteFile(path, nil, 0o644); err != nil {
		t.Fatal(err)
	}
}

// resolves checks what a cwd resolves to.
func resolves(t *testing.T, d Dirs, cwd, to string) {
	t.Helper()
	if got, err := d.Resolve(cwd); err != nil || got != to {
		t.Errorf("%q: %q, %v; want %q", cwd, got, err, to)
	}
}

func refuses(t *testing.T, d Dirs, cwd string, parts ...string) {
	t.Helper()
	got, err := d.Resolve(cwd)
	if got != "" {
		t.Errorf("%q: %q with an error", cwd, got)
	}
	want(t, cwd, err, append(parts, "cwd")...)
}

func TestResolveWithoutRoots(t *testing.T) {
	top := tree(t, "a/b", "home/x", "a/~")
	touch(t, filepath.Join(top, "file"))
	d := Dirs{Default: filepath.Join(top, "a"), Home: filepath.Join(top, "home")}
	resolves(t, d, "", filepath.Join(top, "a"))
	resolves(t, d, "b", filepath.Join(top, "a", "b"))
	resolves(t, d, "./b/", filepath.Join(top, "a", "b"))
	resolves(t, d, "..", top)
	resolves(t, d, top, top)
	resolves(t, d, "~", filepath.Join(top, "home"))
	resolves(t, d, "~/x", filepath.Join(top, "home", "x"))
	resolves(t, d, "./~", filepath.Join(top, "a", "~"))
	refuses(t, d, "~x", `~x"`, "does not exist")
	refuses(t, d, "missing", "missing", "does not exist")
	refuses(t, d, filepath.Join(top, "missing", "x"), "does not exist")
	refuses(t, d, filepath.Join(top, "file"), "file", "is not a directory")
	refuses(t, d, "a\x00b", "NUL")
	resolves(t, Dirs{Default: "~/x", Home: filepath.Join(top, "home")}, "", filepath.Join(top, "home", "x"))
	refuses(t, Dirs{Default: filepath.Join(top, "missing")}, "", DefaultCwdVariable, "does not exist")
}

func TestDefaultsToTheServersDirectory(t *testing.T) {
	top := tree(t, "work/in")
	work := filepath.Join(top, "work")
	d := Dirs{Getwd: func() (string, error) { return work, nil }}
	resolves(t, d, "", work)
	resolves(t, d, "in", filepath.Join(work, "in"))
	d.Default = "in"
	resolves(t, d, "", filepath.Join(work, "in"))
}

func TestServersDirectoryIsGone(t *testing.T) {
	top := tree(t, "a/b")
	gone := func() (string, error) { return "", &os.SyscallError{Syscall: "getwd", Err: fs.ErrNotExist} }
	d := Dirs{Getwd: gone}
	refuses(t, d, "", "is gone", "absolute cwd", DefaultCwdVariable)
	refuses(t, d, "a", "is gone")
	if _, err := d.Resolve(""); !errors.Is(err, errDirGone) {
		t.Errorf("%v", err)
	}
	resolves(t, d, top, top)
	d.Default = filepath.Join(top, "a")
	resolves(t, d, "", filepath.Join(top, "a"))
	resolves(t, d, "b", filepath.Join(top, "a", "b"))
	d.Roots = []string{"relative", top}
	resolves(t, d, "b", filepath.Join(top, "a", "b"))
	d.Getwd = func() (string, error) { return filepath.Join(top, "removed"), nil }
	d.Default = ""
	refuses(t, d, "", "does not exist")
	d.Getwd = func() (string, error) { return "", errors.New("no such luck") }
	refuses(t, d, "", "no such luck")
}

func TestRootsHold(t *testing.T) {
	top := tree(t, "root/in/deep", "root-sibling", "other", "home")
	root := filepath.Join(top, "root")
	d := Dirs{Default: root, Roots: []string{root, filepath.Join(top, "later")}, Home: filepath.Join(top, "home")}
	resolves(t, d, "", root)
	resolves(t, d, root+string(filepath.Separator), root)
	resolves(t, d, "in", filepath.Join(root, "in"))
	resolves(t, d, filepath.Join(root, "in", "deep"), filepath.Join(root, "in", "deep"))
	resolves(t, d, root+"/in/..", root)
	resolves(t, d, root+"/../root/./in", filepath.Join(root, "in"))
	for _, bad := range []string{
		"..", "/", top, filepath.Join(top, "root-sibling"), root + "/../other", root + "/in/../../other", "~",
	} {
		refuses(t, d, bad, "allowed", AllowedCwdsVariable)
	}
	refuses(t, d, filepath.Join(top, "later"), "does not exist")
	if err := os.Mkdir(filepath.Join(top, "later"), 0o755); err != nil {
		t.Fatal(err)
	}
	resolves(t, d, filepath.Join(top, "later"), filepath.Join(top, "later"))
	d.Roots = []string{"~"}
	resolves(t, d, "~", filepath.Join(top, "home"))
	refuses(t, d, "", "allowed")
	d.Roots = []string{filepath.VolumeName(top) + string(filepath.Separator)}
	resolves(t, d, "", root)
}

package policy

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestRelativePathsOfWindows(t *testing.T) {
	base := func() (string, error) { return `C:\work\dir`, nil }
	for path, want := range map[string]string{
		`x`:               `C:\work\dir\x`,
		`..\x`:            `C:\work\x`,
		`\x`:              `C:\x`,
		`/x`:              `C:\x`,
		`c:x`:             `C:\work\dir\x`,
		`C:`:              `C:\work\dir`,
		`D:x`:             `D:\x`,
		`D:`:              `D:\`,
		`D:\x\.\y`:        `D:\x\y`,
		`\\srv\share\x`:   `\\srv\share\x`,
		`//srv/share/../`: `\\srv\share\`,
	} {
		if got, err := absolute(path, base); err != nil || got != want {
			t.Errorf("%q: %q, %v; want %q", path, got, err, want)
		}
	}
}

func TestPrefixesAreRemoved(t *testing.T) {
	for path, want := range map[string]string{
		`\\?\C:\x`:            `C:\x`,
		`\\?\UNC\srv\share\x`: `\\srv\share\x`,
		`\\?\Volume{0-0}\x`:   `\\?\Volume{0-0}\x`,
		`C:\x`:                `C:\x`,
	} {
		if got := withoutPrefix(path); got != want {
			t.Errorf("%q: %q, want %q", path, got, want)
		}
	}
}

func TestRootsIgnoreCaseAndSpelling(t *testing.T) {
	top := tree(t, `Root\Inner`, "root-sibling")
	root := filepath.Join(top, "Root")
	d := Dirs{Default: root, Roots: []string{strings.ToUpper(root)}}
	inner := filepath.Join(root, "Inner")
	resolves(t, d, inner, inner)
	for _, same := range []string{strings.ToLower(inner), `\\?\` + inner, strings.ReplaceAll(inner, `\`, "/")} {
		if got, err := d.Resolve(same); err != nil || !strings.EqualFold(got, inner) {
			t.Errorf("%q: %q, %v", same, got, err)
		}
	}
	refuses(t, d, filepath.Join(top, "root-sibling"), "allowed")
	link := filepath.Join(root, "link")
	if err := os.Symlink(filepath.Join(top, "root-sibling"), link); err != nil {
		t.Skipf("links need a privilege: %v", err)
	}
	if _, err := os.Stat(link); err != nil {
		t.Skipf("Wine makes links that it does not follow: %v", err)
	}
	refuses(t, d, "link", "allowed")
}

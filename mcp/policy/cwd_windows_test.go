package policy

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/windows"
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

func TestCaseIsIgnoredAsTheSystemDoes(t *testing.T) {
	for _, c := range []struct {
		root, path string
		want       bool
	}{
		{`C:\work`, `c:\WORK\a`, true},
		{`C:\Käse`, `C:\kÄSE\a`, true},
		{`C:\дом`, `C:\ДОМ`, true},
		{`C:\works`, `C:\workſ\a`, false}, // to Unicode they are one
		{`C:\I`, `C:\ı\a`, false},
		{`C:\😀`, `C:\😀\a`, true},
		{`C:\😀`, `C:\😁\a`, false},
	} {
		if got := within(c.root, c.path); got != c.want {
			t.Errorf("%s in %s: %v", c.path, c.root, got)
		}
	}
}

func TestAMappedDriveKeepsItsLetter(t *testing.T) {
	for _, c := range []struct{ drive, share, resolved, want string }{
		{`Z:`, `\\srv\share`, `\\srv\share\a\b`, `Z:\a\b`},
		{`Z:`, `\\srv\share\`, `\\SRV\Share\a`, `Z:\a`},
		{`Z:`, `\\srv\share`, `\\srv\share`, `Z:\`},
		{`Z:`, `\\srv\share`, `\\srv\share-2\a`, `\\srv\share-2\a`},
	} {
		if got := onDrive(c.drive, c.share, c.resolved); got != c.want {
			t.Errorf("%q on %s: %q, want %q", c.resolved, c.share, got, c.want)
		}
	}
	for path, resolved := range map[string]string{
		`C:\x`:        `C:\y`,
		`\\srv\s\x`:   `\\srv\s\x`,
		`\\?\UNC\s\x`: `\\s\x`,
	} {
		if got := startPath(path, resolved); got != resolved {
			t.Errorf("%q: %q, want %q", path, got, resolved)
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
	refuses(t, d, root+`\..\root-sibling`, "allowed")
	refuses(t, d, inner+`\..\..`, "allowed")
	if got, err := d.Resolve(inner + "."); err == nil && !strings.EqualFold(got, inner) {
		t.Errorf("a dot at the end: %q", got) // the system takes it off; Wine finds nothing
	}
}

func TestShortNamesAreResolvedBeforeRootsAreCompared(t *testing.T) {
	top := tree(t, `a longer name.of a root\in`, `a longer name.of a root-evil`)
	root := filepath.Join(top, "a longer name.of a root")
	short, evil := shortName(t, root), shortName(t, root+"-evil")
	for _, spelling := range []string{root, short} {
		d := Dirs{Default: root, Roots: []string{spelling}}
		resolves(t, d, short+`\in`, root+`\in`)
		resolves(t, d, root, root)
		refuses(t, d, evil, "allowed")
	}
}

func shortName(t *testing.T, path string) string {
	t.Helper()
	long, err := windows.UTF16PtrFromString(path)
	if err != nil {
		t.Fatal(err)
	}
	buffer := make([]uint16, windows.MAX_LONG_PATH)
	n, err := windows.GetShortPathName(long, &buffer[0], uint32(len(buffer)))
	if err != nil {
		t.Fatal(err)
	}
	short := windows.UTF16ToString(buffer[:n])
	if short == path {
		t.Skip("this volume has no short names")
	}
	return short
}

func TestLinksAndJunctionsAreResolvedBeforeRootsAreCompared(t *testing.T) {
	top := tree(t, `root\in`, "out")
	root := filepath.Join(top, "root")
	d := Dirs{Default: root, Roots: []string{root}}
	makers := map[string]func(target, name string) error{
		"link": os.Symlink,
		"junction": func(target, name string) error {
			return exec.Command("cmd", "/d", "/c", "mklink", "/J", name, target).Run()
		},
	}
	for kind, link := range makers {
		t.Run(kind, func(t *testing.T) {
			for name, target := range map[string]string{root + `\` + kind + "-out": top + `\out`, top + `\` + kind + "-in": root + `\in`} {
				if err := link(target, name); err != nil {
					t.Skipf("not permitted: %v", err)
				}
				if _, err := os.Stat(name); err != nil {
					t.Skipf("Wine: it makes links that it does not follow: %v", err)
				}
			}
			refuses(t, d, kind+"-out", "allowed")
			resolves(t, d, top+`\`+kind+"-in", root+`\in`)
		})
	}
}

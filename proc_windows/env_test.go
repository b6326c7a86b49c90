package procwindows

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf16"
)

func TestEnvironBlock(t *testing.T) {
	got := string(utf16.Decode(environBlock([]string{
		"Path=old", "b=1", "=C:=C:\\x", "A_B=2", "ab=3", "PATH=new;=x", "empty=", "é=😀",
	})))
	// "_" comes after the capital letters, as which names are compared.
	want := strings.Join([]string{"=C:=C:\\x", "ab=3", "A_B=2", "b=1", "empty=", "PATH=new;=x", "é=😀"}, "\x00") + "\x00\x00"
	if got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := environBlock(nil); !slices.Equal(got, []uint16{0, 0}) {
		t.Errorf("empty environment: %v", got)
	}
}

func TestLookup(t *testing.T) {
	env := []string{"=C:=C:\\x", "Path=a", "ComSpec=x=y", "PATH=b", "bare"}
	for name, want := range map[string]string{"path": "b", "COMSPEC": "x=y", "=c:": "C:\\x", "none": "", "bare": ""} {
		if got := lookup(env, name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
}

func TestPaths(t *testing.T) {
	for _, c := range []struct{ plain, verbatim string }{
		{`C:\x\y`, `\\?\C:\x\y`},
		{`\\server\share\x`, `\\?\UNC\server\share\x`},
	} {
		if got := verbatimPath(c.plain); got != c.verbatim {
			t.Errorf("%s: %s", c.plain, got)
		}
		if got := plainPath(c.verbatim); got != c.plain {
			t.Errorf("%s: %s", c.verbatim, got)
		}
		if got := verbatimPath(c.verbatim); got != c.verbatim {
			t.Errorf("%s: %s", c.verbatim, got)
		}
		if got := plainPath(c.plain); got != c.plain {
			t.Errorf("%s: %s", c.plain, got)
		}
	}
	if got := plainPath(`\\?\Volume{1}\x`); got != `\\?\Volume{1}\x` {
		t.Errorf("volume without a letter: %s", got)
	}
}

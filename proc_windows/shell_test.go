package procwindows

import (
	"errors"
	"strings"
	"testing"

	"github.com/yieldshell/mcp-yieldshell/proc"
)

func TestCmdLineIsVerbatim(t *testing.T) {
	const command = `echo "a b" ^& c | findstr "x\" & rem %X% 'y'`
	want := `"C:\Program Files\cmd.exe" /d /s /c "` + command + `"`
	if got := cmdLine(`C:\Program Files\cmd.exe`, command); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestNeedsScript(t *testing.T) {
	const program = `C:\Windows\System32\cmd.exe`
	room := maxCmdLine - units(cmdLine(program, ""))
	for _, c := range []struct {
		command string
		want    bool
	}{
		{"echo", false},
		{"echo a\necho b", true},
		{"echo a\r", true},
		{strings.Repeat("x", room), false},
		{strings.Repeat("x", room+1), true},
		{strings.Repeat("😀", room/2+1), true}, // two units each
	} {
		if got := needsScript(program, c.command); got != c.want {
			t.Errorf("%.20q of %d: %v", c.command, len(c.command), got)
		}
	}
}

func TestScript(t *testing.T) {
	const chcp = `C:\x\chcp.com`
	for _, c := range []struct{ in, want string }{
		{"echo a\necho b", "@echo off\r\necho a\r\necho b\r\n"},
		{"echo a\r\necho b\r\n", "@echo off\r\necho a\r\necho b\r\n"},
		{"echo a\recho b\n\r\n", "@echo off\r\necho a\r\necho b\r\n"},
		{"echo ä\necho b", "@echo off\r\n@\"C:\\x\\chcp.com\" 65001 >nul\r\necho ä\r\necho b\r\n"},
	} {
		if got, err := script(c.in, chcp); err != nil || got != c.want {
			t.Errorf("%q gave %q, %v", c.in, got, err)
		}
	}
	long := strings.Repeat("x", maxScriptLine)
	if _, err := script(long+"\n"+long, chcp); err != nil {
		t.Errorf("lines at the limit: %v", err)
	}
	for _, c := range []struct {
		in   string
		want error
	}{
		{"echo %PATH%\necho", errPercent},
		{"echo a\x1A\necho b", errCtrlZ},
		{"x" + long, proc.ErrTooLong},
		{strings.Repeat("日", maxScriptLine/3+1), proc.ErrTooLong}, // bytes count
		{long + "^\nx", proc.ErrTooLong},                          // one line for cmd
	} {
		if _, err := script(c.in, chcp); !errors.Is(err, c.want) {
			t.Errorf("%.20q: %v, want %v", c.in, err, c.want)
		}
	}
	for length, says := range map[int]string{9000: "powershell", 40_000: "script file"} {
		if _, err := script(strings.Repeat("x", length), chcp); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("a line of %d: %v", length, err)
		}
	}
	if _, err := script(long[1:]+"^^\n"+long, chcp); err == nil {
		t.Error("a line over the limit by its carets has passed")
	}
	if _, err := script(long[2:]+"^^\n"+long, chcp); err != nil {
		t.Errorf("an escaped caret at the end of a line: %v", err)
	}
}

// TestQuoteArg reads the quoted argument back by the rules of the C runtime.
func TestQuoteArg(t *testing.T) {
	for in, want := range map[string]string{
		``:      `""`,
		`a`:     `"a"`,
		`a b`:   `"a b"`,
		`a"b`:   `"a\"b"`,
		`a\b`:   `"a\b"`,
		`a\`:    `"a\\"`,
		`a\"b\`: `"a\\\"b\\"`,
		`*`:     `"*"`,
		"a\nb":  "\"a\nb\"",
	} {
		if got := quoteArg(in); got != want {
			t.Errorf("%s gave %s, want %s", in, got, want)
		}
	}
}

func FuzzQuoteArg(f *testing.F) {
	f.Add(`a\\"b\`)
	f.Fuzz(func(t *testing.T, s string) {
		if got := unquoteArg(t, quoteArg(s)); got != s {
			t.Errorf("%q came back as %q", s, got)
		}
	})
}

// unquoteArg takes one quoted argument apart (Microsoft, "Parsing C++
// command-line arguments").
func unquoteArg(t *testing.T, s string) string {
	var b strings.Builder
	quoted, slashes := false, 0
	for i := range len(s) {
		switch {
		case s[i] == '\\':
			slashes++
			continue
		case s[i] != '"':
			b.WriteString(strings.Repeat(`\`, slashes))
			b.WriteByte(s[i])
			if !quoted {
				t.Fatalf("%q: text outside of quotes", s)
			}
		default:
			b.WriteString(strings.Repeat(`\`, slashes/2))
			if slashes%2 == 1 {
				b.WriteByte('"')
			} else {
				quoted = !quoted
			}
		}
		slashes = 0
	}
	if quoted || slashes > 0 {
		t.Fatalf("%q: the quotes do not end", s)
	}
	return b.String()
}

// TestQuoteMSYS: what the runtime of Git Bash makes of it is in FuzzQuoteMSYS
// and, with a real one, in TestGitBash.
func TestQuoteMSYS(t *testing.T) {
	for in, want := range map[string]string{
		`a b`:         `"a b"`,
		`a"b`:         `"a\"b"`,
		`a\b\\c`:      `"a\\b\\\\c"`,
		`a\`:          `"a\\"`,
		`\ls \x`:      `" \\ls \\x"`,
		`'x' * $y`:    `"'x' * $y"`,
		`C:\x\y -z`:   `" C:\\x\\y -z"`,
		`\\srv\x y`:   `" \\\\srv\\x y"`,
		"a\nb":        "\"a\nb\"",
		`@file`:       `"@file"`,
		`{a,b} ~ [c]`: `"{a,b} ~ [c]"`,
	} {
		if got := quoteMSYS(in); got != want {
			t.Errorf("%s gave %s, want %s", in, got, want)
		}
	}
}

func FuzzQuoteMSYS(f *testing.F) {
	for _, s := range []string{`a\\"b\`, `\\x`, `C:\`, `"`, `\`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := unquoteMSYS(t, quoteMSYS(s))
		if got != s && got != " "+s {
			t.Errorf("%q came back as %q", s, got)
		}
	})
}

// unquoteMSYS takes one quoted argument apart as globify of the MSYS2 and
// Cygwin runtimes does; Cygwin's leaves backslashes alone in what begins like a
// path, which is why nothing may.
func unquoteMSYS(t *testing.T, s string) string {
	s, ok := strings.CutPrefix(s, `"`)
	if !ok || len(s) > 1 && s[0] != ' ' && s[1] == ':' || strings.HasPrefix(s, `\\`) {
		t.Fatalf("%q: no quotes, or like a path", s)
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '"':
			if i != len(s)-1 {
				t.Fatalf("%q: text after the quotes", s)
			}
			return b.String()
		case s[i] == '\\' && i+1 < len(s) && (s[i+1] == '\\' || s[i+1] == '"'):
			i++
		}
		b.WriteByte(s[i])
	}
	t.Fatalf("%q: the quotes do not end", s)
	return ""
}

func TestQuotePOSIX(t *testing.T) {
	for in, want := range map[string]string{`a "b" $c \`: `'a "b" $c \'`, `it's`: `'it'\''s'`} {
		if got := quotePOSIX(in); got != want {
			t.Errorf("%s gave %s, want %s", in, got, want)
		}
	}
}

func TestPowerShellLiteral(t *testing.T) {
	for in, want := range map[string]string{
		`a"b$c` + "`":                 `'a"b$c` + "`'",
		`it's`:                        `'it''s'`,
		"\u2018x\u2019y\u201Az\u201B": "'\u2018\u2018x\u2019\u2019y\u201A\u201Az\u201B\u201B'",
	} {
		if got := powerShellLiteral(in); got != want {
			t.Errorf("%s gave %s, want %s", in, got, want)
		}
	}
}

func TestCheckLine(t *testing.T) {
	if err := checkLine(strings.Repeat("x", maxLine)); err != nil {
		t.Error(err)
	}
	if err := checkMSYS(strings.Repeat("日", maxMSYS)); err != nil {
		t.Error(err)
	}
	if err := checkMSYS(strings.Repeat("x", maxMSYS+1)); !errors.Is(err, proc.ErrTooLong) {
		t.Error(err)
	}
	if err := checkLine(strings.Repeat("x", maxLine+1)); !errors.Is(err, proc.ErrTooLong) {
		t.Error(err)
	}
}

func TestIsBatch(t *testing.T) {
	for path, want := range map[string]bool{
		`C:\x\sh.cmd`: true, `C:\x\SH.BAT`: true, `C:\x\sh.cmd. `: true,
		`C:\x\cmd.exe`: false, `C:\x.bat\sh.exe`: false, `cmd`: false,
	} {
		if got := isBatch(path); got != want {
			t.Errorf("%s: %v", path, got)
		}
	}
}

// TestPowerShellScript: the command is one literal of the script, whatever is
// in it. What PowerShell makes of it is tested on Windows.
func TestPowerShellScript(t *testing.T) {
	const command = "'x' # }\n\"$y\" `"
	got := powerShellScript(command)
	if before, after, ok := strings.Cut(got, "="+powerShellLiteral(command)+";"); !ok || strings.ContainsAny(before+after, "\n#") {
		t.Errorf("%s", got)
	}
}

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/yieldshell/mcp-yieldshell/mcp/mcptest"
)

func TestCmdGetsTheCommandAsItIs(t *testing.T) {
	t.Parallel()
	s := startWindows(t)
	for _, c := range []struct {
		command, stdout string
		code            int64
		windows         bool // Wine's cmd does something else
	}{
		{command: `echo "a b" "c d"`, stdout: "\"a b\" \"c d\"\r\n"},
		{command: `echo a ^& b`, stdout: "a & b\r\n"},
		{command: `echo x& echo y`, stdout: "x\r\ny\r\n"},
		{command: `echo 100%%`, stdout: "100%%\r\n"},
		{command: `echo (a) > nul & echo ok`, stdout: "ok\r\n"},
		{command: `set "X=1" & call echo %^X%`, stdout: "1\r\n", windows: true},
		{command: `echo a^|b| findstr a`, stdout: "a|b\r\n", windows: true},
		{command: `echo %USERNAME%|findstr /r .`, stdout: os.Getenv("USERNAME") + "\r\n", windows: true},
		{command: `"C:\Windows\System32\findstr.exe" /c:"a b" "C:\no such.txt"`, code: 1, windows: true},
		{command: `exit /b 259`, code: 259, windows: true},
		{command: windowsHelper(t, `args ^& ^| %% "a b" c\"d "x\\" y`), stdout: `["&" "|" "%%" "a b" "c\"d" "x\\" "y"]` + "\n"},
		{command: `exit /b 5`, code: 5},
		{command: `exit /b -1`, code: 0xFFFFFFFF},
		{command: `exit -1073741510`, code: 0xC000013A},
		// One line, whatever follows it.
		{command: "echo %E2E_HELPER%\r\n", stdout: "windows\r\n"},
		// Several lines, and none is lost.
		{command: "echo one\necho two", stdout: "one\r\ntwo\r\n"},
		{command: "echo one\r\necho two\r\n", stdout: "one\r\ntwo\r\n"},
		{command: "@echo off\n(echo a\necho b)", stdout: "a\r\nb\r\n"},
		{command: "echo x\nexit /b 7\necho y", stdout: "x\r\n", code: 7},
		{command: "echo " + strings.Repeat("a", 8000), stdout: strings.Repeat("a", 8000) + "\r\n"},
		{command: "echo " + strings.Repeat("a", 8000) + "\necho b", stdout: strings.Repeat("a", 8000) + "\r\nb\r\n"},
	} {
		if c.windows && underWine() {
			continue
		}
		r := s.Execute(c.command, args{"env": asHelper()})
		if r.Status != "completed" || r.Exit() != strconv.FormatInt(c.code, 10) || r.Stdout != c.stdout {
			t.Errorf("%.80q: got %.700v, want exit code %d and %.80q", c.command, r, c.code, c.stdout)
		}
	}
	r := s.Execute(`dir "C:\Program Files" /b`, nil)
	if r.Exit() != "0" || r.Stdout == "" {
		t.Errorf("%v", r)
	}
	if r := s.Execute(`"C:\Windows\System32\where.exe" "cmd.exe"`, nil); !underWine() { // where it is a stub
		contains(t, "where", r.Stdout, `\cmd.exe`)
	}
}

// What cmd would cut or read as something else never runs.
func TestWhatCmdWouldAlterIsRefused(t *testing.T) {
	t.Parallel()
	s := startWindows(t)
	for _, c := range []struct{ command, says string }{
		{"echo > ran\necho %PATH%", "%"},
		{"echo > ran\necho a\x1Ab", "Ctrl-Z"},
		{"echo > ran & echo " + strings.Repeat("a", 9000), "8191"},
		{"echo > ran\necho " + strings.Repeat("a", 9000), "8191"},
	} {
		refused(t, s.Execute(c.command, nil), "powershell", c.says)
	}
	refused(t, s.Execute("echo > ran & echo "+strings.Repeat("a", 40000), nil), "8191", "script file")
	if _, err := os.Stat(filepath.Join(s.Dir, "ran")); err == nil {
		t.Error("a refused command ran")
	}
	completed(t, s.Execute("echo alive", nil), "alive\r\n")
}

func TestABatchFileIsNoShell(t *testing.T) {
	t.Parallel()
	s := startWindows(t)
	if err := os.WriteFile(filepath.Join(s.Dir, "sh.cmd"), []byte("@echo off\r\necho GOT:%*\r\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"sh.cmd", "SH.CMD", "sh", "sh.cmd."} {
		for _, command := range []string{`a" & echo INJECTED & rem "`, "echo %USERNAME%"} {
			refused(t, s.Execute(command, args{"shell": serverPath(s.Dir) + `\` + name}), "shell")
		}
	}
}

func TestOtherShellsOfWindows(t *testing.T) {
	t.Parallel()
	notOnWine(t, "it has neither PowerShell nor Git Bash")
	s := startWindows(t)
	for _, sh := range []string{"powershell.exe", "pwsh"} {
		for command, want := range map[string]string{
			`Write-Output 'a"b'; exit 42`:                                "a\"b\r\n42",
			`cmd /c exit 7`:                                              "7",
			`Write-Progress -Activity x -Status y; 'ok'`:                 "ok\r\n0",
			`Get-Item 'C:\Program Files' | Select -Expand Name`:          "Program Files\r\n0",
			"'äé€日'\n'%PATH%'":                                           "äé€日\r\n%PATH%\r\n0",
			`[Environment]::CommandLine.Length -gt 0; exit -1`:           "True\r\n4294967295",
			`$x = [Console]::In.ReadToEnd(); "<$x>"; $host.Name > $null`: "<>\r\n0",
		} {
			r := s.Execute(command, args{"shell": sh})
			if r.Status == "failed_to_start" && sh == "pwsh" {
				break // not installed
			}
			if got := r.Stdout + r.Exit(); got != want || r.Stderr != "" {
				t.Errorf("%s: %s: got %v, want %q", sh, command, r, want)
			}
		}
	}
	for command, want := range map[string]string{
		`uname -s | cut -c1-5`:       "MINGW\n",
		`echo hi 2>&1 | tail -1`:     "hi\n",
		`printf '%s|' 'a\\b' "c\"d"`: `a\\b|c"d|`,
	} {
		r := s.Execute(command, args{"shell": "bash"})
		if r.Status == "failed_to_start" {
			contains(t, "error", r.Error, "Git for Windows")
			break
		}
		completed(t, r, want)
	}
}

func TestStopOnWindows(t *testing.T) {
	t.Parallel()
	s := startWindows(t)
	r := running(t, s, windowsHelper(t, "hold"), args{"env": asHelper()})
	for _, name := range []string{"SIGNOPE", "", "9", "CTRL_C"} {
		stop := s.Call("stop", r.On(args{"signal": name}))
		if stop.Stopped || !stop.IsError {
			t.Errorf("signal %q: %v", name, stop)
		}
		eq(t, "status", s.Row(r.ExecutionID).Status, "running")
	}
	stop := s.Call("stop", r.On(args{"signal": "sigint"}))
	eq(t, "stopped", stop.Stopped, true)
	eq(t, "signal", stop.Signal, "SIGINT")
	eq(t, "status", s.Row(r.ExecutionID).Status, "stopped")
	s.MustRequest("ping", nil) // it was not for the server
	r = running(t, s, windowsHelper(t, "deaf"), args{"env": asHelper()})
	eq(t, "stopped", s.Call("stop", r.On(args{"signal": "SIGKILL"})).Stopped, true)
	eq(t, "exit code", s.Row(r.ExecutionID).Exit(), "1")
}

// A batch file asks "Terminate batch job (Y/N)?", and nobody answers.
func TestABatchFileStops(t *testing.T) {
	t.Parallel()
	s := startWindows(t)
	text := "@" + windowsHelper(t, "hold") + "\r\n@" + windowsHelper(t, "hold") + "\r\n"
	if err := os.WriteFile(filepath.Join(s.Dir, "t.cmd"), []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{"t.cmd", "call t.cmd", text} {
		for _, open := range []bool{false, true} {
			r := running(t, s, command, args{"env": asHelper(), "close_stdin": !open})
			eq(t, "stopped", s.Call("stop", r.On(nil)).Stopped, true)
			eq(t, "stdout", s.Call("read", r.On(args{"since_seq": 1, "streams": "stdout"})).Stdout[:len(upLine)], upLine)
		}
	}
}

func TestEachStreamHasItsEncoding(t *testing.T) {
	t.Parallel()
	s := startWindows(t)
	for _, c := range []struct{ command, stdout, stderr string }{
		{`chcp 65001 >nul & echo äé€`, "äé€\r\n", ""},
		{`chcp 437 >nul & echo äé`, "äé\r\n", ""},
		{`cmd /u /c echo hi`, "hi\r\n", ""},
		{`chcp 437 >nul & echo ä& cmd /u /c "echo a wide text 1>&2"`, "ä\r\n", "a wide text \r\n"},
		{`echo only ASCII, for a while, and then & chcp 437 >nul & echo ä`, "only ASCII, for a while, and then \r\nä\r\n", ""},
	} {
		r := s.Execute(c.command, nil)
		completed(t, r, c.stdout)
		eq(t, "stderr of "+c.command, r.Stderr, c.stderr)
	}
	contains(t, "chcp", s.Execute("chcp", nil).Stdout, ":")
}

func TestLineEndsStay(t *testing.T) {
	t.Parallel()
	s := startWindows(t)
	r := s.Execute("echo a& echo b", nil)
	completed(t, r, "a\r\nb\r\n")
	eq(t, "stdout_bytes", s.Row(r.ExecutionID).StdoutBytes, 6)
	eq(t, "the last line", s.Call("read", r.On(args{"tail_lines": 1})).Stdout, "b\r\n")
	if strings.Contains(string(s.Stdout()), "\r\n") {
		t.Error("CR before LF on the wire")
	}
}

func TestNamesOfVariablesIgnoreCase(t *testing.T) {
	t.Parallel()
	s := startWindows(t)
	completed(t, s.Execute("echo %E2E_value%", args{"env": args{"e2e_VALUE": "a=b c"}}), "a=b c\r\n")
	completed(t, s.Execute("echo %Path%", args{"env": args{"PATH": `C:\only`}}), "C:\\only\r\n")
	refused(t, s.Execute("echo x", args{"env": args{"A": "1", "a": "2"}}), "env", "same variable")
}

func TestSiblingsDoNotHoldEachOthersPipes(t *testing.T) {
	t.Parallel()
	s := startWindows(t)
	for i := range 5 {
		holder := s.GoExecute(windowsHelper(t, "hold"), args{"yield_ms": 0, "env": asHelper()})
		text := fmt.Sprintf("text %d\r\n", i)
		r := s.Execute(windowsHelper(t, "cat"), args{"stdin": text, "env": asHelper()})
		completed(t, r, text) // which takes the end of its stdin
		s.Call("stop", holder.Result().On(args{"signal": "SIGKILL"}))
	}
}

// folder is a folder of the client's, as the server knows it.
func folder(t *testing.T, s *mcptest.Server, name string) string {
	t.Helper()
	path := filepath.Join(s.Dir, name)
	if err := os.MkdirAll(path, 0o755); err != nil {
		t.Fatal(err)
	}
	return serverPath(path)
}

func TestAFolderBeyondTheSystemsLimit(t *testing.T) {
	t.Parallel()
	s := startWindows(t)
	dir := folder(t, s, filepath.Join(strings.Repeat("d", 100), strings.Repeat("e", 100), strings.Repeat("f", 100)))
	for _, d := range []string{dir, `\\?\` + dir} {
		r := s.Execute("echo x> here", args{"cwd": d})
		if r.Status != "completed" {
			refused(t, r, "cwd", "too long")
		} else if found, _ := filepath.Glob(filepath.Join(s.Dir, "d*", "e*", "f*", "here")); len(found) != 1 {
			t.Errorf("it ran elsewhere: %v", r)
		}
	}
	completed(t, s.Execute("echo alive", nil), "alive\r\n")
}

func TestFoldersOfADrive(t *testing.T) {
	t.Parallel()
	s := startWindows(t, `YIELDSHELL_DEFAULT_CWD=C:\Windows`)
	for cwd, want := range map[string]string{
		"C:": `C:\Windows`, "c:System32": `C:\Windows\System32`, `\Windows`: `C:\Windows`, "/": `C:\`,
		`\\?\C:\Windows`: `C:\Windows`, "system32/..": `C:\Windows`, "Q:": "", `Q:\none`: "", `\\none\none\x`: "",
	} {
		r := s.Execute("cd", args{"cwd": cwd})
		if want == "" {
			refused(t, r, "cwd")
		} else if r.Status != "completed" || !strings.EqualFold(r.Stdout, want+"\r\n") {
			t.Errorf("%s: %v, want %s", cwd, r, want)
		}
	}
	// The hidden variables of drives are no obstacle.
	completed(t, s.Execute("cd /d C:\\ & cmd /c cd", nil), "C:\\\r\n")
}

func TestAllowedRootsOnWindows(t *testing.T) {
	t.Parallel()
	needWindows(t)
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"Work/sub", "Work-evil", "Work/ä b", "Other"} {
		if err := os.MkdirAll(filepath.Join(top, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	root := serverPath(top)
	work := root + `\Work`
	s := startAny(t, "YIELDSHELL_ALLOWED_CWDS="+root+`\none;`+work+";", "YIELDSHELL_DEFAULT_CWD="+work)
	for cwd, want := range map[string]string{
		"":                             work,
		strings.ToLower(work) + "/SUB": work + `\sub`,
		work + `\`:                     work,
		work + `\ä b`:                  work + `\ä b`,
		`\\?\` + work + `\sub`:         work + `\sub`,
		strings.ReplaceAll(work, `\`, "/") + "/sub/..": work,
		"sub": work + `\sub`,
	} {
		r := s.Execute("chcp 65001 >nul & cd", args{"cwd": cwd})
		if r.Status != "completed" || !strings.EqualFold(r.Stdout, want+"\r\n") {
			t.Errorf("%s: %v, want %s", cwd, r, want)
		}
	}
	for _, cwd := range []string{work + "-evil", work + `\..\Other`, root, "..", `C:\`, `\`, `\\?\` + root + `\Other`, work + `\sub\..\..\Work-evil`} {
		refused(t, s.Execute("echo > ran", args{"cwd": cwd}), "allowed")
	}
	// Windows takes the dot off; where it is a name, there is no such folder.
	if r := s.Execute("cd", args{"cwd": work + `\sub.`}); r.Status == "completed" {
		eq(t, "a dot at the end", strings.ToLower(r.Stdout), strings.ToLower(work+"\\sub\r\n"))
	} else {
		refused(t, r, "cwd")
	}
	if found, _ := filepath.Glob(top + "/*/ran"); found != nil {
		t.Errorf("a refused command ran: %v", found)
	}
}

// A terminal, a continuous integration runner and "start /wait" put what they
// start into jobs of their own.
func TestAServerBehindStart(t *testing.T) {
	t.Parallel()
	needWindows(t)
	if posix {
		t.Skip("needs a client on Windows")
	}
	s := mcptest.Start(t, mcptest.Options{Command: program, Wrapper: []string{"cmd", "/d", "/c", "start", "", "/b", "/wait"}})
	completed(t, s.Execute("echo ok", nil), "ok\r\n")
	completed(t, s.Execute("start /b cmd /d /c echo ok2", nil), "ok2\r\n")
}

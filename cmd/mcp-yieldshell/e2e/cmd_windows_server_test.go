package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/yieldshell/mcp-yieldshell/mcp/mcptest"
)

func TestCmdGetsTheCommandAsItIs(t *testing.T) {
	t.Parallel()
	s := startWindows(t)
	for _, c := range []struct {
		command, stdout, stderr string // stderr: a part of it
		code                    int64
		wine                    string // what Wine does differently
	}{
		{command: `echo "a b" "c d"`, stdout: "\"a b\" \"c d\"\r\n"},
		{command: `echo a ^& b`, stdout: "a & b\r\n"},
		{command: `echo x& echo y`, stdout: "x\r\ny\r\n"},
		{command: `echo 100%%`, stdout: "100%%\r\n"},
		{command: `echo (a) > nul & echo ok`, stdout: "ok\r\n"},
		{command: `set "X=1" & call echo %^X%`, stdout: "1\r\n", wine: "its call reads a line once"},
		{command: `echo a^^^|b| findstr a`, stdout: "a|b\r\n", wine: "findstr is a stub"},
		{command: `echo %USERNAME%|findstr /r .`, stdout: os.Getenv("USERNAME") + "\r\n", wine: "findstr is a stub"},
		{
			command: `"C:\Windows\System32\findstr.exe" /c:"a b" "C:\no such.txt"`,
			code:    1, stderr: `no such.txt`, wine: "findstr is a stub",
		},
		{command: `exit /b 259`, code: 259},
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
		{command: strings.Repeat("echo x\n", 3000), stdout: strings.Repeat("x\r\n", 3000)},
		{command: "echo " + strings.Repeat("a", 8000) + "\necho b", stdout: strings.Repeat("a", 8000) + "\r\nb\r\n"},
	} {
		t.Run(fmt.Sprintf("%.40q", c.command), func(t *testing.T) {
			if c.wine != "" {
				notOnWine(t, c.wine)
			}
			r := s.Execute(c.command, args{"env": asHelper()})
			if r.Status != "completed" || r.Exit() != strconv.FormatInt(c.code, 10) || r.Stdout != c.stdout {
				t.Errorf("got %.700v, want exit code %d and %.80q", r, c.code, c.stdout)
			}
			eq(t, "signal is null", r.Null("signal"), true)
			contains(t, "stderr", r.Stderr, c.stderr)
			compareWithTyped(t, c.command, r)
		})
	}
	t.Run("dir", func(t *testing.T) {
		r := s.Execute(`dir "C:\Program Files" /b`, nil)
		if r.Exit() != "0" || r.Stdout == "" {
			t.Errorf("%v", r)
		}
	})
	t.Run("where", func(t *testing.T) {
		notOnWine(t, "where is a stub")
		contains(t, "stdout", s.Execute(`"C:\Windows\System32\where.exe" "cmd.exe"`, nil).Stdout, `\cmd.exe`)
	})
}

// compareWithTyped compares an answer with what the same text does after
// "cmd /d /s /c", if the client is on Windows and it is one line.
func compareWithTyped(t *testing.T, command string, r *mcptest.Result) {
	t.Helper()
	if strings.ContainsAny(strings.TrimRight(command, "\r\n"), "\r\n") {
		return
	}
	stdout, code, can := typed(t, strings.TrimRight(command, "\r\n"))
	if can && (stdout != r.Stdout || fmt.Sprint(code) != r.Exit()) {
		t.Errorf("got %.300v; typed, it ends with %d and %.300q", r, code, stdout)
	}
}

// TestLinesAtCmdsLimit: none is ever cut.
func TestLinesAtCmdsLimit(t *testing.T) {
	t.Parallel()
	s := startWindows(t)
	whole, refusals := 0, 0
	for n := 8130; n <= 8192; n += 2 {
		text := strings.Repeat("a", n)
		switch r := s.Execute("echo "+text, nil); r.Status {
		case "completed":
			eq(t, fmt.Sprintf("%d characters", n), r.Stdout, text+"\r\n")
			whole++
		default:
			refused(t, r, "8189")
			refusals++
		}
	}
	if whole == 0 || refusals == 0 {
		t.Errorf("%d ran and %d were refused: this is not where the limit is", whole, refusals)
	}
}

// TestBatchFilesGoWithTheServer: what a command of several lines ran from.
func TestBatchFilesGoWithTheServer(t *testing.T) {
	t.Parallel()
	needWindows(t)
	if posix {
		t.Skip("Wine: it names the folder for temporary files itself when it is started from Linux")
	}
	temp := t.TempDir()
	s := startAny(t, "TMP="+serverPath(temp), "TEMP="+serverPath(temp))
	r := running(t, s, "rem\n"+windowsHelper(t, "hold"), args{"env": asHelper()})
	if found, _ := filepath.Glob(filepath.Join(temp, "*", "*.bat")); len(found) != 1 {
		t.Errorf("batch files while one runs: %v", found)
	}
	s.Call("stop", r.On(args{"signal": "SIGKILL"}))
	if found, _ := filepath.Glob(filepath.Join(temp, "*", "*.bat")); len(found) != 0 {
		t.Errorf("batch files after its end: %v", found)
	}
	running(t, s, "rem\n"+windowsHelper(t, "hold"), args{"env": asHelper()})
	eq(t, "exit status", s.Close(), 0)
	if found, _ := filepath.Glob(filepath.Join(temp, "*")); len(found) != 0 {
		t.Errorf("left after the end of the server: %v", found)
	}
}

// What cmd would cut or read as something else never runs.
func TestWhatCmdWouldAlterIsRefused(t *testing.T) {
	t.Parallel()
	s := startWindows(t)
	for _, c := range []struct{ command, says string }{
		{"echo > ran\necho %PATH%", "%"},
		{"echo > ran\necho a\x1Ab", "Ctrl-Z"},
		{"echo > ran & echo " + strings.Repeat("a", 9000), "8189"},
		{"echo > ran\necho " + strings.Repeat("a", 9000), "8189"},
	} {
		refused(t, s.Execute(c.command, nil), "powershell", c.says)
	}
	refused(t, s.Execute("echo > ran & echo "+strings.Repeat("a", 40000), nil), "8189", "script file")
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
		t.Run(sh, func(t *testing.T) {
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
					t.Skip("PowerShell 7 is not installed")
				}
				if got := r.Stdout + r.Exit(); got != want || r.Stderr != "" {
					t.Errorf("%s: got %v, want %q", command, r, want)
				}
			}
		})
	}
	for _, sh := range []string{"bash", `C:\Program Files\Git\bin\bash.exe`} {
		t.Run(sh, func(t *testing.T) {
			for command, want := range map[string]string{
				`uname -s | cut -c1-5`:       "MINGW\n",
				`echo hi 2>&1 | tail -1`:     "hi\n",
				`printf '%s|' 'a\\b' "c\"d"`: `a\\b|c"d|`,
				`cygpath -w "$PWD"`:          "C:\\Windows\n",
			} {
				r := s.Execute(command, args{"shell": sh, "cwd": `C:\Windows`})
				if r.Status == "failed_to_start" {
					t.Skip("Git for Windows is not installed: ", r.Error)
				}
				completed(t, r, want)
			}
		})
	}
	t.Run("wsl", func(t *testing.T) {
		r := s.Execute(`printf '%s|' 'a\\b' "c\"d"; uname -s`, args{"shell": "wsl", "yield_ms": 30_000})
		if r.Status == "failed_to_start" {
			t.Skip("WSL is not installed: ", r.Error)
		}
		if text := r.Stdout + r.Stderr; strings.Contains(text, "\x00") {
			t.Errorf("%q", text) // its own messages are UTF-16
		}
		if r.Exit() != "0" {
			t.Skip("no distribution is installed: ", r)
		}
		eq(t, "stdout", r.Stdout, `a\\b|c"d|Linux`+"\n")
	})
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
	row := s.Row(r.ExecutionID)
	eq(t, "status", row.Status, "stopped")
	eq(t, "no signal of POSIX", row.Signal == nil, true)
	s.MustRequest("ping", nil) // it was not for the server
	r = running(t, s, windowsHelper(t, "deaf"), args{"env": asHelper()})
	eq(t, "stopped", s.Call("stop", r.On(args{"signal": "SIGKILL"})).Stopped, true)
	row = s.Row(r.ExecutionID)
	eq(t, "exit code", row.Exit(), "1")
	eq(t, "status", row.Status, "stopped")
}

// TestStopReachesOneExecution: each has a console of its own.
func TestStopReachesOneExecution(t *testing.T) {
	t.Parallel()
	s := startWindows(t)
	a := running(t, s, windowsHelper(t, "hold"), args{"env": asHelper()})
	b := running(t, s, windowsHelper(t, "hold"), args{"env": asHelper()})
	eq(t, "stopped", s.Call("stop", a.On(nil)).Stopped, true)
	eq(t, "status of the other", s.Row(b.ExecutionID).Status, "running")
	eq(t, "stopped", s.Call("stop", b.On(nil)).Stopped, true)
}

// TestLastWordsOnWindows: a program may handle Ctrl-C, and has the time for it.
func TestLastWordsOnWindows(t *testing.T) {
	t.Parallel()
	needWindows(t)
	for _, c := range []struct {
		name  string
		limit int
		end   func(*testing.T, *mcptest.Server, *mcptest.Result)
	}{
		{"stop", 0, func(t *testing.T, s *mcptest.Server, r *mcptest.Result) {
			eq(t, "stopped", s.Call("stop", r.On(nil)).Stopped, true)
		}},
		{"timeout", 10_000, func(t *testing.T, s *mcptest.Server, r *mcptest.Result) {
			eq(t, "status", s.Call("wait", r.On(args{"streams": "stderr"})).Status, "timed_out")
		}},
		{"end of stdin", 0, func(t *testing.T, s *mcptest.Server, r *mcptest.Result) {
			eq(t, "exit status", s.Close(), 0)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := startAny(t)
			given := args{"env": asHelper()}
			if c.limit > 0 {
				given["timeout_ms"] = c.limit
			}
			r := running(t, s, windowsHelper(t, "trap cleaned"), given)
			c.end(t, s, r)
			if _, err := os.Stat(filepath.Join(s.Dir, "cleaned")); err != nil {
				t.Error(err)
			}
			if c.name != "end of stdin" {
				eq(t, "stdout", s.Call("read", r.On(args{"since_seq": 1})).Stdout, upLine+"cleaned\n")
			}
		})
	}
}

// TestTheExitCodeOfAHandler: with no cmd in between, which has an exit code of
// its own after Ctrl-C.
func TestTheExitCodeOfAHandler(t *testing.T) {
	t.Parallel()
	s := startWindows(t)
	r := running(t, s, "trap cleaned", args{"env": asHelper(), "shell": strings.Trim(windowsHelper(t, ""), `" `)})
	eq(t, "stopped", s.Call("stop", r.On(nil)).Stopped, true)
	read := s.Call("read", r.On(args{"since_seq": 1}))
	eq(t, "stdout", read.Stdout, upLine+"cleaned\n")
	eq(t, "exit code", read.Exit(), "3")
	eq(t, "status", read.Status, "stopped")
}

// TestAStartBesideTheShell: what "start /b" leaves on the console keeps the
// execution running, and it is said who that is.
func TestAStartBesideTheShell(t *testing.T) {
	t.Parallel()
	s := startWindows(t)
	r := running(t, s, `start /b "" `+windowsHelper(t, "hold"), args{"env": asHelper(), "yield_ms": 1000})
	w := s.Call("wait", r.On(args{"timeout_ms": 1000}))
	eq(t, "wait_result", w.WaitResult, "deadline_reached")
	eq(t, "status", w.Status, "running")
	eq(t, "exit code", w.Exit(), "0")
	contains(t, "message", w.Message, "goes on through e2e")
	eq(t, "stopped", s.Call("stop", r.On(nil)).Stopped, true)
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
			begun := time.Now()
			eq(t, "stopped", s.Call("stop", r.On(nil)).Stopped, true)
			quickly(t, "stop of "+command, begun, 4*time.Second) // before Ctrl-Break, and long before force
			if got := s.Call("read", r.On(args{"since_seq": 1, "streams": "stdout"})).Stdout; !strings.HasPrefix(got, upLine) {
				t.Errorf("stdout %q", got)
			}
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
	t.Run("cd of a drive", func(t *testing.T) {
		notOnWine(t, "its cmd does not say the drive's folder")
		completed(t, s.Execute("cd C: & cd", args{"cwd": `C:\Windows`}), "C:\\Windows\r\nC:\\Windows\r\n")
	})
}

// TestHiddenVariablesReachCommands: their names begin with the "=" that ends
// all others.
func TestHiddenVariablesReachCommands(t *testing.T) {
	t.Parallel()
	needWindows(t)
	if posix {
		t.Skip("Wine: it takes no such names over from Linux")
	}
	s := mcptest.Start(t, mcptest.Options{Command: program, Env: map[string]string{"=Q:": `Q:\deep`}})
	completed(t, s.Execute(windowsHelper(t, "env =Q:"), args{"env": asHelper()}), "=Q:=Q:\\deep\n")
	t.Run("set", func(t *testing.T) {
		notOnWine(t, "its set does not list them, and findstr is a stub")
		r := s.Execute(`set "" | findstr /b "="`, nil)
		eq(t, "exit code", r.Exit(), "0")
		contains(t, "stdout", r.Stdout, `=Q:=Q:\deep`)
	})
}

// TestTheOverlayEmptiesOnWindows: an empty value is a value.
func TestTheOverlayEmptiesOnWindows(t *testing.T) {
	t.Parallel()
	s := startWindows(t, "YS_PARENT=parent", "YS_KEPT=kept")
	r := s.Execute("env YS_A YS_KEPT YS_PARENT", args{
		"shell": strings.Trim(windowsHelper(t, ""), `" `),
		"env":   args{"E2E_HELPER": "windows", "YS_A": "", "YS_PARENT": ""},
	})
	completed(t, r, "YS_A=\nYS_KEPT=kept\nYS_PARENT=\n")
}

// TestNetworkFolders: cmd is the only shell that cannot start in one.
func TestNetworkFolders(t *testing.T) {
	t.Parallel()
	notOnWine(t, "it has no shares")
	const share = `\\localhost\C$\Windows`
	if _, err := os.Stat(share); err != nil {
		t.Skipf("the share of the system's drive cannot be read: %v", err)
	}
	in := func(s *mcptest.Server, cwd string) *mcptest.Result {
		return s.Execute("(Get-Location).ProviderPath", args{"cwd": cwd, "shell": "powershell.exe", "yield_ms": 30_000})
	}
	is := func(r *mcptest.Result, want string) {
		t.Helper()
		if r.Status != "completed" || !strings.EqualFold(r.Stdout, want+"\r\n") {
			t.Errorf("%v, want %s", r, want)
		}
	}
	s := startWindows(t)
	is(in(s, share), share)
	refused(t, s.Execute("cd", args{"cwd": share}), "drive letter")
	s = startWindows(t, "YIELDSHELL_ALLOWED_CWDS="+share, "YIELDSHELL_DEFAULT_CWD="+share)
	is(in(s, share), share)
	is(in(s, "System32"), share+`\System32`)
	for _, cwd := range []string{`\\localhost\C$\`, "..", `C:\`} {
		refused(t, in(s, cwd), "allowed")
	}
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

package procwindows

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/windows"
	"golang.org/x/sys/windows/registry"

	"github.com/yieldshell/mcp-yieldshell/proc"
)

// TestCmd: the command reaches cmd as it was typed.
func TestCmd(t *testing.T) {
	b := backendFor(t)
	for _, c := range []struct {
		command, stdout string
		code            int64
	}{
		{`echo "a b" "c d"`, "\"a b\" \"c d\"\r\n", 0},
		{`echo a ^& b`, "a & b\r\n", 0},
		{`echo x& echo y`, "x\r\ny\r\n", 0},
		{`echo 100%%`, "100%%\r\n", 0},
		{`exit /b 5`, "", 5},
		{tool("args", `"a b"`, `c\"d`, `"x\\" y`), `["a b" "c\"d" "x\\" "y"]` + "\n", 0},
		{tool("exit", "4294967295"), "", 0xFFFFFFFF},
		{tool("exit", "3221225786"), "", 0xC000013A},
		{tool("exit", "256"), "", 256},
		{tool("console"), "console true\n", 0},
	} {
		code, stdout, stderr := start(t, b, proc.Spec{Command: c.command}).finish()
		if code != c.code || stdout != c.stdout {
			t.Errorf("%s: code %d, stdout %q, stderr %q; want %d, %q", c.command, code, stdout, stderr, c.code, c.stdout)
		}
	}
}

// TestCmdLines: commands that cmd takes only as a batch file.
func TestCmdLines(t *testing.T) {
	b := backendFor(t)
	for command, want := range map[string]string{
		"echo one\necho two":             "one\r\ntwo\r\n",
		"echo one\r\necho two\r\n":       "one\r\ntwo\r\n",
		"@echo off\n(echo a\necho b)":    "a\r\nb\r\n",
		"echo x\nif not a==b goto e\n:e": "x\r\n",
	} {
		c := start(t, b, proc.Spec{Command: command})
		script := c.Process.(*process).script
		if script == "" {
			t.Errorf("%q: no batch file", command)
		}
		if code, stdout, stderr := c.finish(); code != 0 || stdout != want {
			t.Errorf("%q: code %d, stdout %q, stderr %q; want %q", command, code, stdout, stderr, want)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(script); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%q: the batch file is there: %v", command, err)
		}
	}
	code, _, _ := start(t, b, proc.Spec{Command: "echo\n" + tool("exit", "7")}).finish()
	if code != 7 {
		t.Errorf("exit code %d of the last line, want 7", code)
	}
	c := start(t, b, proc.Spec{Command: "echo %ComSpec%\r\n"})
	if c.Process.(*process).script != "" {
		t.Error("a batch file for one line")
	}
	if _, stdout, _ := c.finish(); !strings.EqualFold(stdout, os.Getenv("ComSpec")+"\r\n") {
		t.Errorf("one line with its end: %q", stdout)
	}
}

// TestCmdLinesUTF8: batch files hold any text.
func TestCmdLinesUTF8(t *testing.T) {
	needsWindows(t, "its cmd reads batch files in the system's code page, whatever the console's is")
	b := backendFor(t)
	c := start(t, b, proc.Spec{Command: "rem\n" + tool("args", `"ä b"`, "日本")})
	if code, stdout, stderr := c.finish(); code != 0 || stdout != "[\"ä b\" \"日本\"]\n" {
		t.Errorf("code %d, stdout %q, stderr %q", code, stdout, stderr)
	}
}

func TestCmdRefused(t *testing.T) {
	b := backendFor(t)
	for _, c := range []struct {
		command, says string
		is            error
	}{
		{"echo a\necho %PATH%", "powershell", errPercent},
		{"echo a\x1A\necho b", "powershell", errCtrlZ},
		{strings.Repeat("x", 9000), "8189", proc.ErrTooLong},
		{"echo\necho " + strings.Repeat("x", 9000), "8189", proc.ErrTooLong},
	} {
		_, err := b.Start(proc.Spec{Command: c.command, Dir: os.TempDir(), Env: os.Environ()})
		var se *proc.StartError
		if !errors.As(err, &se) || se.Op != "command" || !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%.20q: %v", c.command, err)
		}
	}
	long := "echo " + strings.Repeat("x", 8000)
	if _, stdout, _ := start(t, b, proc.Spec{Command: long}).finish(); stdout != long[5:]+"\r\n" {
		t.Errorf("8000 characters: %d came back", len(stdout))
	}
}

func TestBatchFileAsShell(t *testing.T) {
	b := backendFor(t)
	path := filepath.Join(t.TempDir(), "sh.cmd")
	if err := os.WriteFile(path, []byte("@echo off\r\necho GOT:%*\r\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	_, err := b.Start(proc.Spec{Shell: path, Command: `a" & echo INJECTED & rem "`, Dir: os.TempDir(), Env: os.Environ()})
	var se *proc.StartError
	if !errors.As(err, &se) || se.Op != "shell" || !strings.Contains(err.Error(), "batch file") {
		t.Errorf("%v", err)
	}
}

// TestOtherShell: a shell that is not cmd gets the command as one argument.
func TestOtherShell(t *testing.T) {
	root := t.TempDir()
	place := func(names ...string) string {
		path := filepath.Join(append([]string{root}, names...)...)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o755); err != nil {
			t.Fatal(err)
		}
		return path
	}
	place("Git", "usr", "bin", "msys-2.0.dll")
	place("cyg", "cygwin1.dll")
	for _, c := range []struct{ path, command, want string }{
		{place("x y", "sh.exe"), `a "b" \\ \`, ` -c "a \"b\" \\ \\"`},
		{place("x", "python.exe"), `-x`, ` -c " -x"`},
		{place("Git", "bin", "bash.exe"), `a "b" \\ \`, ` -c "a \"b\" \\\\ \\"`},
		{place("Git", "usr", "bin", "sh.exe"), `-x \`, ` -c " -x \\"`},
		{place("cyg", "zsh.exe"), `C:\x`, ` -c " C:\\x"`},
		{place("WindowsApps", "bash.exe"), `echo "$x" it's`, ` -c 'echo "$x" it'\''s'`},
		{place("v1.0", "powershell.exe"), `echo "a\`, ` -NoLogo -NoProfile -NonInteractive -Command ` + quoteArg(powerShellScript(`echo "a\`))},
		{place("system32", "wsl.exe"), `uname "-s"`, ` -e bash -c "uname \"-s\""`},
	} {
		s, err := findShell(proc.Spec{Shell: c.path})
		if err != nil {
			t.Errorf("%s: %v", c.path, err)
			continue
		}
		if got, want := s.line(c.command), quoteProgram(c.path)+c.want; got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// TestOtherShellsLimit: nothing of a command is cut.
func TestOtherShellsLimit(t *testing.T) {
	b := backendFor(t)
	path := filepath.Join(t.TempDir(), "sh.exe")
	if err := os.WriteFile(path, nil, 0o755); err != nil {
		t.Fatal(err)
	}
	_, err := b.Start(proc.Spec{Shell: path, Command: strings.Repeat("x", 40_000), Dir: os.TempDir(), Env: os.Environ()})
	var se *proc.StartError
	if !errors.As(err, &se) || se.Op != "command" || !errors.Is(err, proc.ErrTooLong) {
		t.Errorf("%v", err)
	}
}

// TestScriptsPath: cmd would look for a variable in the path of a batch file.
func TestScriptsPath(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a%b")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	s := newScripts(dir)
	if path, err := s.write("echo"); err == nil || !strings.Contains(err.Error(), "a%b") {
		t.Errorf("%q, %v", path, err)
	}
	if err := s.close(); err != nil {
		t.Error(err)
	}
}

// TestNetworkDir: cmd would start in the system's folder instead.
func TestNetworkDir(t *testing.T) {
	b := backendFor(t)
	dir := `\\localhost\C$\`
	if onWine() {
		dir = `\\?\unix\`
	}
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("there is no network path to test with: %v", err)
	}
	_, err := b.Start(proc.Spec{Command: "cd", Dir: dir, Env: os.Environ()})
	var se *proc.StartError
	if !errors.As(err, &se) || se.Op != "cwd" || !errors.Is(err, errNetworkDir) {
		t.Errorf("%v", err)
	}
}

// TestFindBash: WSL's bash is never taken for Git's.
func TestFindBash(t *testing.T) {
	root := t.TempDir()
	windir, err := windows.GetSystemWindowsDirectory()
	if err != nil {
		t.Fatal(err)
	}
	apps := filepath.Join(root, "WindowsApps")
	git := filepath.Join(root, "Git")
	for _, file := range []string{filepath.Join(apps, "bash.exe"), filepath.Join(git, "bin", "bash.exe"), filepath.Join(git, "cmd", "git.exe")} {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, nil, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	want := filepath.Join(git, "bin", "bash.exe")
	for _, env := range [][]string{
		{"PATH=" + filepath.Join(windir, "system32") + ";" + apps + ";" + filepath.Join(git, "bin")},
		{"Path=" + apps + ";" + filepath.Join(git, "cmd")}, // as Git installs itself
	} {
		if got, err := shellPath(proc.Spec{Shell: "bash", Env: env}); err != nil || !strings.EqualFold(got, want) {
			t.Errorf("%s: %s, %v", env, got, err)
		}
	}
	for _, key := range []registry.Key{registry.CURRENT_USER, registry.LOCAL_MACHINE} {
		if installedGit(key) != "" {
			return // it comes first, wherever it is
		}
	}
	env := []string{"PATH=" + apps, "ProgramFiles=" + root}
	if got, err := shellPath(proc.Spec{Shell: "bash.exe", Env: env}); err != nil || !strings.EqualFold(got, want) {
		t.Errorf("%s: %s, %v", env, got, err)
	}
}

func TestEncodings(t *testing.T) {
	b := backendFor(t)
	for _, c := range []struct{ command, want string }{
		{`chcp 65001 >nul & echo äé€`, "äé€\r\n"},
		{`cmd /u /c echo hi`, "hi\r\n"},
		{`cmd /u /c echo a longer text`, "a longer text\r\n"},
	} {
		if _, stdout, stderr := start(t, b, proc.Spec{Command: c.command}).finish(); stdout != c.want {
			t.Errorf("%s: %q, %q; want %q", c.command, stdout, stderr, c.want)
		}
	}
	if cp := oemCodePage(); cp == 437 || cp == 850 {
		if _, stdout, _ := start(t, b, proc.Spec{Command: "echo äé"}).finish(); stdout != "äé\r\n" {
			t.Errorf("code page %d: %q", cp, stdout)
		}
	}
}

func TestLongDir(t *testing.T) {
	dir := t.TempDir()
	for _, c := range "def" {
		dir = filepath.Join(dir, strings.Repeat(string(c), 100))
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	b := backendFor(t)
	for _, d := range []string{dir, verbatimPath(dir)} {
		p, err := b.Start(proc.Spec{Command: "echo x> here", Dir: d, Env: os.Environ()})
		if err != nil { // the volume has no short names
			var se *proc.StartError
			if !errors.As(err, &se) || se.Op != "cwd" || !errors.Is(err, proc.ErrTooLong) {
				t.Errorf("%v", err)
			}
			continue
		}
		for e := range p.Events() {
			if e.Kind == proc.ShellExited && e.Exit.Code != 0 {
				t.Errorf("exit %+v", e.Exit)
			}
		}
		p.Close()
		for _, c := range []interface{ Close() error }{p.Stdin(), p.Stdout(), p.Stderr()} {
			c.Close()
		}
		if err := os.Remove(filepath.Join(dir, "here")); err != nil {
			t.Errorf("it ran elsewhere: %v", err)
		}
	}
	root := t.TempDir()
	if code, stdout, _ := start(t, b, proc.Spec{Command: "cd", Dir: verbatimPath(root)}).finish(); code != 0 || stdout != root+"\r\n" {
		t.Errorf("verbatim path: %d, %q, want %q", code, stdout, root)
	}
}

func TestPowerShell(t *testing.T) {
	needsWindows(t, "powershell.exe is a stub")
	b := backendFor(t)
	for _, sh := range []string{"powershell", "pwsh"} {
		t.Run(sh, func(t *testing.T) { testPowerShell(t, b, sh) })
	}
}

func testPowerShell(t *testing.T, b *backend, sh string) {
	if _, err := shellPath(proc.Spec{Shell: sh, Env: os.Environ()}); err != nil {
		t.Skipf("%s is not installed", sh)
	}
	for _, c := range []struct {
		command, stdout string
		code            int64
	}{
		{`Write-Output 'a"b'; exit 42`, "a\"b\r\n", 42},
		{`cmd /c exit 7`, "", 7},
		{`cmd /c exit 7; 'after'`, "after\r\n", 7},
		{`Write-Progress -Activity x -Status y; 'ok'`, "ok\r\n", 0},
		{`Get-Item C:\none -ErrorAction SilentlyContinue`, "", 1},
		{`throw 'x'`, "", 1},
		{`if (`, "", 1},
		{"'a'\n'b' # end", "a\r\nb\r\n", 0},
		{"param($x='p')\n$x", "p\r\n", 0},
		{"process { 'q' }", "q\r\n", 0},
		{`'äé€日' + "it's ‘q’ $(1+1)"`, "äé€日it's ‘q’ 2\r\n", 0},
	} {
		p := start(t, b, proc.Spec{Shell: sh, Command: c.command})
		code := p.await(proc.ShellExited).Exit.Code // with its stdin open
		p.await(proc.TreeEmpty)
		p.pumps.Wait()
		stdout, stderr := p.output(0), p.output(1)
		if code != c.code || stdout != c.stdout || strings.Contains(stderr, "CLIXML") {
			t.Errorf("%s: %s: code %d, stdout %q, stderr %q; want %d, %q", sh, c.command, code, stdout, stderr, c.code, c.stdout)
		}
	}
	p := start(t, b, proc.Spec{Shell: sh, Command: `$x = [Console]::In.ReadLine(); "<$x>"`})
	if _, err := p.Stdin().Write(limited(t, bound), []byte("äé€日\n")); err != nil {
		t.Fatal(err)
	}
	if _, stdout, stderr := p.finish(); stdout != "<äé€日>\r\n" {
		t.Errorf("%s: stdin came back as %q, stderr %q", sh, stdout, stderr)
	}
}

func TestGitBash(t *testing.T) {
	b := backendFor(t)
	if _, err := shellPath(proc.Spec{Shell: "bash", Env: os.Environ()}); err != nil {
		t.Skip("Git for Windows is not installed")
	}
	for command, want := range map[string]string{
		`echo "a  b" 'c"d' \\ $((1+1))`:      "a  b c\"d \\ 2\n",
		`printf '%s|' 'a\b' 'c\\d' "e\"f\\"`: `a\b|c\\d|e"f\|`,
		"echo one\necho 'two *'":             "one\ntwo *\n",
		`-x; echo -n`:                        "",
		`C:\none 2>&1 | grep -c C:none`:      "1\n",
	} {
		_, stdout, stderr := start(t, b, proc.Spec{Shell: "bash", Command: command}).finish()
		if stdout != want {
			t.Errorf("%s: %q, %q; want %q", command, stdout, stderr, want)
		}
	}
	long := "printf %s '" + strings.Repeat("x", maxMSYS-100) + "' | wc -c"
	if _, stdout, stderr := start(t, b, proc.Spec{Shell: "bash", Command: long}).finish(); strings.TrimSpace(stdout) != fmt.Sprint(maxMSYS-100) {
		t.Errorf("a long command: %q, %q", stdout, stderr)
	}
	_, err := b.Start(proc.Spec{Shell: "bash", Command: long + strings.Repeat(" ", 200), Dir: os.TempDir(), Env: os.Environ()})
	if !errors.Is(err, proc.ErrTooLong) {
		t.Errorf("a command that would be cut: %v", err)
	}
	// Its runtime does not listen to Ctrl-C, and neither does what it starts.
	c := start(t, patient(b), proc.Spec{Shell: "bash", Command: tool("hold")})
	c.awaitOutput("\n", 1)
	signalled(t, c, proc.SIGTERM)
	c.await(proc.TreeEmpty)
}

// TestMSYSLimit: what its runtime would cut is refused.
func TestMSYSLimit(t *testing.T) {
	root := t.TempDir()
	for _, name := range []string{"bash.exe", "msys-2.0.dll"} {
		if err := os.WriteFile(filepath.Join(root, name), nil, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	b := backendFor(t)
	_, err := b.Start(proc.Spec{Shell: filepath.Join(root, "bash.exe"), Command: strings.Repeat("x", maxMSYS+1), Dir: root, Env: os.Environ()})
	var se *proc.StartError
	if !errors.As(err, &se) || se.Op != "command" || !errors.Is(err, proc.ErrTooLong) {
		t.Errorf("%v", err)
	}
}

// TestWSL: its own messages, in UTF-16, are readable; a distribution, if there
// is one, gets the command unaltered.
func TestWSL(t *testing.T) {
	b := backendFor(t)
	if _, err := shellPath(proc.Spec{Shell: "wsl", Env: os.Environ()}); err != nil {
		t.Skip("WSL is not installed") // never on Wine
	}
	_, stdout, stderr := start(t, b, proc.Spec{Command: "wsl --status"}).finish()
	if strings.Contains(stdout+stderr, "\x00") {
		t.Errorf("wsl --status: %q, %q", stdout, stderr)
	}
	code, stdout, stderr := start(t, b, proc.Spec{Shell: "wsl", Command: `printf '%s|' 'a\\b' "c\"d" $((1+1)); uname -s`}).finish()
	if strings.Contains(stdout+stderr, "\x00") {
		t.Errorf("%q, %q", stdout, stderr)
	}
	if code != 0 {
		t.Skipf("no distribution is installed: %s%s", stdout, stderr)
	}
	if want := `a\\b|c"d|2|Linux` + "\n"; stdout != want {
		t.Errorf("%q, want %q", stdout, want)
	}
}

// TestEnvironment: variables that hide from set reach the command.
func TestEnvironment(t *testing.T) {
	b := backendFor(t)
	env := append(os.Environ(), "=Q:=Q:\\deep", "procwindows_env=a=b", "PROCWINDOWS_ENV=c d")
	for prefix, want := range map[string]string{"=q": "=Q:=Q:\\deep\n", "procwindows_env": "PROCWINDOWS_ENV=c d\n"} {
		if code, stdout, _ := start(t, b, proc.Spec{Command: tool("env", prefix), Env: env}).finish(); code != 0 || stdout != want {
			t.Errorf("%s: code %d, %q; want %q", prefix, code, stdout, want)
		}
	}
}

// TestScriptsFolder: what a server leaves when it is killed, the next one
// removes; what a living one uses stays.
func TestScriptsFolder(t *testing.T) {
	temp := t.TempDir()
	stale := filepath.Join(temp, scriptsPrefix+"stale")
	if err := os.Mkdir(stale, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(stale, "x.bat"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	living := newScripts(temp)
	path, err := living.write("rem")
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{stale, filepath.Dir(path)} {
		old := windows.NsecToFiletime(1e18)
		if err := setModTime(dir, old); err != nil {
			t.Fatal(err)
		}
	}
	next := newScripts(temp)
	if _, err := os.Stat(stale); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the stale folder is there: %v", err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Errorf("the other server's batch file: %v", err)
	}
	if err := next.close(); err != nil {
		t.Error(err)
	}
	if err := living.close(); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		t.Errorf("left %v, %v", left, err)
	}
}

func setModTime(dir string, ft windows.Filetime) error {
	name, err := windows.UTF16PtrFromString(dir)
	if err != nil {
		return err
	}
	h, err := windows.CreateFile(name, windows.FILE_WRITE_ATTRIBUTES, windows.FILE_SHARE_READ|windows.FILE_SHARE_WRITE|windows.FILE_SHARE_DELETE,
		nil, windows.OPEN_EXISTING, windows.FILE_FLAG_BACKUP_SEMANTICS, 0)
	if err != nil {
		return fmt.Errorf("open %s: %w", dir, err)
	}
	defer windows.CloseHandle(h)
	return windows.SetFileTime(h, nil, nil, &ft)
}

package procwindows

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"

	"github.com/yieldshell/mcp-yieldshell/proc"
)

// patient makes the backend of a test that is to show what happens before
// Ctrl-Break.
func patient(b *backend) *backend {
	b.breakTime = time.Hour
	return b
}

func signalled(t *testing.T, c *command, s proc.Signal) proc.SignalReport {
	t.Helper()
	r, err := c.Signal(limited(t, bound), s)
	if err != nil {
		t.Fatalf("signal: %v", err)
	}
	return r
}

// TestCtrlC: everything on the command's console gets it.
func TestCtrlC(t *testing.T) {
	b := patient(backendFor(t))
	c := start(t, b, proc.Spec{Command: tool("spawn", "0") + " & " + tool("hold")})
	c.awaitOutput("\n", 2)
	if r := signalled(t, c, proc.SIGTERM); r.Reached != 3 {
		t.Errorf("reached %d, want cmd and two holders", r.Reached)
	}
	exit := c.await(proc.ShellExited).Exit
	c.await(proc.TreeEmpty)
	if want := int64(controlCExit); !onWine() && exit.Code != want {
		t.Errorf("exit code %#x, want %#x", exit.Code, want)
	}
}

// TestCtrlCOfADeafServer: a command hears Ctrl-C also if whoever started the
// server made that deaf to it, and the server stays so.
func TestCtrlCOfADeafServer(t *testing.T) {
	ignoreCtrlC(true)
	defer ignoreCtrlC(false)
	b := patient(backendFor(t))
	var commands []*command
	for range 5 {
		commands = append(commands, start(t, b, proc.Spec{Command: tool("hold")}))
	}
	if !isDeaf(uint32(os.Getpid())) {
		t.Error("the server hears Ctrl-C now")
	}
	for _, c := range commands {
		c.awaitOutput("\n", 1)
		signalled(t, c, proc.SIGTERM)
		c.await(proc.TreeEmpty)
	}
}

// TestBatchPrompt: nobody waits for an answer to "Terminate batch job (Y/N)?".
func TestBatchPrompt(t *testing.T) {
	b := patient(backendFor(t))
	path := filepath.Join(t.TempDir(), "t.cmd")
	text := "@" + tool("hold") + "\r\n@" + tool("hold") + "\r\n"
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{`"` + path + `"`, `call "` + path + `"`, text} {
		c := start(t, b, proc.Spec{Command: command})
		c.awaitOutput("\n", 1)
		signalled(t, c, proc.SIGINT)
		c.await(proc.TreeEmpty)
	}
}

// TestSignalDetached: a process that no event can reach ends at once.
func TestSignalDetached(t *testing.T) {
	b := patient(backendFor(t))
	c := start(t, b, proc.Spec{Command: tool("spawn", fmt.Sprint(windows.DETACHED_PROCESS))})
	if e := c.await(proc.SessionEmpty); len(e.Detached) != 1 {
		t.Fatalf("detached %+v", e.Detached)
	}
	if r := signalled(t, c, proc.SIGTERM); r.Reached != 1 {
		t.Errorf("reached %d", r.Reached)
	}
	c.await(proc.TreeEmpty)
}

// TestKillWithoutMessages: the port's messages may be lost.
func TestKillWithoutMessages(t *testing.T) {
	b := backendFor(t)
	c := start(t, b, proc.Spec{Command: tool("spawn", fmt.Sprint(windows.DETACHED_PROCESS))})
	c.await(proc.SessionEmpty)
	b.forget(c.Process.(*process))
	if r, err := c.Kill(limited(t, bound)); err != nil || len(r.Unkillable) > 0 {
		t.Errorf("%+v, %v", r, err)
	}
	c.await(proc.TreeEmpty)
}

// TestSignalBesideDetached: a process that no event can reach ends once those
// have that Ctrl-C has reached.
func TestSignalBesideDetached(t *testing.T) {
	b := patient(backendFor(t))
	c := start(t, b, proc.Spec{Command: tool("spawn", fmt.Sprint(windows.DETACHED_PROCESS)) + " & " + tool("hold")})
	c.awaitOutput("\n", 2)
	signalled(t, c, proc.SIGTERM)
	c.await(proc.TreeEmpty)
}

// TestCtrlBreak: what ignores Ctrl-C, as everything does that cmd's start /b
// has started, ends by Ctrl-Break.
func TestCtrlBreak(t *testing.T) {
	needsWindows(t, "it has no Ctrl-Break")
	b := backendFor(t)
	b.breakTime = 200 * time.Millisecond
	for _, command := range []string{
		tool("spawn", fmt.Sprint(windows.CREATE_NEW_PROCESS_GROUP)),
		`start /b "" ` + tool("hold") + " & " + tool("hold"),
	} {
		c := start(t, b, proc.Spec{Command: command})
		c.awaitOutput("\n", strings.Count(command, testHelperArg))
		begun := time.Now()
		signalled(t, c, proc.SIGTERM)
		c.await(proc.TreeEmpty)
		if d := time.Since(begun); d < b.breakTime {
			t.Errorf("%s: it ended after %v, before Ctrl-Break", command, d)
		}
	}
}

// TestCtrlBreakForTheDeaf: who does not listen to Ctrl-C at all gets Ctrl-Break
// once nobody else is left, and not after seconds.
func TestCtrlBreakForTheDeaf(t *testing.T) {
	needsWindows(t, "it has no Ctrl-Break")
	b := patient(backendFor(t))
	c := start(t, b, proc.Spec{Command: `start /b "" ` + tool("hold") + " & " + tool("hold")})
	c.awaitOutput("\n", 2)
	signalled(t, c, proc.SIGTERM)
	c.await(proc.TreeEmpty)
}

// TestDeaf: who is started in a process group of its own ignores Ctrl-C.
func TestDeaf(t *testing.T) {
	b := backendFor(t)
	for flags, want := range map[uint32]bool{0: false, windows.CREATE_NEW_PROCESS_GROUP: true} {
		c := start(t, b, proc.Spec{Command: tool("spawn", fmt.Sprint(flags))})
		c.awaitOutput("\n", 1)
		if got := isDeaf(uint32(heldPIDs(t, c.output(0))[0])); got != want {
			t.Errorf("flags %#x: deaf %v", flags, got)
		}
	}
	if isDeaf(0) {
		t.Error("a process that cannot be looked into is deaf")
	}
}

// TestOwnConsole: a process with a console of its own is detached.
func TestOwnConsole(t *testing.T) {
	needsWindows(t, "it does not tell a console's original title")
	b := backendFor(t)
	for name, flags := range map[string]uint32{"new": windows.CREATE_NEW_CONSOLE, "hidden": windows.CREATE_NO_WINDOW} {
		c := start(t, b, proc.Spec{Command: tool("spawn", fmt.Sprint(flags))})
		if e := c.await(proc.SessionEmpty); len(e.Detached) != 1 {
			t.Errorf("%s console: detached %+v", name, e.Detached)
		}
		signalled(t, c, proc.SIGTERM)
		c.await(proc.TreeEmpty)
	}
}

// TestWindowedProgram: a program with windows has no console to be attached to.
func TestWindowedProgram(t *testing.T) {
	needsWindows(t, "its wscript is a stub")
	b := backendFor(t)
	path := filepath.Join(t.TempDir(), "stay.js")
	if err := os.WriteFile(path, []byte("WScript.Sleep(3600000);\r\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	c := start(t, b, proc.Spec{Command: `start "" /b wscript.exe //B //NoLogo "` + path + `"`})
	e := c.await(proc.SessionEmpty)
	if len(e.Detached) != 1 || !strings.EqualFold(e.Detached[0].Name, "wscript.exe") {
		t.Errorf("detached %+v", e.Detached)
	}
	signalled(t, c, proc.SIGTERM)
	c.await(proc.TreeEmpty)
}

// TestNewTitle: a program that changes its console's title stays attached.
func TestNewTitle(t *testing.T) {
	b := backendFor(t)
	c := start(t, b, proc.Spec{Command: `title other & start /b "" ` + tool("hold")})
	c.awaitOutput("\n", 1)
	c.await(proc.ShellExited)
	on, err := c.Attached(limited(t, bound))
	if err != nil || len(on) != 1 {
		t.Errorf("attached %+v, %v", on, err)
	}
}

// TestNoWindow: nothing that a command does shows a window, and neither does a
// signal, also when the server has no console itself.
func TestNoWindow(t *testing.T) {
	needsWindows(t, "it runs without a display here")
	w := newWindowWatch(t)
	cmd := exec.Command(os.Args[0], testHelperArg, "stopping", tool("hold")+" & "+tool("hold"))
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: windows.DETACHED_PROCESS}
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_, err = bufio.NewReader(out).ReadString('\n') // the command runs
	w.look(cmd.Process.Pid)
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	in.Close()
	for looks := 1; ; looks++ {
		select {
		case werr := <-ended:
			t.Logf("%d looks", looks)
			if err != nil || werr != nil {
				t.Error(err, werr)
			}
			return
		default:
			w.look(cmd.Process.Pid)
		}
	}
}

// windowWatch finds windows that processes below another one show.
type windowWatch struct {
	t        *testing.T
	callback uintptr // there is room for some 2000 in a process
	before   map[windows.HWND]bool
	seen     func(window windows.HWND, owner int)
}

func newWindowWatch(t *testing.T) *windowWatch {
	t.Helper()
	w := &windowWatch{t: t, before: make(map[windows.HWND]bool)}
	w.callback = syscall.NewCallback(func(window windows.HWND, _ uintptr) uintptr {
		var owner uint32
		if _, err := windows.GetWindowThreadProcessId(window, &owner); err == nil && windows.IsWindowVisible(window) {
			w.seen(window, int(owner))
		}
		return 1 // go on
	})
	w.enumerate(func(window windows.HWND, _ int) { w.before[window] = true })
	return w
}

func (w *windowWatch) enumerate(seen func(window windows.HWND, owner int)) {
	w.t.Helper()
	w.seen = seen
	if err := windows.EnumWindows(w.callback, nil); err != nil {
		w.t.Fatal(err)
	}
}

// look fails the test if there is a new window of a process below root. A
// console's window counts as its first process's, or is Windows Terminal's.
func (w *windowWatch) look(root int) {
	w.t.Helper()
	w.enumerate(func(window windows.HWND, owner int) {
		name := identify(owner).name
		if !w.before[window] && (isBelow(owner, root) || strings.EqualFold(name, "WindowsTerminal.exe")) {
			w.before[window] = true
			w.t.Errorf("%s (%d) shows a window", name, owner)
		}
	})
}

// isBelow reports whether a process is root or descends from it.
func isBelow(pid, root int) bool {
	for range 10 {
		if pid == root {
			return true
		}
		parent, err := parentOf(pid)
		if err != nil || parent == 0 {
			return false
		}
		pid = parent
	}
	return false
}

func parentOf(pid int) (int, error) {
	h, err := windows.OpenProcess(windows.PROCESS_QUERY_INFORMATION, false, uint32(pid))
	if err != nil {
		return 0, err
	}
	defer windows.CloseHandle(h)
	var info processBasic
	err = windows.NtQueryInformationProcess(h, windows.ProcessBasicInformation, unsafe.Pointer(&info), uint32(unsafe.Sizeof(info)), nil)
	return int(info.parent), err
}

// TestConsoleHost: the process that the system adds for a console, if it is in
// the job, is not the command's.
func TestConsoleHost(t *testing.T) {
	b := backendFor(t)
	c := start(t, b, proc.Spec{Command: `start /b "" ` + tool("hold")})
	c.awaitOutput("\n", 1)
	c.await(proc.ShellExited)
	pids, err := c.Process.(*process).job.pids()
	if err != nil {
		t.Fatal(err)
	}
	hosts := 0
	for _, pid := range pids {
		if identify(pid).where == host {
			hosts++
		}
	}
	t.Logf("%d of %d processes of the job are hosts of consoles", hosts, len(pids))
	on, err := c.Attached(limited(t, bound))
	if err != nil || len(on) != 1 || len(on)+hosts != len(pids) {
		t.Errorf("attached %+v, %v; in the job %v", on, err, pids)
	}
}

// TestServerConsole: a signal never reaches the server's own console.
func TestServerConsole(t *testing.T) {
	cmd := exec.Command(os.Args[0], testHelperArg, "selfsignal")
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: windows.CREATE_NO_WINDOW} // with a console
	out, err := cmd.CombinedOutput()
	want := fmt.Sprintf("console [%d], reached []\n", cmd.ProcessState.Pid())
	if err != nil || string(out) != want {
		t.Errorf("%q, %v; want %q", out, err, want)
	}
}

// server is a process of its own with a backend, in a job of its own, as a
// client that uses jobs would start it.
func server(t *testing.T, commands ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0], append([]string{testHelperArg, "server"}, commands...)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: windows.CREATE_SUSPENDED}
	return cmd
}

// TestServerKilled: nothing outlives the server, however it ends, also inside
// a client's job.
func TestServerKilled(t *testing.T) {
	outer, err := newJob()
	if err != nil {
		t.Fatal(err)
	}
	defer outer.close()
	const n = 7 // one of them in no execution
	cmd := server(t,
		tool("hold"),
		`start /b "" `+tool("hold")+" & "+tool("hold"),
		tool("spawn", fmt.Sprint(windows.DETACHED_PROCESS)),
		`start /b "" `+tool("hold")+" & start /b cmd /c "+tool("hold"))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	err = cmd.Process.WithHandle(func(h uintptr) {
		if err := outer.adopt(windows.Handle(h)); err != nil {
			t.Error(err)
		}
		if err := resumeProcess(windows.Handle(h)); err != nil {
			t.Error(err)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	lines := bufio.NewReader(out)
	for range n {
		line, err := lines.ReadString('\n')
		if err != nil {
			t.Fatalf("%v after %q", err, said.String())
		}
		said.WriteString(line)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	awaitGone(t, heldPIDs(t, said.String()), 5*time.Second)
}

func resumeProcess(h windows.Handle) error {
	status, _, _ := windows.NewLazySystemDLL("ntdll.dll").NewProc("NtResumeProcess").Call(uintptr(h))
	if status != 0 {
		return windows.NTStatus(status)
	}
	return nil
}

// TestBreakaway: a process cannot leave the job.
func TestBreakaway(t *testing.T) {
	b := backendFor(t)
	code, stdout, _ := start(t, b, proc.Spec{Command: tool("spawn", fmt.Sprint(windows.CREATE_BREAKAWAY_FROM_JOB))}).finish()
	if code != 1 || !strings.Contains(stdout, "denied") {
		t.Errorf("code %d, %q", code, stdout)
	}
}

// TestKillTree: a tree of 40, in several shapes, ends at once.
func TestKillTree(t *testing.T) {
	b := backendFor(t)
	c := start(t, b, proc.Spec{Command: strings.Repeat(`start /b "" `+tool("hold")+" & ", 20) +
		strings.Repeat(tool("spawn", fmt.Sprint(windows.DETACHED_PROCESS))+" & ", 19) + tool("hold")})
	c.awaitOutput("\n", 40)
	pids := heldPIDs(t, c.output(0))
	begun := time.Now()
	if r, err := c.Kill(limited(t, bound)); err != nil || len(r.Unkillable) > 0 {
		t.Errorf("kill: %+v, %v", r, err)
	}
	t.Logf("a tree of 40 ended in %v", time.Since(begun))
	awaitGone(t, pids, time.Second) // the job counts them out a moment earlier
}

// TestSiblings: no command inherits another one's pipes (an end of file would
// wait for both), also if they are started in the same moment.
func TestSiblings(t *testing.T) {
	b := backendFor(t)
	others, err := openPipes(func() *textDecoder { return newTextDecoder(nil) })
	if err != nil {
		t.Fatal(err)
	}
	defer others.closeAll()
	hold := start(t, b, proc.Spec{Command: tool("hold")})
	hold.awaitOutput("\n", 1)
	others.closeFar()
	ended := make(chan error, 1)
	go func() { ended <- others.out.CopyTo(func([]byte) {}) }()
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(bound):
		t.Error("another command holds the pipe")
		others.out.Close()
		<-ended
	}
	if _, err := hold.Kill(limited(t, bound)); err != nil {
		t.Error(err)
	}
}

// TestConsoleParameter: what tells a process without a console from one that
// is not on its console yet.
func TestConsoleParameter(t *testing.T) {
	b := backendFor(t)
	for flags, none := range map[uint32]bool{0: false, windows.CREATE_NO_WINDOW: false, windows.DETACHED_PROCESS: true} {
		c := start(t, b, proc.Spec{Command: tool("spawn", fmt.Sprint(flags))})
		c.awaitOutput("\n", 1)
		pid := heldPIDs(t, c.output(0))[0]
		console, err := consoleParameter(uint32(pid))
		if err != nil || (console == 0 || console == consoleNone) != none {
			t.Errorf("flags %#x: %#x, %v", flags, console, err)
		}
	}
}

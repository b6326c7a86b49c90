//go:build linux

package procunix

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"github.com/yieldshell/mcp-yieldshell/proc"
	"github.com/yieldshell/mcp-yieldshell/proc_unix/keeper"
	"github.com/yieldshell/mcp-yieldshell/proc_unix/tree"
)

// shapes are ways to get away. Each says "up" when it has got there.
var shapes = []struct {
	name, command string
	needs         string // a program, or a test that must succeed
}{
	{"background", `sleep 1000 & sleep 1000 & echo up; wait`, ""},
	{"nohup", `nohup sleep 1000 >/dev/null 2>&1 & disown; echo up`, "bash"},
	{"setsid", `setsid sleep 1000 & sleep 0.1; echo up`, "setsid"},
	{"double fork", `(env -i setsid sh -c "sleep 1000 & exec sleep 1000" >/dev/null 2>&1 &); sleep 0.1; echo up`, "setsid"},
	{"stopped", `sleep 1000 & kill -STOP $!; echo up; wait`, ""},
	{"immune", `trap "" TERM HUP INT; (trap "" TERM HUP INT; while :; do sleep 1; done) & echo up; while :; do sleep 1; done`, ""},
	{"storm", `i=0; while [ $i -lt 200 ]; do setsid sleep 1000 & i=$((i+1)); done; echo up; wait`, "setsid"},
	{"chain", `cat >r.sh <<'E'
setsid sh r.sh &
sleep 0.01
E
sh r.sh; echo up`, "setsid"},
	{"tree", `cat >t.sh <<'E'
[ $1 -eq 0 ] && exec sleep 1000
for i in 1 2 3 4 5 6 7 8; do sh t.sh $(($1-1)) & done; wait
E
sh t.sh 3 & sleep 1; echo up; wait`, ""},
	{"subreaper", `python3 -c '
import ctypes, os, time
ctypes.CDLL(None).prctl(36, 1)
if os.fork() == 0:
    if os.fork() == 0:
        os.setsid()
        print("up", flush=True)
        time.sleep(1000)
    os._exit(0)
time.sleep(1000)'`, "python3"},
	{"namespace", `unshare -pf sh -c 'sleep 1000 & echo up; sleep 1000'`, "unshare -pf true"},
}

// inDir returns the processes whose working directory is dir: a mark that
// survives an empty environment. Zombies do not count.
func inDir(dir string) []int {
	entries, _ := os.ReadDir("/proc")
	var pids []int
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if cwd, err := os.Readlink("/proc/" + e.Name() + "/cwd"); err == nil && cwd == dir && alive(pid) {
			pids = append(pids, pid)
		}
	}
	return pids
}

func awaitEmpty(t *testing.T, dir string, bound time.Duration) {
	t.Helper()
	deadline := time.Now().Add(bound)
	for {
		left := inDir(dir)
		if len(left) == 0 {
			return
		}
		if time.Now().After(deadline) {
			for _, pid := range left {
				unix.Kill(pid, unix.SIGKILL)
			}
			t.Fatalf("%d survivors: %v", len(left), left)
		}
		time.Sleep(time.Millisecond) // strangers' ends make no event
	}
}

// awaitSome waits until there is a process to end. One look may miss those
// that come and go.
func awaitSome(t *testing.T, dir string) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); len(inDir(dir)) == 0; {
		if time.Now().After(deadline) {
			t.Fatal("nothing to end")
		}
	}
}

// realTempDir is a temporary folder as the kernel names it.
func realTempDir(t *testing.T) string {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// server is a server process of its own.
type server struct {
	cmd   *exec.Cmd
	stdin io.WriteCloser
	out   *bufio.Reader
}

func startServer(t *testing.T, mode, dir, command string) *server {
	t.Helper()
	cmd := exec.Command(os.Args[0], serverArg, mode, dir, command)
	return startServerCmd(t, cmd)
}

func startServerCmd(t *testing.T, cmd *exec.Cmd) *server {
	t.Helper()
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	s := &server{cmd: cmd, stdin: stdin, out: bufio.NewReader(out)}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	return s
}

func (s *server) line(t *testing.T) string {
	t.Helper()
	line, err := s.out.ReadString('\n')
	if err != nil {
		t.Fatalf("the server said %q, %v", line, err)
	}
	return strings.TrimSpace(line)
}

// supervisors returns the ids of a server's supervisors.
func (s *server) supervisors(t *testing.T) []int {
	t.Helper()
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", s.cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	var pids []int
	for _, task := range tasks {
		data, _ := os.ReadFile(task)
		for _, pid := range numbers(t, data) {
			if name, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)); bytes.HasPrefix(name, []byte(keeper.Name)) {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}

func TestNothingSurvives(t *testing.T) {
	const pause = 100 * time.Millisecond
	killServer := func(t *testing.T, s *server) { s.cmd.Process.Kill() }
	killSupervisors := func(t *testing.T, s *server) {
		for _, pid := range s.supervisors(t) {
			unix.Kill(pid, unix.SIGKILL)
		}
	}
	ends := []struct {
		name string
		end  func(*testing.T, *server)
	}{
		{"server", killServer},
		{"supervisor", killSupervisors},
		{"server then supervisor", func(t *testing.T, s *server) {
			pids := s.supervisors(t)
			killServer(t, s)
			time.Sleep(pause)
			for _, pid := range pids {
				if name, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)); bytes.HasPrefix(name, []byte(keeper.Name)) {
					unix.Kill(pid, unix.SIGKILL)
				}
			}
		}},
		{"supervisor then server", func(t *testing.T, s *server) {
			pids := s.supervisors(t)
			killSupervisors(t, s)
			for len(pids) > 0 { // on a loaded machine that alone takes a while
				pids = slices.DeleteFunc(pids, func(pid int) bool { return !alive(pid) })
				time.Sleep(time.Millisecond)
			}
			time.Sleep(pause)
			killServer(t, s)
		}},
	}
	for _, shape := range shapes {
		t.Run(shape.name, func(t *testing.T) {
			if shape.needs != "" && exec.Command("sh", "-c", "command -v "+shape.needs+" >/dev/null && "+shape.needs+" --version >/dev/null").Run() != nil &&
				exec.Command("sh", "-c", shape.needs).Run() != nil {
				t.Skipf("%s is not available", shape.needs)
			}
			t.Run("kill", func(t *testing.T) {
				dir := realTempDir(t)
				b := newTestBackend(t)
				p := startShape(t, b, dir, shape.command, shape.needs)
				started := time.Now()
				if r, err := p.Kill(context.Background()); err != nil || len(r.Unkillable) > 0 {
					t.Errorf("kill: %+v, %v", r, err)
				}
				t.Logf("killed in %v", time.Since(started))
				awaitEmpty(t, dir, 0)
			})
			for _, end := range ends {
				t.Run(end.name, func(t *testing.T) {
					dir := realTempDir(t)
					command := shape.command
					if shape.needs == "bash" {
						command = "exec bash -c " + quote(command)
					}
					s := startServer(t, "hold", dir, command)
					for s.line(t) != "up" {
					}
					awaitSome(t, dir)
					started := time.Now()
					end.end(t, s)
					awaitEmpty(t, dir, 5*time.Second)
					t.Logf("ended in %v", time.Since(started))
				})
			}
		})
	}
}

// startShape starts a command and waits until it says "up".
func startShape(t *testing.T, b *Backend, dir, command, shell string) proc.Process {
	t.Helper()
	spec := proc.Spec{Command: command, Dir: dir, Env: os.Environ()}
	if shell == "bash" {
		spec.Shell = shell
	}
	p, err := b.Start(spec)
	if err != nil {
		t.Fatal(err)
	}
	up := make(chan struct{})
	var once sync.Once
	var pumps sync.WaitGroup
	pumps.Go(func() {
		var said []byte
		p.Stdout().CopyTo(func(data []byte) {
			if said = append(said, data...); bytes.Contains(said, []byte("up\n")) {
				once.Do(func() { close(up) })
			}
		})
	})
	pumps.Go(func() { p.Stderr().CopyTo(func(data []byte) { t.Logf("stderr: %s", data) }) })
	t.Cleanup(func() {
		p.Close()
		closePipes(p)
		pumps.Wait()
	})
	select {
	case <-up:
	case <-time.After(20 * time.Second):
		t.Fatal("the command does not get up")
	}
	return p
}

func closePipes(p proc.Process) {
	p.Stdin().Close()
	p.Stdout().Close()
	p.Stderr().Close()
}

// onlySupervisor is the id of the supervisor that runs p.
func supervisorOf(p proc.Process) int { return p.(*process).s.proc.Pid }

// TestLost: the end of a supervisor is reported once everything has ended,
// and the next command has another one.
func TestLost(t *testing.T) {
	dir := realTempDir(t)
	b := newTestBackend(t)
	p := startShape(t, b, dir, "setsid sleep 1000 & sleep 0.1; echo up; sleep 1000", "")
	unix.Kill(supervisorOf(p), unix.SIGKILL)
	wantLost(t, p)
	awaitEmpty(t, dir, 0)
	if zombies := zombieChildren(t); len(zombies) > 0 {
		t.Errorf("zombies: %v", zombies)
	}
	if _, err := p.Signal(context.Background(), proc.SIGTERM); !errors.Is(err, proc.ErrGone) {
		t.Errorf("signal: %v", err)
	}
	wantOutput(t, b, "echo fine", "fine\n")
}

func wantLost(t *testing.T, p proc.Process) {
	t.Helper()
	timeout := time.After(20 * time.Second)
	for {
		select {
		case e, ok := <-p.Events():
			if !ok {
				t.Fatal("no event for a lost supervisor")
			}
			if e.Kind == proc.Lost {
				if e.Err == nil {
					t.Error("lost without a reason")
				}
				return
			}
		case <-timeout:
			t.Fatal("the loss is not reported")
		}
	}
}

func zombieChildren(t *testing.T) []int {
	var tr tree.Tree
	tr.Open()
	var pids []int
	for _, m := range tr.Children() {
		if !m.Live() {
			pids = append(pids, m.PID)
		}
	}
	return pids
}

func wantOutput(t *testing.T, b *Backend, command, want string) {
	t.Helper()
	if got := output1(t, b, command); got != want {
		t.Errorf("%s: %q, want %q", command, got, want)
	}
}

// output1 runs a command to its end and returns its standard output.
func output1(t testing.TB, b *Backend, command string) string {
	t.Helper()
	p, err := b.Start(proc.Spec{Command: command, Dir: "/", Env: os.Environ()})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	defer closePipes(p)
	var buf bytes.Buffer
	if err := p.Stdout().CopyTo(func(data []byte) { buf.Write(data) }); err != nil {
		t.Error(err)
	}
	for range p.Events() {
	}
	return buf.String()
}

// TestStoppedSupervisor: a supervisor that is stopped goes on at once, be it
// by its own command or while it is idle.
func TestStoppedSupervisor(t *testing.T) {
	b := newTestBackend(t)
	for range 5 {
		wantOutput(t, b, "kill -STOP $PPID; echo up", "up\n")
		for _, s := range b.allSupervisors() {
			unix.Kill(s.proc.Pid, unix.SIGSTOP)
		}
	}
}

// TestStoppedWithServer: a supervisor that is stopped when its server is
// killed, and that the server could not wake, ends its tree all the same.
func TestStoppedWithServer(t *testing.T) {
	dir := realTempDir(t)
	s := startServer(t, "hold", dir, "sleep 1000 & echo up; sleep 1000")
	if got := s.line(t); got != "up" {
		t.Fatal(got)
	}
	unix.Kill(s.cmd.Process.Pid, unix.SIGSTOP)
	awaitState(t, s.cmd.Process.Pid, 'T')
	for _, pid := range s.supervisors(t) {
		unix.Kill(pid, unix.SIGSTOP)
		awaitState(t, pid, 'T')
	}
	s.cmd.Process.Kill()
	awaitEmpty(t, dir, 5*time.Second)
}

// TestSilence: one half of the bound gone is not yet a silence that lasts,
// since the server may have been away for all of it.
func TestSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSilence(10 * time.Second)
		defer s.Stop()
		time.Sleep(time.Hour) // the server is stopped
		<-s.C
		if s.lasts() {
			t.Error("no second half")
		}
		s.restart(20 * time.Second)
		begun := time.Now()
		<-s.C
		if s.lasts() {
			t.Error("no second half after the restart")
		}
		<-s.C
		if !s.lasts() || time.Since(begun) != 20*time.Second {
			t.Errorf("lasts %v after %v", s.lasts(), time.Since(begun))
		}
	})
}

// TestQuestionsCostNoMemory: a supervisor that is asked over and over does not
// grow.
func TestQuestionsCostNoMemory(t *testing.T) {
	b := newTestBackend(t)
	p := startShape(t, b, realTempDir(t), "for i in 1 2 3 4 5 6 7 8; do sleep 1000 & done; echo up; wait", "")
	ask := func(n int) {
		for range n {
			if _, err := p.Detached(context.Background()); err != nil {
				t.Fatal(err)
			}
		}
	}
	ask(200)
	before := residentSize(t, supervisorOf(p))
	ask(2000)
	if grown := residentSize(t, supervisorOf(p)) - before; grown > 4<<20 {
		t.Errorf("grown by %d KiB", grown>>10)
	}
}

// residentSize is the memory that a process occupies, in bytes.
func numbers(t *testing.T, data []byte) []int {
	t.Helper()
	var ns []int
	for field := range bytes.FieldsSeq(data) {
		n, err := strconv.Atoi(string(field))
		if err != nil {
			t.Fatal(err)
		}
		ns = append(ns, n)
	}
	return ns
}

func residentSize(t *testing.T, pid int) int {
	t.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		t.Fatal(err)
	}
	return numbers(t, data)[1] * os.Getpagesize()
}

// TestWithoutProc: without /proc commands run, though less is owned.
func TestWithoutProc(t *testing.T) {
	const hide = `umount -l /proc && exec "$@"`
	if exec.Command("unshare", "-m", "sh", "-c", hide, "sh", "true").Run() != nil {
		t.Skip("this user may not hide /proc")
	}
	s := startServerCmd(t, exec.Command("unshare", "-m", "sh", "-c", hide, "sh",
		os.Args[0], serverArg, "run", "/", "echo fine"))
	if got := s.line(t); got != "fine" {
		t.Error(got)
	}
}

// TestEarlierChildren: children that the process had before, from a wrapper
// script that became this program, are nothing that a supervisor left.
func TestEarlierChildren(t *testing.T) {
	child := exec.Command("sleep", "1000")
	child.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	defer child.Wait()
	defer child.Process.Kill()
	b := newTestBackend(t)
	p := startShape(t, b, realTempDir(t), "echo up; sleep 1000", "")
	unix.Kill(supervisorOf(p), unix.SIGKILL)
	wantLost(t, p)
	if !alive(child.Process.Pid) {
		t.Error("it was killed")
	}
}

func awaitState(t *testing.T, pid int, want byte) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		data, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)) // an error is no state
		if rest := data[bytes.LastIndexByte(data, ')')+1:]; len(rest) > 1 && rest[1] == want {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("process %d does not get into state %c", pid, want)
		}
	}
}

// TestShield: a command that signals its parent does not end the supervisor,
// and the next one starts with every signal's default disposition.
func TestShield(t *testing.T) {
	b := newTestBackend(t)
	for sig := range unix.Signal(65) {
		if sig == unix.SIGKILL || sig == unix.SIGSTOP || sig == 0 || !shielded(sig) {
			continue
		}
		wantOutput(t, b, fmt.Sprintf("kill -%d $PPID; kill -%[1]d $PPID; echo alive", sig), "alive\n")
	}
	wantOutput(t, b, "grep -E '^Sig(Ign|Blk)' /proc/self/status", "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n")
}

// shielded reports whether the supervisor survives a signal. Those that C
// libraries keep for themselves it survives where there is a handler for it.
func shielded(sig unix.Signal) bool {
	return sig < 32 || sig > 34 || runtime.GOARCH == "amd64" || runtime.GOARCH == "arm64"
}

// TestIdleSupervisorDies: it is replaced, and no command notices.
func TestIdleSupervisorDies(t *testing.T) {
	b := newTestBackend(t)
	for range 5 {
		wantOutput(t, b, "echo fine", "fine\n")
		b.kinList.Lock()
		for pid := range b.kin {
			unix.Kill(pid, unix.SIGKILL)
		}
		b.kinList.Unlock()
	}
}

// TestLeavesSessionLater: leaving the session makes no event, and is noticed
// all the same.
func TestLeavesSessionLater(t *testing.T) {
	if exec.Command("python3", "-c", "").Run() != nil {
		t.Skip("python3 is not available")
	}
	b := newTestBackend(t)
	dir := realTempDir(t)
	p := startShape(t, b, dir, `python3 -c '
import os, time
print("up", flush=True)
time.sleep(0.3)
os.setsid()
time.sleep(1000)' & `, "")
	if e := <-p.Events(); e.Kind != proc.ShellExited {
		t.Fatalf("event %+v", e)
	}
	select {
	case e := <-p.Events():
		if e.Kind != proc.SessionEmpty || len(e.Detached) != 1 || !strings.HasPrefix(e.Detached[0].Name, "python") {
			t.Errorf("event %+v", e)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("leaving the session is not noticed")
	}
}

// TestJobControl: the groups that set -m makes are still in the session.
func TestJobControl(t *testing.T) {
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("bash is not available")
	}
	b := newTestBackend(t)
	p := startShape(t, b, realTempDir(t), "set -m; sleep 1000 & echo up", "bash")
	if e := <-p.Events(); e.Kind != proc.ShellExited {
		t.Fatalf("event %+v", e)
	}
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		ms, err := p.Attached(context.Background())
		if err == nil && len(ms) == 1 && ms[0].Name == "sleep" {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("attached %+v, %v", ms, err)
		}
	}
	r, err := p.Signal(context.Background(), proc.SIGTERM)
	if err != nil || r.Reached != 1 || r.OnlyDefault {
		t.Errorf("signal: %+v, %v", r, err)
	}
	if e := <-p.Events(); e.Kind != proc.SessionEmpty {
		t.Errorf("event %+v", e)
	}
}

// TestZombiesAreGone: a session that holds only zombies is empty. A daemon
// that never waits keeps them.
func TestZombiesAreGone(t *testing.T) {
	if exec.Command("python3", "-c", "").Run() != nil {
		t.Skip("python3 is not available")
	}
	b := newTestBackend(t)
	p := startShape(t, b, realTempDir(t), `python3 -c '
import os, time
if os.fork() > 0: os._exit(0)
if os.fork() == 0: os._exit(0) # in the session
time.sleep(0.2)
os.setsid()
print("up", flush=True)
time.sleep(1000)'`, "")
	for _, want := range []proc.EventKind{proc.ShellExited, proc.SessionEmpty} {
		select {
		case e := <-p.Events():
			if e.Kind != want {
				t.Fatalf("event %+v", e)
			}
		case <-time.After(10 * time.Second):
			t.Fatalf("no event %v", want)
		}
	}
}

// TestSignalReports covers who counts as reached, and whether the signal had
// its default effect.
func TestSignalReports(t *testing.T) {
	for _, c := range []struct {
		name, command string
		reached       int
		onlyDefault   bool
	}{
		{"shell alone", "echo up; exec sleep 1000", 1, true},
		{"shell and child", "echo up; sleep 1000; true", 2, false},
		{"ignored", `trap "" TERM; echo up; exec sleep 1000`, 1, false},
		{"handled", `trap "exit 7" TERM; echo up; while :; do :; done`, 1, false},
		{"detached child", `setsid sleep 1000 & sleep 0.1; echo up; exec sleep 1000`, 2, false},
		{"stopped", `echo up; kill -STOP $$; exec sleep 1000`, 1, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newTestBackend(t)
			p := startShape(t, b, realTempDir(t), c.command, "")
			awaitMembers(t, p, c.reached, c.name == "stopped")
			r, err := p.Signal(context.Background(), proc.SIGTERM)
			if err != nil || r.Reached != c.reached || r.OnlyDefault != c.onlyDefault || len(r.Denied) > 0 {
				t.Errorf("signal: %+v, %v; want %d reached, only default %v", r, err, c.reached, c.onlyDefault)
			}
			if c.name == "stopped" { // continued, so that it can end
				select {
				case e := <-p.Events():
					if e.Exit.Signal != proc.SIGTERM {
						t.Errorf("event %+v", e)
					}
				case <-time.After(10 * time.Second):
					t.Error("a stopped process does not end")
				}
			}
		})
	}
}

// awaitMembers waits until the execution has n processes, and its shell has
// come to where it stays.
func awaitMembers(t *testing.T, p proc.Process, n int, stopped bool) {
	t.Helper()
	if stopped {
		awaitState(t, p.PID(), 'T')
		return
	}
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		a, err := p.Attached(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		d, err := p.Detached(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		name, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", p.PID()))
		if len(a)+len(d)+1 == n && (n != 1 || string(name) == "sleep\n" || string(name) == "sh\n") {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("attached %v, detached %v, want %d", a, d, n)
		}
	}
}

// parity prints what a process inherits. Numbers that differ from process to
// process are left out.
const parity = `ulimit -a; umask; grep -E '^(Sig(Blk|Ign|Cgt)|NoNewPrivs|Seccomp|CapEff|Cpus_allowed_list)' /proc/self/status
ls /proc/$$/fd; pwd; nice; cat /proc/self/oom_score_adj; awk '{print ($1==$5), ($1==$6), $7}' /proc/$$/stat
env | sort; cat /proc/self/cgroup; cat /proc/self/timerslack_ns 2>/dev/null`

// TestParity compares a command's surroundings with those of a direct spawn,
// under a launcher with habits.
func TestParity(t *testing.T) {
	dir := realTempDir(t)
	clean := exec.Command("sh", "-c", parity)
	clean.Dir = dir
	clean.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	clean.Stdin, clean.Stdout, clean.Stderr = r, w, w
	if err := clean.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	want, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	if err := clean.Wait(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, launcher string }{
		{"plain", `exec "$@"`},
		{"ignored signals", `trap "" HUP INT QUIT PIPE TERM USR1 TSTP TTIN TTOU CHLD CONT; exec "$@"`},
		{"inherited descriptors", `exec 7>file 9</etc/hosts; exec "$@"`},
		{"blocked signals", `exec perl -e 'use POSIX;
sigprocmask(SIG_BLOCK, POSIX::SigSet->new(1..31, 35..64)); $SIG{RTMIN} = "IGNORE"; exec @ARGV' "$@"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			cmd := exec.Command("bash", "-c", c.launcher, "launcher", os.Args[0], serverArg, "run", dir, parity)
			cmd.Dir = dir
			got, err := cmd.Output()
			if err != nil {
				t.Fatalf("%v: %s", err, got)
			}
			if diff := diffLines(string(want), string(got)); diff != "" {
				t.Errorf("surroundings differ:\n%s", diff)
			}
		})
	}
}

func diffLines(want, got string) string {
	var diff strings.Builder
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	// Shells and environments of the launchers count themselves.
	ignore := func(l string) bool {
		return strings.HasPrefix(l, "_=") || strings.HasPrefix(l, "SHLVL=") || strings.HasPrefix(l, "OLDPWD=") || strings.HasPrefix(l, "PWD=")
	}
	for _, l := range w {
		if !slices.Contains(g, l) && !ignore(l) {
			fmt.Fprintf(&diff, "- %s\n", l)
		}
	}
	for _, l := range g {
		if !slices.Contains(w, l) && !ignore(l) {
			fmt.Fprintf(&diff, "+ %s\n", l)
		}
	}
	return diff.String()
}

// TestDescriptorLimit: a start that finds no descriptors fails, and those
// after it succeed when there are some again.
func TestDescriptorLimit(t *testing.T) {
	s := startServer(t, "limit", "/", "sleep 1000")
	if got := s.line(t); got != "failed: true started: true" {
		t.Error(got)
	}
	if got := s.line(t); got != "recovered" {
		t.Error(got)
	}
}

// TestUnkillable: another user's process is reported and not waited for.
func TestUnkillable(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can set this up")
	}
	dir := publicDir(t)
	copyFile(t, os.Args[0], dir+"/root", 0o755|os.ModeSetuid)
	cmd := exec.Command(dir+"/test", serverArg, "kill", dir, "./root test-server root / up & wait")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	s := startServerCmd(t, cmd)
	if got := s.line(t); got != "up" {
		t.Fatal(got)
	}
	fmt.Fprintln(s.stdin, "go")
	if got := s.line(t); got != "unkillable 1 <nil> true" {
		t.Error(got)
	}
	if got := s.line(t); got != "closed <nil> true" { // nor by Close
		t.Error(got)
	}
	s.cmd.Process.Kill()
	for _, pid := range inDir(dir) {
		unix.Kill(pid, unix.SIGKILL)
	}
}

// publicDir is a temporary folder with the test program that every user may
// use.
func publicDir(t *testing.T) string {
	dir := realTempDir(t)
	for d := dir; d != "/"; d = filepath.Dir(d) {
		if err := os.Chmod(d, 0o755|os.ModeSticky); err != nil {
			break
		}
	}
	copyFile(t, os.Args[0], dir+"/test", 0o755)
	return dir
}

// TestHidden: where /proc shows a user no process that must not be looked into,
// not even an own one, such processes are owned like any other.
func TestHidden(t *testing.T) {
	const launcher = `mount -t proc -o hidepid=2 proc /proc && exec setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all --bounding-set=-all "$@"`
	if out, err := exec.Command("unshare", "-m", "sh", "-c", launcher, "sh", "true").CombinedOutput(); err != nil {
		t.Skipf("this user may not hide processes: %s", out)
	}
	dir := publicDir(t)
	// What a program does that holds secrets, so that nobody reads its memory.
	hidden := fmt.Sprintf(`perl -e 'syscall(%d, %d, 0); system $ARGV[0]; $| = 1; print "up\n"; sleep 1000' `, unix.SYS_PRCTL, unix.PR_SET_DUMPABLE)
	const afterShell = `"while kill -0 $$ 2>/dev/null; do sleep 0.01; done"`
	for _, c := range []struct{ name, command, want string }{
		{"shell", `exec ` + hidden + `true`, "attached 0 detached 0 reached 1"},
		{"attached", hidden + `true & wait`, "attached 1 detached 0 reached 2"},
		{"without shell", hidden + afterShell + ` &`, "attached 1 detached 0 reached 1"},
		{"detached", `setsid ` + hidden + afterShell + ` &`, "attached 0 detached 1 reached 1"},
		{"with a child", `setsid ` + hidden + `"setsid sleep 1000 & "` + afterShell + ` &`, "attached 0 detached 2 reached 2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			run := func(mode string) *server {
				s := startServerCmd(t, exec.Command("unshare", "-m", "sh", "-c", launcher, "sh",
					dir+"/test", serverArg, mode, dir, c.command))
				if got := s.line(t); got != "up" {
					t.Fatal(got)
				}
				return s
			}
			s := run("count")
			fmt.Fprintln(s.stdin, "go")
			if got := s.line(t); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
			s.stdin.Close()
			awaitEmpty(t, dir, 10*time.Second)

			s = run("kill")
			fmt.Fprintln(s.stdin, "go")
			if got := s.line(t); got != "unkillable 0 <nil> true" {
				t.Error(got)
			}
			awaitEmpty(t, dir, 5*time.Second)

			s = run("hold")
			for _, pid := range s.supervisors(t) {
				unix.Kill(pid, unix.SIGKILL)
			}
			awaitEmpty(t, dir, 5*time.Second)
		})
	}
}

// TestFullProcessTable: a command may take all the processes that its user may
// have, and its supervisor needs no more of them.
func TestFullProcessTable(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can set this up")
	}
	dir := publicDir(t)
	const full = "prlimit --pid $PPID --nproc=1: || exit; sleep 0.1 & setsid sleep 0.2 & read x"
	cmd := exec.Command(dir+"/test", serverArg, "crowd", dir, full)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	if got := startServerCmd(t, cmd).line(t); got != "lost 0" {
		t.Error(got)
	}
}

func copyFile(t *testing.T, from, to string, mode os.FileMode) {
	t.Helper()
	data, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, data, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(to, mode); err != nil {
		t.Fatal(err)
	}
}

// TestMany runs many commands one after the other, and leaves nothing.
func TestMany(t *testing.T) {
	n := 2000
	if testing.Short() {
		n = 200
	}
	b := newTestBackend(t)
	output1(t, b, "true")
	before, zombiesBefore := descriptors(), zombieChildren(t)
	for range n {
		wantOutput(t, b, "echo x", "x\n")
	}
	if after := descriptors(); after > before+2 { // the spare's socket
		t.Errorf("%d descriptors, %d before", after, before)
	}
	if zombies := zombieChildren(t); len(zombies) > len(zombiesBefore) {
		t.Errorf("zombies: %v, before %v", zombies, zombiesBefore)
	}
}

// TestAtOnce starts many commands at a time, which all get through.
func TestAtOnce(t *testing.T) {
	b := newTestBackend(t)
	var wg sync.WaitGroup
	for range 300 {
		wg.Go(func() { wantOutput(t, b, "echo x", "x\n") })
	}
	wg.Wait()
	awaitIdle(t, b, 1)
}

// awaitIdle waits until only n supervisors are left, within 2 s of quiet.
func awaitIdle(t *testing.T, b *Backend, n int) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		b.kinList.Lock()
		left := len(b.kin)
		b.kinList.Unlock()
		if left <= n {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d supervisors after 2 s", left)
		}
	}
}

// TestQuiet: executions that do nothing cost no time.
func TestQuiet(t *testing.T) {
	if testing.Short() {
		t.Skip("measures for seconds")
	}
	b := newTestBackend(t)
	var pids []int
	for range 10 {
		p := startShape(t, b, realTempDir(t), "echo up; exec sleep 1000", "")
		pids = append(pids, supervisorOf(p))
	}
	cpu := func() (ticks int) {
		for _, pid := range pids {
			data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
			if err != nil {
				t.Fatal(err)
			}
			// Behind the name and the state come numbers, the two that
			// count after ten others.
			f := bytes.Fields(data[bytes.LastIndexByte(data, ')')+3:])
			for _, n := range numbers(t, bytes.Join(f[10:12], []byte(" "))) {
				ticks += n
			}
		}
		return ticks
	}
	time.Sleep(100 * time.Millisecond) // let the runtimes come to rest
	before := cpu()
	time.Sleep(3 * time.Second)
	if used := cpu() - before; used > 0 {
		t.Errorf("%d ticks in 3 s", used)
	}
}

// TestReuse: what a supervisor holds does not grow with what it has run.
func TestReuse(t *testing.T) {
	b := newTestBackend(t)
	run := func() int {
		p, err := b.Start(proc.Spec{Command: "true", Dir: "/", Env: os.Environ()})
		if err != nil {
			t.Fatal(err)
		}
		defer closePipes(p)
		for range p.Events() {
		}
		return supervisorOf(p)
	}
	sizes := make(map[int][]int) // of each supervisor
	for range 200 {
		pid := run()
		if kB, ok := privateKB(t, pid); ok { // otherwise it has retired
			sizes[pid] = append(sizes[pid], kB)
		}
	}
	for pid, s := range sizes {
		if len(s) < 20 {
			continue
		}
		first, last := s[10], s[len(s)-1]
		t.Logf("supervisor %d: %d kB after 10, %d kB after %d", pid, first, last, len(s))
		if last > first+(maxSpent>>10+128)*shadow {
			t.Errorf("it has grown")
		}
	}
}

// privateKB is the memory that only this process uses, and whether there is
// such a process.
func privateKB(t *testing.T, pid int) (int, bool) {
	t.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	_, rest, ok := bytes.Cut(data, []byte("Private_Dirty:"))
	if err != nil || !ok {
		return 0, false
	}
	number, _, _ := bytes.Cut(rest, []byte("kB"))
	return numbers(t, number)[0], true
}

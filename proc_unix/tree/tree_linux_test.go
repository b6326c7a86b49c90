package tree

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"
)

func TestParseStat(t *testing.T) {
	const tail = " 1 42 43 0 -1 4194304 0 0 0 0 0 0 0 0 20 0 2 0 987654 1 1"
	want := status{Identity: Identity{PID: 7, start: 987654}, letter: 'S', ppid: 1, pgid: 42, sid: 43, threads: 2}
	for _, line := range []string{"7 (sh) S" + tail, "7 (a) Z 9 (b) c) S" + tail, "7 () S" + tail, "7 (a\nb) S" + tail + "\n"} {
		if got, ok := parseStat([]byte(line)); !ok || got != want {
			t.Errorf("%q: %+v, %v", line, got, ok)
		}
	}
	for _, line := range []string{"", "7", "7 (sh", "7 (sh) S 1 2", ") 7 (", "(sh) S" + tail} {
		if got, ok := parseStat([]byte(line)); ok {
			t.Errorf("%q: %+v", line, got)
		}
	}
}

// TestWalks compares the two ways of finding descendants.
func TestWalks(t *testing.T) {
	cmd := exec.Command("sh", "-c", "(sleep 1000 & sleep 1000 & echo up; wait) & setsid sleep 1000 & wait")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var tr Tree
	tr.Open()
	defer func() {
		for _, m := range tr.walk() {
			_ = tr.Signal(m, syscall.SIGKILL) // fails if it has ended
		}
		_ = cmd.Wait() // killed
	}()
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(10 * time.Second); ; {
		walked, scanned := tr.walk(), tr.scanAll()
		if len(walked) == 5 && Same(walked, scanned) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("walk %+v, scan %+v", walked, scanned)
		}
	}
}

func TestHasDefault(t *testing.T) {
	cmd := exec.Command("sh", "-c", "trap '' HUP; trap : USR1; echo up; read x")
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
	defer func() {
		in.Close()
		_ = cmd.Wait()
	}()
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	var tr Tree
	tr.Open()
	for sig, want := range map[syscall.Signal]bool{syscall.SIGHUP: false, syscall.SIGUSR1: false, syscall.SIGUSR2: true} {
		if got := tr.HasDefault(cmd.Process.Pid, sig); got != want {
			t.Errorf("%v: %v, want %v", sig, got, want)
		}
	}
	if tr.HasDefault(1<<30, syscall.SIGUSR2) {
		t.Error("a process that is not there")
	}
}

func TestMaskIn(t *testing.T) {
	const status = "Name:\tSigIgn: 0\nUmask:\t0022\nSigIgn:\t000000000000a001\nSigCgt:\t80000001ffffffff\n"
	for name, want := range map[string]uint64{"SigIgn:": 0xa001, "SigCgt:": 0x80000001ffffffff} {
		if got, ok := maskIn([]byte(status), name); !ok || got != want {
			t.Errorf("%s %x, %v", name, got, ok)
		}
	}
	for _, bad := range []string{"", "SigBlk", "SigBlk:", "SigBlk:\tx1", "SigBlk:\t00000000000000001"} {
		if got, ok := maskIn([]byte(bad), "SigBlk:"); ok {
			t.Errorf("%q: %x", bad, got)
		}
	}
}

func TestNumbers(t *testing.T) {
	dir := t.TempDir()
	want := 0
	for i := range 2000 { // more than one call returns
		if err := os.Mkdir(fmt.Sprintf("%s/%d", dir, i), 0o700); err != nil {
			t.Fatal(err)
		}
		want += i
	}
	for _, other := range []string{"self", "1a", "-1", "12345678901"} {
		if err := os.Mkdir(dir+"/"+other, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	ns, err := Numbers(dir)
	sum := 0
	for _, n := range ns {
		sum += n
	}
	if err != nil || len(ns) != 2000 || sum != want {
		t.Errorf("%d numbers with the sum %d, %v", len(ns), sum, err)
	}
	if _, err := Numbers(dir + "/none"); err != syscall.ENOENT {
		t.Errorf("%v for a folder that is not there", err)
	}
}

func TestAppendDecimal(t *testing.T) {
	for _, n := range []int{0, 9, 10, 4194304} {
		if got := string(appendDecimal([]byte("/"), n)); got != fmt.Sprintf("/%d", n) {
			t.Errorf("%d: %q", n, got)
		}
	}
}

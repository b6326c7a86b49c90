//go:build unix

package e2e

import (
	"bufio"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestAStderrThatNobodyReadsHoldsUpNothing: clients exist that never read it.
// Here it is full from the beginning, and the server says much.
func TestAStderrThatNobodyReadsHoldsUpNothing(t *testing.T) {
	needPOSIX(t)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	fill(t, w)
	server := exec.Command(program[0], program[1:]...)
	server.Env = append(os.Environ(), "YIELDSHELL_LOG_LEVEL=trace")
	server.Stderr = w
	stdin, err := server.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := server.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	late := time.AfterFunc(20*time.Second, func() { _ = server.Process.Kill() })
	defer late.Stop()
	const ask = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"e2e","version":"1"}}}` + "\n"
	if _, err := io.WriteString(stdin, ask); err != nil {
		t.Fatal(err)
	}
	answer, err := bufio.NewReader(stdout).ReadString('\n')
	if !strings.Contains(answer, "serverInfo") {
		t.Errorf("the answer is %.300q, %v", answer, err)
	}
	stdin.Close()
	if err := server.Wait(); err != nil {
		t.Errorf("the server's end: %v", err)
	}
}

// fill writes to a pipe until it takes no more.
func fill(t *testing.T, w *os.File) {
	t.Helper()
	conn, err := w.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var full error
	err = conn.Control(func(fd uintptr) {
		for full == nil {
			_, full = syscall.Write(int(fd), make([]byte, 4096))
		}
	})
	if err != nil || !errors.Is(full, syscall.EAGAIN) {
		t.Fatal(err, full)
	}
}

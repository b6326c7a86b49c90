//go:build unix

package procunix

import (
	"context"
	"fmt"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/yieldshell/mcp-yieldshell/proc"
	"github.com/yieldshell/mcp-yieldshell/proc_unix/keeper"
)

// serverArg makes the test program a server of its own, for tests that end
// the server or give it less to live on.
const serverArg = "test-server"

// serverMain runs such a server, if this process was started as one:
//
//	test-server MODE DIR COMMAND
func serverMain() {
	if len(os.Args) != 5 || os.Args[1] != serverArg {
		return
	}
	mode, dir, command := os.Args[2], os.Args[3], os.Args[4]
	if err := serverModes[mode](dir, command); err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

var serverModes = map[string]func(dir, command string) error{
	"hold":  holdServer,
	"kill":  killServer,
	"limit": limitServer,
	"run":   runServer,
	"root":  becomeRoot,
	"count": countServer,
	"crowd": crowdServer,
}

// becomeRoot is what a setuid program does that its caller may not signal.
func becomeRoot(_, word string) error {
	if err := syscall.Setreuid(0, 0); err != nil {
		return err
	}
	fmt.Println(word)
	time.Sleep(time.Hour)
	return nil
}

func serverStart(b *Backend, dir, command string) (proc.Process, error) {
	p, err := b.Start(proc.Spec{Command: command, Dir: dir, Env: os.Environ()})
	if err != nil {
		return nil, err
	}
	go p.Stdout().CopyTo(func(data []byte) { os.Stdout.Write(data) })
	go p.Stderr().CopyTo(func(data []byte) { os.Stderr.Write(data) })
	return p, nil
}

// holdServer starts the command, passes its output on, and waits to be ended.
func holdServer(dir, command string) error {
	b, err := New()
	if err != nil {
		return err
	}
	b.Warm()
	if _, err := serverStart(b, dir, command); err != nil {
		return err
	}
	time.Sleep(time.Hour)
	return nil
}

// runServer runs the command to its end.
func runServer(dir, command string) error {
	b, err := New()
	if err != nil {
		return err
	}
	p, err := b.Start(proc.Spec{Command: command, Dir: dir, Env: os.Environ()})
	if err != nil {
		return err
	}
	go p.Stderr().CopyTo(func(data []byte) { os.Stderr.Write(data) })
	if err := p.Stdout().CopyTo(func(data []byte) { os.Stdout.Write(data) }); err != nil {
		return err
	}
	for range p.Events() {
	}
	return b.Close()
}

// startAndRead starts the command, and returns after a line of input.
func startAndRead(dir, command string) (*Backend, proc.Process, error) {
	b, err := New()
	if err != nil {
		return nil, nil, err
	}
	p, err := serverStart(b, dir, command)
	if err != nil {
		return nil, nil, err
	}
	var line string
	fmt.Scanln(&line)
	return b, p, nil
}

// killServer starts the command, kills it on a line of input, and says who is
// left.
func killServer(dir, command string) error {
	b, p, err := startAndRead(dir, command)
	if err != nil {
		return err
	}
	started := time.Now()
	r, err := p.Kill(context.Background())
	fmt.Println("unkillable", len(r.Unkillable), err, time.Since(started) < keeper.KillBound)
	started = time.Now()
	err = b.Close()
	fmt.Println("closed", err, time.Since(started) < keeper.KillBound)
	return nil
}

// countServer starts the command, and on a line of input says how many
// processes it has and how many of them SIGTERM has reached.
func countServer(dir, command string) error {
	b, p, err := startAndRead(dir, command)
	if err != nil {
		return err
	}
	ctx := context.Background()
	attached, err := p.Attached(ctx)
	if err != nil {
		return err
	}
	detached, err := p.Detached(ctx)
	if err != nil {
		return err
	}
	r, err := p.Signal(ctx, "SIGTERM")
	if err != nil {
		return err
	}
	fmt.Println("attached", len(attached), "detached", len(detached), "reached", r.Reached)
	for range p.Events() {
	}
	return b.Close()
}

// crowdServer runs the command, which reads its input to the end, in several
// supervisors, none of which has run one before, and says how many of them have
// been lost.
func crowdServer(dir, command string) error {
	b, err := New()
	if err != nil {
		return err
	}
	var ps []proc.Process
	for range 20 {
		p, err := serverStart(b, dir, command)
		if err != nil {
			return err
		}
		ps = append(ps, p)
	}
	lost := 0
	for _, p := range ps {
		if _, err := p.Detached(context.Background()); err != nil {
			return err
		}
		p.Stdin().Close()
		for e := range p.Events() {
			if e.Kind == proc.Lost {
				lost++
			}
		}
	}
	fmt.Println("lost", lost)
	return b.Close()
}

// limitServer runs out of descriptors and comes back.
func limitServer(dir, command string) error {
	b, err := New()
	if err != nil {
		return err
	}
	limit := unix.Rlimit{Cur: 48, Max: 48}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return err
	}
	var running []proc.Process
	failed := 0
	for range 30 {
		p, err := serverStart(b, dir, command)
		if err != nil {
			failed++
			continue
		}
		running = append(running, p)
	}
	fmt.Println("failed:", failed > 0, "started:", len(running) > 0)
	for _, p := range running {
		if err := p.Close(); err != nil {
			return err
		}
		p.Stdin().Close()
		p.Stdout().Close()
		p.Stderr().Close()
	}
	p, err := serverStart(b, dir, "echo recovered")
	if err != nil {
		return err
	}
	for range p.Events() {
	}
	if _, err := p.Stdout().Drain(context.Background()); err != nil {
		return err
	}
	p.Close()
	return b.Close()
}

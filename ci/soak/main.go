//go:build linux

package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"
)

func main() {
	o := options{out: os.Stdout}
	flag.DurationVar(&o.duration, "for", 10*time.Minute, "how long to go on")
	flag.Uint64Var(&o.seed, "seed", uint64(time.Now().UnixNano()), "what the random numbers begin with")
	flag.StringVar(&o.server, "server", "", "the server's binary, instead of one that is built")
	race := flag.Bool("race", false, "build the server with the race detector")
	flag.Parse()
	if o.server == "" {
		folder, err := os.MkdirTemp("", "soak-")
		if err != nil {
			fatal(err)
		}
		defer os.RemoveAll(folder)
		if o.server, err = build(folder, *race); err != nil {
			fatal(err)
		}
	}
	failures, err := run(o)
	if err != nil {
		fatal(err)
	}
	if failures > 0 {
		os.Exit(1)
	}
}

func fatal(err error) {
	fmt.Fprintln(os.Stderr, "soak:", err)
	os.Exit(1)
}

func build(folder string, race bool) (string, error) {
	binary := filepath.Join(folder, "mcp-yieldshell")
	args := []string{"build", "-o", binary}
	if race {
		args = append(args, "-race")
	}
	cmd := exec.Command("go", append(args, "github.com/yieldshell/mcp-yieldshell/cmd/mcp-yieldshell")...)
	cmd.Stderr = os.Stderr
	return binary, cmd.Run()
}

type options struct {
	server   string
	duration time.Duration
	seed     uint64
	out      io.Writer
}

// workers is how many share the session.
const workers = 8

// run does the whole and returns how much went wrong.
func run(o options) (failures int, err error) {
	t := newTally(o.out)
	t.print("seed %d, %v, %d workers", o.seed, o.duration, workers)
	main, err := start(o.server, t, "main")
	if err != nil {
		return 0, err
	}
	if _, err := main.call(main.ctx, "execute", args{"command": "true", "side_effects": []string{"NONE"}}); err != nil {
		return 0, err
	}
	before := main.settledSample()
	stop := make(chan struct{})
	var busy sync.WaitGroup
	for i := range workers {
		w := &worker{server: main, tally: t, r: rand.New(rand.NewPCG(o.seed, uint64(i)))}
		busy.Go(func() { w.work(stop) })
	}
	busy.Go(func() { main.dawdle(rand.New(rand.NewPCG(o.seed, 100)), stop) })
	busy.Go(func() { visitors(o.server, t, rand.New(rand.NewPCG(o.seed, 101)), stop) })
	samples := watch(main, t, o.duration)
	close(stop)
	busy.Wait()
	if err := main.clear(); err != nil {
		t.fail("%v", err)
	}
	after := main.settledSample()
	t.judge(before, after, samples)
	main.close()
	t.summary()
	return t.failures(), nil
}

// clear stops what still runs, which is what calls started that were cancelled
// in that moment, and forgets all records.
func (s *server) clear() error {
	list, err := s.call(s.ctx, "ps", args{"include_completed": false, "limit": 1000})
	if err != nil {
		return err
	}
	for _, row := range list.Executions {
		if row.Name == nil {
			return fmt.Errorf("still running: %.100q", row.Command)
		}
		if r, err := s.call(s.ctx, "stop", args{"execution_id": row.ExecutionID}); err != nil || !r.Stopped {
			return fmt.Errorf("stop: %q, %w", r.Error, err)
		}
	}
	r, err := s.call(s.ctx, "cleanup", args{"completed_older_than_ms": 0, "stopped_older_than_ms": 0})
	if err == nil && r.Removed == 0 {
		err = errors.New("the last cleanup removed nothing")
	}
	return err
}

// watch samples the server until the time is over.
func watch(s *server, t *tally, d time.Duration) []sample {
	every := min(max(d/120, 250*time.Millisecond), 5*time.Second)
	tick := time.NewTicker(every)
	defer tick.Stop()
	over := time.After(d)
	var samples []sample
	for {
		select {
		case <-over:
			return samples
		case <-s.ended:
			t.fail("the server ended by itself")
			return samples
		case <-tick.C:
			samples = append(samples, s.sample())
			if len(samples)%24 == 0 {
				t.progress(samples[len(samples)-1])
			}
		}
	}
}

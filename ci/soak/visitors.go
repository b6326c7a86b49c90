//go:build linux

package main

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"syscall"
	"time"
)

// visitors starts one server after the other, has it run a few commands, and
// ends it in one of the ways in which servers end.
func visitors(binary string, t *tally, r *rand.Rand, stop <-chan struct{}) {
	for pause(time.Duration(r.IntN(2000))*time.Millisecond, stop) {
		s, err := start(binary, t, "visitor")
		if err != nil {
			t.fail("%v", err)
			continue
		}
		w := &worker{server: s, tally: t, r: r}
		var calls sync.WaitGroup
		for range r.IntN(6) {
			if _, _, _, err := w.startTree(nil); err != nil {
				t.fail("visitor: %v", err)
			}
		}
		leave(s, r, &calls)
		calls.Wait()
	}
}

// leave ends a server.
func leave(s *server, r *rand.Rand, calls *sync.WaitGroup) {
	pending := func() {
		for range r.IntN(4) {
			calls.Go(func() {
				// Whether it is answered depends on how the server ends.
				_, _ = s.call(s.ctx, "execute", args{"command": "yes", "side_effects": []string{"NONE"}})
			})
		}
	}
	kind := r.IntN(5)
	s.tally.count("servers " + []string{"closed", "signalled", "killed", "stalled", "abandoned"}[kind])
	switch kind {
	case 0:
		pending()
		s.close()
	case 1:
		pending()
		s.signal(syscall.SIGTERM)
		s.finish("SIGTERM", 21*time.Second)
	case 2:
		pending()
		s.signal(syscall.SIGKILL)
		s.finish("SIGKILL", 5*time.Second)
	case 3: // the client stops reading, with more asked for than the pipe holds
		s.gate.shut()
		for i := range 40 {
			calls.Go(func() {
				_, _ = s.call(s.ctx, "execute", args{"command": fmt.Sprintf("head -c 20000 /dev/zero | tr '\\0' %d", i%10), "side_effects": []string{"NONE"}})
			})
		}
		time.Sleep(time.Duration(r.IntN(500)) * time.Millisecond)
		s.stdin.Close()
		s.finish("a stalled client's close", 25*time.Second)
	case 4: // the client goes away without a word
		pending()
		s.gate.ReadCloser.Close()
		s.finish("a broken pipe", 25*time.Second)
	}
}

func (s *server) signal(sig syscall.Signal) {
	if err := s.cmd.Process.Signal(sig); err != nil {
		s.tally.fail("signal a server: %v", err)
	}
}

package execution

import (
	"sync"
	"sync/atomic"

	"github.com/yieldshell/mcp-yieldshell/buffer"
)

// subscribers are those who want to hear of output. As long as there are none,
// output costs one atomic load.
type subscribers struct {
	any  atomic.Bool
	mu   sync.Mutex
	list map[chan struct{}]buffer.Selection
}

// Subscribe returns a channel that has something in it when output of the
// selected streams may have come since it was last received from, and a function
// that ends the subscription. A receiver that is slow misses nothing but how
// often there was output.
func (e *Execution) Subscribe(sel buffer.Selection) (output <-chan struct{}, end func()) {
	s := &e.subscribers
	c := make(chan struct{}, 1)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.list == nil {
		s.list = make(map[chan struct{}]buffer.Selection)
	}
	s.list[c] = sel
	s.any.Store(true)
	return c, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.list, c)
		s.any.Store(len(s.list) > 0)
	}
}

// tell tells the subscribers of output of a stream. It never blocks.
func (s *subscribers) tell(stream buffer.Stream) {
	if !s.any.Load() {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for c, sel := range s.list {
		if sel.Has(stream) {
			select {
			case c <- struct{}{}:
			default:
			}
		}
	}
}

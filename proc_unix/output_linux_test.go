package procunix

import (
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

// The number of a closed epoll instance goes to the next one, whose events
// nobody else may take: each is told of only once.
func TestClosedOutputsTakeNoEventsOfOthers(t *testing.T) {
	first, err := newPipes()
	if err != nil {
		t.Fatal(err)
	}
	old := first.stdout.all
	first.closeChild()
	first.closeServer()

	second, err := newPipes()
	if err != nil {
		t.Fatal(err)
	}
	defer second.closeServer()
	defer second.closeChild()
	a := second.stdout.all
	if a.ready.fd != old.ready.fd {
		t.Skipf("the number %d was not used again", old.ready.fd)
	}
	if _, err := unix.Write(second.child[1], []byte("x")); err != nil {
		t.Fatal(err)
	}
	old.mu.Lock()
	old.look(nil)
	old.mu.Unlock()
	a.mu.Lock()
	defer a.mu.Unlock()
	a.look(nil)
	if len(a.queue) != 1 || a.queue[0] != second.stdout {
		t.Errorf("queue = %v; want standard output", a.queue)
	}
}

// A command that fills its pipe gets a larger one. What it writes is still read
// as a whole, so that nothing of it seems to come after what the other pipe got
// later.
func TestFloodIsReadAsAWhole(t *testing.T) {
	p, err := newPipes()
	if err != nil {
		t.Fatal(err)
	}
	defer p.closeServer()
	defer p.closeChild()
	var got []int
	for _, o := range []*output{p.stdout, p.stderr} {
		o.sink = func(b []byte) { got = append(got, len(b)) }
	}
	a := p.stdout.all
	write := func(fd, n int) {
		if _, err := unix.Write(fd, make([]byte, n)); err != nil {
			t.Fatal(err)
		}
		a.look(nil)
	}
	readAll := func() []int {
		got = nil
		for len(a.queue) > 0 {
			a.step(a.queue[0])
		}
		return got
	}
	write(p.child[1], readSize)
	if got := readAll(); !slices.Equal(got, []int{readSize}) {
		t.Fatalf("read %d of a full pipe", got)
	}
	if p.stdout.buffers != &floods {
		t.Skip("the system allows no larger pipe")
	}
	write(p.child[1], floodSize-1)
	write(p.child[2], 1)
	if got := readAll(); !slices.Equal(got, []int{floodSize - 1, 1}) {
		t.Errorf("read %d", got)
	}
}

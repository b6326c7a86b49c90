package procunix

import (
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

package selftest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"time"
)

// The roles in a tree of processes.
const (
	roleParent  = "parent"
	roleChild   = "child"
	roleEscaped = "escaped" // in a session of its own, without an environment
)

// treeInWords is what the roles are for a person.
const treeInWords = "a command, its child and a process that had left its session"

// treeSize is how many processes a tree has, the shell not counted.
const treeSize = 3

// tree is a tree of processes, each of which holds a connection.
type tree struct {
	dir      string
	listener net.Listener
	joined   chan member
	readers  sync.WaitGroup

	mu      sync.Mutex
	closed  bool
	conns   []net.Conn
	members []member
}

// member is one process of the tree. ended is closed when it has ended.
type member struct {
	role  string
	pid   int
	ended chan struct{}
}

// plant starts a tree as one command of the server and waits until all of it
// runs. The caller closes it.
func plant(ctx context.Context, s *server) (t *tree, executionID string, err error) {
	if t, err = newTree(); err != nil {
		return nil, "", err
	}
	a, err := s.call(ctx, "execute", map[string]any{
		"command":      treeCommand,
		"side_effects": []string{"NONE"},
		"env": map[string]string{
			programVariable: s.command.Path,
			addressVariable: t.listener.Addr().String(),
		},
		"yield_ms": 0,
	})
	if err == nil {
		err = t.waitJoined(ctx)
	}
	if err != nil {
		t.close()
		return nil, "", err
	}
	return t, a.ExecutionID, nil
}

func newTree() (*tree, error) {
	dir, err := os.MkdirTemp("", "ys")
	if err != nil {
		return nil, err
	}
	listener, err := listen(dir)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	t := &tree{dir: dir, listener: listener, joined: make(chan member, treeSize)}
	t.readers.Add(1)
	go t.accept()
	return t, nil
}

// accept takes connections until the listener is closed.
func (t *tree) accept() {
	defer t.readers.Done()
	for {
		conn, err := t.listener.Accept()
		if err != nil {
			return
		}
		if !t.keep(conn) {
			return
		}
		t.readers.Add(1)
		go t.follow(conn)
	}
}

// keep takes a connection into the tree's care, unless that is closed.
func (t *tree) keep(conn net.Conn) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		_ = conn.Close() // the process ends by that
		return false
	}
	t.conns = append(t.conns, conn)
	return true
}

// follow reads who it is, and then waits for its end.
func (t *tree) follow(conn net.Conn) {
	defer t.readers.Done()
	in := bufio.NewReader(conn)
	m := member{ended: make(chan struct{})}
	if _, err := fmt.Fscanf(in, "%s %d\n", &m.role, &m.pid); err != nil {
		return // somebody else, or it ended at once
	}
	select {
	case t.joined <- m:
	default: // more than there can be
		return
	}
	_, _ = in.ReadByte() // any end is an end
	close(m.ended)
}

func (t *tree) waitJoined(ctx context.Context) error {
	for len(t.members) < treeSize {
		select {
		case m := <-t.joined:
			t.members = append(t.members, m)
		case <-ctx.Done():
			return fmt.Errorf("%d of %d processes came up: %w", len(t.members), treeSize, ctx.Err())
		}
	}
	return nil
}

// waitEnded waits for the end of all and returns those that live on.
func (t *tree) waitEnded(bound time.Duration) []member {
	timeout := time.NewTimer(bound)
	defer timeout.Stop()
	var left []member
	expired := false
	for _, m := range t.members {
		if !expired {
			select {
			case <-m.ended:
				continue
			case <-timeout.C:
				expired = true
			}
		}
		select {
		case <-m.ended:
		default:
			if !gone(m.pid) {
				left = append(left, m)
			}
		}
	}
	return left
}

// close ends what is left of the tree.
func (t *tree) close() {
	t.mu.Lock()
	t.closed = true
	conns := t.conns
	t.mu.Unlock()
	_ = t.listener.Close()
	for _, conn := range conns {
		_ = conn.Close()
	}
	t.readers.Wait()
	_ = os.RemoveAll(t.dir)
}

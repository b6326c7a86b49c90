package loopback

import (
	"context"
	"net"
	"strconv"
	"time"
)

const (
	// firstPause and lastPause are the times between two looks.
	firstPause = time.Millisecond
	lastPause  = 10 * time.Millisecond
	// dialTimeout is how long one connection may take. On loopback it is made
	// or refused at once, except where the system asks a closed port again.
	dialTimeout = 100 * time.Millisecond
)

// Ports looks at ports. The zero value is ready.
type Ports struct{}

// Open reports whether the port accepts connections. It takes 200 ms at most.
func (Ports) Open(port int) bool {
	l := newLooker()
	defer l.close()
	return l.open(port)
}

// Await returns nil as soon as the port accepts connections, or the context's
// error if that ends first.
func (Ports) Await(ctx context.Context, port int) error {
	l := newLooker()
	defer l.close()
	pause := firstPause
	t := time.NewTimer(pause)
	defer t.Stop()
	for !l.open(port) {
		t.Reset(pause)
		pause = min(2*pause, lastPause)
		select {
		case <-t.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// dial reports whether a connection can be made to one of the loopback
// addresses.
func dial(port int) bool {
	for _, host := range []string{"127.0.0.1", "::1"} {
		c, err := net.DialTimeout("tcp", net.JoinHostPort(host, strconv.Itoa(port)), dialTimeout)
		if err == nil {
			c.Close() // nothing was written that could fail
			return true
		}
	}
	return false
}

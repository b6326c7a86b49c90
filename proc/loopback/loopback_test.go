package loopback

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// listen opens a port on an address, which is skipped if the machine has none
// such.
func listen(t *testing.T, network, address string) (net.Listener, int) {
	t.Helper()
	l, err := net.Listen(network, address)
	if err != nil {
		t.Skipf("this machine has no %s: %v", address, err)
	}
	t.Cleanup(func() { l.Close() })
	return l, l.Addr().(*net.TCPAddr).Port
}

func TestOpen(t *testing.T) {
	for _, c := range []struct{ network, address string }{
		{"tcp4", "127.0.0.1:0"}, {"tcp6", "[::1]:0"}, {"tcp4", "0.0.0.0:0"}, {"tcp6", "[::]:0"}, {"tcp", ":0"},
	} {
		t.Run(c.address, func(t *testing.T) {
			l, port := listen(t, c.network, c.address)
			if !(Ports{}).Open(port) || !dial(port) {
				t.Errorf("port %d is not open", port)
			}
			l.Close()
			if (Ports{}).Open(port) || dial(port) {
				t.Errorf("port %d is open", port)
			}
		})
	}
}

// TestNoPortIsOpenThatOnlyConnects: a port that a client uses is not open.
func TestNoPortIsOpenThatOnlyConnects(t *testing.T) {
	l, port := listen(t, "tcp4", "127.0.0.1:0")
	c, err := net.Dial("tcp4", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if used := c.LocalAddr().(*net.TCPAddr).Port; (Ports{}).Open(used) {
		t.Errorf("port %d of a client of %d is open", used, port)
	}
}

func TestAwait(t *testing.T) {
	l, port := listen(t, "tcp4", "127.0.0.1:0")
	if err := (Ports{}).Await(t.Context(), port); err != nil {
		t.Error(err)
	}
	l.Close()
	answer := make(chan error, 1)
	go func() { answer <- Ports{}.Await(t.Context(), port) }()
	select {
	case err := <-answer:
		t.Fatalf("before the port is open: %v", err)
	case <-time.After(50 * time.Millisecond):
	}
	again, err := net.Listen("tcp4", l.Addr().String())
	if err != nil {
		t.Skipf("somebody else took the port: %v", err)
	}
	defer again.Close()
	begun := time.Now()
	if err := <-answer; err != nil {
		t.Error(err)
	}
	t.Logf("seen after %v", time.Since(begun))

	again.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := (Ports{}).Await(ctx, port); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
}

func BenchmarkLook(b *testing.B) {
	l := newLooker()
	defer l.close()
	l.open(1)
	for b.Loop() {
		l.open(1)
	}
}

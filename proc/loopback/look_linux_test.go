package loopback

import (
	"net"
	"testing"
	"time"
)

// TestNoConnectionIsMade: a server that takes one connection only is not used
// up by the one who waits for it.
func TestNoConnectionIsMade(t *testing.T) {
	l, port := listen(t, "tcp4", "127.0.0.1:0")
	k := newLooker()
	defer k.close()
	if k.fd < 0 {
		t.Skip("this kernel does not answer sock_diag")
	}
	if !k.open(port) {
		t.Fatal("the port is not open")
	}
	if err := l.(*net.TCPListener).SetDeadline(time.Now().Add(20 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if c, err := l.Accept(); err == nil {
		c.Close()
		t.Error("there was a connection")
	}
}

// TestARedirectedPort: what no socket here listens on is found by connecting,
// but not often.
func TestARedirectedPort(t *testing.T) {
	l, port := listen(t, "tcp4", "127.0.0.1:0")
	l.Close()
	k := newLooker()
	defer k.close()
	if k.fd < 0 {
		t.Skip("this kernel does not answer sock_diag")
	}
	begun := k.dialed
	if k.open(port) || k.dialed != begun {
		t.Error("a connection was tried at once")
	}
	k.dialed = begun.Add(-dialPause)
	if k.open(port) || !k.dialed.After(begun) {
		t.Error("no connection was tried")
	}
}

// TestWithoutAnswers: looking works by connecting too.
func TestWithoutAnswers(t *testing.T) {
	l, port := listen(t, "tcp4", "127.0.0.1:0")
	k := newLooker()
	k.close()
	if !k.open(port) {
		t.Error("the port is not open")
	}
	l.Close()
	if k.open(port) {
		t.Error("the port is open")
	}
}

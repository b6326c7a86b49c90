package loopback

import (
	"encoding/binary"
	"errors"
	"net"
	"time"

	"golang.org/x/sys/unix"
)

// dialPause is the time between two connections that are tried although no
// local socket listens. It is long because one may begin to listen in that very
// moment, and may take one connection only.
const dialPause = 5 * time.Second

// looker asks the kernel which socket listens.
type looker struct {
	fd     int       // a socket of sock_diag(7), or -1: look by connecting
	dialed time.Time // when it was last tried; at first, when the looking began
}

func newLooker() *looker {
	l := &looker{fd: -1, dialed: time.Now()}
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_INET_DIAG)
	if err != nil {
		return l
	}
	l.fd = fd
	// The kernel answers before the request returns; if it ever did not, the
	// look would fail and not hang.
	bound := unix.NsecToTimeval(dialTimeout.Nanoseconds())
	if unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &bound) != nil || !l.works() {
		l.close()
	}
	return l
}

// works reports whether the kernel knows a socket that certainly listens: one
// that lacks the module for it answers that there is none.
func (l *looker) works() bool {
	known, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return false
	}
	defer known.Close()
	listens, err := l.listens(unix.AF_INET, known.Addr().(*net.TCPAddr).Port)
	return err == nil && listens
}

func (l *looker) close() {
	if l.fd >= 0 {
		_ = unix.Close(l.fd) // there is nothing to do about it
		l.fd = -1
	}
}

func (l *looker) open(port int) bool {
	if l.fd >= 0 {
		for _, family := range []uint8{unix.AF_INET, unix.AF_INET6} {
			switch listens, err := l.listens(family, port); {
			case err != nil:
				l.close()
			case listens:
				return true
			}
		}
	}
	if l.fd >= 0 && time.Since(l.dialed) < dialPause {
		return false
	}
	l.dialed = time.Now()
	return dial(port)
}

// Of linux/netlink.h, linux/sock_diag.h, linux/inet_diag.h and net/tcp_states.h.
const (
	headerSize      = 16
	requestSize     = headerSize + 56
	diagByFamily    = 20
	tcpListen       = 10
	loopbackDevice  = 1 // in every network namespace
	noCookie        = ^uint32(0)
	offsetSourceIP  = headerSize + 12
	offsetTargetIP  = offsetSourceIP + 16
	offsetDevice    = offsetTargetIP + 16
	offsetCookie    = offsetDevice + 4
	offsetLocalPort = headerSize + 8
)

var errAnswer = errors.New("unexpected answer of sock_diag")

// listens asks for the socket that would take a connection to the port of the
// family's loopback address.
func (l *looker) listens(family uint8, port int) (bool, error) {
	var q [requestSize]byte
	order := binary.NativeEndian
	order.PutUint32(q[0:], requestSize)
	order.PutUint16(q[4:], diagByFamily)
	order.PutUint16(q[6:], unix.NLM_F_REQUEST)
	q[headerSize], q[headerSize+1] = family, unix.IPPROTO_TCP
	order.PutUint32(q[headerSize+4:], ^uint32(0)) // in any state
	binary.BigEndian.PutUint16(q[offsetLocalPort:], uint16(port))
	address := net.IPv4(127, 0, 0, 1).To4()
	if family == unix.AF_INET6 {
		address = net.IPv6loopback
	}
	copy(q[offsetSourceIP:], address)
	copy(q[offsetTargetIP:], address) // from port 0, which no connection has
	order.PutUint32(q[offsetDevice:], loopbackDevice)
	order.PutUint32(q[offsetCookie:], noCookie)
	order.PutUint32(q[offsetCookie+4:], noCookie)
	if err := unix.Sendto(l.fd, q[:], 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return false, err
	}
	var answer [4096]byte
	n, _, err := unix.Recvfrom(l.fd, answer[:], 0)
	if err != nil {
		return false, err
	}
	if n < headerSize+4 {
		return false, errAnswer
	}
	switch kind := order.Uint16(answer[4:]); kind {
	case diagByFamily:
		return answer[headerSize+1] == tcpListen, nil
	case unix.NLMSG_ERROR:
		if unix.Errno(-int32(order.Uint32(answer[headerSize:]))) == unix.ENOENT {
			return false, nil
		}
	}
	return false, errAnswer
}

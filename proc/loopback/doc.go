// Package loopback tells whether something on this machine accepts TCP
// connections on a port of a loopback address, IPv4 or IPv6, and waits for it.
//
// No system announces that a socket begins to listen, so waiting is looking
// again: at first after 1 ms, then at most 10 ms apart, and only while somebody
// waits. What one look is depends on the system:
//
//   - Linux: the kernel is asked for the socket that a connection would reach
//     (sock_diag(7), one exact lookup, some 10 µs). No connection is made, so
//     a server that takes only one is not used up, and none shows in its log.
//     A port that a packet filter redirects has no socket here: for its sake
//     one connection is tried every five seconds.
//   - Elsewhere, and on a Linux that does not answer: a connection is made and
//     closed. The server sees it.
//
// The package imports the standard library and golang.org/x/sys.
package loopback

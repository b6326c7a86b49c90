package main

import "golang.org/x/sys/unix"

// hangUpEvents also asks for the end of a socket's other direction, which is
// what clients with a pair of sockets for stdin close.
const hangUpEvents = unix.POLLRDHUP

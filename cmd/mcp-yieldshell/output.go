package main

import "os"

const (
	// pipeSize is what a pipe holds by default on the systems that can change it.
	pipeSize = 64 << 10
	// maxPipeSize is what an unprivileged process may ask for on Linux
	// (/proc/sys/fs/pipe-max-size, pipe(7)).
	maxPipeSize = 1 << 20
)

// clientPipe writes the protocol. A line that the pipe to the client does not hold
// would go through it in turns, each of them with a wait for the client to be
// scheduled. So the first such line widens the pipe, where the system can; most
// servers never write one.
type clientPipe struct {
	file *os.File
	size int // what the pipe holds, as far as it matters
}

func newClientPipe(f *os.File) *clientPipe { return &clientPipe{file: f, size: pipeSize} }

func (o *clientPipe) Write(p []byte) (int, error) {
	if len(p) > o.size && o.size < maxPipeSize {
		o.size = maxPipeSize // asked for once, whatever comes of it
		widen(o.file, maxPipeSize)
	}
	return o.file.Write(p)
}

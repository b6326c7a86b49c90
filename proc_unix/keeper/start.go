//go:build unix

package keeper

import (
	"syscall"

	"github.com/yieldshell/mcp-yieldshell/proc_unix/wire"
)

const (
	// Name is the first argument of a supervisor, and its only one.
	Name = "yieldshell-supervisor"

	// controlFD is the supervisor's end of the socket.
	controlFD = 3

	// parentVariable is the environment variable that says whose supervisor
	// a process is. No command inherits it: their environment comes with the
	// request.
	parentVariable = "YIELDSHELL_SUPERVISOR_OF"
)

// Environment is what a supervisor of this process is started with, and all of
// it. One thread at a time is enough, and saves memory. So does not collecting
// garbage, which there is little of before it is retired; the limit is for
// those that look at large trees.
func Environment() []string {
	return []string{
		"GOMAXPROCS=1", "GOGC=off", "GOMEMLIMIT=6MiB",
		parentVariable + "=" + decimal(syscall.Getpid()),
	}
}

func init() {
	// The arguments are not known before os is initialised. Nobody but a
	// server knows in advance the id of whose child it starts.
	if of, ok := syscall.Getenv(parentVariable); ok && of == decimal(syscall.Getppid()) {
		Main()
	}
}

// Main is the supervisor's main function. It does not return. The program's
// own init calls it for a process with the name of a supervisor whose server
// has ended before its first look: it ends at once, as its socket is closed.
func Main() {
	showName()
	CloseOnExec(controlFD)
	shield()
	k := &keeper{exits: make(chan struct{}, 1)}
	k.in = wire.NewReader(k.receive)
	k.claimErr = k.tree.Claim()
	reserveThreads(threadReserve)
	go k.serve()
	k.serve()
}

// decimal writes a positive number.
func decimal(n int) string {
	var b [20]byte
	i := len(b)
	for ; n > 0; n /= 10 {
		i--
		b[i] = byte('0' + n%10)
	}
	return string(b[i:])
}

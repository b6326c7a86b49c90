//go:build amd64 || arm64

package keeper

import "syscall"

// nothingAddress is the address of a signal handler that does nothing.
var nothingAddress uintptr

// setNoEffect has a signal that the runtime does not handle do nothing. Were it
// ignored instead, commands would inherit that; a handler they do not. The
// runtime's own would let the signal have its default effect.
func setNoEffect(sig syscall.Signal) {
	// One that the runtime handles tells how it has handlers called: on a
	// stack of their own, which a goroutine's is too small for.
	a := action(syscall.SIGUSR1)
	a[0] = nothingAddress
	setAction(sig, &a)
}

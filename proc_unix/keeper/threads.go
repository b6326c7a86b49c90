//go:build unix

package keeper

import (
	"sync"
	"syscall"
)

// threadReserve is how many threads are made beyond the one that every process
// has and that of the runtime's own: one goroutine waits for a child while the
// other waits for the server, and a third looks after the session meanwhile.
const threadReserve = 2

// reserveThreads has the runtime make n threads, which it then keeps. It makes
// one whenever it finds that it needs another, and ends the process when the
// system refuses: a command that takes all the processes its user, or the
// container, may have would end its supervisor, and itself with it.
//
// A thread is needed for every goroutine that waits in the kernel. With
// runtime.LockOSThread it would take one more thread that is never used.
func reserveThreads(n int) {
	var p [2]int
	if syscall.Pipe(p[:]) != nil {
		return // a supervisor without descriptors has other worries
	}
	var waiting, over sync.WaitGroup
	waiting.Add(n)
	for range n {
		over.Go(func() {
			waiting.Done()
			var b [1]byte
			for {
				if _, err := syscall.Read(p[0], b[:]); err != syscall.EINTR {
					return
				}
			}
		})
	}
	waiting.Wait()
	syscall.Close(p[1]) // the end of what they read
	over.Wait()
	syscall.Close(p[0])
}

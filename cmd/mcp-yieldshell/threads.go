package main

import (
	"runtime"
	"sync"
)

// reserveThreads has the runtime make n threads, which it then keeps. It makes
// one whenever it finds that it needs another, and ends the process when the
// system refuses: a command that takes all the processes its user, or the
// container, may have would end the server, and every other command with it.
func reserveThreads(n int) {
	var held, over sync.WaitGroup
	held.Add(n)
	release := make(chan struct{})
	for range n {
		over.Go(func() {
			runtime.LockOSThread() // so no other goroutine uses it meanwhile
			defer runtime.UnlockOSThread()
			held.Done()
			<-release
		})
	}
	held.Wait()
	close(release)
	over.Wait()
}

// threadReserve is how many threads the server has from the start: one to run
// on each core, and others that wait in the kernel meanwhile.
func threadReserve() int { return min(runtime.GOMAXPROCS(0), 64) + 16 }

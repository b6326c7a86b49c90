package main

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// A pipe becomes as large as the largest line when it has to carry one.
func TestOutputWidensItsPipe(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	o := newClientPipe(w)
	size := func() int {
		n, err := unix.FcntlInt(r.Fd(), unix.F_GETPIPE_SZ, 0)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	before := size()
	if _, err := o.Write(make([]byte, 100)); err != nil {
		t.Fatal(err)
	}
	if got := size(); got != before {
		t.Errorf("a short line makes it %d", got)
	}
	go func() {
		buf := make([]byte, maxPipeSize)
		for {
			if _, err := r.Read(buf); err != nil {
				return
			}
		}
	}()
	if n, err := o.Write(make([]byte, pipeSize+1)); n != pipeSize+1 || err != nil {
		t.Fatalf("Write = %d, %v", n, err)
	}
	if got := size(); got != maxPipeSize {
		t.Skipf("the system allows no more than %d", got)
	}
}

package buffer

import (
	"sync"
	"time"
)

// Stream is one of the two output streams of a command.
type Stream uint8

// The streams.
const (
	Stdout Stream = iota
	Stderr
)

// Selection says which streams a reader wants.
type Selection uint8

// The selections.
const (
	Both Selection = iota
	OnlyStdout
	OnlyStderr
)

// Has reports whether the selection includes s.
func (sel Selection) Has(s Stream) bool {
	return sel == Both || sel == OnlyStdout && s == Stdout || sel == OnlyStderr && s == Stderr
}

// A Log keeps the newest output of one execution. Its methods may be called
// from any goroutine.
//
// One lock guards both streams, because one cursor counts both: positions say
// in which order the server took the bytes in.
type Log struct {
	mu    sync.Mutex
	rings [2]ring
	next  uint64 // position of the next byte
	last  [2]time.Time

	watches []*Watch // those that wait for more output

	overflow Overflow // set before the first Append; nil: what is evicted is lost
}

// NewLog returns an empty log that keeps up to capacity bytes of each stream.
// A capacity below 1 is 1. Memory is allocated as output arrives.
func NewLog(capacity int) *Log {
	l := &Log{next: 1}
	for s := range l.rings {
		l.rings[s].capacity = max(1, capacity)
	}
	return l
}

// Append adds p to the stream s and gives its bytes the next positions. It
// copies p, which must be valid UTF-8 and end with a whole character. Each
// stream has its own memory: what one of them says never evicts the other's.
func (l *Log) Append(s Stream, p []byte) {
	if len(p) == 0 {
		return
	}
	if l.overflow != nil {
		l.overflow.Wait()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.append(s, p)
	l.last[s] = time.Now()
}

func (l *Log) append(s Stream, p []byte) {
	seq := l.next
	l.rings[s].append(p, seq)
	l.next += uint64(len(p))
	for _, w := range l.watches {
		w.feed(s, seq, p)
	}
}

// appendInvalid is Append for what is not valid UTF-8 and would be with U+FFFD
// for what is invalid in it. It ends with a whole character or an invalid byte.
func (l *Log) appendInvalid(s Stream, p []byte) {
	if l.overflow != nil {
		l.overflow.Wait()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.watches) > 0 || l.overflow != nil { // they need it now, or all of it sooner or later
		eachRepaired(p, func(part []byte) { l.append(s, part) })
	} else {
		l.next = l.rings[s].appendInvalid(p, l.next)
	}
	l.last[s] = time.Now()
}

// Latest returns the position after the newest byte, so 1 when there was none.
func (l *Log) Latest() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.next
}

// Total returns the number of bytes that were ever appended to the stream s.
func (l *Log) Total(s Stream) uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.rings[s].total
}

// LastAppend returns when the newest byte of the selected streams came, the
// zero time if none did.
func (l *Log) LastAppend(sel Selection) (last time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for s, at := range l.last {
		if sel.Has(Stream(s)) && at.After(last) {
			last = at
		}
	}
	return last
}

// selected returns the rings that sel names; the others are nil.
func (l *Log) selected(sel Selection) (rings [2]*ring) {
	for s := range l.rings {
		if sel.Has(Stream(s)) {
			rings[s] = &l.rings[s]
		}
	}
	return rings
}

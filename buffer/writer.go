package buffer

import (
	"sync"
	"unicode/utf8"
)

// scratchSize is the size of a piece of scratch memory, in bytes.
const scratchSize = 32 << 10

// scratch lends memory to writers while they write, so that an execution that
// is quiet has none. It is the only thing in the package that is shared.
var scratch = sync.Pool{New: func() any { return new([scratchSize]byte) }}

// A Writer writes the raw bytes of one stream to a log: it replaces what is
// not valid UTF-8, hides secrets and appends the rest. It withholds an
// incomplete character, and text that could be the beginning of a secret,
// until more bytes settle what it is, for as long as that takes. One goroutine
// at a time may use it.
type Writer struct {
	log     *Log
	stream  Stream
	matcher matcher

	partial  [utf8.UTFMax]byte // beginning of a character
	npartial int
}

// NewWriter returns a writer for the stream s of l that hides secrets, which
// may be nil.
func NewWriter(l *Log, s Stream, secrets *Secrets) *Writer {
	return &Writer{log: l, stream: s, matcher: matcher{secrets: secrets}}
}

// Write takes all of p in. It never fails.
func (w *Writer) Write(p []byte) (int, error) {
	n := len(p)
	p = w.complete(p)
	if w.npartial > 0 {
		return n, nil
	}
	w.npartial = copy(w.partial[:], p[len(p)-incomplete(p):])
	w.body(p[:len(p)-w.npartial])
	return n, nil
}

// Close ends the stream: what was withheld is written, an incomplete character
// as U+FFFD. The log stays open.
func (w *Writer) Close() error {
	if w.npartial > 0 {
		w.npartial = 0
		w.text([]byte(replacement))
	}
	if w.matcher.secrets != nil {
		out := output{log: w.log, stream: w.stream}
		w.matcher.close(&out)
		out.flush()
	}
	return nil
}

// complete finishes the withheld character with the first bytes of p, if it
// can, and returns the rest of p.
func (w *Writer) complete(p []byte) []byte {
	for w.npartial > 0 && len(p) > 0 {
		w.partial[w.npartial] = p[0]
		switch char := w.partial[:w.npartial+1]; {
		case !utf8.FullRune(char):
			w.npartial++
		case utf8.Valid(char):
			w.npartial = 0
			w.text(char)
		default: // p[0] does not belong to it
			w.npartial = 0
			w.text([]byte(replacement))
			return p
		}
		p = p[1:]
	}
	return p
}

// body takes in bytes that end with a whole character or an invalid byte.
func (w *Writer) body(p []byte) {
	if utf8.Valid(p) {
		w.text(p)
		return
	}
	if w.matcher.secrets == nil {
		w.log.appendInvalid(w.stream, p)
		return
	}
	eachRepaired(p, w.text)
}

// text takes in valid text of whole characters.
func (w *Writer) text(p []byte) {
	if w.matcher.secrets == nil {
		w.log.Append(w.stream, p)
		return
	}
	out := output{log: w.log, stream: w.stream}
	w.matcher.feed(p, &out)
	out.flush()
}

// An output is a sink that appends to a log. It gathers small pieces, so that
// text full of secrets does not take the log's lock for each of them.
type output struct {
	log    *Log
	stream Stream
	buf    *[scratchSize]byte
	n      int
}

func (o *output) put(p []byte) {
	if o.n+len(p) > scratchSize {
		o.append()
	}
	if o.n == 0 && len(p) > scratchSize/8 {
		o.log.Append(o.stream, p)
		return
	}
	if o.buf == nil {
		o.buf = scratch.Get().(*[scratchSize]byte)
	}
	o.n += copy(o.buf[o.n:], p)
}

func (o *output) append() {
	if o.n > 0 {
		o.log.Append(o.stream, o.buf[:o.n])
		o.n = 0
	}
}

// flush appends what was gathered and gives the memory back.
func (o *output) flush() {
	o.append()
	if o.buf != nil {
		scratch.Put(o.buf)
		o.buf = nil
	}
}

//go:build unix

package procunix

import (
	"encoding/binary"
	"errors"
	"io"
	"unsafe"
)

// A frame is the unit of the conversation between server and supervisor: four
// bytes of length, one of kind, four of sequence number, then the payload.
// The sequence number tells executions apart, so that nothing said about one
// is taken for the next one on the same supervisor.
type frame struct {
	kind    kind
	seq     uint32
	payload []byte // valid until the next frame is read
}

type kind byte

const (
	// From the server.
	kindStart  kind = iota + 1 // startRequest, with the three descriptors
	kindSignal                 // signal number
	kindKill                   // nothing
	kindList                   // nothing

	// From the supervisor.
	kindStarted  // pid
	kindFailed   // errno
	kindReport   // report
	kindSignaled // signaled
	kindKilling  // the supervisor has begun to kill
	kindKilled   // ids of what it cannot kill
	kindListed   // listed
	kindGone     // nothing is left of the execution that was asked about
)

const (
	headerSize = 9
	// maxFrame is far above what execve accepts on any system.
	maxFrame = 64 << 20
)

var errFrame = errors.New("malformed frame")

// beginFrame appends a header whose length endFrame fills in.
func beginFrame(b []byte, k kind, seq uint32) []byte {
	b = append(b, 0, 0, 0, 0, byte(k))
	return binary.BigEndian.AppendUint32(b, seq)
}

func endFrame(b []byte) []byte {
	binary.BigEndian.PutUint32(b, uint32(len(b)-4))
	return b
}

// frameReader cuts a stream into frames.
type frameReader struct {
	read func([]byte) (int, error)
	buf  []byte
	r, w int // buf[r:w] has been read but not returned
}

// next returns the next frame. At the end of the stream it returns io.EOF,
// and io.ErrUnexpectedEOF within a frame.
func (fr *frameReader) next() (frame, error) {
	if err := fr.fill(4); err != nil {
		return frame{}, err
	}
	n := int(binary.BigEndian.Uint32(fr.buf[fr.r:]))
	if n < headerSize-4 || n > maxFrame {
		return frame{}, errFrame
	}
	if err := fr.fill(4 + n); err != nil {
		return frame{}, err
	}
	b := fr.buf[fr.r : fr.r+4+n]
	fr.r += 4 + n
	return frame{kind(b[4]), binary.BigEndian.Uint32(b[5:]), b[headerSize:]}, nil
}

// keepBuffer is the size of buffer that a reader keeps between frames. Most
// environments fit.
const keepBuffer = 16 << 10

// minBuffer is the size of buffer that a reader begins with.
const minBuffer = 1 << 10

// fill makes at least n unreturned bytes available.
func (fr *frameReader) fill(n int) error {
	if fr.r == fr.w {
		fr.r, fr.w = 0, 0
		if len(fr.buf) > keepBuffer && n <= keepBuffer {
			fr.buf = nil // do not hold on to what one long command needed
		}
	}
	if fr.r+n > len(fr.buf) {
		grown := fr.buf
		if n > len(fr.buf) {
			grown = make([]byte, max(n, minBuffer))
		}
		fr.w = copy(grown, fr.buf[fr.r:fr.w])
		fr.r, fr.buf = 0, grown
	}
	for fr.w-fr.r < n {
		m, err := fr.read(fr.buf[fr.w:])
		if err != nil || m == 0 {
			if (err == nil || err == io.EOF) && fr.w > fr.r {
				return io.ErrUnexpectedEOF
			}
			if err == nil {
				return io.EOF
			}
			return err
		}
		fr.w += m
	}
	return nil
}

// startRequest is what the supervisor hands to execve.
type startRequest struct {
	path string
	dir  string
	argv []string
	env  []string
}

func (s *startRequest) append(b []byte) []byte {
	b = appendString(b, s.path)
	b = appendString(b, s.dir)
	b = appendStrings(b, s.argv)
	return appendStrings(b, s.env)
}

// parse reads a request. Its strings are valid as long as b is left alone.
func (s *startRequest) parse(b []byte) error {
	// The supervisor cannot afford a copy.
	d := decoder{rest: unsafe.String(unsafe.SliceData(b), len(b))}
	s.path = d.string()
	s.dir = d.string()
	s.argv = d.strings()
	s.env = d.strings()
	return d.end()
}

// report is what has happened to the processes of an execution.
type report struct {
	shellExited  bool
	sessionEmpty bool
	treeEmpty    bool
	code         int   // exit code of the shell
	signal       int   // signal that ended it, or 0
	detached     []int // with sessionEmpty
}

const (
	flagShellExited = 1 << iota
	flagSessionEmpty
	flagTreeEmpty
)

func (r *report) append(b []byte) []byte {
	flags := 0
	if r.shellExited {
		flags |= flagShellExited
	}
	if r.sessionEmpty {
		flags |= flagSessionEmpty
	}
	if r.treeEmpty {
		flags |= flagTreeEmpty
	}
	return appendInts(appendInt(appendInt(appendInt(b, flags), r.code), r.signal), r.detached)
}

func (r *report) parse(b []byte) error {
	d := decoder{rest: string(b)}
	flags := d.int()
	r.shellExited = flags&flagShellExited != 0
	r.sessionEmpty = flags&flagSessionEmpty != 0
	r.treeEmpty = flags&flagTreeEmpty != 0
	r.code = d.int()
	r.signal = d.int()
	r.detached = d.ints()
	return d.end()
}

// signaled is the outcome of a signal.
type signaled struct {
	reached     int
	onlyDefault bool
	denied      []int
}

func (s *signaled) append(b []byte) []byte {
	only := 0
	if s.onlyDefault {
		only = 1
	}
	return appendInts(appendInt(appendInt(b, s.reached), only), s.denied)
}

func (s *signaled) parse(b []byte) error {
	d := decoder{rest: string(b)}
	s.reached = d.int()
	s.onlyDefault = d.int() != 0
	s.denied = d.ints()
	return d.end()
}

// listed is who lives, by session. The shell is in neither list.
type listed struct {
	attached []int
	detached []int
}

func (l *listed) append(b []byte) []byte {
	return appendInts(appendInts(b, l.attached), l.detached)
}

func (l *listed) parse(b []byte) error {
	d := decoder{rest: string(b)}
	l.attached = d.ints()
	l.detached = d.ints()
	return d.end()
}

func appendInt(b []byte, v int) []byte { return binary.AppendUvarint(b, uint64(v)) }

func appendInts(b []byte, vs []int) []byte {
	b = appendInt(b, len(vs))
	for _, v := range vs {
		b = appendInt(b, v)
	}
	return b
}

func appendString(b []byte, s string) []byte {
	return append(appendInt(b, len(s)), s...)
}

func appendStrings(b []byte, ss []string) []byte {
	b = appendInt(b, len(ss))
	for _, s := range ss {
		b = appendString(b, s)
	}
	return b
}

// decoder reads a payload. After the first thing that does not fit it returns
// zero values, and end returns an error.
type decoder struct {
	rest string
	bad  bool
}

func (d *decoder) int() int {
	var v uint64
	for i := 0; i < len(d.rest) && i < binary.MaxVarintLen64; i++ {
		c := d.rest[i]
		v |= uint64(c&0x7f) << (7 * i)
		if c < 0x80 {
			d.rest = d.rest[i+1:]
			if int(v) < 0 {
				break
			}
			return int(v)
		}
	}
	d.bad = true
	d.rest = ""
	return 0
}

// count reads a number of elements that take at least one byte each.
func (d *decoder) count() int {
	n := d.int()
	if n > len(d.rest) {
		d.bad = true
		d.rest = ""
		return 0
	}
	return n
}

func (d *decoder) ints() []int {
	n := d.count()
	if n == 0 {
		return nil
	}
	vs := make([]int, n)
	for i := range vs {
		vs[i] = d.int()
	}
	return vs
}

func (d *decoder) string() string {
	n := d.count()
	s := d.rest[:n]
	d.rest = d.rest[n:]
	return s
}

func (d *decoder) strings() []string {
	n := d.count()
	if n == 0 {
		return nil
	}
	ss := make([]string, n)
	for i := range ss {
		ss[i] = d.string()
	}
	return ss
}

func (d *decoder) end() error {
	if d.bad || d.rest != "" {
		return errFrame
	}
	return nil
}

package wire

import (
	"errors"
	"io"
)

// Frame is the unit of the conversation: four bytes of length, one of kind,
// four of sequence number, then the payload; numbers are big-endian. The
// sequence number tells executions apart, so that nothing said about one is
// taken for the next one on the same supervisor.
type Frame struct {
	Kind    Kind
	Seq     uint32
	Payload []byte // valid until the next frame is read
}

// Kind says what a frame's payload is.
type Kind byte

// The kinds of frames.
const (
	// From the server.
	KindStart  Kind = iota + 1 // StartRequest, with the three descriptors
	KindSignal                 // signal number
	KindKill                   // nothing
	KindList                   // nothing

	// From the supervisor.
	KindStarted  // process id
	KindFailed   // error number
	KindReport   // Report
	KindSignaled // Signaled
	KindKilling  // the supervisor has begun to kill
	KindKilled   // ids of what it cannot kill
	KindListed   // Listed
	KindGone     // nothing is left of the execution that was asked about
)

const (
	lengthSize = 4
	headerSize = lengthSize + 5
	// maxFrame is far above what execve accepts on any system.
	maxFrame = 64 << 20
)

// ErrFrame is returned for what is not a frame, or not such a payload.
var ErrFrame = errors.New("malformed frame")

// Begin appends a header whose length End fills in.
func Begin(b []byte, k Kind, seq uint32) []byte {
	return append(b, 0, 0, 0, 0, byte(k), byte(seq>>24), byte(seq>>16), byte(seq>>8), byte(seq))
}

// End completes the frame that b is, from the header to the payload.
func End(b []byte) []byte {
	n := uint32(len(b) - lengthSize)
	b[0], b[1], b[2], b[3] = byte(n>>24), byte(n>>16), byte(n>>8), byte(n)
	return b
}

func bigEndian(b []byte) uint32 {
	return uint32(b[0])<<24 | uint32(b[1])<<16 | uint32(b[2])<<8 | uint32(b[3])
}

// Reader cuts a stream into frames.
type Reader struct {
	read func([]byte) (int, error)
	buf  []byte
	r, w int // buf[r:w] has been read but not returned
}

// NewReader returns a Reader of what read gives, which ends with an error or
// with no bytes.
func NewReader(read func([]byte) (int, error)) *Reader { return &Reader{read: read} }

// Next returns the next frame. At the end of the stream it returns io.EOF, and
// io.ErrUnexpectedEOF within a frame.
func (fr *Reader) Next() (Frame, error) {
	if err := fr.fill(lengthSize); err != nil {
		return Frame{}, err
	}
	n := int(bigEndian(fr.buf[fr.r:]))
	if n < headerSize-lengthSize || n > maxFrame {
		return Frame{}, ErrFrame
	}
	if err := fr.fill(lengthSize + n); err != nil {
		return Frame{}, err
	}
	b := fr.buf[fr.r : fr.r+lengthSize+n]
	fr.r += len(b)
	return Frame{Kind: Kind(b[lengthSize]), Seq: bigEndian(b[lengthSize+1:]), Payload: b[headerSize:]}, nil
}

// keepBuffer is the size of buffer that a reader keeps between frames. Most
// environments fit.
const keepBuffer = 16 << 10

// minBuffer is the size of buffer that a reader begins with.
const minBuffer = 1 << 10

// fill makes at least n unreturned bytes available.
func (fr *Reader) fill(n int) error {
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

package buffer

import (
	"encoding/binary"
	"math/bits"
)

// measure returns how many bytes repair makes of p, and takes a fraction of the
// time. An incomplete character at the end of p counts as invalid.
//
// It first takes each byte above 0x7F for invalid, so that it becomes three.
// What is wrong with that shows where a lead byte stands before a continuation
// byte. What begins there is that one lead byte and continuation bytes, so no
// two such places have a byte in common, and each is put right by itself,
// whatever is around it. In noise, they are few.
func measure(p []byte) int {
	size := len(p)
	for len(p) >= stride+ahead {
		n := min((len(p)-ahead)/stride, strides)
		size += growth(p, n)
		p = p[n*stride:]
	}
	var last [2*stride + ahead]byte // zeros change nothing
	copy(last[:], p)
	return size + growth(last[:], 2)
}

// growth returns by how much the first n strides of p become longer. There are
// at least ahead bytes behind them.
func growth(p []byte, n int) int {
	highs, places := scan(p, n)
	size := highs * (len(replacement) - 1)
	for ; places != 0; places &= places - 1 {
		at := bits.TrailingZeros64(places) * stride
		size -= surplus((*[stride + ahead]byte)(p[at:]))
	}
	return size
}

const (
	stride  = 32                 // bytes that are looked at together
	strides = 255 / (stride / 8) // how many of them a counter of one byte can take
	ahead   = 3                  // bytes that a character has after the first, at most
	tops    = 0x8080808080808080 // the top bit of each byte of a word
)

// scan counts the bytes above 0x7F in the first n strides of p, which has ahead
// bytes more. In places, it sets the bits of the strides that may have a lead
// byte before a continuation byte. It has no branches that noise would mislead.
func scan(p []byte, n int) (highs int, places uint64) {
	var counters uint64
	for i := range n {
		in := (*[stride + 1]byte)(p[i*stride:])
		a, b := wordAt(in, 0), wordAt(in, 8)
		c, d := wordAt(in, 16), wordAt(in, 24)
		counters += a&tops>>7 + b&tops>>7 + c&tops>>7 + d&tops>>7
		found := a & (a << 1) & wordAt(in, 1)
		found |= b & (b << 1) & wordAt(in, 9)
		found |= c & (c << 1) & wordAt(in, 17)
		found |= d & (d << 1) & wordAt(in, 25)
		found &= tops
		places = places>>1 | (found|-found)&(1<<63) // the sign of one of both, unless it is 0
	}
	return sum(counters), places >> (64 - n)
}

func wordAt(in *[stride + 1]byte, i int) uint64 { return binary.LittleEndian.Uint64(in[i:]) }

// sum adds up the bytes of a word.
func sum(word uint64) int {
	const even = 0x00FF00FF00FF00FF
	return int((word&even + word>>8&even) * 0x0001000100010001 >> 48)
}

// surplus returns by how much three bytes for each byte is too much for what
// begins in a stride with a lead byte before a continuation byte. It looks at
// one place even if there is none, which costs less than a wrong guess.
func surplus(in *[stride + ahead]byte) (size int) {
	places := pairs(in, 0) | pairs(in, 8)>>1 | pairs(in, 16)>>2 | pairs(in, 24)>>3
	for {
		bit := bits.TrailingZeros64(places)
		at := (bit/8 + 8*(7-bit%8)) % stride
		n, valid := sequence(binary.LittleEndian.Uint32(in[at:]))
		more := n*len(replacement) - len(replacement)
		if valid {
			more = n * (len(replacement) - 1)
		}
		if places == 0 {
			more = 0
		}
		size += more
		if places &= places - 1; places == 0 {
			return size
		}
	}
}

// pairs marks by their top bits those of eight bytes that are lead bytes and
// have a continuation byte behind them.
func pairs(in *[stride + ahead]byte, i int) uint64 {
	word, behind := binary.LittleEndian.Uint64(in[i:]), binary.LittleEndian.Uint64(in[i+1:])
	return word & (word << 1) & behind &^ (behind << 1) & tops
}

// measureTo finds the shortest beginning of p of which repair makes at least
// want bytes, and cuts p between characters. It returns what repair makes of
// it, and its length.
func measureTo(p []byte, want int) (written, read int) {
	const step = 2 * stride
	for len(p)-read > step {
		piece := whole(p[read : read+step])
		n := measure(piece)
		if written+n > want {
			break
		}
		written += n
		read += len(piece)
	}
	for written < want && read < len(p) {
		n, valid := char(p[read:])
		read += n
		if valid {
			written += n
		} else {
			written += len(replacement)
		}
	}
	return written, read
}

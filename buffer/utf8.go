package buffer

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

// Invalid UTF-8 becomes U+FFFD, one for each maximal subpart: the longest
// beginning of a character that turns out not to go on, or else a single byte
// (The Unicode Standard, chapter 3, "U+FFFD Substitution of Maximal Subparts";
// the WHATWG decoder does the same). Go's own loops put one for each byte, and
// bytes.ToValidUTF8 one for a whole stretch; neither is what a browser or
// Python shows.

// replacement is U+FFFD in UTF-8.
const replacement = "\uFFFD"

// incomplete returns how many bytes at the end of p are the beginning of a
// character that could still be completed.
func incomplete(p []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(p); n++ {
		if tail := p[len(p)-n:]; utf8.RuneStart(tail[0]) {
			if utf8.FullRune(tail) {
				return 0
			}
			return n
		}
	}
	return 0
}

// whole returns p without an incomplete character at its end.
func whole(p []byte) []byte { return p[:len(p)-incomplete(p)] }

// char returns the length of the character that p, which is not empty, begins
// with, or of the maximal subpart if that is not valid.
func char(p []byte) (size int, valid bool) {
	r, size := utf8.DecodeRune(p)
	if r != utf8.RuneError || size != 1 {
		return size, true
	}
	for size < len(p) && size < utf8.UTFMax-1 && !utf8.FullRune(p[:size+1]) {
		size++
	}
	return size, false
}

// repair copies as much of src to dst as fits, with U+FFFD for what is invalid.
// An incomplete character at the end of src counts as invalid. dst has room
// for a few blocks at least.
//
// It works on blocks of 64 bytes, as a bit mask of the bytes above 0x7F. So
// its time goes with the number of such bytes, and noise, in which nothing can
// be predicted, costs no wrong guess for each byte.
func repair(dst, src []byte) (written, read int) {
	for read+inBlock <= len(src) && written+outBlock <= len(dst) {
		in := (*[inBlock]byte)(src[read:])
		high := highBytes(in)
		if high == 0 {
			written += copy(dst[written:], in[:block])
			read += block
			continue
		}
		w, r := repairBlock((*[outBlock]byte)(dst[written:]), in, high)
		written += w
		read += r
	}
	for read < len(src) && read+inBlock > len(src) && written+utf8.UTFMax <= len(dst) {
		n, valid := char(src[read:])
		if valid {
			written += copy(dst[written:], src[read:read+n])
		} else {
			written += copy(dst[written:], replacement)
		}
		read += n
	}
	return written, read
}

const (
	block    = 64              // bytes that repair looks at together
	short    = 32              // bytes that are copied without a loop
	inBlock  = block + short   // copies of whole words read beyond the block
	outBlock = 4*block + short // a block becomes three times as large at most
	outMask  = outBlock - short - 1

	replacementWord = 0xBDBFEF // replacement, as a little-endian word
)

// highBytes returns a mask with a bit set for each byte of the block that is
// above 0x7F.
func highBytes(in *[inBlock]byte) (mask uint64) {
	for i := 0; i < block; i += 8 {
		// The multiplication gathers the top bits of eight bytes in one.
		top := binary.LittleEndian.Uint64(in[i:]) & 0x8080808080808080 >> 7
		mask |= top * 0x0102040810204080 >> 56 << i
	}
	return mask
}

// repairBlock repairs the block, and the rest of a character that goes on
// after it. The bits of high mark the bytes above 0x7F. The masks of indexes
// change nothing: they show the compiler that it need not check bounds.
func repairBlock(out *[outBlock]byte, in *[inBlock]byte, high uint64) (written, read int) {
	for high != 0 {
		at := bits.TrailingZeros64(high) & (block - 1)
		written += copyShort(out, written, in, read, at-read)
		word := binary.LittleEndian.Uint32(in[at:])
		if word&0xC0C0 != 0x80C0 { // not a lead and a continuation byte
			binary.LittleEndian.PutUint32(out[written&outMask:], replacementWord)
			written += len(replacement)
			read = at + 1
			high &= high - 1
			continue
		}
		size, valid := sequence(word)
		if valid {
			binary.LittleEndian.PutUint32(out[written&outMask:], word)
			written += size
		} else {
			binary.LittleEndian.PutUint32(out[written&outMask:], replacementWord)
			written += len(replacement)
		}
		read = at + size
		high = high >> read << read
	}
	if read < block {
		written += copyShort(out, written, in, read, block-read)
		read = block
	}
	return written, read
}

// copyShort copies n bytes from one index to another. It writes 32 even where
// there are fewer: how many there are cannot be predicted.
func copyShort(out *[outBlock]byte, to int, in *[inBlock]byte, from, n int) int {
	to &= outMask
	from &= block - 1
	*(*[short]byte)(out[to:]) = *(*[short]byte)(in[from:])
	if n > short {
		copy(out[to+short:], in[from+short:from+n])
	}
	return n
}

// sequence looks at the four bytes of a little-endian word. The first is above
// 0xBF, and the second a continuation byte. It returns the length of the
// character that they begin with, or of the maximal subpart if that is not
// valid. It has no branches: in noise, they would be wrong half of the time.
func sequence(word uint32) (size int, valid bool) {
	l := leads[word&0x3F]
	// Continuation bytes become zero, and the first other one stops the count.
	others := word>>8&0xC0C0C0 ^ 0x808080 | 1<<24
	size = min(1+bits.TrailingZeros32(others)/8, l.want())
	if byte(word>>8)-byte(l) > l.span() {
		size = 1
	}
	return size, size == l.want()
}

// A lead says what a lead byte needs: the least second byte (bits 0 to 7), how
// far that may go up from there (8 to 15), and the length of the character.
type lead uint32

func (l lead) span() byte { return byte(l >> 8) }
func (l lead) want() int  { return int(l >> 16) }

// The kinds of lead bytes (The Unicode Standard, table 3-7).
const (
	no lead = 2<<16 | 0x00<<8 | 0xC0 // no character begins so
	l2 lead = 2<<16 | 0x3F<<8 | 0x80
	e0 lead = 3<<16 | 0x1F<<8 | 0xA0 // else it would be too long for its value
	l3 lead = 3<<16 | 0x3F<<8 | 0x80
	ed lead = 3<<16 | 0x1F<<8 | 0x80 // else it would be a surrogate
	f0 lead = 4<<16 | 0x2F<<8 | 0x90 // else it would be too long for its value
	l4 lead = 4<<16 | 0x3F<<8 | 0x80
	f4 lead = 4<<16 | 0x0F<<8 | 0x80 // else it would be above U+10FFFF
)

// leads has the bytes 0xC0 to 0xFF.
var leads = [64]lead{
	no, no, l2, l2, l2, l2, l2, l2, l2, l2, l2, l2, l2, l2, l2, l2, // C
	l2, l2, l2, l2, l2, l2, l2, l2, l2, l2, l2, l2, l2, l2, l2, l2, // D
	e0, l3, l3, l3, l3, l3, l3, l3, l3, l3, l3, l3, l3, ed, l3, l3, // E
	f0, l4, l4, l4, f4, no, no, no, no, no, no, no, no, no, no, no, // F
}

// repaired returns s with U+FFFD for what is invalid.
func repaired(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	dst := make([]byte, len(replacement)*len(s)+5*block)
	n, _ := repair(dst, []byte(s))
	return string(dst[:n])
}

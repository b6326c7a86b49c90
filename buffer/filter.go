package buffer

import (
	"encoding/binary"
	"math/bits"
)

const (
	gram       = 4  // length of the pieces that the filter looks up, in bytes
	maxStride  = 16 // bits of a filter entry
	filterBits = 13 // size of the filter: 8192 entries, 16 KiB
)

// A filter finds the places where a value may begin, fast. It looks at one
// piece of four bytes in every stride: a value is so long that a piece which
// is looked at lies within it. So most text is never read. (The idea is that
// of Wu and Manber, "A fast algorithm for multi-pattern searching", 1994, with
// steps of fixed length, so that no step waits for the one before.)
type filter struct {
	stride int
	// table has, at the hash of a piece, bit i set if the piece is in a value
	// at index i.
	table []uint16
}

func newFilter(list []Secret) filter {
	shortest := len(list[0].Value)
	for _, secret := range list {
		shortest = min(shortest, len(secret.Value))
	}
	f := filter{stride: min(shortest-gram+1, maxStride), table: make([]uint16, 1<<filterBits)}
	for _, secret := range list {
		for i := range f.stride {
			f.table[hash([]byte(secret.Value[i:i+gram]))] |= 1 << i
		}
	}
	return f
}

// hash maps the first four bytes of p to an index of the table.
func hash(p []byte) uint32 {
	return binary.LittleEndian.Uint32(p) * 0x9E3779B1 >> (32 - filterBits)
}

// skip returns the first index from i on where a value may begin, so far as
// text goes.
func (f *filter) skip(text []byte, i int) int {
	at := i + f.stride - 1
	for ; at+gram <= len(text); at += f.stride {
		for mask := f.table[hash(text[at:])]; mask != 0; {
			offset := bits.Len16(mask) - 1 // the largest is the earliest begin
			if f.table[hash(text[at-offset:])]&1 != 0 {
				return at - offset
			}
			mask &^= 1 << offset
		}
	}
	return min(at-f.stride+1, len(text))
}

package buffer

import "unicode/utf8"

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

// subpart returns the length of the maximal subpart that p, which is not empty
// and does not begin with a valid character, begins with.
func subpart(p []byte) int {
	n := 1
	for n < len(p) && n < utf8.UTFMax-1 && !utf8.FullRune(p[:n+1]) {
		n++
	}
	return n
}

// repair copies as much of src to dst as fits, with U+FFFD for what is invalid.
// An incomplete character at the end of src counts as invalid. dst has room
// for a character.
func repair(dst, src []byte) (written, read int) {
	for read < len(src) && written+utf8.UTFMax <= len(dst) {
		r, n := utf8.DecodeRune(src[read:])
		if r == utf8.RuneError && n == 1 {
			written += copy(dst[written:], replacement)
			read += subpart(src[read:])
			continue
		}
		written += copy(dst[written:], src[read:read+n])
		read += n
	}
	return written, read
}

// repaired returns s with U+FFFD for what is invalid.
func repaired(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	dst := make([]byte, len(replacement)*len(s)+utf8.UTFMax)
	n, _ := repair(dst, []byte(s))
	return string(dst[:n])
}

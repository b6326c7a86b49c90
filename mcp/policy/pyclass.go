package policy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// charSet is a set of characters as Python sees it, to be written as a class
// of the engine.
type charSet struct {
	ranges  []runeRange
	other   string // members in the engine's syntax
	notWord bool   // also everything that is no word character of Unicode
}

type runeRange struct{ low, high rune }

func (s *charSet) add(low, high rune) { s.ranges = append(s.ranges, runeRange{low, high}) }

// category is what a letter such as \w stands for: a class that holds it.
type classText struct{ in, out string }

// unicodeWord lists Python's word characters, str.isalnum and the underscore,
// as members of a class. The engine's own \w has marks and joiners instead of
// numbers such as "½".
const unicodeWord = `\p{L}\p{N}_`

const asciiWord = `0-9A-Za-z_`

// wordClass returns the classes of word characters and of all others.
func wordClass(ascii bool) classText {
	members := unicodeWord
	if ascii {
		members = asciiWord
	}
	return classText{"[" + members + "]", "[^" + members + "]"}
}

// spaces are what str.isspace takes for white space; the ASCII flag leaves
// those of C's isspace.
func spaces(ascii bool) []runeRange {
	if ascii {
		return []runeRange{{'\t', '\r'}, {' ', ' '}}
	}
	return []runeRange{{'\t', '\r'}, {0x1c, ' '}, {0x85, 0x85}, {0xa0, 0xa0}, {0x1680, 0x1680},
		{0x2000, 0x200a}, {0x2028, 0x2029}, {0x202f, 0x202f}, {0x205f, 0x205f}, {0x3000, 0x3000}}
}

// addCategory adds the characters that an escape of the letters dDsSwW stands
// for.
func (s *charSet) addCategory(letter rune, ascii bool) {
	word := []runeRange{{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}}
	switch {
	case letter == 's':
		s.ranges = append(s.ranges, spaces(ascii)...)
	case letter == 'S':
		s.ranges = append(s.ranges, complement(spaces(ascii))...)
	case letter == 'd' && ascii:
		s.add('0', '9')
	case letter == 'D' && ascii:
		s.ranges = append(s.ranges, complement([]runeRange{{'0', '9'}})...)
	case letter == 'w' && ascii:
		s.ranges = append(s.ranges, word...)
	case letter == 'W' && ascii:
		s.ranges = append(s.ranges, complement(word)...)
	case letter == 'd':
		s.other += `\p{Nd}`
	case letter == 'D':
		s.other += `\P{Nd}`
	case letter == 'w':
		s.other += unicodeWord
	case letter == 'W':
		s.notWord = true
	}
}

// complement returns the gaps between ranges that are in order.
func complement(ranges []runeRange) []runeRange {
	var gaps []runeRange
	from := rune(0)
	for _, r := range ranges {
		if r.low > from {
			gaps = append(gaps, runeRange{from, r.low - 1})
		}
		from = r.high + 1
	}
	return append(gaps, runeRange{from, unicode.MaxRune})
}

// piece writes the set, or its complement, for the engine.
func (s *charSet) piece(negate bool, flags pyFlags) piece {
	one := pyWidth{1, 1}
	ranges := s.ranges
	if flags.ignoreCase {
		ranges = withCases(ranges, flags.ascii)
	}
	ranges = merge(ranges)
	if len(ranges) == 1 && ranges[0].low == ranges[0].high && s.other == "" && !s.notWord && !negate {
		return piece{escapeRune(ranges[0].low), pieceAtom, one}
	}
	members := s.other
	for _, r := range ranges {
		members += escapeRune(r.low)
		if r.high > r.low {
			members += "-" + escapeRune(r.high)
		}
	}
	word := wordClass(false)
	switch {
	case !s.notWord && negate:
		return piece{"[^" + members + "]", pieceAtom, one}
	case !s.notWord:
		return piece{"[" + members + "]", pieceAtom, one}
	case members == "" && negate:
		return piece{word.in, pieceAtom, one}
	case members == "":
		return piece{word.out, pieceAtom, one}
	case negate:
		return piece{"(?:(?![" + members + "])" + word.in + ")", pieceAtom, one}
	}
	return piece{"(?:[" + members + "]|" + word.out + ")", pieceAtom, one}
}

// merge puts ranges in order and joins those that touch.
func merge(ranges []runeRange) []runeRange {
	sorted := slices.Clone(ranges)
	slices.SortFunc(sorted, func(a, b runeRange) int { return cmp.Compare(a.low, b.low) })
	var merged []runeRange
	for _, r := range sorted {
		if n := len(merged); n > 0 && r.low <= merged[n-1].high+1 {
			merged[n-1].high = max(merged[n-1].high, r.high)
			continue
		}
		merged = append(merged, r)
	}
	return merged
}

// escapeRune writes a character so that it is a literal inside and outside a
// class.
func escapeRune(r rune) string {
	switch {
	case r < 0x80 && (r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z'):
		return string(r)
	case r < 0x100:
		return fmt.Sprintf(`\x%02x`, r)
	case r < 0x10000: // also surrogates, which no string holds
		return fmt.Sprintf(`\u%04x`, r)
	}
	return string(r)
}

// -- case

// withCases adds to the ranges what they match when case is ignored. Python
// compares lower-case forms, one character each, and takes some lower-case
// letters for equal because they share an upper-case form (the engine's own
// folding lacks the dotless and the dotted i).
func withCases(ranges []runeRange, ascii bool) []runeRange {
	const lastCased = 0x1e943 // ADLAM SMALL LETTER SHA, the last with a mapping
	found := make(map[rune]bool)
	for _, r := range merge(ranges) {
		last := rune(lastCased)
		if ascii {
			last = unicode.MaxASCII
		}
		for c := r.low; c <= min(r.high, last); c++ {
			for _, variant := range cases(c, ascii) {
				found[variant] = true
			}
		}
	}
	all := slices.Clone(ranges)
	for _, r := range sortedRunes(found) {
		all = append(all, runeRange{r, r})
	}
	return all
}

// cases returns the characters that match c when case is ignored, without c
// when there are no others.
func cases(c rune, ascii bool) []rune {
	if ascii {
		if other := swapASCII(c); other != c {
			return []rune{c, other}
		}
		return nil
	}
	var matching []rune
	for _, lower := range equalLower(unicode.ToLower(c)) {
		for _, variant := range orbit(lower) {
			if unicode.ToLower(variant) == lower {
				matching = append(matching, variant)
			}
		}
	}
	if len(matching) < 2 {
		return nil
	}
	return matching
}

func swapASCII(c rune) rune {
	switch {
	case 'a' <= c && c <= 'z':
		return c - 'a' + 'A'
	case 'A' <= c && c <= 'Z':
		return c - 'A' + 'a'
	}
	return c
}

// equalLower returns the lower-case letters that Python takes for equal to
// lower, itself included.
func equalLower(lower rune) []rune {
	var equal []rune
	for _, c := range orbit(lower) {
		if unicode.ToLower(c) == c {
			equal = append(equal, c)
		}
	}
	return equal
}

// orbit returns the characters that are one under simple case folding, with
// what Python adds to it: the dotted and dotless i, and the ligatures and Greek
// letters that folding joined in Unicode 15.1.
func orbit(c rune) []rune {
	for _, extra := range []string{"iI\u0130\u0131", "\u0390\u1fd3", "\u03b0\u1fe3", "\ufb05\ufb06"} {
		if strings.ContainsRune(extra, c) {
			return []rune(extra)
		}
	}
	runes := []rune{c}
	for next := unicode.SimpleFold(c); next != c; next = unicode.SimpleFold(next) {
		runes = append(runes, next)
	}
	return runes
}

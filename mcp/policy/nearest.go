package policy

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// Nearest returns the members of known that name was probably meant to be, the
// likeliest first, at most three. Case counts for nothing in the comparison, so
// that a name in the wrong case finds its canonical form.
func Nearest(name string, known []string) []string {
	type candidate struct {
		name     string
		distance int
	}
	// A name far longer than any known one is no typing mistake, and comparing
	// it would cost its length squared.
	const longest = 100
	if name == "" || len(name) > longest {
		return nil
	}
	folded := strings.ToLower(name)
	var found []candidate
	for _, k := range known {
		// "timeout" is short for "timeout_ms", however much is missing.
		short := len(name) >= 3 && strings.HasPrefix(strings.ToLower(k), folded)
		limit := max(1, min(len(name), len(k))/3)
		if d := editDistance(folded, strings.ToLower(k)); d <= limit || short {
			found = append(found, candidate{k, d})
		}
	}
	slices.SortStableFunc(found, func(a, b candidate) int { return cmp.Compare(a.distance, b.distance) })
	var names []string
	for _, c := range found[:min(3, len(found))] {
		names = append(names, c.name)
	}
	return names
}

// editDistance counts the insertions, deletions, replacements and swaps of
// neighbours that turn a into b (optimal string alignment), over bytes.
func editDistance(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			change := 1
			if a[i-1] == b[j-1] {
				change = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+change)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}

// quote shows a value from outside in an error: on one line, and cut so that a
// huge one does not drown the message.
func quote(s string) string {
	const longest = 120
	if runes := []rune(s); len(runes) > longest {
		return strconv.Quote(string(runes[:longest])) + "..."
	}
	return strconv.Quote(s)
}

package procwindows

import (
	"slices"
	"strings"
	"unicode/utf16"
)

// environBlock makes the environment that CreateProcess takes: sorted by name
// without regard to case, as the system expects, each entry ended by a NUL and
// the whole by another. Of entries whose names differ in case only, the last
// counts. Names that begin with "=", such as "=C:", are the current folders of
// drives, and stay.
func environBlock(env []string) []uint16 {
	type entry struct{ key, text string }
	entries := make([]entry, 0, len(env))
	for _, kv := range slices.Backward(env) {
		entries = append(entries, entry{strings.ToUpper(envName(kv)), kv})
	}
	slices.SortStableFunc(entries, func(a, b entry) int { return strings.Compare(a.key, b.key) })
	entries = slices.CompactFunc(entries, func(a, b entry) bool { return a.key == b.key })

	var block []uint16
	for _, e := range entries {
		block = append(append(block, utf16.Encode([]rune(e.text))...), 0)
	}
	if len(block) == 0 {
		block = append(block, 0)
	}
	return append(block, 0)
}

// envName is the name of an entry "NAME=value". A leading "=" belongs to it.
func envName(kv string) string {
	if i := strings.IndexByte(kv[min(1, len(kv)):], '='); i >= 0 {
		return kv[:i+1]
	}
	return kv
}

// lookup returns the value of a variable, found without regard to case, or "".
func lookup(env []string, name string) string {
	for _, kv := range slices.Backward(env) {
		if n := envName(kv); strings.EqualFold(n, name) && len(kv) > len(n) {
			return kv[len(n)+1:]
		}
	}
	return ""
}

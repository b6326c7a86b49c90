package screen

import (
	"strings"
	"unicode/utf8"
)

// A Terminal shows one stream. It remembers what it has shown, so that each
// piece of output is answered with what it changed. The zero Terminal is empty.
// One goroutine at a time may use it.
type Terminal struct {
	parser parser
	shown  []string // the lines on the screen after the last Write
}

// Text returns what a terminal would show of a whole text.
func Text(text string) string { return new(Terminal).Write(text) }

// Write takes valid UTF-8 and returns what it added to the terminal. If it
// only went on where the last one ended, that is the text that came; if it
// changed lines that were shown before, it is everything from the first of
// them on.
func (t *Terminal) Write(text string) string {
	for _, r := range text {
		t.parser.take(r)
	}
	lines, above, screen := t.parser.grid.lines()
	lines = append(lines, screen...)
	if n := len(lines) - len(screen); n < len(lines) {
		lines[n] = above + lines[n]
	}
	fresh := added(t.shown, lines)
	t.shown = screen
	return fresh
}

// added returns what has to be written behind old lines to get the new ones,
// which begin at the same place.
func added(old, now []string) string {
	i := 0
	for i < len(old) && i < len(now) && old[i] == now[i] {
		i++
	}
	switch {
	case i == len(now):
		return ""
	case i == 0 && len(old) == 0:
		return strings.Join(now, "\n")
	case i == len(old):
		return "\n" + strings.Join(now[i:], "\n")
	case i == len(old)-1 && strings.HasPrefix(now[i], old[i]):
		return strings.Join(now[i:], "\n")[len(old[i]):]
	}
	return strings.Join(now[i:], "\n")
}

// Newest returns the newest bytes of a text, at most n, in whole characters. A
// sequence of few bytes can move a cursor far, so what a terminal shows may be
// more than what it was sent.
func Newest(text string, n int) string {
	if len(text) <= n {
		return text
	}
	cut := len(text) - max(0, n)
	for cut < len(text) && !utf8.RuneStart(text[cut]) {
		cut++
	}
	return text[cut:]
}

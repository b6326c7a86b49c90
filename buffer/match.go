package buffer

import (
	"bytes"

	"github.com/yieldshell/mcp-yieldshell/buffer/lazydfa"
)

// Bounds of what a Match shows, in bytes.
const (
	maxLine        = 1000 // of the line, and of what matched in it
	maxContextLine = 300
	// contextLines is how many lines are shown on each side.
	contextLines = 2
	// afterSize is what is kept of the text after a match.
	afterSize = maxLine + contextLines*(maxContextLine+1)
)

// A Match is where an expression was found, with what stands around it. Lines
// are without their newline and cut where they are long.
type Match struct {
	Stream Stream
	// Line is the line in which the match begins, as far as it has come.
	Line string
	// Text is what matched.
	Text string
	// Before and After are the lines around Line, at most two each, in the
	// order of the stream. The last one may be unfinished.
	Before, After []string
	// Seq is the position of the first byte of Line.
	Seq uint64
	// Next is the position after the match: where to look for the next one.
	Next uint64
}

// describe makes a Match of the text r of a stream, in which a match of re ends
// at the offset end; none began before the offset begun.
func describe(re *lazydfa.Regexp, r *recent, begun, end uint64) Match {
	text := r.text
	from, to := locate(re, text, int(max(begun, r.first())-r.first()), begun < r.first(), int(end-r.first()))

	at := from // in the line to show: not on the newline before it
	for at < to && text[at] == '\n' {
		at++
	}
	if at == to {
		at = from
	}
	lineFrom := bytes.LastIndexByte(text[:at], '\n') + 1
	lineTo := len(text)
	if n := bytes.IndexByte(text[at:], '\n'); n >= 0 {
		lineTo = at + n
	}
	shownFrom := lineFrom
	if lineTo-lineFrom > maxLine {
		shownFrom = charAfter(text, max(lineFrom, min(at-maxLine/4, lineTo-maxLine)))
	}
	m := Match{
		Line:   shownLine(text[shownFrom:lineTo], maxLine),
		Text:   shownLine(text[from:to], maxLine),
		Before: linesBefore(text[:lineFrom]),
		After:  linesAfter(text[lineTo:]),
	}
	if len(text) > 0 {
		m.Seq = r.seq(min(shownFrom, len(text)-1))
		// At least one byte on, so that whoever goes on from there gets ahead.
		last := max(to, int(max(begun, r.first())-r.first())+1)
		m.Next = r.seq(last-1) + 1
	}
	return m
}

// locate finds the match that ends at end, or as much later as it may extend
// within the text up to the end of that line. It begins at from or later. If
// text was dropped before from, the beginning of a line is the better place to
// look from.
func locate(re *lazydfa.Regexp, text []byte, from int, dropped bool, end int) (int, int) {
	if dropped {
		if n := bytes.IndexByte(text[:end], '\n'); n >= 0 {
			from = n + 1
		}
	}
	from = min(from, end)
	to := len(text)
	if n := bytes.IndexByte(text[end:], '\n'); n >= 0 {
		to = end + n + 1
	}
	for _, loc := range re.FindAll(text[from:to]) {
		if from+loc[1] >= end && from+loc[0] <= end {
			return from + loc[0], from + loc[1]
		}
	}
	return end, end // it is longer than what was kept
}

// linesBefore returns the last lines of a text that ends with a newline.
func linesBefore(text []byte) []string {
	var lines []string
	for len(text) > 0 && len(lines) < contextLines {
		text = text[:len(text)-1]
		i := bytes.LastIndexByte(text, '\n') + 1
		lines = append([]string{shownLine(text[i:], maxContextLine)}, lines...)
		text = text[:i]
	}
	return lines
}

// linesAfter returns the first lines of a text after the newline that it
// begins with.
func linesAfter(text []byte) []string {
	var lines []string
	for len(text) > 1 && len(lines) < contextLines {
		text = text[1:]
		i := bytes.IndexByte(text, '\n')
		if i < 0 {
			i = len(text)
		}
		lines = append(lines, shownLine(text[:i], maxContextLine))
		text = text[i:]
	}
	return lines
}

// shownLine is a line as it is shown: without the carriage return before its
// newline, and shortened.
func shownLine(line []byte, most int) string {
	return shorten(bytes.TrimSuffix(line, []byte{'\r'}), most)
}

// shorten cuts a text between characters.
func shorten(text []byte, most int) string {
	if len(text) > most {
		text = text[:charBefore(text, most)]
	}
	return string(text)
}

package buffer

import (
	"bytes"
	"context"
	"slices"

	"github.com/yieldshell/mcp-yieldshell/buffer/lazydfa"
)

const (
	// searchStep is how much is looked at while the log waits, in bytes.
	searchStep = 256 << 10
	// matchStep is how much of a line is looked at in one go, in bytes.
	matchStep = 64 << 10
	// maxSearchedLine is the longest line that is searched in one piece.
	maxSearchedLine = 1 << 20
)

// A Query asks for lines that an expression matches.
type Query struct {
	Re      *lazydfa.Regexp
	Streams Selection
	// From and Until are positions: only lines that begin at From or later
	// and before Until count. Until may be zero, for all.
	From, Until uint64
	// Before and After are how many lines are shown around each.
	Before, After int
	// Limit is how many lines are returned at most, and Bytes how much text,
	// but at least one line is. Newest asks for the newest lines, newest
	// first, instead of the oldest, oldest first.
	Limit, Bytes int
	Newest       bool
}

// A Finding is one line that was found. Lines are without their newline and
// cut where they are long.
type Finding struct {
	Stream Stream
	Line   string
	// Seq is the position where the line begins.
	Seq           uint64
	Before, After []string

	missing int // lines after it that have not been seen yet
}

// Findings is the answer to a Query.
type Findings struct {
	// Lines are in the order that was asked for, by where they begin.
	Lines []*Finding
	// Total is how many lines matched, returned or not.
	Total int
	// Start is the position of the oldest byte that was searched, and Latest
	// that after the newest byte of the log when the search began.
	Start, Latest uint64
	// Evicted: the range that was asked for reaches into output that is no
	// longer kept.
	Evicted bool
}

// Search looks for lines in what is kept, up to where the log ends when it
// begins. An unfinished last line counts; of a line whose beginning was evicted,
// the rest does. The error is the context's.
func (l *Log) Search(ctx context.Context, q Query) (Findings, error) {
	end := l.Latest()
	s := searcher{query: q, matcher: q.Re.Start(), found: Findings{Latest: end}}
	from := max(q.From, 1)
	// Streams may begin in the middle of a line that does not count.
	l.around(from, q.Streams, func(i Stream, r *ring) { s.streams[i].begin(r, from) })
	for first := true; from < end && !s.done(from); first = false {
		if err := context.Cause(ctx); err != nil {
			return Findings{}, err
		}
		pieces, next, evicted := l.Pieces(from, searchStep, q.Streams)
		if evicted {
			s.found.Evicted = true
			if !first {
				s.gap()
			}
		}
		pieces = upTo(pieces, end)
		if first && len(pieces) > 0 {
			s.found.Start = pieces[0].Seq
		}
		for _, p := range pieces {
			if err := s.piece(ctx, p); err != nil {
				return Findings{}, err
			}
		}
		from = next
	}
	if s.found.Start == 0 {
		s.found.Start = end
	}
	if err := s.end(ctx); err != nil {
		return Findings{}, err
	}
	return s.found, nil
}

// upTo returns what stands before the position end.
func upTo(pieces []Piece, end uint64) []Piece {
	for i, p := range pieces {
		if p.Seq >= end {
			return pieces[:i]
		}
		pieces[i].Text = p.Text[:min(uint64(len(p.Text)), end-p.Seq)]
	}
	return pieces
}

// done reports whether what follows the position pos does not matter: no line
// counts that begins there, and no line before it is still to come or to be
// shown.
func (s *searcher) done(pos uint64) bool {
	if s.query.Until == 0 || pos < s.query.Until {
		return false
	}
	for i := range s.streams {
		v := &s.streams[i]
		if v.begun && v.start < s.query.Until || len(v.open) > 0 {
			return false
		}
	}
	return true
}

// begin notes whether the position from is in the middle of a line of r.
func (v *searched) begin(r *ring, from uint64) {
	off := r.seek(from)
	v.within = r.evicted < from && off > 0 && !r.beginsLine(off)
}

// searcher takes output in and gathers findings.
type searcher struct {
	query   Query
	matcher *lazydfa.Matcher
	found   Findings
	streams [2]searched
}

// searched is one stream of a search.
type searched struct {
	within bool   // what comes is the rest of a line that does not count
	begun  bool   // there is a line
	line   []byte // as far as it has come
	start  uint64 // its position
	before []string
	open   []*Finding // those that miss lines after them
}

// piece splits a piece into lines.
func (s *searcher) piece(ctx context.Context, p Piece) error {
	v := &s.streams[p.Stream]
	for text, seq := p.Text, p.Seq; len(text) > 0; {
		if !v.begun {
			v.begun, v.start = true, seq
		}
		part, rest, ended := bytes.Cut(text, []byte{'\n'})
		v.line = append(v.line, part...)
		if ended || len(v.line) >= maxSearchedLine {
			if err := s.take(ctx, p.Stream); err != nil {
				return err
			}
		}
		text, seq = rest, seq+uint64(len(part))+1
	}
	return nil
}

// take looks at the line of a stream that is complete.
func (s *searcher) take(ctx context.Context, stream Stream) error {
	v := &s.streams[stream]
	line := bytes.TrimSuffix(v.line, []byte{'\r'})
	if !v.within {
		for _, f := range v.open {
			f.After = append(f.After, shorten(line, maxContextLine))
			f.missing--
		}
		v.open = slices.DeleteFunc(v.open, func(f *Finding) bool { return f.missing == 0 })
		if s.query.Until == 0 || v.start < s.query.Until {
			switch end, ok, err := s.match(ctx, line); {
			case err != nil:
				return err
			case ok:
				s.find(stream, line, end)
			}
		}
	}
	v.remember(line, s.query.Before)
	v.within, v.begun, v.line = false, false, v.line[:0]
	return nil
}

// match reports whether the line matches, and where the first match ends. The
// automaton does it in steps, so that even a long line and a slow expression
// end with the context.
func (s *searcher) match(ctx context.Context, line []byte) (end int, ok bool, err error) {
	s.matcher.Reset()
	for from := 0; from < len(line); {
		to := charBefore(line, min(len(line), from+matchStep))
		if n, ok := s.matcher.Feed(line[from:to]); ok {
			return from + n, true, nil
		}
		if from = to; from < len(line) && ctx.Err() != nil {
			return 0, false, context.Cause(ctx)
		}
	}
	return len(line), s.matcher.AtEnd(), nil
}

// remember keeps a line for those after it.
func (v *searched) remember(line []byte, most int) {
	if most == 0 {
		return
	}
	if len(v.before) == most {
		v.before = slices.Delete(v.before, 0, 1)
	}
	v.before = append(v.before, shorten(line, maxContextLine))
}

// find enters the line of a stream among the findings, if it is one of those
// that were asked for.
func (s *searcher) find(stream Stream, line []byte, end int) {
	v := &s.streams[stream]
	s.found.Total++
	f := &Finding{Stream: stream, Line: excerpt(line, end), Seq: v.start, Before: slices.Clone(v.before), missing: s.query.After}
	// Nearly always it belongs at the end: a line may have begun before one
	// of the other stream and end after it.
	i := len(s.found.Lines)
	for i > 0 && s.found.Lines[i-1].Seq > f.Seq {
		i--
	}
	s.found.Lines = slices.Insert(s.found.Lines, i, f)
	if len(s.found.Lines) > s.query.Limit {
		drop := s.query.Limit
		if s.query.Newest {
			drop = 0
		}
		s.found.Lines = slices.Delete(s.found.Lines, drop, drop+1)
	}
	if f.missing > 0 {
		v.open = append(v.open, f)
	}
}

// gap is called when output was evicted before it was searched.
func (s *searcher) gap() {
	for i := range s.streams {
		s.streams[i] = searched{}
	}
}

// end takes the unfinished lines and leaves as many findings as fit.
func (s *searcher) end(ctx context.Context) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	for i := range s.streams {
		if s.streams[i].begun {
			if err := s.take(ctx, Stream(i)); err != nil {
				return err
			}
		}
	}
	if s.query.Newest {
		slices.Reverse(s.found.Lines)
	}
	size := 0
	for i, f := range s.found.Lines {
		if size += f.size(); size > s.query.Bytes && i > 0 {
			s.found.Lines = s.found.Lines[:i]
			break
		}
	}
	return nil
}

// size is how much text the finding has.
func (f *Finding) size() int {
	n := len(f.Line)
	for _, line := range f.Before {
		n += len(line)
	}
	for _, line := range f.After {
		n += len(line)
	}
	return n
}

// excerpt is a line as it is shown: if it is long, the part around the place
// where a match ends.
func excerpt(line []byte, end int) string {
	from := 0
	if len(line) > maxLine {
		from = charAfter(line, max(0, min(end-maxLine/2, len(line)-maxLine)))
	}
	return shorten(line[from:], maxLine)
}

package buffer

import (
	"bytes"
	"context"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/yieldshell/mcp-yieldshell/buffer/lazydfa"
)

const (
	// settleTime is how long an unfinished line must be quiet before its end
	// counts as the end of a line: what comes in two pieces comes sooner.
	settleTime = 30 * time.Millisecond
	// catchUpSize is how much of the kept output is looked at in one go, in
	// bytes, while the log waits.
	catchUpSize = 64 << 10
	// chaseSize is catchUpSize for what is not in memory and has come since the
	// watch began. A command that adds more than that while it is read is not
	// caught up with, and the call's budget ends it.
	chaseSize = 1 << 20
)

// A Watch looks for the first match of an expression in the output of selected
// streams from a position on: first in what is kept, then in what comes. Each
// stream is a text of its own, which begins at that position. Every byte is looked at once, when it arrives,
// so that it does not matter whether it is evicted afterwards.
//
// Its owner calls Stop when it is done with it.
type Watch struct {
	log   *Log
	re    *lazydfa.Regexp
	sel   Selection
	grows bool // see WatchOn; only at the beginning
	found chan struct{}

	// Guarded by log.mu once the watch is live.
	streams [2]watched
	hit     *watched // where there was a match
	live    bool     // it has caught up and is among log.watches
	behind  bool     // it was to end before it had caught up
}

// watched is one stream of a watch.
type watched struct {
	stream  Stream
	matcher *lazydfa.Matcher
	recent  recent
	begun   uint64 // offset in recent where matches may begin
	end     uint64 // offset in recent where the match ends

	// line is the matcher of a text that begins with the line that the cursor
	// stands in, at the offset lineBegun; nil if there is none.
	line      *lazydfa.Matcher
	lineBegun uint64

	// open: the text has a match if nothing follows. The timer runs then, and
	// since is when the text came.
	open  bool
	since time.Time
	timer *time.Timer
}

// Watch begins to look for re in the selected streams from the position from
// on, or from the oldest kept output after it. It returns when all that is kept
// has been looked at, or when the context ends: then the watch has seen a part
// only, and will see no more.
func (l *Log) Watch(ctx context.Context, re *lazydfa.Regexp, from uint64, sel Selection) *Watch {
	return l.watch(ctx, re, from, sel, false)
}

// WatchOn is Watch for a cursor that may stand within a line, because it was
// read before it was complete: a match may begin in what was read of the line,
// but must end after the cursor.
func (l *Log) WatchOn(ctx context.Context, re *lazydfa.Regexp, cursor uint64, sel Selection) *Watch {
	return l.watch(ctx, re, cursor, sel, true)
}

// watch looks at what is there without being in anybody's way. What comes in the
// meantime may come faster than it is looked at, so that is looked at while the
// log waits.
func (l *Log) watch(ctx context.Context, re *lazydfa.Regexp, from uint64, sel Selection, grows bool) *Watch {
	w := &Watch{log: l, re: re, sel: sel, grows: grows, found: make(chan struct{})}
	for s := range w.streams {
		w.streams[s].stream = Stream(s)
	}
	from = max(from, 1)
	w.begin(from)
	for end := l.Latest(); !w.live && !w.complete(); {
		switch {
		case ctx.Err() != nil:
			w.behind = true
			return w
		case from < end:
			from = w.catchUp(ctx, from)
		default:
			from = w.chase(ctx, from)
		}
	}
	return w
}

// Found is closed when there is a match.
func (w *Watch) Found() <-chan struct{} { return w.found }

// Match describes the match. It is called after Found was closed; the later,
// the more lines may have come after it.
func (w *Watch) Match() Match {
	w.log.mu.Lock()
	hit := w.hit
	r := recent{text: bytes.Clone(hit.recent.text), runs: slices.Clone(hit.recent.runs), total: hit.recent.total}
	w.log.mu.Unlock()
	m := describe(w.re, &r, hit.begun, hit.end)
	m.Stream = hit.stream
	return m
}

// End says that no more output comes, so that the end of an unfinished line is
// final, and reports whether there is a match.
func (w *Watch) End() bool {
	w.log.mu.Lock()
	defer w.log.mu.Unlock()
	for s := range w.streams {
		if v := &w.streams[s]; v.open && w.hit == nil && !w.behind {
			w.hitAt(v, v.recent.total)
		}
	}
	return w.hit != nil
}

// Stop ends the watch. What was found stays.
func (w *Watch) Stop() {
	w.log.mu.Lock()
	defer w.log.mu.Unlock()
	w.log.watches = slices.DeleteFunc(w.log.watches, func(o *Watch) bool { return o == w })
	w.live = false
	for s := range w.streams {
		w.streams[s].close()
	}
}

// catchUp looks at the next part of what is kept, and returns where to go on.
func (w *Watch) catchUp(ctx context.Context, from uint64) uint64 {
	pieces, next := w.pieces(from, catchUpSize)
	w.feedAll(ctx, pieces)
	return next
}

// chase is catchUp while the log waits. What is in memory is looked at to its
// end, and then the watch is live. What is not is read first: that may block.
func (w *Watch) chase(ctx context.Context, from uint64) uint64 {
	l := w.log
	l.mu.Lock()
	defer l.mu.Unlock()
	from = min(from, l.next)
	if !l.inMemory(from, w.sel) {
		l.mu.Unlock()
		pieces, next := w.pieces(from, chaseSize)
		l.mu.Lock()
		w.feedAll(ctx, pieces)
		return next
	}
	rings := l.selected(w.sel)
	evicted := false
	for _, r := range rings {
		evicted = evicted || r != nil && r.evicted >= from
	}
	for ctx.Err() == nil {
		pieces, next := piecesOf(rings, from, catchUpSize, l.next)
		if len(pieces) == 0 {
			w.goLive()
			return next
		}
		if evicted {
			w.grows, evicted = false, false
			w.beginIn(rings, pieces[0].Seq)
		}
		w.feedAll(ctx, pieces)
		from = next
	}
	return from
}

// pieces returns at most size bytes of what is kept from a position on, and
// where to go on. If something was evicted, before the beginning or since the
// last part, the watch begins anew with them.
func (w *Watch) pieces(from uint64, size int) ([]Piece, uint64) {
	pieces, next, evicted := w.log.Pieces(from, size, w.sel)
	if evicted && len(pieces) > 0 {
		w.grows = false
		w.begin(pieces[0].Seq)
	}
	return pieces, next
}

// feedAll takes in kept output, as long as the context has not ended.
func (w *Watch) feedAll(ctx context.Context, pieces []Piece) {
	for _, p := range pieces {
		for len(p.Text) > 0 && ctx.Err() == nil {
			n := charBefore(p.Text, min(len(p.Text), catchUpSize))
			w.feed(p.Stream, p.Seq, p.Text[:n])
			p.Text, p.Seq = p.Text[n:], p.Seq+uint64(n)
		}
	}
}

// goLive enters the watch among those that see what comes. log.mu is held.
func (w *Watch) goLive() {
	w.log.watches = append(w.log.watches, w)
	w.live = true
	for s := range w.streams {
		w.settleLater(&w.streams[s])
	}
}

// begin makes the streams ready for text from the position from on. What stands
// before it is there to be shown, not to be matched.
func (w *Watch) begin(from uint64) {
	w.log.around(from, w.sel, func(s Stream, r *ring) { w.beginStream(s, r, from) })
}

// beginIn is begin with rings that have what is needed.
func (w *Watch) beginIn(rings [2]*ring, from uint64) {
	for s, r := range rings {
		if r != nil {
			w.beginStream(Stream(s), r, from)
		}
	}
}

func (w *Watch) beginStream(s Stream, r *ring, from uint64) {
	v := &w.streams[s]
	v.begin(w.re, r, from)
	if w.grows {
		v.beginLine(w.re)
	}
}

func (v *watched) begin(re *lazydfa.Regexp, r *ring, from uint64) {
	off := r.seek(from)
	v.recent = recent{}
	for at := off - min(off-r.first(), recentSize); at < off; {
		if r.isStart(at) {
			i := r.runs.find(at)
			end := min(off, r.runs.end(i, r.total))
			v.recent.add(r.position(at), []byte(r.text(at, end)))
			at = end
			continue
		}
		at++
	}
	v.matcher, v.line, v.begun, v.open = re.Start(), nil, v.recent.total, false
}

// beginLine takes up the line that what stands before ends with.
func (v *watched) beginLine(re *lazydfa.Regexp) {
	line := v.recent.text[bytes.LastIndexByte(v.recent.text, '\n')+1:]
	if len(line) > 0 {
		v.line, v.lineBegun = re.Start(), v.recent.total-uint64(len(line))
		v.line.Prime(line)
	}
}

// look feeds the matchers. Of two matches that end at the same place, the one
// that may have begun earlier is it.
func (v *watched) look(p []byte) (end int, ok bool) {
	end, ok = v.matcher.Feed(p)
	v.open = !ok && v.matcher.AtEnd()
	if v.line == nil {
		return end, ok
	}
	lineEnd, lineOK := v.line.Feed(p)
	switch {
	case lineOK && (!ok || lineEnd <= end):
		v.begun = v.lineBegun
		return lineEnd, true
	case !ok && !v.open && v.line.AtEnd():
		v.open = true
	}
	return end, ok
}

// complete reports whether there is a match and enough text after it.
func (w *Watch) complete() bool {
	return w.hit != nil && w.hit.recent.total >= w.hit.end+afterSize
}

// feed takes in output of the stream s. Once the watch is live, log.mu is held.
func (w *Watch) feed(s Stream, seq uint64, p []byte) {
	if !w.sel.Has(s) {
		return
	}
	v := &w.streams[s]
	if w.hit != nil {
		if v == w.hit && !w.complete() {
			v.recent.add(seq, p[:charBefore(p, int(min(uint64(len(p)), v.end+afterSize+utf8.UTFMax-v.recent.total)))])
		}
		return
	}
	end, ok := v.look(p)
	if !ok {
		v.recent.add(seq, p)
		if w.live {
			w.settleLater(v)
		}
		return
	}
	at := v.recent.total + uint64(end)
	v.recent.add(seq, p[:end])
	rest := p[end:]
	v.recent.add(seq+uint64(end), rest[:charBefore(rest, min(len(rest), afterSize+utf8.UTFMax))])
	w.hitAt(v, at)
}

// hitAt notes a match that ends at the offset end.
func (w *Watch) hitAt(v *watched, end uint64) {
	w.hit, v.end = v, end
	if v.open && !v.matcher.AtEnd() {
		v.begun = v.lineBegun
	}
	close(w.found)
	for s := range w.streams {
		w.streams[s].close()
	}
}

// settleLater sees to it that what matches at the end of the text so far counts
// if nothing follows for a while. log.mu is held.
func (w *Watch) settleLater(v *watched) {
	switch {
	case !v.open:
		v.close()
	case v.timer == nil:
		v.since = time.Now()
		v.timer = time.AfterFunc(settleTime, func() { w.settle(v) })
	default:
		v.since = time.Now()
		v.timer.Reset(settleTime)
	}
}

func (w *Watch) settle(v *watched) {
	w.log.mu.Lock()
	defer w.log.mu.Unlock()
	// It may have been too late to stop the timer.
	if w.live && w.hit == nil && v.open && time.Since(v.since) >= settleTime {
		w.hitAt(v, v.recent.total)
	}
}

func (v *watched) close() {
	if v.timer != nil {
		v.timer.Stop()
	}
}

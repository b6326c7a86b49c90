package lazydfa

import (
	"bytes"
	"encoding/binary"
	"maps"
	"regexp/syntax"
	"slices"
	"unicode/utf8"
	"unsafe"
)

// cacheSize bounds the states of a Matcher, in bytes, roughly.
const cacheSize = 1 << 20

// A Matcher looks for the first match of an expression in text that it is fed
// piece by piece. One goroutine at a time may use it.
type Matcher struct {
	re    *Regexp
	first *state
	state *state
	// ground is the state in which no match has begun, if the expression has
	// a prefix, else nil.
	ground *state

	// primed: a match that ends where the text goes on is none.
	primed bool

	states map[string]*state
	size   int // of states, in bytes

	// Scratch memory of step.
	now, then set
	matched   bool
	key       []byte
}

// A state is a set of places in the program. The matcher is in it when it has
// read some text, and what it does next depends on nothing else.
type state struct {
	// insts are the instructions that wait for the next rune, ascending: those
	// that consume one, and assertions that have to see it.
	insts []uint32
	// prev stands for the rune before: beginning, newline, word or other.
	prev rune
	// match: the text read so far has a match, whatever follows.
	match bool
	// ends: it has one if nothing follows.
	ends bool
	// next holds the states that the classes lead to, nil for those that were
	// not needed yet.
	next []*state
	// plain is the part of next that a run of ASCII goes through, by byte.
	plain [utf8.RuneSelf]*state
}

// Runes that stand for all with the same effect on assertions.
const (
	beginning rune = -1
	newline   rune = '\n'
	word      rune = 'a'
	other     rune = ' '
)

// matchedBefore is where a rune leads that shows that a match ended before it.
var matchedBefore = &state{match: true}

// Start returns a matcher at the beginning of a text.
func (re *Regexp) Start() *Matcher {
	m := &Matcher{re: re, states: make(map[string]*state)}
	m.now.init(len(re.prog.Inst))
	m.then.init(len(re.prog.Inst))
	prev := re.standIn(beginning)
	matched := m.add(&m.then, uint32(re.prog.Start), syntax.EmptyOpContext(prev, other), false)
	m.first = m.intern(&m.then, prev, matched)
	m.state = m.first
	if len(re.prefix) > 0 {
		m.ground = m.state
	}
	return m
}

// Reset puts the matcher to the beginning of another text.
func (m *Matcher) Reset() { m.state, m.primed = m.first, false }

// Prime reads text that comes before what is fed, of whole characters. A match
// may begin in it, but must end after it.
func (m *Matcher) Prime(p []byte) {
	for len(p) > 0 {
		r, size := utf8.DecodeRune(p)
		m.skipRune(r)
		p = p[size:]
	}
	m.primed = true
}

// skipRune reads a rune and takes no notice of matches.
func (m *Matcher) skipRune(r rune) {
	s := m.state
	m.open(s, syntax.EmptyOpContext(s.prev, r))
	m.advance(r)
	m.state = m.intern(&m.then, m.re.standIn(r), false)
}

// standIn returns the rune that stands for r where it is looked back at.
func (re *Regexp) standIn(r rune) rune {
	switch {
	case !re.asserts:
		return other
	case r == beginning || r == newline:
		return r
	case syntax.IsWordChar(r):
		return word
	}
	return other
}

// Feed reads the next piece of text, which must be of whole characters. If
// some match is then certain, it returns the offset in p after the earliest
// one; the end is 0 if it lies before p. After that the matcher is used up.
//
// An empty piece matches nothing: there is a match only where there is text.
func (m *Matcher) Feed(p []byte) (end int, ok bool) {
	if len(p) == 0 {
		return 0, false
	}
	start := 0
	if m.primed {
		m.primed = false
		r, size := utf8.DecodeRune(p)
		if m.skipRune(r); m.matched {
			return size, true
		}
		start = size
	}
	s := m.state
	if s.match {
		return 0, true
	}
	again := 0 // where to skip again, should no match have begun there
	for i := start; i < len(p); {
		if s == m.ground && i >= again {
			if i, again = m.skip(p, i); i == len(p) {
				break
			}
		}
		if s, i = m.run(s, p, i); i == len(p) {
			break
		}
		next, size := m.one(s, p[i:])
		if next.match {
			if next == matchedBefore {
				return i, true
			}
			return i + size, true
		}
		s = next
		i += size
	}
	m.state = s
	return 0, false
}

// run goes on from i through ASCII and known states, up to one where something
// has to be done.
func (m *Matcher) run(s *state, p []byte, i int) (*state, int) {
	for ; i < len(p) && p[i] < utf8.RuneSelf; i++ {
		next := s.plain[p[i]]
		if next == nil || next == m.ground {
			break
		}
		s = next
	}
	return s, i
}

// one returns where the first character of p leads, and its size.
func (m *Matcher) one(s *state, p []byte) (next *state, size int) {
	r, size := rune(p[0]), 1
	class := 0
	if r < utf8.RuneSelf {
		class = int(m.re.ascii[r])
	} else {
		r, size = utf8.DecodeRune(p)
		class = m.re.search(r)
	}
	if next = s.next[class]; next == nil {
		next = m.step(s, class)
	}
	if r < utf8.RuneSelf && !next.match {
		s.plain[r] = next
	}
	return next, size
}

// skip returns the first place from i on where a match may begin, and the first
// from which on it makes sense to skip again.
func (m *Matcher) skip(p []byte, i int) (to, again int) {
	if n := bytes.Index(p[i:], m.re.prefix); n >= 0 {
		return i + n, i + n + 1
	}
	// The end of p may be the beginning of the prefix.
	to = max(i, len(p)-len(m.re.prefix)+1)
	for to < len(p) && !utf8.RuneStart(p[to]) {
		to++
	}
	return to, len(p)
}

// AtEnd reports whether the text that was fed, which may be empty, has a match
// if nothing follows.
func (m *Matcher) AtEnd() bool { return m.state.match || m.state.ends }

// step finds where a class of runes leads.
func (m *Matcher) step(s *state, class int) *state {
	r := m.re.starts[class]
	context := syntax.EmptyOpContext(s.prev, r)
	if m.open(s, context) {
		s.next[class] = matchedBefore
		return matchedBefore
	}
	m.advance(r)
	next := m.intern(&m.then, m.re.standIn(r), m.matched)
	s.next[class] = next
	return next
}

// advance puts into then what the rune r leads to from now, and notes whether
// that is a match.
func (m *Matcher) advance(r rune) {
	left := syntax.EmptyOpContext(m.re.standIn(r), other)
	m.then.clear()
	m.matched = false
	for _, pc := range m.now.dense {
		inst := &m.re.prog.Inst[pc]
		if consumes(inst) && inst.MatchRune(r) {
			m.matched = m.add(&m.then, inst.Out, left, false) || m.matched
		}
	}
	// The search is not anchored: a match may also begin here.
	m.matched = m.add(&m.then, uint32(m.re.prog.Start), left, false) || m.matched
}

// open puts into now what is reached from s without reading a rune, when
// context says what stands on both sides, and reports whether it is a match.
func (m *Matcher) open(s *state, context syntax.EmptyOp) (matched bool) {
	m.now.clear()
	for _, pc := range s.insts {
		matched = m.add(&m.now, pc, context, true) || matched
	}
	return matched
}

// add enters an instruction, and what is reached from it without reading a
// rune, into the set q. If complete is not set, the next rune is not known yet:
// assertions that look at it are entered themselves. It reports whether a
// match was reached.
func (m *Matcher) add(q *set, pc uint32, context syntax.EmptyOp, complete bool) (matched bool) {
	if !q.insert(pc) {
		return false
	}
	switch inst := &m.re.prog.Inst[pc]; inst.Op {
	case syntax.InstMatch:
		return true
	case syntax.InstAlt, syntax.InstAltMatch:
		matched = m.add(q, inst.Out, context, complete)
		return m.add(q, inst.Arg, context, complete) || matched
	case syntax.InstCapture, syntax.InstNop:
		return m.add(q, inst.Out, context, complete)
	case syntax.InstEmptyWidth:
		const begins = syntax.EmptyBeginLine | syntax.EmptyBeginText
		want := syntax.EmptyOp(inst.Arg)
		if !complete {
			context &= begins
		}
		if want&^context == 0 {
			return m.add(q, inst.Out, context, complete)
		}
	}
	return false
}

func consumes(inst *syntax.Inst) bool {
	switch inst.Op {
	case syntax.InstRune, syntax.InstRune1, syntax.InstRuneAny, syntax.InstRuneAnyNotNL:
		return true
	}
	return false
}

// intern returns the state with these instructions.
func (m *Matcher) intern(q *set, prev rune, matched bool) *state {
	waiting := q.dense[:0:0]
	for _, pc := range q.dense {
		inst := &m.re.prog.Inst[pc]
		if consumes(inst) || inst.Op == syntax.InstEmptyWidth {
			waiting = append(waiting, pc)
		}
	}
	slices.Sort(waiting)
	m.key = append(m.key[:0], byte(prev), 0)
	if matched {
		m.key[1] = 1
	}
	for _, pc := range waiting {
		m.key = binary.LittleEndian.AppendUint32(m.key, pc)
	}
	if s := m.states[string(m.key)]; s != nil {
		return s
	}
	s := &state{insts: waiting, prev: prev, match: matched, next: make([]*state, len(m.re.starts))}
	if m.re.atEnds && !matched {
		s.ends = m.open(s, syntax.EmptyOpContext(prev, beginning))
	}
	size := 2*len(m.key) + 8*len(s.next) + int(unsafe.Sizeof(*s))
	if m.size += size; m.size > cacheSize {
		m.forget()
		m.size = size
	}
	m.states[string(m.key)] = s
	return s
}

// forget drops all states but the first one, and what that leads to.
func (m *Matcher) forget() {
	maps.DeleteFunc(m.states, func(_ string, s *state) bool { return s != m.first })
	if m.first != nil {
		clear(m.first.next)
		clear(m.first.plain[:])
	}
}

// A set is a set of small numbers that is cleared at no cost (Briggs and
// Torczon, "An Efficient Representation for Sparse Sets", 1993).
type set struct {
	dense  []uint32
	sparse []uint32
}

func (q *set) init(n int) {
	q.dense = make([]uint32, 0, n)
	q.sparse = make([]uint32, n)
}

func (q *set) clear() { q.dense = q.dense[:0] }

// insert reports whether pc was not in the set.
func (q *set) insert(pc uint32) bool {
	if i := q.sparse[pc]; int(i) < len(q.dense) && q.dense[i] == pc {
		return false
	}
	q.sparse[pc] = uint32(len(q.dense))
	q.dense = append(q.dense, pc)
	return true
}

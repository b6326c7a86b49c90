package buffer

import (
	"cmp"
	"slices"
	"unicode/utf8"
)

// minSecret is the length, in characters, from which a value is redacted.
// Shorter ones would corrupt ordinary output (specification, "Opt-in
// Best-effort Redaction").
const minSecret = 8

// A Secret is a value that no reader may see, and the name that stands for it.
type Secret struct {
	Name  string
	Value string
}

// Secrets finds and hides the values of a set of secrets. It never changes, so
// any number of goroutines may use it. A nil *Secrets has no secrets.
//
// Every byte that belongs to an occurrence of a value is hidden. Occurrences
// that overlap are hidden as one, under the name of the longest value among
// them, the first by name if there are several.
//
// It is an Aho-Corasick automaton (Communications of the ACM 18.6, 1975) behind
// a filter that steps over text in which no value begins. The automaton's
// memory and time grow with the values and the text, whatever they are.
type Secrets struct {
	list  []Secret // longest value first, then by name; values are unique
	label [][]byte // what replaces each of them
	nodes []node   // the trie; the root is 0
	root  [256]int32
	filter
}

// A node is the state after reading the first depth bytes of a value.
type node struct {
	byte    byte
	child   int32 // first node that is one byte deeper, 0 if none
	sibling int32 // next node with the same parent, 0 if none
	fail    int32 // node of the longest proper suffix that begins a value
	hold    int32 // node of the longest suffix, itself included, that a value goes on from
	depth   int32
	value   int32 // a value that begins with this
	match   int32 // longest value that ends here, -1 if none
}

// NewSecrets returns the set of those secrets whose values have at least 8
// characters, and nil if there are none. Invalid UTF-8 in a name or a value is
// replaced as it is in output.
func NewSecrets(secrets []Secret) *Secrets {
	return (*Secrets)(nil).With(secrets)
}

// With returns the set that has the given secrets as well. The receiver stays
// as it is.
func (s *Secrets) With(more []Secret) *Secrets {
	var list []Secret
	for _, secret := range more {
		value := repaired(secret.Value)
		if utf8.RuneCountInString(value) >= minSecret {
			list = append(list, Secret{Name: repaired(secret.Name), Value: value})
		}
	}
	if len(list) == 0 {
		return s
	}
	if s != nil {
		list = append(list, s.list...)
	}
	return compile(list)
}

func compile(list []Secret) *Secrets {
	slices.SortFunc(list, func(a, b Secret) int {
		return cmp.Or(cmp.Compare(len(b.Value), len(a.Value)), cmp.Compare(a.Value, b.Value), cmp.Compare(a.Name, b.Name))
	})
	list = slices.CompactFunc(list, func(a, b Secret) bool { return a.Value == b.Value })
	slices.SortFunc(list, func(a, b Secret) int {
		return cmp.Or(cmp.Compare(len(b.Value), len(a.Value)), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Value, b.Value))
	})
	s := &Secrets{list: list, nodes: []node{{match: -1}}, filter: newFilter(list)}
	for i, secret := range list {
		s.label = append(s.label, []byte("[REDACTED:"+secret.Name+"]"))
		s.insert(int32(i), secret.Value)
	}
	for n := s.nodes[0].child; n != 0; n = s.nodes[n].sibling {
		s.root[s.nodes[n].byte] = n
	}
	s.link()
	return s
}

// insert adds the value with index i to the trie.
func (s *Secrets) insert(i int32, value string) {
	at := int32(0)
	for _, b := range []byte(value) {
		next := s.child(at, b)
		if next == 0 {
			next = int32(len(s.nodes))
			s.nodes = append(s.nodes, node{
				byte: b, sibling: s.nodes[at].child, depth: s.nodes[at].depth + 1, value: i, match: -1,
			})
			s.nodes[at].child = next
		}
		at = next
	}
	s.nodes[at].match = i
}

// link sets fail, hold and match, level by level: a node's suffixes are on
// levels above its own.
func (s *Secrets) link() {
	queue := []int32{0}
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		for c := s.nodes[at].child; c != 0; c = s.nodes[c].sibling {
			n := &s.nodes[c]
			if at != 0 {
				n.fail = s.step(s.nodes[at].fail, n.byte)
			}
			if n.hold = c; n.child == 0 {
				n.hold = s.nodes[n.fail].hold
			}
			if n.match < 0 {
				n.match = s.nodes[n.fail].match
			}
			queue = append(queue, c)
		}
	}
}

// child returns the node that b leads to from at, 0 if there is none.
func (s *Secrets) child(at int32, b byte) int32 {
	n := s.nodes[at].child
	for n != 0 && s.nodes[n].byte != b {
		n = s.nodes[n].sibling
	}
	return n
}

// step returns the state after b: the longest suffix of what was read that
// begins a value.
func (s *Secrets) step(at int32, b byte) int32 {
	for at != 0 {
		if next := s.child(at, b); next != 0 {
			return next
		}
		at = s.nodes[at].fail
	}
	return s.root[b]
}

// held returns the text that is withheld in a state: it may be the beginning
// of a value.
func (s *Secrets) held(at int32) string {
	hold := &s.nodes[s.nodes[at].hold]
	if hold.depth == 0 {
		return ""
	}
	return s.list[hold.value].Value[:hold.depth]
}

// Redact returns text with every secret replaced by its label,
// "[REDACTED:NAME]".
func (s *Secrets) Redact(text string) string {
	if s == nil {
		return text
	}
	var out collector
	m := matcher{secrets: s}
	m.feed([]byte(text), &out)
	m.close(&out)
	return string(out)
}

// A sink takes text in.
type sink interface {
	// put takes p in; it does not keep p.
	put(p []byte)
}

// A collector is a sink that keeps everything.
type collector []byte

func (c *collector) put(p []byte) { *c = append(*c, p...) }

// A matcher replaces the secrets in one stream of text that comes in pieces.
// It withholds what could still be the beginning of a secret, and nothing
// else. It needs no memory for that: the state says what the text was.
//
// Places in the stream are counted in bytes from its beginning.
type matcher struct {
	secrets *Secrets
	state   int32
	in      uint64  // place after the text read
	out     uint64  // place after the text put out
	hits    []match // found and not put out, in order; they do not overlap
}

// A match is a stretch of text to hide under the label of one value.
type match struct {
	start, end uint64
	value      int32
}

// feed reads text, and puts out all that is settled.
func (m *matcher) feed(text []byte, to sink) {
	s := m.secrets
	src := source{held: s.held(m.state), text: text, at: m.in}
	state := m.state
	for i := 0; i < len(text); {
		if state == 0 {
			if i = s.skip(text, i); i == len(text) {
				break
			}
		}
		state = s.step(state, text[i])
		i++
		n := &s.nodes[state]
		if n.match >= 0 {
			m.hit(m.in+uint64(i), n.match)
		}
		if len(m.hits) > 0 {
			if open := m.in + uint64(i) - uint64(s.nodes[n.hold].depth); open >= m.hits[0].end {
				m.settle(open, src, to)
			}
		}
	}
	m.state = state
	m.in += uint64(len(text))
	m.settle(m.in-uint64(s.nodes[s.nodes[state].hold].depth), src, to)
}

// close puts out what was withheld: nothing more will come.
func (m *matcher) close(to sink) {
	src := source{held: m.secrets.held(m.state), at: m.in}
	m.state = 0
	m.settle(m.in, src, to)
}

// hit notes that the value ends at the place end. Matches that it overlaps
// become one with it.
func (m *matcher) hit(end uint64, value int32) {
	h := match{start: end - uint64(len(m.secrets.list[value].Value)), end: end, value: value}
	for len(m.hits) > 0 {
		last := m.hits[len(m.hits)-1]
		if last.end <= h.start {
			break
		}
		h.start, h.value = min(h.start, last.start), min(h.value, last.value)
		m.hits = m.hits[:len(m.hits)-1]
	}
	m.hits = append(m.hits, h)
}

// settle puts out everything before the place open, from which on the text may
// still be the beginning of a value. A match that reaches beyond it may still
// grow, and stays.
func (m *matcher) settle(open uint64, src source, to sink) {
	done := 0
	for done < len(m.hits) && m.hits[done].end <= open {
		h := m.hits[done]
		src.copy(m.out, h.start, to)
		to.put(m.secrets.label[h.value])
		m.out = h.end
		done++
	}
	m.hits = m.hits[:copy(m.hits, m.hits[done:])]
	if len(m.hits) > 0 {
		open = min(open, m.hits[0].start)
	}
	if open > m.out {
		src.copy(m.out, open, to)
		m.out = open
	}
}

// A source is the text that a matcher can still put out: what was withheld,
// and the new text that begins at the place at.
type source struct {
	held string
	text []byte
	at   uint64
}

// copy puts out the text between two places.
func (s source) copy(from, to uint64, dst sink) {
	if from < s.at && from < to {
		start := s.at - uint64(len(s.held))
		dst.put([]byte(s.held[from-start : min(to, s.at)-start]))
		from = s.at
	}
	if from < to {
		dst.put(s.text[from-s.at : to-s.at])
	}
}

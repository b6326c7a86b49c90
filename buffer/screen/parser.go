package screen

import (
	"errors"
	"strconv"
	"strings"
)

// A parser finds control sequences in a stream of text, which may cut them
// anywhere, and has the grid do what they say. Most say nothing that concerns
// text; those are dropped.
type parser struct {
	grid   grid
	state  state
	params []byte // of the control sequence that is being read
}

// state is where in a sequence the text is.
type state uint8

const (
	ground    state = iota
	escape          // after ESC
	function        // after ESC and an intermediate byte
	control         // after CSI
	message         // in a string that a program sends to a terminal
	messageST       // after ESC in such a string
)

// longestParams is how many bytes of parameters a sequence may have.
const longestParams = 64

// Control characters that stand for more than themselves.
const (
	can = 0x18
	sub = 0x1a
	esc = 0x1b
	del = 0x7f
	nel = 0x85
	st  = 0x9c
)

// take takes one character.
func (p *parser) take(r rune) {
	if p.state == message || p.state == messageST {
		p.inMessage(r)
		return
	}
	// These work in the middle of a sequence too.
	switch {
	case r == esc:
		p.state = escape
		return
	case r == can || r == sub:
		p.state = ground
		return
	case r < 0x20:
		p.format(r)
		return
	}
	switch p.state {
	case ground:
		p.inGround(r)
	case escape:
		p.inEscape(r)
	case function: // of character sets and such
		if r >= 0x30 {
			p.state = ground
		}
	case control:
		p.inControl(r)
	}
}

// format takes a format effector; it drops the other control characters.
func (p *parser) format(r rune) {
	switch r {
	case '\n', '\v', '\f':
		p.grid.lineFeed()
	case '\r':
		p.grid.x = 0
	case '\b':
		p.grid.move(-1, 0)
	case '\t':
		p.grid.put('\t')
	}
}

func (p *parser) inGround(r rune) {
	switch {
	case r == del:
	case r < 0x80 || r > 0x9f:
		p.grid.put(r)
	case r == nel:
		p.grid.lineFeed()
	default:
		p.inEscape(r - 0x40) // C1 is short for ESC and a letter
	}
}

func (p *parser) inEscape(r rune) {
	p.state = ground
	switch {
	case r == '[':
		p.state = control
		p.params = p.params[:0]
	case strings.ContainsRune("]PX^_", r): // OSC, DCS, SOS, PM, APC
		p.state = message
	case r >= 0x20 && r <= 0x2f:
		p.state = function
	case r == 'D' || r == 'E': // IND, NEL
		p.grid.lineFeed()
	case r == 'M': // RI
		p.grid.reverse()
	case r == '7': // DECSC
		p.grid.save()
	case r == '8': // DECRC
		p.grid.restore()
	case r == 'c': // RIS
		p.grid.reset()
	}
}

// inMessage waits for the end of a string. Nobody is shown what it says.
func (p *parser) inMessage(r rune) {
	switch {
	case r == esc:
		p.state = messageST
	case r == '\a' || r == st || r == can || r == sub:
		p.state = ground
	case p.state == messageST && r == '\\': // ST
		p.state = ground
	case p.state == messageST: // another sequence begins
		p.inEscape(r)
	}
}

func (p *parser) inControl(r rune) {
	if r >= 0x40 && r <= 0x7e {
		p.state = ground
		if len(p.params) <= longestParams {
			p.command(byte(r), string(p.params))
		}
		return
	}
	if len(p.params) <= longestParams {
		p.params = append(p.params, byte(min(r, 0x7f)))
	}
}

// command does what a control sequence says.
func (p *parser) command(final byte, params string) {
	if mode, ok := strings.CutPrefix(params, "?"); ok {
		if final == 'h' || final == 'l' {
			p.mode(mode, final == 'h')
		}
		return
	}
	first, second, _ := strings.Cut(params, ";")
	n, ok := number(first)
	if !ok {
		return // a sequence with markers of its own
	}
	count := max(n, 1)
	g := &p.grid
	switch final {
	case 'A': // CUU
		g.move(0, -count)
	case 'B', 'e': // CUD, VPR
		g.move(0, count)
	case 'C', 'a': // CUF, HPR
		g.move(count, 0)
	case 'D': // CUB
		g.move(-count, 0)
	case 'E': // CNL
		g.x = 0
		g.move(0, count)
	case 'F': // CPL
		g.x = 0
		g.move(0, -count)
	case 'G', '`': // CHA, HPA
		g.place(count-1, g.y)
	case 'd': // VPA
		g.place(g.x, count-1)
	case 'H', 'f': // CUP, HVP
		if column, ok := number(second); ok {
			g.place(max(column, 1)-1, count-1)
		}
	case 's': // SCOSC
		g.save()
	case 'u': // SCORC
		g.restore()
	case 'J': // ED
		g.eraseScreen(n)
	case 'K': // EL
		g.eraseLine(n)
	case 'X': // ECH
		g.erase(g.x, g.x+count)
	case 'P': // DCH
		g.deleteColumns(count)
	case '@': // ICH
		g.insertColumns(count)
	case 'M': // DL
		g.deleteLines(count)
	case 'L': // IL
		g.insertLines(count)
	}
}

// mode takes a private mode. Only the other screen matters, which full-screen
// programs use.
func (p *parser) mode(modes string, on bool) {
	for mode := range strings.SplitSeq(modes, ";") {
		if mode == "47" || mode == "1047" || mode == "1049" {
			p.grid.other(on)
		}
	}
}

// most is the greatest number that a sequence may hold: more than any row or
// column.
const most = 9999

// number reads a parameter, 0 if there is none.
func number(param string) (int, bool) {
	if param == "" {
		return 0, true
	}
	n, err := strconv.ParseUint(param, 10, 64)
	if errors.Is(err, strconv.ErrSyntax) {
		return 0, false
	}
	return int(min(n, most)), true
}

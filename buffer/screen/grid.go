package screen

import (
	"slices"
	"strings"
)

const (
	// height is how many rows the cursor can reach.
	height = 40
	// width is how far the cursor can be moved to the right. Text goes on.
	width = 160
	// longest is where a row wraps after all, so that its memory has a bound.
	longest = 1 << 15
)

// A grid is the screen: rows of characters, and a cursor. What lies behind the
// end of a row or below the last one is empty.
type grid struct {
	rows   []row
	x, y   int // y is less than height; x is at most longest
	saved  place
	gone   text  // rows that left at the top
	behind *grid // the screen that waits while another one is shown
}

type place struct{ x, y int }

// A row is one line of text.
type row struct {
	cells []rune
	// drawn: it is not simply text from the left to the right. Then blanks at
	// its end are nothing that anybody wrote to be read.
	drawn bool
	// wrapped: the next row continues it.
	wrapped bool
}

// row returns the row of the cursor.
func (g *grid) row() *row {
	for len(g.rows) <= g.y {
		g.rows = append(g.rows, row{})
	}
	return &g.rows[g.y]
}

func (g *grid) put(r rune) {
	if g.x == longest {
		g.row().wrapped = true
		g.lineFeed()
	}
	row := g.row()
	if g.x != len(row.cells) {
		row.drawn = true
		row.pad(g.x + 1)
		row.cells[g.x] = r
	} else {
		row.cells = append(row.cells, r)
	}
	g.x++
}

// pad makes a row at least n characters long.
func (r *row) pad(n int) {
	for len(r.cells) < n {
		r.cells = append(r.cells, ' ')
	}
}

// lineFeed begins the next line, as the system's terminals do with a newline.
func (g *grid) lineFeed() {
	g.row()
	g.x = 0
	if g.y+1 < height {
		g.y++
		return
	}
	if g.behind == nil { // another screen has no memory
		g.gone.add(&g.rows[0])
	}
	g.rows = slices.Delete(g.rows, 0, 1)
}

// move moves the cursor as far as it can go.
func (g *grid) move(right, down int) { g.place(g.x+right, g.y+down) }

// place moves the cursor to a place.
func (g *grid) place(x, y int) {
	if x > g.x {
		x = max(g.x, min(x, width-1))
	}
	g.x = max(x, 0)
	g.y = min(max(y, 0), height-1)
}

func (g *grid) save()    { g.saved = place{g.x, g.y} }
func (g *grid) restore() { g.x, g.y = g.saved.x, g.saved.y }

// reverse moves the cursor up, and everything down if it is at the top.
func (g *grid) reverse() {
	if g.y > 0 {
		g.y--
		return
	}
	g.insertLines(1)
}

// reset makes everything new, as turning a terminal off and on does.
func (g *grid) reset() { *g = grid{} }

// eraseScreen erases from the cursor on (0), up to it (1) or everything (2, and
// 3 with what has left the screen).
func (g *grid) eraseScreen(how int) {
	switch how {
	case 0:
		g.eraseLine(0)
		g.rows = g.rows[:min(len(g.rows), g.y+1)]
	case 1:
		g.eraseLine(1)
		for i := range min(g.y, len(g.rows)) {
			g.rows[i] = row{}
		}
	case 3:
		g.gone = text{}
		fallthrough
	case 2:
		g.rows = nil
	}
}

// eraseLine erases the cursor's row from the cursor on (0), up to it (1), or
// all of it (2).
func (g *grid) eraseLine(how int) {
	switch how {
	case 0:
		g.erase(g.x, longest)
	case 1:
		g.erase(0, g.x+1)
	case 2:
		g.erase(0, longest)
	}
}

// erase erases the columns from one to before another.
func (g *grid) erase(from, to int) {
	row := g.row()
	row.drawn = true
	if to >= len(row.cells) {
		row.cells = row.cells[:min(from, len(row.cells))]
		row.wrapped = false
		return
	}
	for i := from; i < to; i++ {
		row.cells[i] = ' '
	}
}

func (g *grid) deleteColumns(n int) {
	row := g.row()
	row.drawn = true
	if g.x < len(row.cells) {
		row.cells = slices.Delete(row.cells, g.x, min(g.x+n, len(row.cells)))
	}
}

func (g *grid) insertColumns(n int) {
	row := g.row()
	row.drawn = true
	if g.x < len(row.cells) {
		n = min(n, width)
		row.cells = slices.Insert(row.cells, g.x, []rune(strings.Repeat(" ", n))...)
		row.cells = row.cells[:min(len(row.cells), longest)]
	}
}

func (g *grid) deleteLines(n int) {
	if g.y < len(g.rows) {
		g.rows = slices.Delete(g.rows, g.y, min(g.y+n, len(g.rows)))
	}
}

func (g *grid) insertLines(n int) {
	if g.y < len(g.rows) {
		g.rows = slices.Insert(g.rows, g.y, make([]row, min(n, height))...)
		g.rows = g.rows[:min(len(g.rows), height)]
	}
}

// other shows another, empty screen, or goes back to the first one.
func (g *grid) other(on bool) {
	switch {
	case on && g.behind == nil:
		first := *g
		*g = grid{behind: &first, saved: place{g.x, g.y}}
	case !on && g.behind != nil:
		*g = *g.behind
	}
}

// lines takes away the lines that have left the screen, and returns them and
// those on it: down to the cursor, or to the last one that is not empty. A line
// that reaches from the one part to the other is in the second; above is what of
// it has left.
func (g *grid) lines() (gone []string, above string, screen []string) {
	gone, above = g.gone.lines, g.gone.open
	g.gone = text{}
	count := len(g.rows)
	for count > g.y+1 && len(g.rows[count-1].cells) == 0 {
		count--
	}
	var t text
	for i := range max(count, g.y+1) {
		if i < count {
			t.add(&g.rows[i])
		} else {
			t.add(&row{})
		}
	}
	return gone, above, t.lines
}

// text is lines that rows have become.
type text struct {
	lines []string
	open  string // of a line that goes on
}

func (t *text) add(r *row) {
	line := string(r.cells)
	if r.drawn {
		line = strings.TrimRight(line, " ")
	}
	t.open += line
	if !r.wrapped {
		t.lines = append(t.lines, t.open)
		t.open = ""
	}
}

package lazydfa

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"unicode"
	"unicode/utf8"
)

// Limits on expressions. A step of the automaton that was not made before
// costs as much as the program is long, so the length must be bounded.
const (
	// MaxLength is the longest expression, in bytes.
	MaxLength = 2000
	// maxProgram is the longest program, in instructions. Counted repetitions
	// multiply: (a{100}){100} has ten thousand.
	maxProgram = 3000
)

// Errors of Compile.
var (
	// ErrTooLong: the expression has more than MaxLength bytes.
	ErrTooLong = fmt.Errorf("longer than %d bytes", MaxLength)
	// ErrTooLarge: the expression's counted repetitions make it too large.
	ErrTooLarge = errors.New("too large when its counted repetitions are written out")
)

// A Regexp is a compiled expression in the syntax of package regexp, which is
// that of RE2. ^ and $ match at the beginning and the end of each line, and
// \A only at the beginning of all text. A carriage return before a newline
// belongs to the end of the line. It does not change and may be shared.
type Regexp struct {
	prog *syntax.Prog
	std  *regexp.Regexp

	// Runes that the program cannot tell apart form a class. Class i begins
	// with the rune starts[i] and ends before the next one's.
	starts []rune
	ascii  [128]uint16
	// asserts: the expression looks at what stands before or after a place.
	asserts bool
	// atEnds: whether something matches may depend on what follows it.
	atEnds bool
	// prefix is how every match begins; empty if that is not known, or if the
	// expression asserts something.
	prefix []byte
}

// Compile compiles an expression. Errors are ErrTooLong, ErrTooLarge and
// *syntax.Error.
func Compile(expr string) (*Regexp, error) {
	if len(expr) > MaxLength {
		return nil, ErrTooLong
	}
	tree, err := syntax.Parse(expr, syntax.Perl&^syntax.OneLine)
	if err != nil {
		return nil, err
	}
	tree = endLines(tree)
	std, err := regexp.Compile(tree.String())
	if err != nil {
		return nil, err
	}
	prog, err := syntax.Compile(tree.Simplify())
	if err != nil {
		return nil, err
	}
	if len(prog.Inst) > maxProgram {
		return nil, ErrTooLarge
	}
	re := &Regexp{prog: prog, std: std}
	re.classify()
	if prefix, _ := std.LiteralPrefix(); !re.asserts && utf8.ValidString(prefix) {
		re.prefix = []byte(prefix)
	}
	return re, nil
}

// endLines lets $ match before a carriage return that ends a line, too.
func endLines(tree *syntax.Regexp) *syntax.Regexp {
	for i, sub := range tree.Sub {
		tree.Sub[i] = endLines(sub)
	}
	if tree.Op != syntax.OpEndLine {
		return tree
	}
	carriageReturn := &syntax.Regexp{Op: syntax.OpLiteral, Rune: []rune{'\r'}}
	return &syntax.Regexp{Op: syntax.OpConcat, Sub: []*syntax.Regexp{
		{Op: syntax.OpQuest, Sub: []*syntax.Regexp{carriageReturn}}, tree,
	}}
}

// Find returns where the leftmost match in text begins and ends, as
// regexp.Regexp.FindIndex does, and nil if there is none.
func (re *Regexp) Find(text []byte) []int { return re.std.FindIndex(text) }

// FindAll returns where the matches in text begin and end, none of which
// overlap, as regexp.Regexp.FindAllIndex does.
func (re *Regexp) FindAll(text []byte) [][]int { return re.std.FindAllIndex(text, -1) }

// classify finds the classes of runes.
func (re *Regexp) classify() {
	starts := []rune{0}
	cut := func(lo, hi rune) { starts = append(starts, lo, hi+1) }
	cut('\n', '\n')
	for i := range re.prog.Inst {
		inst := &re.prog.Inst[i]
		switch inst.Op {
		case syntax.InstEmptyWidth:
			const ends = syntax.EmptyEndLine | syntax.EmptyEndText | syntax.EmptyWordBoundary | syntax.EmptyNoWordBoundary
			re.asserts = true
			re.atEnds = re.atEnds || syntax.EmptyOp(inst.Arg)&ends != 0
		case syntax.InstRune, syntax.InstRune1:
			if len(inst.Rune) == 1 { // the only form that folds case by itself
				cut(inst.Rune[0], inst.Rune[0])
				for r := unicode.SimpleFold(inst.Rune[0]); r != inst.Rune[0]; r = unicode.SimpleFold(r) {
					cut(r, r)
				}
			}
			for j := 0; j+1 < len(inst.Rune); j += 2 {
				cut(inst.Rune[j], inst.Rune[j+1])
			}
		}
	}
	if re.atEnds {
		cut('0', '9')
		cut('A', 'Z')
		cut('_', '_')
		cut('a', 'z')
	}
	slices.Sort(starts)
	re.starts = slices.Compact(starts)
	for c := range re.ascii {
		re.ascii[c] = uint16(re.search(rune(c)))
	}
}

// search returns the class of r.
func (re *Regexp) search(r rune) int {
	i, found := slices.BinarySearch(re.starts, r)
	if !found {
		i--
	}
	return i
}

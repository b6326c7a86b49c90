package wire

import "unsafe"

// StartRequest is what the supervisor hands to execve.
type StartRequest struct {
	Path string
	Dir  string
	Argv []string
	Env  []string
}

// Append appends the payload.
func (s *StartRequest) Append(b []byte) []byte {
	b = appendString(b, s.Path)
	b = appendString(b, s.Dir)
	b = appendStrings(b, s.Argv)
	return appendStrings(b, s.Env)
}

// Parse reads a payload. The strings are valid as long as b is left alone: the
// supervisor cannot afford a copy.
func (s *StartRequest) Parse(b []byte) error {
	d := decoder{rest: unsafe.String(unsafe.SliceData(b), len(b))}
	s.Path = d.string()
	s.Dir = d.string()
	s.Argv = d.strings()
	s.Env = d.strings()
	return d.end()
}

// Report is what has happened to the processes of an execution.
type Report struct {
	ShellExited  bool
	SessionEmpty bool
	TreeEmpty    bool
	Code         int   // exit code of the shell
	Signal       int   // signal that ended it, or 0
	Detached     []int // with SessionEmpty: the ids of what lives outside of it
}

const (
	flagShellExited = 1 << iota
	flagSessionEmpty
	flagTreeEmpty
)

// Append appends the payload.
func (r *Report) Append(b []byte) []byte {
	flags := 0
	if r.ShellExited {
		flags |= flagShellExited
	}
	if r.SessionEmpty {
		flags |= flagSessionEmpty
	}
	if r.TreeEmpty {
		flags |= flagTreeEmpty
	}
	return AppendInts(AppendInt(AppendInt(AppendInt(b, flags), r.Code), r.Signal), r.Detached)
}

// Parse reads a payload.
func (r *Report) Parse(b []byte) error {
	d := decoder{rest: string(b)}
	flags := d.int()
	r.ShellExited = flags&flagShellExited != 0
	r.SessionEmpty = flags&flagSessionEmpty != 0
	r.TreeEmpty = flags&flagTreeEmpty != 0
	r.Code = d.int()
	r.Signal = d.int()
	r.Detached = d.ints()
	return d.end()
}

// Signaled is the outcome of a signal.
type Signaled struct {
	Reached     int   // how many processes
	OnlyDefault bool  // only the shell lives, and the signal has its default effect on it
	Denied      []int // the ids of those that may not be signalled
}

// Append appends the payload.
func (s *Signaled) Append(b []byte) []byte {
	only := 0
	if s.OnlyDefault {
		only = 1
	}
	return AppendInts(AppendInt(AppendInt(b, s.Reached), only), s.Denied)
}

// Parse reads a payload.
func (s *Signaled) Parse(b []byte) error {
	d := decoder{rest: string(b)}
	s.Reached = d.int()
	s.OnlyDefault = d.int() != 0
	s.Denied = d.ints()
	return d.end()
}

// Listed is who lives, by session. The shell is in neither list.
type Listed struct {
	Attached []int
	Detached []int
}

// Append appends the payload.
func (l *Listed) Append(b []byte) []byte {
	return AppendInts(AppendInts(b, l.Attached), l.Detached)
}

// Parse reads a payload.
func (l *Listed) Parse(b []byte) error {
	d := decoder{rest: string(b)}
	l.Attached = d.ints()
	l.Detached = d.ints()
	return d.end()
}

// AppendInt appends a number that is not negative: seven bits to a byte, the
// lowest first, and the highest bit set in all but the last.
func AppendInt(b []byte, v int) []byte {
	u := uint64(v)
	for ; u >= 0x80; u >>= 7 {
		b = append(b, byte(u)|0x80)
	}
	return append(b, byte(u))
}

// Int reads a payload that is one number.
func Int(b []byte) (int, error) {
	d := decoder{rest: string(b)}
	return d.int(), d.end()
}

// AppendInts appends a list of numbers.
func AppendInts(b []byte, vs []int) []byte {
	b = AppendInt(b, len(vs))
	for _, v := range vs {
		b = AppendInt(b, v)
	}
	return b
}

// Ints reads a payload that is one list of numbers.
func Ints(b []byte) ([]int, error) {
	d := decoder{rest: string(b)}
	return d.ints(), d.end()
}

func appendString(b []byte, s string) []byte {
	return append(AppendInt(b, len(s)), s...)
}

func appendStrings(b []byte, ss []string) []byte {
	b = AppendInt(b, len(ss))
	for _, s := range ss {
		b = appendString(b, s)
	}
	return b
}

// decoder reads a payload. After the first thing that does not fit it returns
// zero values, and end returns an error.
type decoder struct {
	rest string
	bad  bool
}

// maxIntBytes is what a number of 64 bits takes, seven of them to a byte.
const maxIntBytes = 10

func (d *decoder) int() int {
	var v uint64
	for i := 0; i < len(d.rest) && i < maxIntBytes; i++ {
		c := d.rest[i]
		v |= uint64(c&0x7f) << (7 * i)
		if c < 0x80 {
			d.rest = d.rest[i+1:]
			if int(v) < 0 {
				break
			}
			return int(v)
		}
	}
	d.bad = true
	d.rest = ""
	return 0
}

// count reads a number of elements that take at least one byte each.
func (d *decoder) count() int {
	n := d.int()
	if n > len(d.rest) {
		d.bad = true
		d.rest = ""
		return 0
	}
	return n
}

func (d *decoder) ints() []int {
	n := d.count()
	if n == 0 {
		return nil
	}
	vs := make([]int, n)
	for i := range vs {
		vs[i] = d.int()
	}
	return vs
}

func (d *decoder) string() string {
	n := d.count()
	s := d.rest[:n]
	d.rest = d.rest[n:]
	return s
}

func (d *decoder) strings() []string {
	n := d.count()
	if n == 0 {
		return nil
	}
	ss := make([]string, n)
	for i := range ss {
		ss[i] = d.string()
	}
	return ss
}

func (d *decoder) end() error {
	if d.bad || d.rest != "" {
		return ErrFrame
	}
	return nil
}

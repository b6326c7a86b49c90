package buffer

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"
)

// through writes data to a new log in pieces, which cuts picks, and returns
// all that came out.
func through(secrets *Secrets, data []byte, cuts *rand.Rand) string {
	l := NewLog(1 << 20)
	w := NewWriter(l, Stdout, secrets)
	for len(data) > 0 {
		n := len(data)
		if cuts != nil {
			n = min(n, cuts.IntN(12))
		}
		w.Write(data[:n])
		data = data[n:]
	}
	w.Close()
	return l.Page(1, 1<<20, Both).Stdout
}

// decoded is the WHATWG UTF-8 decoder, step by step as that standard writes it.
func decoded(data []byte) string {
	var out strings.Builder
	var char rune
	needed, seen := 0, 0
	lower, upper := byte(0x80), byte(0xBF)
	for i := 0; i < len(data); i++ {
		b := data[i]
		if needed == 0 {
			switch {
			case b < 0x80:
				out.WriteByte(b)
			case b >= 0xC2 && b <= 0xDF:
				needed, char = 1, rune(b&0x1F)
			case b >= 0xE0 && b <= 0xEF:
				if b == 0xE0 {
					lower = 0xA0
				}
				if b == 0xED {
					upper = 0x9F
				}
				needed, char = 2, rune(b&0xF)
			case b >= 0xF0 && b <= 0xF4:
				if b == 0xF0 {
					lower = 0x90
				}
				if b == 0xF4 {
					upper = 0x8F
				}
				needed, char = 3, rune(b&0x7)
			default:
				out.WriteRune(utf8.RuneError)
			}
			continue
		}
		if b < lower || b > upper {
			needed, seen, lower, upper = 0, 0, 0x80, 0xBF
			out.WriteRune(utf8.RuneError)
			i--
			continue
		}
		lower, upper = 0x80, 0xBF
		char = char<<6 | rune(b&0x3F)
		if seen++; seen == needed {
			out.WriteRune(char)
			needed, seen = 0, 0
		}
	}
	if needed > 0 {
		out.WriteRune(utf8.RuneError)
	}
	return out.String()
}

func TestRepair(t *testing.T) {
	for in, want := range map[string]string{
		"":                     "",
		"plain":                "plain",
		"a\xffb\x00c":          "a�b\x00c",
		"\xe2\x82\xac":         "€",
		"\xe2\x82":             "�",
		"\xe2\x82x":            "�x",
		"\xf0\x9f\x98x":        "�x",
		"\xe0\x80\x80":         "���", // overlong
		"\xed\xa0\x80":         "���", // a surrogate
		"\xf4\x90\x80\x80":     "����",
		"\xc0\x80":             "��",
		"\xf0\x9f\xf0\x9f\x98": "��",
		"\x80\xbf":             "��",
		"�":                    "�",
	} {
		if got := through(nil, []byte(in), nil); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
		if got := decoded([]byte(in)); got != want {
			t.Errorf("the model: %q: got %q, want %q", in, got, want)
		}
	}
}

func FuzzRepair(f *testing.F) {
	f.Add([]byte("a\xe2\x82\xacb\xf0\x9f\x98\x80\xff"), uint64(1))
	f.Fuzz(func(t *testing.T, data []byte, seed uint64) {
		checkRepair(t, data, seed)
	})
}

func checkRepair(t *testing.T, data []byte, seed uint64) {
	want := decoded(data)
	if got := through(nil, data, nil); got != want {
		t.Fatalf("%q in one piece: got %q, want %q", data, got, want)
	}
	if got := through(nil, data, rand.New(rand.NewPCG(seed, 0))); got != want {
		t.Fatalf("%q in pieces: got %q, want %q", data, got, want)
	}
	if got := repaired(string(data)); got != want {
		t.Fatalf("repaired(%q) = %q, want %q", data, got, want)
	}
}

func TestRepairAgainstModel(t *testing.T) {
	parts := []string{"a", "plain ASCII text of some length\n", "é", "€", "😀", "\xe2", "\x82", "\xf0\x9f", "\xed", "\xa0", "\xff", "\xc3", "\xe0\x80", "\xf4\x8f\xbf\xbf"}
	for seed := range uint64(3000) {
		r := rand.New(rand.NewPCG(seed, 2))
		var data []byte
		for range r.IntN(120) {
			data = append(data, parts[r.IntN(len(parts))]...)
		}
		checkRepair(t, data, seed)
		for i := range data { // noise
			if r.IntN(3) == 0 {
				data[i] = byte(r.Uint32())
			}
		}
		checkRepair(t, data, seed)
	}
}

// hidden redacts text the slow way: it looks for every value everywhere.
func hidden(secrets []Secret, text string) string {
	owner := make([]string, len(text)) // label of the match a byte belongs to
	group := make([]int, len(text))    // number of that match, from 1
	type match struct {
		start, end int
		secret     Secret
	}
	better := func(a, b Secret) bool {
		return len(a.Value) > len(b.Value) || len(a.Value) == len(b.Value) && a.Name < b.Name
	}
	var found []match
	for start := range text {
		for _, s := range secrets {
			if utf8.RuneCountInString(s.Value) >= 8 && strings.HasPrefix(text[start:], s.Value) {
				found = append(found, match{start, start + len(s.Value), s})
			}
		}
	}
	for merged := true; merged; {
		merged = false
		for i := 0; i < len(found) && !merged; i++ {
			for j := i + 1; j < len(found); j++ {
				a, b := found[i], found[j]
				if a.start < b.end && b.start < a.end {
					if better(b.secret, a.secret) {
						a.secret = b.secret
					}
					found[i] = match{min(a.start, b.start), max(a.end, b.end), a.secret}
					found = append(found[:j], found[j+1:]...)
					merged = true
					break
				}
			}
		}
	}
	for n, m := range found {
		for i := m.start; i < m.end; i++ {
			owner[i], group[i] = "[REDACTED:"+m.secret.Name+"]", n+1
		}
	}
	var out strings.Builder
	for i := range len(text) {
		switch {
		case group[i] == 0:
			out.WriteByte(text[i])
		case i == 0 || group[i-1] != group[i]:
			out.WriteString(owner[i])
		}
	}
	return out.String()
}

func TestRedact(t *testing.T) {
	secrets := []Secret{
		{"MY_TOKEN", "s3cr3t-value-123"}, {"MULTI_TOKEN", "tök€n-ünïcode"}, {"META_TOKEN", "a+b(c)[d]{9}$^"},
		{"SHORT_TOKEN", "short"}, {"LONG_TOKEN", "s3cr3t-value-123-extended"}, {"EIGHT", "ünïcödé!"}, {"SEVEN", "ünïcödé"},
		{"B_TWICE", "same-value"}, {"A_TWICE", "same-value"}, {"HEAD", "abcdefgh"}, {"MIDDLE", "fghijklmn"}, {"BAD", "invalid\xff"},
		{"EMPTY", ""},
	}
	set := NewSecrets(secrets)
	for in, want := range map[string]string{
		"":                                 "",
		"plain":                            "plain",
		"xs3cr3t-value-123 end":            "x[REDACTED:MY_TOKEN] end",
		"s3cr3t-value-123-extended":        "[REDACTED:LONG_TOKEN]",
		"s3cr3t-value-123-extend":          "[REDACTED:MY_TOKEN]-extend",
		"s3cr3t-value-123s3cr3t-value-123": "[REDACTED:MY_TOKEN][REDACTED:MY_TOKEN]",
		"ztök€n-ünïcode wa+b(c)[d]{9}$^ short": "z[REDACTED:MULTI_TOKEN] w[REDACTED:META_TOKEN] short",
		"ünïcödé ünïcödé!":                     "ünïcödé [REDACTED:EIGHT]",
		"same-value":                           "[REDACTED:A_TWICE]",
		"abcdefghijklmnop":                     "[REDACTED:MIDDLE]op",
		"abcdefghfghijklmn":                    "[REDACTED:HEAD][REDACTED:MIDDLE]",
		"invalid�":                             "[REDACTED:BAD]",
	} {
		if got := set.Redact(in); got != want {
			t.Errorf("Redact(%q) = %q, want %q", in, got, want)
		}
		if got := through(set, []byte(in), nil); got != want {
			t.Errorf("Write(%q) gives %q, want %q", in, got, want)
		}
	}
	if got := through(set, []byte("invalid\xfe!"), nil); got != "[REDACTED:BAD]!" {
		t.Errorf("a repaired value gives %q", got)
	}
}

func TestNoSecrets(t *testing.T) {
	var none *Secrets
	for _, s := range []*Secrets{none, NewSecrets(nil), NewSecrets([]Secret{{"A", "short"}}), none.With(nil)} {
		if got := s.Redact("supersecretvalue"); got != "supersecretvalue" {
			t.Errorf("Redact = %q", got)
		}
	}
}

func TestSecretsWith(t *testing.T) {
	base := NewSecrets([]Secret{{"A", "supersecret"}})
	more := base.With([]Secret{{"B", "supersecretvalue"}})
	const text = "supersecretvalue supersecret"
	if got, want := base.Redact(text), "[REDACTED:A]value [REDACTED:A]"; got != want {
		t.Errorf("before: %q, want %q", got, want)
	}
	if got, want := more.Redact(text), "[REDACTED:B] [REDACTED:A]"; got != want {
		t.Errorf("after: %q, want %q", got, want)
	}
}

// What can still begin a secret is withheld, and nothing else.
func TestWithheld(t *testing.T) {
	secrets := NewSecrets([]Secret{{"A", "supersecret"}, {"B", "supersecretvalue"}, {"C", "etvalue-other"}})
	steps := []struct{ write, want string }{
		{"a superse", "a "},
		{"", "a "},
		{"x", "a supersex"},
		{" super", "a supersex "},
		{"secret", "a supersex "},
		{"va", "a supersex "},
		{" !", "a supersex [REDACTED:A]va !"},
		{"supersecretvalue", "a supersex [REDACTED:A]va !"}, // C may follow
		{"-oth", "a supersex [REDACTED:A]va !"},
		{".\xe2\x82", "a supersex [REDACTED:A]va ![REDACTED:B]-oth."},
		{"\xac", "a supersex [REDACTED:A]va ![REDACTED:B]-oth.€"},
		{"sup", "a supersex [REDACTED:A]va ![REDACTED:B]-oth.€"},
	}
	l := NewLog(1000)
	w := NewWriter(l, Stderr, secrets)
	for _, step := range steps {
		if n, err := w.Write([]byte(step.write)); n != len(step.write) || err != nil {
			t.Fatalf("Write(%q) = %d, %v", step.write, n, err)
		}
		if got := l.Page(1, 1000, Both).Stderr; got != step.want {
			t.Errorf("after %q: %q, want %q", step.write, got, step.want)
		}
	}
	w.Close()
	if got, want := l.Page(1, 1000, Both).Stderr, steps[len(steps)-1].want+"sup"; got != want {
		t.Errorf("after Close: %q, want %q", got, want)
	}
}

func checkRedact(t *testing.T, secrets []Secret, text string, seed uint64) {
	want := hidden(secrets, text)
	set := NewSecrets(secrets)
	if got := set.Redact(text); got != want {
		t.Fatalf("Redact(%q)\n got %q\nwant %q\n%q", text, got, want, secrets)
	}
	if got := through(set, []byte(text), rand.New(rand.NewPCG(seed, 0))); got != want {
		t.Fatalf("%q in pieces\n got %q\nwant %q\n%q", text, got, want, secrets)
	}
}

func FuzzRedact(f *testing.F) {
	f.Add("aabaabaa\x00aabaabaaab\x00baabaaba", "aabaabaabaabaaabbaabaabaab", uint64(1))
	f.Fuzz(func(t *testing.T, values, text string, seed uint64) {
		var secrets []Secret
		for i, v := range strings.Split(values, "\x00") {
			secrets = append(secrets, Secret{Name: string(rune('A' + i%26)), Value: repaired(v)})
		}
		checkRedact(t, secrets[:min(len(secrets), 10)], repaired(text[:min(len(text), 1000)]), seed)
	})
}

func TestRedactAgainstModel(t *testing.T) {
	for seed := range uint64(4000) {
		r := rand.New(rand.NewPCG(seed, 3))
		letters := "abcdefgh"[:1+r.IntN(8)]
		word := func(n int) string {
			b := make([]byte, n)
			for i := range b {
				b[i] = letters[r.IntN(len(letters))]
			}
			return string(b)
		}
		var secrets []Secret
		for i := range 1 + r.IntN(5) {
			value := word(6 + r.IntN(24))
			if i > 0 && r.IntN(2) == 0 { // share a part with the one before
				v := secrets[i-1].Value
				k := r.IntN(len(v))
				value = v[k:] + word(r.IntN(8)+max(0, 8-len(v[k:])))
			}
			secrets = append(secrets, Secret{Name: word(1), Value: value})
		}
		var text bytes.Buffer
		for text.Len() < 150 {
			v := secrets[r.IntN(len(secrets))].Value
			switch r.IntN(3) {
			case 0:
				text.WriteString(v)
			case 1:
				text.WriteString(v[:r.IntN(len(v))])
			case 2:
				text.WriteString(word(r.IntN(20)))
			}
		}
		checkRedact(t, secrets, text.String(), seed)
	}
}

// Text that is larger than every internal piece of memory comes out the same.
func TestLargeWrites(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	secrets := benchSecrets(20)
	var text bytes.Buffer
	for text.Len() < 300<<10 {
		for range r.IntN(200) {
			text.WriteByte(byte(r.Uint32()))
		}
		value := secrets[r.IntN(len(secrets))].Value
		text.WriteString(value[:r.IntN(len(value)+1)])
		text.WriteString(strings.Repeat("a line of plain text\n", r.IntN(20)))
		if r.IntN(2) == 0 {
			text.WriteString(value)
		}
	}
	if got, want := through(nil, text.Bytes(), nil), decoded(text.Bytes()); got != want {
		t.Error("repaired text differs from the model's")
	}
	want := decoded(text.Bytes())
	for _, s := range secrets {
		want = strings.ReplaceAll(want, s.Value, "[REDACTED:"+s.Name+"]")
	}
	if got := through(NewSecrets(secrets), text.Bytes(), nil); got != want {
		t.Error("redacted text differs from the model's")
	}
}

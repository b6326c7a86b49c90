package buffer

import (
	"math/rand/v2"
	"testing"
	"unicode/utf8"
)

// checkMeasure compares what is measured with what is repaired.
func checkMeasure(t *testing.T, data []byte, want int) {
	t.Helper()
	whole := decoded(data)
	if got := measure(data); got != len(whole) {
		t.Fatalf("measure(%q) = %d, want %d", data, got, len(whole))
	}
	written, read := measureTo(data, want)
	if got := len(decoded(data[:read])); got != written {
		t.Fatalf("measureTo(%q, %d) = %d, %d: that is %d bytes long", data, want, written, read, got)
	}
	if decoded(data[:read])+decoded(data[read:]) != whole {
		t.Fatalf("measureTo(%q, %d) = %d, %d cuts a character", data, want, written, read)
	}
	switch {
	case written < want && read < len(data):
		t.Fatalf("measureTo(%q, %d) = %d, %d: too short", data, want, written, read)
	case written-want >= utf8.UTFMax:
		t.Fatalf("measureTo(%q, %d) = %d, %d: too long", data, want, written, read)
	}
}

func FuzzMeasure(f *testing.F) {
	f.Add([]byte("a\xe2\x82\xacb\xf0\x9f\x98\x80\xff, and so on, and so on, and so on"), uint(10))
	f.Fuzz(func(t *testing.T, data []byte, want uint) {
		data = whole(data)
		checkMeasure(t, data, int(want%uint(3*len(data)+1)))
	})
}

func TestMeasureAgainstModel(t *testing.T) {
	for seed := range uint64(3000) {
		r := rand.New(rand.NewPCG(seed, 5))
		data := invalid(r, r.IntN(600))
		checkMeasure(t, data, r.IntN(3*len(data)+1))
		for i := range data { // noise
			if r.IntN(3) == 0 {
				data[i] = byte(r.Uint32())
			}
		}
		data = whole(data)
		checkMeasure(t, data, r.IntN(3*len(data)+1))
	}
}

func BenchmarkMeasure(b *testing.B) {
	for name, data := range benchInputs() {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(chunk)
			for i := 0; b.Loop(); i += chunk {
				at := i % len(data)
				measure(data[at : at+chunk])
			}
		})
	}
}

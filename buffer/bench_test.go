package buffer

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

const chunk = 64 << 10

// benchInputs are kinds of output that cost differently.
func benchInputs() map[string][]byte {
	r := rand.New(rand.NewPCG(1, 1))
	var seq bytes.Buffer
	for i := 1_000_000; seq.Len() < chunk; i++ {
		fmt.Fprintln(&seq, i)
	}
	noise := make([]byte, 32*chunk) // too much for a branch predictor to learn
	for i := range noise {
		if noise[i] = byte('a' + r.IntN(26)); r.IntN(10) == 0 {
			noise[i] = byte(0x80 + r.IntN(0x80))
		}
	}
	random := make([]byte, chunk)
	for i := range random {
		random[i] = byte(r.Uint32())
	}
	return map[string][]byte{
		"x":      bytes.Repeat([]byte{'x'}, chunk),
		"seq":    seq.Bytes()[:chunk],
		"text":   []byte(strings.Repeat("The quick brown fox jumps over the lazy dog, and the log goes on.\n", 1000)[:chunk]),
		"han":    []byte(strings.Repeat("输出缓冲区保存最新的字节。\n", 2000)[:chunk]),
		"noise":  noise,
		"random": random,
	}
}

func benchSecrets(n int) []Secret {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
	r := rand.New(rand.NewPCG(2, 2))
	var list []Secret
	for i := range n {
		b := make([]byte, 16+r.IntN(25))
		for j := range b {
			b[j] = letters[r.IntN(len(letters))]
		}
		list = append(list, Secret{Name: fmt.Sprintf("TOKEN_%d", i), Value: string(b)})
	}
	return list
}

func benchWrite(b *testing.B, secrets *Secrets, data []byte) {
	w := NewWriter(NewLog(256<<10), Stdout, secrets)
	b.SetBytes(chunk)
	for i := 0; b.Loop(); i += chunk {
		at := i % len(data)
		w.Write(data[at : at+chunk])
	}
}

func BenchmarkWrite(b *testing.B) {
	for name, data := range benchInputs() {
		b.Run(name, func(b *testing.B) { benchWrite(b, nil, data) })
	}
}

func BenchmarkWriteSecrets(b *testing.B) {
	for name, data := range benchInputs() {
		b.Run("20/"+name, func(b *testing.B) { benchWrite(b, NewSecrets(benchSecrets(20)), data) })
	}
	inputs := benchInputs()
	short := []Secret{{"A", "hunter22"}}
	b.Run("8characters/seq", func(b *testing.B) { benchWrite(b, NewSecrets(short), inputs["seq"]) })
	b.Run("8characters/text", func(b *testing.B) { benchWrite(b, NewSecrets(short), inputs["text"]) })
	b.Run("200/seq", func(b *testing.B) { benchWrite(b, NewSecrets(benchSecrets(200)), inputs["seq"]) })

	secret := benchSecrets(1)
	prefix := []byte(strings.Repeat(secret[0].Value[:len(secret[0].Value)-1], chunk))[:chunk]
	b.Run("hostile/prefixes", func(b *testing.B) { benchWrite(b, NewSecrets(secret), prefix) })
	period := []Secret{{"A", strings.Repeat("x", 30) + "y"}}
	b.Run("hostile/periodic", func(b *testing.B) { benchWrite(b, NewSecrets(period), inputs["x"]) })
	b.Run("hostile/secrets", func(b *testing.B) {
		benchWrite(b, NewSecrets(secret), []byte(strings.Repeat(secret[0].Value+" ", chunk))[:chunk])
	})
}

func benchLog(capacity int) *Log {
	l := NewLog(capacity)
	data := benchInputs()["seq"]
	for i := 0; i < 3*capacity; i += len(data) {
		l.Append(Stdout, data)
		l.Append(Stderr, data[:100])
	}
	return l
}

func BenchmarkPage(b *testing.B) {
	for _, capacity := range []int{256 << 10, 16 << 20} {
		b.Run(fmt.Sprint(capacity), func(b *testing.B) {
			l := benchLog(capacity)
			from := l.Latest() - uint64(capacity)/2
			b.ReportAllocs()
			for b.Loop() {
				l.Page(from, 20000, Both)
			}
		})
	}
}

func BenchmarkTail(b *testing.B) {
	for _, capacity := range []int{256 << 10, 16 << 20} {
		b.Run(fmt.Sprint(capacity), func(b *testing.B) {
			l := benchLog(capacity)
			b.ReportAllocs()
			for b.Loop() {
				l.Tail(200, 20000, Both)
			}
		})
	}
}

func BenchmarkAppendSmall(b *testing.B) {
	l := NewLog(256 << 10)
	p := []byte("a line of output\n")
	b.ReportAllocs()
	for b.Loop() {
		l.Append(Stdout, p)
		l.Append(Stderr, p)
	}
}

func BenchmarkNewSecrets(b *testing.B) {
	list := benchSecrets(20)
	b.ReportAllocs()
	for b.Loop() {
		NewSecrets(list)
	}
}

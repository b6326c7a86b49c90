package spill

import (
	"bytes"
	"testing"

	"github.com/yieldshell/mcp-yieldshell/buffer"
)

// BenchmarkAppend is output that fills all limits, with a store and without.
func BenchmarkAppend(b *testing.B) {
	chunk := bytes.Repeat([]byte("a line of output, which is not very long\n"), 1599)[:64<<10]
	for _, with := range []string{"memory", "disk"} {
		b.Run(with, func(b *testing.B) {
			l := buffer.NewLog(256 << 10)
			if with == "disk" {
				st, err := Open(Options{Dir: b.TempDir(), PerFile: 64 << 20, Total: 1 << 30})
				if err != nil {
					b.Fatal(err)
				}
				defer st.Close()
				l.SetOverflow(st.File("x"))
			}
			b.SetBytes(int64(len(chunk)))
			for b.Loop() {
				l.Append(buffer.Stdout, chunk)
			}
		})
	}
}

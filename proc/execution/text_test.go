package execution

import (
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/yieldshell/mcp-yieldshell/buffer"
	"github.com/yieldshell/mcp-yieldshell/buffer/spill"
)

// Text goes on from what was on the screen, whoever has shown it.
func TestTextGoesOn(t *testing.T) {
	long := strings.Repeat("a line of output é\n", 10_000) // more than is drawn again
	for _, c := range []struct {
		name          string
		before, after string // a call that asks for text comes in between
		bytes         int    // of the ring
		text          bool   // an earlier call has asked for it too
		want          string
	}{
		{"nothing before", "", "\rab\n", 1000, false, "ab\n"},
		{"after a raw answer", "abcdef", "\rXY", 1000, false, "XYcdef"},
		{"after text", "abcdef", "\rXY", 1000, true, "XYcdef"},
		{"after much", long + "abcdef", "\rXY", 1 << 20, false, "XYcdef"},
		{"after much, most of it gone", long + "abcdef", "\rXY", 1000, false, "XYcdef"},
		{"after much that is gone and was drawn", long + "abcdef", "\rXY", 1000, true, "XYcdef"},
		{"plain", "one\ntw", "o\n", 1000, false, "o\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			inBubble(t, Options{BufferBytes: c.bytes}, func(t *testing.T, b *bench) {
				e, p := b.start(Request{})
				p.Print(c.before)
				synctest.Wait()
				for latest := e.summary().LatestSeq; e.cursor < latest; {
					if c.text {
						e.NextText(1<<20, 0)
					} else {
						e.Next(1<<20, 0)
					}
				}
				p.Print(c.after)
				synctest.Wait()
				if got := e.NextText(1000, 0); got.Stdout != c.want {
					t.Errorf("got %q, want %q", got.Stdout, c.want)
				}
			})
		})
	}
}

// An execution that has ended and been read keeps no screen.
func TestScreensAreGivenBack(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, b *bench) {
		e, p := b.start(Request{})
		p.Print("abc")
		synctest.Wait()
		e.NextText(2, 0)
		if e.screens == nil {
			t.Error("there is none while it runs")
		}
		p.Exit(0)
		<-e.Done()
		if got := e.NextText(100, 0); got.Stdout != "c" || e.screens != nil {
			t.Errorf("got %q, screens %v", got.Stdout, e.screens)
		}
		if got := e.NextText(100, 0); got.Stdout != "" || e.screens != nil {
			t.Errorf("got %q, screens %v", got.Stdout, e.screens)
		}
	})
}

func TestSubscribersHearOfTheirStream(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, b *bench) {
		e, p := b.start(Request{})
		both, endBoth := e.Subscribe(buffer.Both)
		stderr, endStderr := e.Subscribe(buffer.OnlyStderr)
		heard := func(c <-chan struct{}) bool {
			select {
			case <-c:
				return true
			default:
				return false
			}
		}
		p.Print("a")
		p.Print("b")
		synctest.Wait()
		if !heard(both) || heard(both) || heard(stderr) {
			t.Error("two pieces of stdout are one event, for one of two")
		}
		p.PrintError("c")
		synctest.Wait()
		if !heard(both) || !heard(stderr) {
			t.Error("stderr is for both")
		}
		endBoth()
		p.PrintError("d")
		synctest.Wait()
		if heard(both) || !heard(stderr) {
			t.Error("a subscription that has ended is none")
		}
		endStderr()
		if e.subscribers.any.Load() {
			t.Error("somebody is left")
		}
	})
}

// Output on disk goes with its record, however that goes.
func TestSpilledOutputGoesWithTheRecord(t *testing.T) {
	dir := t.TempDir()
	files := func() (n int) {
		err := filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() && d.Name() != "owner" {
				n++
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
		return n
	}
	opts := Options{BufferBytes: 100, MaxRetained: 1}
	inBubble(t, opts, func(t *testing.T, b *bench) {
		st, err := spill.Open(spill.Options{Dir: dir, PerFile: 1 << 20, Total: 1 << 20})
		if err != nil {
			t.Fatal(err)
		}
		b.opts.Spill = st // which must be of this bubble
		for range 3 {
			e, p := b.start(Request{})
			p.Print(strings.Repeat("some text\n", 100))
			p.Exit(0)
			<-e.released
			if page := e.Page(1, 5000, 0, buffer.Both); len(page.Stdout) != 1000 || page.Evicted {
				t.Errorf("%d bytes are kept", len(page.Stdout))
			}
		}
		synctest.Wait()
		if n := files(); n < 1 || n > 2 { // each start has left one of those before
			t.Errorf("%d files of two records", n)
		}
		if n := b.Cleanup(0, 0); n != 2 {
			t.Errorf("%d records were removed", n)
		}
		if n := files(); n != 0 {
			t.Errorf("%d files without a record", n)
		}
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	})
}

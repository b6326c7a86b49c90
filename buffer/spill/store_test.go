package spill

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gofrs/flock"

	"github.com/yieldshell/mcp-yieldshell/buffer"
	"github.com/yieldshell/mcp-yieldshell/buffer/lazydfa"
)

func open(t *testing.T, dir string, perFile, total int64) *Store {
	t.Helper()
	st, err := Open(Options{Dir: dir, PerFile: perFile, Total: total})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	})
	return st
}

// settled waits until the writer of a File has nothing left to do.
func settled(f *File) {
	for {
		f.store.mu.Lock()
		if !f.writing {
			f.store.mu.Unlock()
			return
		}
		progress := f.awaitProgress()
		f.store.mu.Unlock()
		<-progress
	}
}

// put puts text into stdout, from the position pos on.
func put(f *File, pos uint64, text string) { f.Put(buffer.Stdout, pos, []byte(text)) }

// read returns what is kept of stdout.
func read(t *testing.T, f *File) string {
	t.Helper()
	var text strings.Builder
	x, _ := f.Forward(buffer.Stdout, 0, 1<<20)
	if err := x.Load(func(_ uint64, p []byte) { text.Write(p) }); err != nil {
		t.Fatal(err)
	}
	return text.String()
}

func names(t *testing.T, dir string) []string {
	t.Helper()
	var found []string
	if err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if path != dir {
			found = append(found, d.Name())
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return found
}

func TestFilesArePrivate(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	st := open(t, dir, 1000, 1000)
	f := st.File("x")
	put(f, 1, "some text")
	settled(f)
	if runtime.GOOS != "windows" {
		for path, want := range map[string]fs.FileMode{
			dir:                                 fs.ModeDir | 0o700,
			st.folder:                           fs.ModeDir | 0o700,
			filepath.Join(st.folder, ownerName): 0o600,
			filepath.Join(st.folder, "x.1"):     0o600,
		} {
			info, err := os.Lstat(path)
			if err != nil {
				t.Fatal(err)
			}
			if info.Mode() != want {
				t.Errorf("%s has mode %v, want %v", path, info.Mode(), want)
			}
		}
	}
	if got := read(t, f); got != "some text" {
		t.Errorf("read %q", got)
	}
}

// A file that somebody else has put in the place of a segment is not written to.
func TestFilesAreCreatedExclusively(t *testing.T) {
	st := open(t, t.TempDir(), 1000, 1000)
	taken := filepath.Join(st.folder, "x.1")
	if err := os.WriteFile(taken, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	f := st.File("x")
	put(f, 1, "some text")
	settled(f)
	if err := f.Err(); !errors.Is(err, fs.ErrExist) {
		t.Errorf("Err() = %v", err)
	}
	if b, err := os.ReadFile(taken); err != nil || string(b) != "mine" {
		t.Errorf("the file holds %q, %v", b, err)
	}
	if got := read(t, f); got != "some text" { // it is still in memory
		t.Errorf("read %q", got)
	}
	put(f, 10, "more")
	if k := f.Kept(buffer.Stdout); k.Refused != 10 || k.Bytes != 9 {
		t.Errorf("Kept = %+v", k)
	}
}

// The total limit takes the oldest output, whosever it is.
func TestTotalLimit(t *testing.T) {
	st := open(t, t.TempDir(), 160, 320) // segments of 10
	a, b, c := st.File("a"), st.File("b"), st.File("c")
	put(a, 1, strings.Repeat("a", 160))
	put(b, 1, strings.Repeat("b", 160))
	for _, f := range []*File{a, b} {
		if k := f.Kept(buffer.Stdout); k.Bytes != 160 || k.Lost != 0 {
			t.Errorf("%s: %+v", f.name, k)
		}
	}
	put(c, 1, strings.Repeat("c", 95))
	if k := a.Kept(buffer.Stdout); k.Bytes != 60 || k.Lost != 100 {
		t.Errorf("a: %+v", k)
	}
	put(c, 96, strings.Repeat("c", 65))
	put(b, 161, "bbbbb")
	if k := a.Kept(buffer.Stdout); k.Bytes != 0 || k.Lost != 160 {
		t.Errorf("a: %+v", k)
	}
	if k := b.Kept(buffer.Stdout); k.Bytes != 155 || k.Lost != 10 { // its own limit
		t.Errorf("b: %+v", k)
	}
	if k := c.Kept(buffer.Stdout); k.Bytes != 160 || k.Lost != 0 {
		t.Errorf("c: %+v", k)
	}
	Discard(b)
	put(a, 161, strings.Repeat("A", 160)) // there is room again
	if k := c.Kept(buffer.Stdout); k.Bytes != 160 {
		t.Errorf("c: %+v", k)
	}
	if got := read(t, a); got != strings.Repeat("A", 160) {
		t.Errorf("a holds %q", got)
	}
}

// What is on disk never passes the limit, but for the indexes.
func TestDiskUse(t *testing.T) {
	st := open(t, t.TempDir(), 16_000, 16_000)
	f := st.File("x")
	for i := range 500 {
		put(f, uint64(i)*777+1, strings.Repeat("x", 777))
		if i%50 == 0 {
			settled(f)
		}
	}
	settled(f)
	var size int64
	for _, name := range names(t, st.folder) {
		info, err := os.Stat(filepath.Join(st.folder, name))
		if err != nil {
			t.Fatal(err)
		}
		size += info.Size()
	}
	if size > 16_000+20*20 || size < 15_000 {
		t.Errorf("%d bytes are on disk", size)
	}
}

func TestDiscardRemovesFiles(t *testing.T) {
	dir := t.TempDir()
	st := open(t, dir, 1000, 1000)
	f, other := st.File("x"), st.File("y")
	put(f, 1, strings.Repeat("x", 500))
	put(other, 1, "kept")
	settled(f)
	settled(other)
	Discard(f)
	if got := fmt.Sprint(names(t, st.folder)); got != "[owner y.1]" {
		t.Errorf("left: %s", got)
	}
	put(f, 501, "late output of a pipe that is still open")
	settled(f)
	if got := fmt.Sprint(names(t, st.folder)); got != "[owner y.1]" {
		t.Errorf("left: %s", got)
	}
	if err := f.Err(); err != nil {
		t.Errorf("Err() = %v", err)
	}
}

// A reader keeps what it reads, also if that is given up in the meantime.
func TestReadersKeepWhatTheyRead(t *testing.T) {
	st := open(t, t.TempDir(), 1600, 1600)
	f := st.File("x")
	put(f, 1, strings.Repeat("x", 1000))
	settled(f)
	x, end := f.Forward(buffer.Stdout, 1, 5000)
	if !end {
		t.Error("there is more than there is")
	}
	put(f, 1001, strings.Repeat("y", 5000))
	settled(f)
	Discard(f)
	var text strings.Builder
	if err := x.Load(func(_ uint64, p []byte) { text.Write(p) }); err != nil {
		t.Fatal(err)
	}
	settled(f)
	if text.String() != strings.Repeat("x", 1000) {
		t.Errorf("read %d bytes: %.50q", text.Len(), text.String())
	}
	if got := fmt.Sprint(names(t, st.folder)); got != "[owner]" {
		t.Errorf("left: %s", got)
	}
}

func TestServersSideBySide(t *testing.T) {
	dir := t.TempDir()
	a := open(t, dir, 1000, 1000)
	f := a.File("x")
	put(f, 1, "of the first server")
	settled(f)
	b, err := Open(Options{Dir: dir, PerFile: 1000, Total: 1000})
	if err != nil {
		t.Fatal(err)
	}
	g := b.File("x") // names are a server's own
	put(g, 1, "of the second")
	settled(g)
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if got := read(t, f); got != "of the first server" {
		t.Errorf("read %q", got)
	}
	if got := names(t, dir); len(got) != 3 {
		t.Errorf("left: %v", got)
	}
}

func TestStartRemovesWhatWasLeft(t *testing.T) {
	dir := t.TempDir()
	left := func(name string, files ...string) string {
		folder := filepath.Join(dir, name)
		if err := os.Mkdir(folder, 0o700); err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if err := os.WriteFile(filepath.Join(folder, file), []byte("x"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		return folder
	}
	left("yieldshell-crashed", "owner", "x.1", "x.2")
	left("yieldshell-empty")
	live := left("yieldshell-live", "owner", "x.1")
	left("else", "owner", "x.1")
	lock := flock.New(filepath.Join(live, "owner"))
	if ok, err := lock.TryLock(); !ok || err != nil {
		t.Fatal(ok, err)
	}
	defer lock.Close()
	st, err := Open(Options{Dir: dir, PerFile: 1, Total: 1})
	if err != nil {
		t.Fatal(err)
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(names(t, dir)); got != "[else owner x.1 yieldshell-live owner x.1]" {
		t.Errorf("left: %s", got)
	}
}

// Where there are no locks, a start that fails leaves nothing, since no later one
// could remove it.
func TestNoLocks(t *testing.T) {
	dir := t.TempDir()
	noLocks := errors.New("no locks here")
	_, _, err := own(dir, func(folder string) (*flock.Flock, error) {
		if err := os.WriteFile(filepath.Join(folder, ownerName), nil, 0o600); err != nil {
			t.Error(err)
		}
		return nil, noLocks
	})
	if !errors.Is(err, noLocks) {
		t.Errorf("own: %v", err)
	}
	if got := names(t, dir); len(got) > 0 {
		t.Errorf("left: %q", got)
	}
}

// A folder without an owner that cannot be removed is reported, unless an owner
// has just come.
func TestSweepUnowned(t *testing.T) {
	dir := t.TempDir()
	folder := filepath.Join(dir, folderPrefix+"x")
	file := func(name string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(folder, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	file("x.1")
	if err := sweep(dir); err == nil {
		t.Error("nothing is said of a folder that stays")
	}
	file(ownerName)
	if err := sweepUnowned(folder); err != nil {
		t.Errorf("with an owner: %v", err)
	}
	if err := sweep(dir); err != nil || len(names(t, dir)) > 0 {
		t.Errorf("left: %q, %v", names(t, dir), err)
	}
	if err := sweepUnowned(folder); err != nil {
		t.Errorf("when it is gone: %v", err)
	}
}

// Starts that come at the same moment take nothing from each other.
func TestStartsAtOnce(t *testing.T) {
	dir := t.TempDir()
	var starts sync.WaitGroup
	for range 8 {
		starts.Go(func() {
			for range 5 {
				st, err := Open(Options{Dir: dir, PerFile: 1000, Total: 1000})
				if err != nil {
					t.Error(err)
					return
				}
				f := st.File("x")
				put(f, 1, "text")
				settled(f)
				if err := f.Err(); err != nil {
					t.Error(err)
				}
				if err := st.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	starts.Wait()
	if got := names(t, dir); len(got) != 0 {
		t.Errorf("left: %v", got)
	}
}

func TestBadFolders(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{file, filepath.Join(file, "below")} {
		if st, err := Open(Options{Dir: dir, PerFile: 1, Total: 1}); err == nil {
			t.Errorf("%s: %+v", dir, st)
		}
	}
}

// A disk that hangs is given up: a command must not hang with it.
func TestDiskThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := &Store{opts: Options{Warn: func(string, ...any) {}}}
		f := st.File("x")
		f.staged, f.writing = maxStaged, true
		begun := time.Now()
		f.Wait()
		if waited := time.Since(begun); waited != stallBound {
			t.Errorf("waited %v", waited)
		}
		if err := f.Err(); !errors.Is(err, errStalled) {
			t.Errorf("Err() = %v", err)
		}
		f.Wait() // no more
		if waited := time.Since(begun); waited != stallBound {
			t.Errorf("waited %v", waited)
		}
	})
}

// However many files there are on a disk that hangs, one bound holds for all.
func TestDiscardOnDiskThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := &Store{opts: Options{Warn: func(string, ...any) {}}}
		var files []*File
		for i := range 100 {
			f := st.File(fmt.Sprint(i))
			f.writing = true
			files = append(files, f)
		}
		begun := time.Now()
		Discard(files...)
		if waited := time.Since(begun); waited != stallBound {
			t.Errorf("waited %v", waited)
		}
		for _, f := range files {
			if !f.gone {
				t.Errorf("%s is still there", f.name)
			}
		}
	})
}

// What follows files that have vanished is read at once, without a page of
// nothing before it.
func TestFilesThatVanish(t *testing.T) {
	st := open(t, t.TempDir(), 1000, 1000)
	st.opts.Warn = func(string, ...any) {}
	f := st.File("x")
	l := buffer.NewLog(10)
	l.SetOverflow(f)
	l.Append(buffer.Stdout, []byte(strings.Repeat("a", 500)))
	settled(f)
	os.RemoveAll(st.folder) // on Windows the owner's file stays: it is open
	if kept, err := filepath.Glob(filepath.Join(st.folder, "x.*")); err != nil || len(kept) > 0 {
		t.Fatalf("%q is left, %v", kept, err)
	}
	l.Page(1, 10, buffer.Both) // finds that they are gone
	l.Append(buffer.Stdout, []byte(strings.Repeat("b", 500)))
	got := l.Page(1, 5, buffer.Both)
	want := buffer.Page{Stdout: "bbbbb", Start: 991, Next: 996, Latest: 1001, Capped: true, Evicted: true}
	if got != want {
		t.Errorf("Page(1)\n got %+v\nwant %+v", got, want)
	}
}

// Output waits for a disk that is only slow.
func TestDiskThatIsSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := &Store{opts: Options{Warn: func(string, ...any) {}}}
		f := st.File("x")
		f.staged, f.writing = maxStaged, true
		go func() {
			time.Sleep(stallBound / 2)
			st.mu.Lock()
			f.staged = 0
			f.gotOn()
			st.mu.Unlock()
		}()
		begun := time.Now()
		f.Wait()
		if waited := time.Since(begun); waited != stallBound/2 || f.Err() != nil {
			t.Errorf("waited %v, Err() = %v", waited, f.Err())
		}
	})
}

// Output waits for a disk as long as that gets on, even if it never makes room
// for this stream because the other one takes it.
func TestDiskThatIsBusy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := &Store{opts: Options{Warn: func(string, ...any) {}}}
		f := st.File("x")
		f.staged, f.writing = maxStaged, true
		const steps = 5
		go func() {
			for i := range steps {
				time.Sleep(stallBound * 3 / 4)
				st.mu.Lock()
				if i == steps-1 {
					f.staged = 0
				}
				f.gotOn()
				st.mu.Unlock()
			}
		}()
		begun := time.Now()
		f.Wait()
		if waited := time.Since(begun); waited != steps*stallBound*3/4 || f.Err() != nil {
			t.Errorf("waited %v, Err() = %v", waited, f.Err())
		}

		f.staged = maxStaged // and then it hangs
		go func() {
			time.Sleep(stallBound / 2)
			st.mu.Lock()
			f.gotOn()
			st.mu.Unlock()
		}()
		begun = time.Now()
		f.Wait()
		if waited := time.Since(begun); waited != stallBound*3/2 || !errors.Is(f.Err(), errStalled) {
			t.Errorf("waited %v, Err() = %v", waited, f.Err())
		}
	})
}

// Readers that poll while both streams are written see every byte once.
func TestConcurrentPolling(t *testing.T) {
	st := open(t, t.TempDir(), 1<<20, 1<<20)
	l := buffer.NewLog(1000)
	f := st.File("x")
	l.SetOverflow(f)
	var writers, readers sync.WaitGroup
	for _, s := range []buffer.Stream{buffer.Stdout, buffer.Stderr} {
		writers.Go(func() {
			w := buffer.NewWriter(l, s, nil)
			for i := range 3000 {
				fmt.Fprintf(w, "%d é\n", i)
			}
			w.Close()
		})
	}
	var want strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&want, "%d é\n", i)
	}
	for range 2 {
		readers.Go(func() {
			var stdout, stderr strings.Builder
			end := uint64(2*want.Len()) + 1
			for from := uint64(1); from < end; {
				p := l.Page(from, 700, buffer.Both)
				if p.Evicted {
					t.Error("something was lost")
					return
				}
				stdout.WriteString(p.Stdout)
				stderr.WriteString(p.Stderr)
				from = p.Next
				l.Tail(5, 3000, buffer.Both)
			}
			if stdout.String() != want.String() || stderr.String() != want.String() {
				t.Error("bytes were lost or repeated")
			}
		})
	}
	writers.Wait()
	readers.Wait()
}

// What is waited for and searched for is found in files too.
func TestWatchAndSearch(t *testing.T) {
	st := open(t, t.TempDir(), 1<<20, 1<<20)
	l := buffer.NewLog(1000)
	f := st.File("x")
	l.SetOverflow(f)
	var text strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&text, "line %d\n", i)
	}
	l.Append(buffer.Stdout, []byte(text.String()))
	settled(f)
	re, err := lazydfa.Compile(`^line 4?200$`)
	if err != nil {
		t.Fatal(err)
	}
	at := func(line string) uint64 { return uint64(strings.Index(text.String(), "\n"+line+"\n")) + 2 }
	for _, c := range []struct {
		from uint64
		want string
	}{{1, "line 200"}, {at("line 200"), "line 200"}, {at("line 200") + 1, "line 4200"}, {at("line 4000"), "line 4200"}} {
		w := l.Watch(t.Context(), re, c.from, buffer.Both)
		select {
		case <-w.Found():
			if m := w.Match(); m.Line != c.want || m.Seq != at(c.want) {
				t.Errorf("from %d: %+v, want %s at %d", c.from, m, c.want, at(c.want))
			}
		default:
			t.Errorf("from %d: nothing is found", c.from)
		}
		w.Stop()
	}
	w := l.Watch(t.Context(), re, at("line 4200")+1, buffer.Both)
	defer w.Stop()
	select {
	case <-w.Found():
		t.Errorf("found %+v", w.Match())
	default:
	}
	l.Append(buffer.Stdout, []byte("line 200\n"))
	select {
	case <-w.Found():
	case <-time.After(10 * time.Second):
		t.Error("what comes is not watched")
	}

	got, err := l.Search(t.Context(), buffer.Query{Re: re, Limit: 10, Bytes: 1000, Before: 1})
	if err != nil || got.Total != 3 || got.Evicted || got.Start != 1 {
		t.Fatalf("found %+v, %v", got, err)
	}
	if first := got.Lines[0]; first.Line != "line 200" || first.Seq != at("line 200") || fmt.Sprint(first.Before) != "[line 199]" {
		t.Errorf("first: %+v", first)
	}
	got, err = l.Search(t.Context(), buffer.Query{Re: re, Limit: 10, Bytes: 1000, From: at("line 200") + 1})
	if err != nil || got.Total != 2 || got.Lines[0].Line != "line 4200" {
		t.Errorf("from the middle of a line: %+v, %v", got, err)
	}
}

package e2e

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/yieldshell/mcp-yieldshell/mcp/mcptest"
)

// spilling starts a server whose output leaves memory soon, for a folder.
func spilling(t *testing.T, dir string, env ...string) *mcptest.Server {
	t.Helper()
	return start(t, append([]string{
		"YIELDSHELL_SPILL_DIR=" + dir, "YIELDSHELL_MAX_BUFFER_BYTES=1000", "YIELDSHELL_MAX_OUTPUT_BYTES=5000",
	}, env...)...)
}

// spilled returns the files of output below a folder, by name.
func spilled(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := make(map[string]string)
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() == "owner" {
			return err
		}
		b, err := os.ReadFile(path)
		files[d.Name()] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// pages reads an execution's output from a position to its end.
func pages(t *testing.T, s *mcptest.Server, r *mcptest.Result, since int64, more args) (stdout, stderr string) {
	t.Helper()
	for {
		ask := r.On(more)
		ask["since_seq"] = since
		p := s.Call("read", ask)
		if p.Evicted {
			t.Fatalf("evicted from %d on: %s", since, p.Hint)
		}
		stdout, stderr = stdout+p.Stdout, stderr+p.Stderr
		if !p.Capped {
			return stdout, stderr
		}
		if p.NextSeq <= since {
			t.Fatalf("no progress at %d", since)
		}
		since = p.NextSeq
	}
}

func TestSpilledOutputStaysReadable(t *testing.T) {
	t.Parallel()
	s := spilling(t, t.TempDir())
	r := s.Execute("i=1; while [ $i -le 3000 ]; do echo out$i; echo err$i é >&2; i=$((i+1)); done", args{"max_output_bytes": 100})
	var wantOut, wantErr strings.Builder
	for i := 1; i <= 3000; i++ {
		fmt.Fprintf(&wantOut, "out%d\n", i)
		fmt.Fprintf(&wantErr, "err%d é\n", i)
	}
	eq(t, "evicted", r.Evicted, false)
	eq(t, "start_seq", r.StartSeq, 1)
	stdout, stderr := pages(t, s, r, 1, nil)
	eq(t, "stdout by since_seq", stdout, wantOut.String())
	eq(t, "stderr by since_seq", stderr, wantErr.String())
	_, stderr = pages(t, s, r, 1, args{"streams": "stderr", "max_output_bytes": 777})
	eq(t, "stderr alone", stderr, wantErr.String())

	stdout, stderr = r.Stdout, r.Stderr
	for r.Capped {
		r = s.Call("wait", r.On(nil))
		eq(t, "evicted", r.Evicted, false)
		stdout, stderr = stdout+r.Stdout, stderr+r.Stderr
	}
	eq(t, "stdout by polling", stdout, wantOut.String())
	eq(t, "stderr by polling", stderr, wantErr.String())

	tail := s.Call("read", r.On(args{"tail_lines": 300, "streams": "stdout"}))
	eq(t, "a tail that is longer than memory", strings.HasPrefix(tail.Stdout, "out2701\n"), true)
	eq(t, "evicted", tail.Evicted, false)
	eq(t, "warnings", len(tail.Warnings), 0)
}

// What looks for lines, and what counts them, sees what has left memory too.
func TestSpilledOutputIsSearched(t *testing.T) {
	t.Parallel()
	s := spilling(t, t.TempDir(), "YIELDSHELL_SEARCH=on")
	all := numbers(20000)
	r := s.Execute("seq 1 20000; exec sleep 1000", args{"yield_ms": 0, "max_output_bytes": 10})
	mcptest.Until(t, prompt, "the output", func() bool { return s.Row(r.ExecutionID).LatestSeq == int64(len(all)+1) })
	at := int64(strings.Index(all, "\n1234\n")) + 2

	w := s.Call("wait", r.On(args{"until_output": "^1234$", "since_seq": 1}))
	eq(t, "wait_result", w.WaitResult, "output_matched")
	contains(t, "match", w.String(), fmt.Sprintf(`"start_seq":%d`, at), `"1233"`, `"1235"`)

	found := s.Call("search", r.On(args{"pattern": "^12345?$"}))
	eq(t, "evicted", found.Evicted, false)
	contains(t, "search", found.String(), `"total":2`, fmt.Sprintf(`"start_seq":%d`, at))

	page := s.Call("read", r.On(args{"since_seq": 1}))
	contains(t, "ending", page.String(), `"tail":{`, `20000\n`)
	var answer struct {
		Tail         struct{ Stdout string }
		OmittedBytes int `json:"omitted_bytes"`
	}
	if err := json.Unmarshal([]byte(page.String()), &answer); err != nil {
		t.Fatal(err)
	}
	eq(t, "omitted_bytes", answer.OmittedBytes, len(all)-len(page.Stdout)-len(answer.Tail.Stdout))
}

func TestSpilledFilesArePrivateAndRedacted(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "made", "by the server")
	s := spilling(t, dir, "MY_TOKEN=s3cr3t-value-123", "YIELDSHELL_REDACT_ENV_REGEX=TOKEN")
	r := s.Execute(`i=0; while [ $i -lt 500 ]; do printf 's3cr3t-'; printf "value-123 $i\n"; i=$((i+1)); done`, nil)
	eq(t, "status", r.Status, "completed")
	mcptest.Until(t, prompt, "the files", func() bool { return len(spilled(t, dir)) > 0 })
	for name, text := range spilled(t, dir) {
		if !strings.HasPrefix(name, r.ExecutionID+".") {
			t.Errorf("file %q", name)
		}
		contains(t, name, text, "[REDACTED:MY_TOKEN]")
		if strings.Contains(text, "s3cr3t") || strings.Contains(text, "value-123") {
			t.Errorf("%s holds the secret", name)
		}
	}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		want := fs.FileMode(0o600)
		if d.IsDir() {
			want = fs.ModeDir | 0o700
		}
		eq(t, path, info.Mode(), want)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	stdout, _ := pages(t, s, r, 1, args{"max_output_bytes": 333})
	eq(t, "secrets", strings.Count(stdout, "[REDACTED:MY_TOKEN] "), 500)
}

func TestSpillLimits(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := spilling(t, dir, "YIELDSHELL_MAX_SPILL_BYTES=10000", "YIELDSHELL_MAX_SPILL_TOTAL_BYTES=15000")
	exactly := s.Execute("head -c 11000 /dev/zero | tr '\\0' x", nil)
	stdout, _ := pages(t, s, exactly, 1, nil)
	eq(t, "as much as memory and disk take", len(stdout), 11000)

	all := numbers(20000)
	r := s.Execute("seq 1 20000", nil)
	first := s.Call("read", r.On(args{"since_seq": 1}))
	eq(t, "evicted", first.Evicted, true)
	contains(t, "hint", first.Hint, "YIELDSHELL_MAX_SPILL_BYTES", "YIELDSHELL_MAX_SPILL_TOTAL_BYTES", fmt.Sprint(first.NextSeq))
	if kept := int64(len(all)) + 1 - first.StartSeq; kept > 11000 || kept < 10000 {
		t.Errorf("%d bytes are kept", kept)
	}
	stdout, _ = pages(t, s, r, first.StartSeq, nil)
	eq(t, "what is kept", stdout, all[first.StartSeq-1:])
	eq(t, "what the total left of the first", s.Call("read", exactly.On(args{"since_seq": 1})).Evicted, true)
	size := 0
	for _, text := range spilled(t, dir) {
		size += len(text)
	}
	if size > 15000+1000 { // with the indexes
		t.Errorf("%d bytes are on disk", size)
	}
}

func TestSpilledFilesGoWithTheirRecords(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := spilling(t, dir, "YIELDSHELL_MAX_RETAINED_PROCESSES=1")
	ids := func() string {
		found := make(map[string]bool)
		for name := range spilled(t, dir) {
			found[strings.Split(name, ".")[0]] = true
		}
		return fmt.Sprint(found)
	}
	a := s.Execute("seq 1 1000", nil)
	b := s.Execute("seq 1 1000", nil)
	mcptest.Until(t, prompt, "two executions' files", func() bool {
		return ids() == fmt.Sprint(map[string]bool{a.ExecutionID: true, b.ExecutionID: true})
	})
	s.Execute("true", nil) // the first record goes
	eq(t, "of the second", ids(), fmt.Sprint(map[string]bool{b.ExecutionID: true}))
	s.Call("cleanup", args{"completed_older_than_ms": 0})
	eq(t, "after cleanup", ids(), "map[]")
	s.Execute("seq 1 1000", nil)
	s.Execute("seq 1 100000; exec sleep 1000", args{"yield_ms": 200})
	s.Close()
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 0 {
		t.Errorf("after the server's end: %v, %v", left, err)
	}
}

func TestTheNextStartRemovesWhatACrashLeft(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	live := spilling(t, dir)
	r := live.Execute("seq 1 1000", nil)
	crashed := spilling(t, dir)
	crashed.Execute("seq 1 1000; exec sleep 1000", args{"yield_ms": 100})
	mcptest.Until(t, prompt, "the files of both", func() bool {
		left, err := os.ReadDir(dir)
		return err == nil && len(left) == 2 && len(spilled(t, dir)) >= 2
	})
	crashed.Kill()
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 2 {
		t.Fatalf("a killed server cannot have removed anything: %v, %v", left, err)
	}
	spilling(t, dir) // has swept when it answers
	for name := range spilled(t, dir) {
		if !strings.HasPrefix(name, r.ExecutionID+".") {
			t.Errorf("%s is left", name)
		}
	}
	stdout, _ := pages(t, live, r, 1, nil)
	eq(t, "the other server's output", stdout, numbers(1000))
}

// A file may not grow beyond 64 kB here, which is how a full disk looks to one
// execution. Nothing else suffers.
func TestAFullDisk(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := startUnder(t, []string{"sh", "-c", `ulimit -f 128; exec "$@"`, "sh"},
		"YIELDSHELL_SPILL_DIR="+dir, "YIELDSHELL_MAX_BUFFER_BYTES=1000", "YIELDSHELL_MAX_OUTPUT_BYTES=5000")
	all := numbers(1000000) // much more than may wait in memory for the disk
	r := s.Execute("seq 1 1000000", nil)
	eq(t, "status", r.Status, "completed")
	eq(t, "latest_seq", r.LatestSeq, int64(len(all)+1))
	r = s.Call("read", r.On(args{"since_seq": 1}))
	if len(r.Warnings) != 1 || !regexp.MustCompile(`no longer kept on disk: write: file too large`).MatchString(r.Warnings[0]) {
		t.Errorf("warnings: %q", r.Warnings)
	}
	if strings.Contains(fmt.Sprint(r.Warnings), dir) {
		t.Errorf("the warning shows a path: %q", r.Warnings)
	}
	// What was kept before stays, up to the gap, which is told and not hidden.
	got, since, gap := "", int64(1), false
	for page := r; ; page = s.Call("read", r.On(args{"since_seq": since})) {
		if page.Evicted {
			eq(t, "one gap", gap, false)
			gap = true
			contains(t, "hint", page.Hint, "see to the disk of YIELDSHELL_SPILL_DIR")
			if page.StartSeq <= since || len(got) < 60000 {
				t.Fatalf("after %d bytes a gap from %d to %d", len(got), since, page.StartSeq)
			}
			got += all[since-1 : page.StartSeq-1]
		}
		got += page.Stdout
		if since = page.NextSeq; !page.Capped {
			break
		}
	}
	eq(t, "gap", gap, true)
	eq(t, "the rest", got, all)
	for range 3 {
		other := s.Execute("seq 1 2000", nil)
		eq(t, "warnings of another", len(other.Warnings), 0)
		stdout, _ := pages(t, s, other, 1, nil)
		eq(t, "another", stdout, numbers(2000))
	}
	mcptest.Until(t, prompt, "a line in the log", func() bool {
		return strings.Contains(s.Stderr(), "keeping output on disk failed")
	})
}

func TestSpillConfigurationIsChecked(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		env   []string
		parts []string
	}{
		{[]string{"YIELDSHELL_SPILL_DIR=spill"}, []string{"YIELDSHELL_SPILL_DIR", `"spill"`, "absolute path"}},
		{[]string{"YIELDSHELL_SPILL_DIR=" + serverPath(file)}, []string{"YIELDSHELL_SPILL_DIR", filepath.Base(file), "folder"}},
		{[]string{"YIELDSHELL_MAX_SPILL_BYTES=1GB"}, []string{"YIELDSHELL_MAX_SPILL_BYTES", "1GB", "whole number of bytes"}},
		{[]string{"YIELDSHELL_MAX_SPILL_TOTAL_BYTES=0"}, []string{"YIELDSHELL_MAX_SPILL_TOTAL_BYTES", `"0"`, "from 1"}},
		{[]string{"YIELDSHELL_RENDER=html"}, []string{"YIELDSHELL_RENDER", "html", "raw or text"}},
	} {
		s := mcptest.Start(t, mcptest.Options{Command: program, Env: variables(c.env), Uninitialized: true})
		eq(t, "exit status", s.Wait(), 2)
		mcptest.Until(t, prompt, "one line", func() bool { return strings.Count(s.Stderr(), "\n") == 1 })
		contains(t, "error", s.Stderr(), c.parts...)
	}
	s := startAny(t, "YIELDSHELL_MAX_SPILL_BYTES=1000")
	s.Close()
	mcptest.Until(t, prompt, "a warning", func() bool {
		return strings.Contains(s.Stderr(), "YIELDSHELL_MAX_SPILL_BYTES has no effect without YIELDSHELL_SPILL_DIR")
	})
}

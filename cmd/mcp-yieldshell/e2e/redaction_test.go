package e2e

import (
	"strings"
	"testing"

	"github.com/yieldshell/mcp-yieldshell/mcp/mcptest"
)

var secrets = []string{
	"MY_TOKEN=s3cr3t-value-123", "MULTI_TOKEN=tök€n-ünïcode", "META_TOKEN=a+b(c)[d]{9}$^",
	"SHORT_TOKEN=short", "LONG_TOKEN=s3cr3t-value-123-extended", "EMPTY_TOKEN=", "SEVEN_TOKEN=äöüäöüä",
}

func startRedacting(t *testing.T) *mcptest.Server {
	t.Helper()
	return start(t, append(secrets, "YIELDSHELL_REDACT_ENV_REGEX=TOKEN")...)
}

func TestASecretSplitOverWritesIsRedacted(t *testing.T) {
	t.Parallel()
	s := startRedacting(t)
	r := s.Execute("printf 's3cr3t-'; while [ ! -e a ]; do sleep 0.02; done; printf 'value-'; while [ ! -e b ]; do sleep 0.02; done; printf '123 end\\n'", args{"yield_ms": 100})
	got := r.Stdout
	poll := func() {
		t.Helper()
		got += s.Call("wait", r.On(args{"timeout_ms": 150})).Stdout
		if strings.Contains(got, "s3cr3t") || strings.Contains(got, "value") {
			t.Fatalf("a part of the secret is shown: %q", got)
		}
	}
	poll()
	release(t, s, "a")
	poll()
	release(t, s, "b")
	mcptest.Until(t, prompt, "the end", func() bool { poll(); return strings.HasSuffix(got, "\n") })
	eq(t, "stdout", got, "[REDACTED:MY_TOKEN] end\n")
}

func TestPagesCannotReassembleASecret(t *testing.T) {
	t.Parallel()
	s := startRedacting(t)
	const want = "x[REDACTED:MY_TOKEN] y[REDACTED:LONG_TOKEN] z[REDACTED:MULTI_TOKEN] w[REDACTED:META_TOKEN] vshort äöüäöüä\n"
	r := s.Execute("echo x$MY_TOKEN y$LONG_TOKEN z$MULTI_TOKEN \"w$META_TOKEN\" v$SHORT_TOKEN $SEVEN_TOKEN", args{"max_output_bytes": 3})
	got := r.Stdout
	for r.Capped {
		r = s.Call("read", r.On(args{"max_output_bytes": 3}))
		got += r.Stdout
	}
	eq(t, "pages", got, want)
	eq(t, "latest_seq", r.LatestSeq, int64(len(want)+1))
	eq(t, "stdout_bytes", s.Row(r.ExecutionID).StdoutBytes, int64(len(want)))
	for seq := int64(1); seq < r.LatestSeq; seq += 7 {
		if page := s.Call("read", r.On(args{"since_seq": seq})).Stdout; strings.Contains(page, "value-123") {
			t.Errorf("from %d: %q", seq, page)
		}
	}
	eq(t, "tail", s.Call("read", r.On(args{"tail_lines": 1})).Stdout, want)
}

func TestRedactionReachesEveryPlace(t *testing.T) {
	t.Parallel()
	s := startRedacting(t)
	r := s.Execute("echo s3cr3t-value-123; echo s3cr3t-value-123 >&2; : s3cr3t-value-123", args{"name": "run s3cr3t-value-123"})
	eq(t, "stdout", r.Stdout, "[REDACTED:MY_TOKEN]\n")
	eq(t, "stderr", r.Stderr, "[REDACTED:MY_TOKEN]\n")
	s.Rows()
	overlay := s.Execute("echo $EXTRA_TOKEN; echo s3cr3t-value-123", args{"env": args{"EXTRA_TOKEN": "overlay-secret-1"}})
	eq(t, "overlay", overlay.Stdout, "[REDACTED:EXTRA_TOKEN]\n[REDACTED:MY_TOKEN]\n")
	eq(t, "an overlay is for its own run", s.Execute("echo overlay-secret-1", nil).Stdout, "overlay-secret-1\n")
	eq(t, "overlay replaces", s.Execute("echo $MY_TOKEN; echo s3cr3t-value-123", args{"env": args{"MY_TOKEN": "another-value-9"}}).Stdout,
		"[REDACTED:MY_TOKEN]\n[REDACTED:MY_TOKEN]\n")
	s.Execute("echo x", args{"cwd": "s3cr3t-value-123"})
	s.Execute("", args{"side_effects": []string{"s3cr3t-value-123"}})
	s.Close()
	transcript := string(s.Stdout()) + s.Stderr()
	if i := strings.Index(transcript, "s3cr3t-value-123"); i >= 0 {
		t.Errorf("the secret is shown: %.300q", transcript[max(0, i-200):])
	}
	// The commands themselves have the variable.
	s = startRedacting(t)
	completed(t, s.Execute("printf %s $MY_TOKEN | wc -c | tr -d ' '", nil), "16\n")
}

func TestWithoutConfigurationNothingIsRedacted(t *testing.T) {
	t.Parallel()
	s := start(t, secrets...)
	r := s.Execute("echo $MY_TOKEN", args{"name": "run s3cr3t-value-123"})
	completed(t, r, "s3cr3t-value-123\n")
	eq(t, "name", *s.Row(r.ExecutionID).Name, "run s3cr3t-value-123")
}

func TestASecretOverManyPagesOfOutput(t *testing.T) {
	t.Parallel()
	s := startRedacting(t)
	r := s.Execute("i=0; while [ $i -lt 3000 ]; do printf 'some text %s' $MY_TOKEN; i=$((i+1)); done", args{"max_output_bytes": 1})
	var all strings.Builder
	all.WriteString(r.Stdout)
	for r.Capped {
		r = s.Call("read", r.On(nil))
		all.WriteString(r.Stdout)
	}
	eq(t, "output", all.String(), strings.Repeat("some text [REDACTED:MY_TOKEN]", 3000))
}

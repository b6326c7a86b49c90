package policy

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

func commands(t *testing.T, deny, allow string) Commands {
	t.Helper()
	c, err := NewCommands(deny, allow)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// want checks a refusal's text; no parts mean that it must be allowed.
func want(t *testing.T, what string, err error, parts ...string) {
	t.Helper()
	if len(parts) == 0 && err != nil {
		t.Errorf("%s: %v", what, err)
	}
	for _, part := range parts {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%s: %v lacks %q", what, err, part)
		}
	}
}

func TestCommandsAndShells(t *testing.T) {
	for _, test := range []struct {
		deny, allow, text string
		refusal           []string
	}{
		{"", "", "anything", nil},
		{`rm\s+-rf`, "", "cd x && rm -rf y", []string{"denied by policy", DenyCommandVariable}},
		{`rm\s+-rf`, "", "echo rm", nil},
		{"", "^(echo|git) ", "ls", []string{"not allowed by policy", AllowCommandVariable}},
		{"", "^(echo|git) ", "git status", nil},
		{"sudo", "^echo", "echo sudo", []string{"denied by policy", DenyCommandVariable}},
		{"sudo", "^echo", "sudo", []string{"denied by policy", DenyCommandVariable}},
		{"sudo", "^echo", "ls", []string{"not allowed by policy", AllowCommandVariable}},
		{"sudo", "^echo", "echo", nil},
		{"", `^(?!.*sudo)echo`, "echo hi; sudo true", []string{"not allowed by policy"}},
	} {
		c := commands(t, test.deny, test.allow)
		want(t, "command "+test.text, c.CheckCommand(test.text), test.refusal...)
		refusal := slices.Clone(test.refusal)
		if len(refusal) > 0 {
			refusal[0] = "Shell rejected by policy: it "
		}
		want(t, "shell "+test.text, c.CheckShell(test.text), refusal...)
	}
}

func TestBadExpressionsNameTheVariable(t *testing.T) {
	_, err := NewCommands("(", "")
	want(t, "deny", err, DenyCommandVariable, `"("`, "missing )")
	_, err = NewCommands("", "a\n[")
	want(t, "allow", err, AllowCommandVariable, `"a\n["`, "unterminated character set at position 2")
	_, err = CompileExpression("a\xff")
	want(t, "bytes", err, "UTF-8")
	_, err = CompileExpression(`\N{EM DASH}`)
	want(t, "name", err, `\N`)
	_, err = CompileExpression(strings.Repeat("(", 1<<20))
	want(t, "nesting", err, "nested too deeply")
}

func TestSlowMatchesCountAsRefused(t *testing.T) {
	const slow = `^(?:(?:a|b|ab)*)*c$`
	text := strings.Repeat("ab", 200) + "!"
	for what, c := range map[string]Commands{"deny": commands(t, slow, ""), "allow": commands(t, "", slow)} {
		start := time.Now()
		err := c.CheckCommand(text)
		elapsed := time.Since(start)
		if !errors.Is(err, ErrMatchLimit) {
			t.Errorf("%s: %v", what, err)
		}
		want(t, what, err, "denied by policy", "not allowed", "100 ms")
		if elapsed < MatchLimit/2 || elapsed > 10*time.Second {
			t.Errorf("%s: refused after %v", what, elapsed)
		}
		if err != nil && len(err.Error()) > 500 {
			t.Errorf("%s: the error shows the command: %d bytes", what, len(err.Error()))
		}
		want(t, what, c.CheckShell(text), "Shell rejected by policy", "not allowed", "100 ms")
	}
}

func TestAnyTextCanBeSearched(t *testing.T) {
	c := commands(t, `rm\s+-rf`, "")
	long := strings.Repeat("echo hello world; ls -la /tmp/foo ", 1<<20/34)
	want(t, "1 MB", c.CheckCommand(long))
	want(t, "1 MB and a match", c.CheckCommand(long+"rm -rf /"), "denied")
	want(t, "no UTF-8", c.CheckCommand("\xff\xfe\x80"))
	want(t, "no UTF-8 and a match", c.CheckCommand("\xffrm\t-rf\x80"), "denied")
	want(t, "NUL", c.CheckCommand("a\x00rm -rf"), "denied")
	want(t, "half a character", commands(t, "^a..b$", "").CheckCommand("a\xe2\x82b"), "denied")
}

func TestExpressionIsSafeForConcurrentUse(t *testing.T) {
	c := commands(t, `(?i)\bsudo\b`, "")
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			for range 100 {
				if c.CheckCommand("echo; SUDO ls") == nil || c.CheckCommand("echo pseudo") != nil {
					t.Error("wrong answer")
				}
			}
		})
	}
	wait.Wait()
}

func FuzzTranslate(f *testing.F) {
	f.Add(`^(?:ls|cat)(?P<x>[\w./-]+)*(?(x)a|b)$`, "ls a")
	f.Add(`(?ix) [^\W\d] {2,} + # x`, "aa")
	f.Add(`(?<=\x41)(?!b)\Z`, "A")
	f.Add(`(?i)[İ-ſ]+?\1`, "ı")
	f.Fuzz(func(t *testing.T, pattern, text string) {
		if len(pattern) > 200 || len(text) > 200 {
			return // the parser, not the engine, is under test
		}
		translated, err := translate(pattern)
		if err != nil {
			if strings.ContainsAny(err.Error(), "\r\n") {
				t.Errorf("%q: more than one line: %q", pattern, err)
			}
			return
		}
		expression, err := CompileExpression(pattern)
		if err != nil {
			t.Fatalf("%q was translated to %q, which the engine refuses: %v", pattern, translated, err)
		}
		if _, err := expression.Search(text); err != nil && !errors.Is(err, ErrMatchLimit) {
			t.Errorf("%q in %q: %v", pattern, text, err)
		}
	})
}

func BenchmarkSearch(b *testing.B) {
	text := strings.Repeat("echo hello world; ls -la /tmp/foo ", 4096/34)
	for _, pattern := range []string{`rm\s+-rf`, `\b(?:sudo|doas)\b`, `^(?!.*sudo)echo`, `(?i)drop\s+table`} {
		b.Run(pattern, func(b *testing.B) {
			expression, err := CompileExpression(pattern)
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				if _, err := expression.Search(text); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

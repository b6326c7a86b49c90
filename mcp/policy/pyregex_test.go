package policy

import (
	"bytes"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// pythonCase is what CPython 3.11 made of one search. Result is "match",
// "none", or "error" when the expression was refused.
type pythonCase struct {
	Pattern string `json:"pattern"`
	Text    string `json:"text"`
	Result  string `json:"result"`
}

func pythonCases(t *testing.T) []pythonCase {
	t.Helper()
	data, err := os.ReadFile("testdata/python.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []pythonCase
	if err := json.Unmarshal(data, &cases); err != nil {
		t.Fatal(err)
	}
	return cases
}

// ours searches with the translation and reports in Python's terms.
func ours(c pythonCase) string {
	expression, err := CompileExpression(c.Pattern)
	if err != nil {
		return "error"
	}
	found, err := expression.Search(c.Text)
	switch {
	case err != nil:
		return "limit"
	case found:
		return "match"
	}
	return "none"
}

func TestSearchAgreesWithPython(t *testing.T) {
	for _, c := range pythonCases(t) {
		if got := ours(c); got != c.Result {
			translated, err := translate(c.Pattern)
			t.Errorf("%q in %q: %s, Python says %s (translated to %q, %v)", c.Pattern, c.Text, got, c.Result, translated, err)
		}
	}
}

// askPython answers the cases with the python3 of this machine, if it has one
// whose syntax is the one that is translated.
func askPython(t *testing.T, cases []pythonCase) []string {
	t.Helper()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("python3 is not installed: the committed table has been checked alone")
	}
	const script = `
import json, re, sys, warnings
warnings.simplefilter("ignore")
if sys.version_info < (3, 11):
    sys.exit(3)
def search(case):
    try:
        return "match" if re.compile(case["pattern"]).search(case["text"]) else "none"
    except (re.error, OverflowError, ValueError, RecursionError):
        return "error"
json.dump([search(case) for case in json.load(sys.stdin)], sys.stdout)
`
	input, err := json.Marshal(cases)
	if err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), python, "-c", script)
	command.Stdin = bytes.NewReader(input)
	output, err := command.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() == 3 {
		t.Skip("python3 is older than 3.11, which has another syntax")
	}
	if err != nil {
		t.Fatal(err)
	}
	var results []string
	if err := json.Unmarshal(output, &results); err != nil {
		t.Fatal(err)
	}
	return results
}

func TestTableAgreesWithPython(t *testing.T) {
	cases := pythonCases(t)
	for i, got := range askPython(t, cases) {
		if got != cases[i].Result {
			t.Errorf("%q in %q: python3 says %s, the table %s", cases[i].Pattern, cases[i].Text, got, cases[i].Result)
		}
	}
}

// TestRandomExpressionsAgreeWithPython puts expressions together from the
// tokens that the two engines read differently, most of them valid.
func TestRandomExpressionsAgreeWithPython(t *testing.T) {
	const count = 4000
	tokens := []string{"a", "b", "c", "a", "b", "A", ".", "^", "$", "|", "|", "*", "+", "?", "{2}", "{,2}", "{1,}", "{", "}",
		"(", "(", ")", ")", ")", "(?:", "(?=", "(?!", "(?<=", "(?<!", "(?>", "(?i:", "(?s-i:", "(?P<n>", "(?P=n)", "(?(1)", `\1`, `\2`,
		"[ab]", "[^a]", "[a-", "[^", "]", "-", "[", `[\w-]`, `[^\W]`, `\w`, `\W`, `\d`, `\s`, `\S`, `\b`, `\B`, `\A`, `\Z`, `\n`, `\x61`, `\141`, "#", " ", "(?#x)", "(?x:", "\n"}
	letters := []string{"a", "b", "c", "A", "B", "\n", " ", "-", "1", "é", "_"}
	random := rand.New(rand.NewPCG(1, 2))
	pick := func(from []string, n int) string {
		var text strings.Builder
		for range n {
			text.WriteString(from[random.IntN(len(from))])
		}
		return text.String()
	}
	var cases []pythonCase
	for range count {
		c := pythonCase{Text: pick(letters, 1+random.IntN(6)), Pattern: pick(tokens, 1+random.IntN(8))}
		// Closing what was opened makes most of them valid.
		open := strings.Count(c.Pattern, "(") - strings.Count(c.Pattern, ")")
		c.Pattern += strings.Repeat(")", max(0, open))
		cases = append(cases, c)
	}
	valid := 0
	for i, want := range askPython(t, cases) {
		if want != "error" {
			valid++
		}
		if got := ours(cases[i]); got != want {
			translated, err := translate(cases[i].Pattern)
			t.Errorf("%q in %q: %s, Python says %s (translated to %q, %v)", cases[i].Pattern, cases[i].Text, got, want, translated, err)
		}
	}
	if valid < count/5 {
		t.Errorf("only %d of %d expressions were valid", valid, count)
	}
}

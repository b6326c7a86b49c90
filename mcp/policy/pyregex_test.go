package policy

import (
	"encoding/json"
	"os"
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

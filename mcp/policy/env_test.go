package policy

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

func TestCheckEnv(t *testing.T) {
	for _, good := range []map[string]string{
		nil, {}, {"A": ""}, {"A": "x=y\nz"}, {"a b": "1"}, {"é": "ü"}, {"1": "x", "_": "y"},
	} {
		if err := CheckEnv(good); err != nil {
			t.Errorf("%q: %v", good, err)
		}
	}
	for _, test := range []struct {
		overlay map[string]string
		parts   []string
	}{
		{map[string]string{"": "secret"}, []string{"name is empty"}},
		{map[string]string{"A=B": "secret"}, []string{`"A=B"`, "'='"}},
		{map[string]string{"=": "secret"}, []string{"'='"}},
		{map[string]string{"A\x00B": "secret"}, []string{`"A\x00B"`, "NUL"}},
		{map[string]string{"A": "secret\x00B=1"}, []string{`value of "A"`, "NUL"}},
		{map[string]string{"OK": "1", "A=": "secret"}, []string{`"A="`}},
	} {
		err := CheckEnv(test.overlay)
		want(t, "env", err, append(test.parts, "env")...)
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("the value is shown: %v", err)
		}
	}
}

func TestMergeEnv(t *testing.T) {
	for _, test := range []struct {
		parent  []string
		overlay map[string]string
		want    []string
	}{
		{nil, nil, []string{}},
		{[]string{"A=1", "B=2"}, nil, []string{"A=1", "B=2"}},
		{[]string{"A=1", "B=2"}, map[string]string{"A": ""}, []string{"A=", "B=2"}},
		{[]string{"A=1", "B=2", "A=3"}, nil, []string{"A=3", "B=2"}},
		{[]string{"A=1"}, map[string]string{"Z": "z", "B": "b", "M": "a=b"}, []string{"A=1", "B=b", "M=a=b", "Z=z"}},
		{[]string{"A=x=y", "B="}, map[string]string{"C": "c"}, []string{"A=x=y", "B=", "C=c"}},
		{[]string{"", "junk", "A=1"}, nil, []string{"A=1"}},
	} {
		parent := slices.Clone(test.parent)
		for range 10 { // the order of a map is another each time
			if got := MergeEnv(test.parent, test.overlay); !slices.Equal(got, test.want) {
				t.Errorf("%q with %q: %q, want %q", test.parent, test.overlay, got, test.want)
			}
		}
		if !slices.Equal(parent, test.parent) {
			t.Errorf("the parent's environment was changed: %q", test.parent)
		}
	}
}

// FuzzMergeEnv compares with the plain reading: a map, filled in order.
func FuzzMergeEnv(f *testing.F) {
	f.Add("A=1\nB=2\nA=3", "A", "x", "C", "")
	f.Add("=C:=C:\\w\nPath=p", "PATH", "x", "path", "y")
	f.Fuzz(func(t *testing.T, parent, n1, v1, n2, v2 string) {
		overlay := map[string]string{n1: v1, n2: v2}
		if CheckEnv(overlay) != nil {
			return
		}
		environ := strings.Split(parent, "\n")
		model := make(map[string]string)
		for name, value := range EnvVariables(environ) {
			model[envKey(name)] = value
		}
		for name, value := range overlay {
			model[envKey(name)] = value
		}
		got := make(map[string]string)
		merged := MergeEnv(environ, overlay)
		for name, value := range EnvVariables(merged) {
			got[envKey(name)] = value
		}
		if !maps.Equal(got, model) || len(merged) != len(model) {
			t.Errorf("%q with %q: %q, want %q", environ, overlay, merged, model)
		}
	})
}

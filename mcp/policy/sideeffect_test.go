package policy

import (
	"slices"
	"strings"
	"testing"
)

func TestCategoriesAreThoseOfTheSpecification(t *testing.T) {
	want := strings.Fields(`CHANGES_NETWORK_CONFIGURATION CHANGES_PACKAGES_OR_DEPENDENCIES
		CONSUMES_SIGNIFICANT_RESOURCES DELETES_FILES EXPOSES_SECRETS KILLS_AGENT_PROCESS MAKES_NETWORK_REQUESTS
		MODIFIES_OS_SETTINGS MODIFIES_OS_USER_SETTINGS MODIFIES_OUTSIDE_WORKSPACE MODIFIES_PRODUCTION_SERVICES
		MODIFIES_PROTECTED_FILES MODIFIES_SECURITY_CONTROLS MODIFIES_WORKSPACE_FILES NONE OTHER RUNS_INLINE_CODE
		RUNS_PRIVILEGED_COMMANDS STOPS_OR_RESTARTS_SERVICES UNKNOWN USES_DESTRUCTIVE_GIT_OPERATION`)
	if got := SideEffects(); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// overlap counts the different words that two texts share, as a part of the
// smaller one's.
func overlap(a, b string) float64 {
	set := func(s string) map[string]bool {
		words := make(map[string]bool)
		for _, w := range strings.Fields(strings.ToLower(s)) {
			words[strings.Trim(w, ".,;:()")] = true
		}
		return words
	}
	wa, wb := set(a), set(b)
	shared := 0
	for w := range wa {
		if wb[w] {
			shared++
		}
	}
	return float64(shared) / float64(min(len(wa), len(wb)))
}

func TestGuidanceIsOfItsOwnForEachCategory(t *testing.T) {
	names := SideEffects()
	for _, name := range names {
		text, ok := Guidance(name)
		if !ok || len(text) < 80 {
			t.Errorf("%s: guidance %q", name, text)
		}
		for _, other := range names {
			if strings.Contains(text, other) {
				t.Errorf("the guidance of %s names %s", name, other)
			}
			second, _ := Guidance(other)
			if other != name && overlap(text, second) > 0.6 {
				t.Errorf("%s and %s have nearly the same guidance", name, other)
			}
		}
	}
	if _, ok := Guidance("none"); ok {
		t.Error("guidance for a name that is no category")
	}
	inline, _ := Guidance("RUNS_INLINE_CODE")
	for _, part := range []string{"reviewable workspace file", "small, inspectable step", BlockedSideEffectsVariable + "=,"} {
		if !strings.Contains(inline, part) {
			t.Errorf("the guidance for inline code lacks %q", part)
		}
	}
}

func TestParseBlocklist(t *testing.T) {
	for _, test := range []struct {
		value string
		want  []string
	}{
		{"", DefaultBlocked()},
		{",", nil},
		{" ", nil},
		{" , ,\t,", nil},
		{"OTHER", []string{"OTHER"}},
		{" DELETES_FILES , ,UNKNOWN,", []string{"DELETES_FILES", "UNKNOWN"}},
		{"NONE,NONE", []string{"NONE"}},
		{strings.Join(SideEffects(), ","), SideEffects()},
	} {
		list, err := ParseBlocklist(test.value)
		if err != nil || !slices.Equal(list.Names(), test.want) {
			t.Errorf("%q: %q, %v", test.value, list.Names(), err)
		}
	}
	for value, parts := range map[string][]string{
		"deletes_files":       {`"deletes_files"`, "did you mean DELETES_FILES?"},
		"OTHER,DELETE_FILES":  {`"DELETE_FILES"`, "DELETES_FILES"},
		"MODIFIES_OS_SETTING": {"MODIFIES_OS_SETTINGS or "},
		"NOPE":                {`"NOPE"`, "NONE"},
		"RM":                  {"the categories are CHANGES_NETWORK_CONFIGURATION, "},
		"OTHER;UNKNOWN":       {`"OTHER;UNKNOWN"`},
	} {
		_, err := ParseBlocklist(value)
		for _, part := range append(parts, BlockedSideEffectsVariable) {
			if err == nil || !strings.Contains(err.Error(), part) {
				t.Errorf("%q: %v lacks %q", value, err, part)
			}
		}
	}
}

func TestCheckDeclaredSideEffects(t *testing.T) {
	list, err := ParseBlocklist("")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range SideEffects() {
		if err := list.Check([]string{name, name}); (err != nil) != slices.Contains(DefaultBlocked(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, test := range []struct {
		declared []string
		parts    []string
	}{
		{nil, []string{"at least one"}},
		{[]string{}, []string{"at least one"}},
		{[]string{"nonsense"}, []string{`"nonsense"`, "the categories are"}},
		{[]string{"none"}, []string{`"none"`, "did you mean NONE"}},
		{[]string{""}, []string{`""`}},
		{[]string{"NONE", "OTHER"}, []string{"NONE must stand alone"}},
		{[]string{"RUNS_INLINE_CODE", "NONE"}, []string{"NONE must stand alone"}},
		{[]string{strings.Repeat("x", 1<<20)}, []string{"is not a side-effect category"}},
	} {
		err := list.Check(test.declared)
		for _, part := range append(test.parts, "side_effects") {
			if err == nil || !strings.Contains(err.Error(), part) {
				t.Errorf("%.40q: %.200v lacks %q", test.declared, err, part)
			}
		}
		if err != nil && len(err.Error()) > 2000 {
			t.Errorf("%.40q: an error of %d bytes", test.declared, len(err.Error()))
		}
	}
}

func TestRefusalNamesTheBlockedCategoriesAlone(t *testing.T) {
	list, err := ParseBlocklist(strings.Join(SideEffects(), ","))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range SideEffects() {
		err := list.Check([]string{name})
		guidance, _ := Guidance(name)
		for _, part := range []string{name, guidance, "stopped by policy before the process started"} {
			if err == nil || !strings.Contains(err.Error(), part) {
				t.Errorf("%s: %v lacks %q", name, err, part)
			}
		}
		for _, other := range SideEffects() {
			if other != name && err != nil && namesCategory(err.Error(), other) {
				t.Errorf("the refusal of %s names %s", name, other)
			}
		}
	}
	list, err = ParseBlocklist("")
	if err != nil {
		t.Fatal(err)
	}
	err = list.Check([]string{"RUNS_INLINE_CODE", "DELETES_FILES", "KILLS_AGENT_PROCESS", "RUNS_INLINE_CODE"})
	if err == nil {
		t.Fatal("not refused")
	}
	for _, name := range []string{"RUNS_INLINE_CODE", "KILLS_AGENT_PROCESS"} {
		guidance, _ := Guidance(name)
		if strings.Count(err.Error(), guidance) != 1 {
			t.Errorf("%q does not have the guidance of %s once", err, name)
		}
	}
	if strings.Contains(err.Error(), "DELETES_FILES") {
		t.Errorf("%q names a category that is not blocked", err)
	}
}

// namesCategory tells whether the name stands in the text as a word.
func namesCategory(text, name string) bool {
	return slices.Contains(strings.FieldsFunc(text, func(r rune) bool { return r != '_' && (r < 'A' || r > 'Z') }), name)
}

func TestNearest(t *testing.T) {
	known := []string{"cwd", "command", "timeout_ms", "yield_ms"}
	for name, want := range map[string]string{
		"cdw": "cwd", "CWD": "cwd", "comand": "command", "timeoutms": "timeout_ms", "timeout": "timeout_ms",
		"": "", "qqqqqqq": "", strings.Repeat("c", 1<<20): "",
	} {
		got := ""
		if near := Nearest(name, known); len(near) > 0 {
			got = near[0]
		}
		if got != want {
			t.Errorf("%.20q: %q, want %q", name, got, want)
		}
	}
	if got := Nearest("aaab", []string{"aaaa", "aaac", "aaad", "aaae", "aaab"}); len(got) != 3 || got[0] != "aaab" {
		t.Errorf("%q", got)
	}
}

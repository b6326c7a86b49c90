package policy

import (
	"slices"
	"testing"
)

func TestMergeEnvIgnoresCase(t *testing.T) {
	parent := []string{`=C:=C:\work`, `=ExitCode=00000000`, "Path=p", "TEMP=t"}
	got := MergeEnv(parent, map[string]string{"PATH": "q", "new": "n"})
	want := []string{`=C:=C:\work`, `=ExitCode=00000000`, "Path=q", "TEMP=t", "new=n"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestCheckEnvRefusesOneVariableTwice(t *testing.T) {
	want(t, "env", CheckEnv(map[string]string{"Path": "a", "PATH": "b"}), "env", `"PATH"`, `"Path"`, "same variable")
}

package e2e

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/yieldshell/mcp-yieldshell/mcp/mcptest"
)

// categories are the side effects of the specification.
var categories = strings.Fields(`CHANGES_NETWORK_CONFIGURATION CHANGES_PACKAGES_OR_DEPENDENCIES
	CONSUMES_SIGNIFICANT_RESOURCES DELETES_FILES EXPOSES_SECRETS KILLS_AGENT_PROCESS MAKES_NETWORK_REQUESTS
	MODIFIES_OS_SETTINGS MODIFIES_OS_USER_SETTINGS MODIFIES_OUTSIDE_WORKSPACE MODIFIES_PRODUCTION_SERVICES
	MODIFIES_PROTECTED_FILES MODIFIES_SECURITY_CONTROLS MODIFIES_WORKSPACE_FILES NONE OTHER RUNS_INLINE_CODE
	RUNS_PRIVILEGED_COMMANDS STOPS_OR_RESTARTS_SERVICES UNKNOWN USES_DESTRUCTIVE_GIT_OPERATION`)

var blockedByDefault = strings.Fields("KILLS_AGENT_PROCESS MODIFIES_OS_SETTINGS MODIFIES_OS_USER_SETTINGS MODIFIES_PROTECTED_FILES RUNS_INLINE_CODE")

func TestInvalidConfigurationStopsTheStart(t *testing.T) {
	t.Parallel()
	listSeparator := ":"
	if !posixServer() {
		listSeparator = ";"
	}
	for _, variable := range []string{
		"YIELDSHELL_DENY_COMMAND_REGEX=(", "YIELDSHELL_ALLOW_COMMAND_REGEX=[", "YIELDSHELL_REDACT_ENV_REGEX=*",
		"MCP_YIELDSHELL_BLOCKED_SIDE_EFFECTS=deletes_files", "MCP_YIELDSHELL_BLOCKED_SIDE_EFFECTS=DELETES_FILES,NOPE",
		"YIELDSHELL_ALLOWED_CWDS=" + listSeparator,
	} {
		t.Run(variable, func(t *testing.T) {
			t.Parallel()
			name, value, _ := strings.Cut(variable, "=")
			s := mcptest.Start(t, mcptest.Options{Command: program, Env: map[string]string{name: value}, Uninitialized: true})
			eq(t, "exit status", s.Wait(), 2)
			mcptest.Until(t, prompt, "the message on stderr", func() bool { return strings.Contains(s.Stderr(), name) })
			if _, last, found := strings.Cut(value, ","); found {
				contains(t, "stderr", s.Stderr(), last)
			}
			eq(t, "stdout", string(s.Stdout()), "")
		})
	}
}

func TestBlockedCategoriesAreRefusedBeforeAnythingStarts(t *testing.T) {
	t.Parallel()
	s := startAny(t)
	for _, name := range categories {
		r := s.Execute("echo x > ran", args{"side_effects": []string{name}})
		if !slices.Contains(blockedByDefault, name) {
			eq(t, name+" ("+r.Error+")", r.Status, "completed")
			continue
		}
		refused(t, r, name, "policy", "before the process started")
	}
	rows := len(s.Rows())
	eq(t, "rows", rows, len(categories)-len(blockedByDefault))
	r := s.Execute("echo x > ran2", args{"side_effects": []string{"MODIFIES_OS_SETTINGS", "DELETES_FILES", "RUNS_INLINE_CODE"}})
	refused(t, r, "MODIFIES_OS_SETTINGS", "RUNS_INLINE_CODE")
	if strings.Contains(r.Error, "DELETES_FILES") {
		t.Errorf("an allowed category is named: %q", r.Error)
	}
	if _, err := os.Stat(s.Dir + "/ran2"); err == nil {
		t.Error("a refused command ran")
	}
	eq(t, "rows", len(s.Rows()), rows)
}

func TestEachCategoryHasGuidanceOfItsOwn(t *testing.T) {
	t.Parallel()
	s := startAny(t, "MCP_YIELDSHELL_BLOCKED_SIDE_EFFECTS="+strings.Join(categories, ","))
	seen := make(map[string]string)
	for _, name := range categories {
		r := s.Execute("echo x", args{"side_effects": []string{name}})
		refused(t, r, name)
		text := strings.ReplaceAll(r.Error, name, "X")
		if other, twice := seen[text]; twice {
			t.Errorf("%s and %s have the same guidance", name, other)
		}
		seen[text] = name
	}
}

func TestTheBlocklistIsReplaced(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		value   string
		blocked []string
	}{
		{" DELETES_FILES , ,UNKNOWN ", []string{"DELETES_FILES", "UNKNOWN"}},
		{",", nil}, {" , ,", nil}, {" ", nil}, {"", blockedByDefault},
	} {
		t.Run(c.value, func(t *testing.T) {
			t.Parallel()
			s := startAny(t, "MCP_YIELDSHELL_BLOCKED_SIDE_EFFECTS="+c.value)
			for _, name := range []string{"DELETES_FILES", "UNKNOWN", "RUNS_INLINE_CODE", "KILLS_AGENT_PROCESS", "OTHER"} {
				r := s.Execute("echo x", args{"side_effects": []string{name}})
				if slices.Contains(c.blocked, name) {
					refused(t, r, name)
				} else {
					eq(t, name+" ("+r.Error+")", r.Status, "completed")
				}
			}
		})
	}
}

func TestCommandExpressions(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		variable   string
		good, evil []string
	}{
		{`YIELDSHELL_DENY_COMMAND_REGEX=rm\s+-rf`, []string{"echo rm", "echo rm -r"}, []string{"cd x && rm -rf y", "rm\t-rf y", "rm\n-rf"}},
		{`YIELDSHELL_DENY_COMMAND_REGEX=(?i)SUDO`, []string{"echo su"}, []string{"sudo true", "SuDo true"}},
		{`YIELDSHELL_ALLOW_COMMAND_REGEX=^(echo|true)\b`, []string{"echo hi", "true"}, []string{"ls", "echox", " echo hi"}},
		{`YIELDSHELL_ALLOW_COMMAND_REGEX=^(?!.*sudo)echo`, []string{"echo hi"}, []string{"echo hi; sudo true", "ls"}},
		{`YIELDSHELL_ALLOW_COMMAND_REGEX=\Aecho (?P<q>['x])a(?P=q)\Z`, []string{"echo xax", "echo 'a'"}, []string{"echo xa'", "echo xax\n", "echo xaxx"}},
		{`YIELDSHELL_DENY_COMMAND_REGEX=é`, []string{"echo e"}, []string{"echo é"}},
		{`YIELDSHELL_DENY_COMMAND_REGEX=(?<=echo )secret`, []string{"echo x secret"}, []string{"echo secret"}},
	} {
		t.Run(c.variable, func(t *testing.T) {
			t.Parallel()
			s := startAny(t, c.variable)
			for _, command := range c.good {
				eq(t, command, s.Execute(command, nil).Status, "completed")
			}
			for _, command := range c.evil {
				refused(t, s.Execute(command, nil), "command")
			}
		})
	}
}

func TestAMatchThatTakesForeverIsDenied(t *testing.T) {
	t.Parallel()
	// The look-ahead keeps it from an engine that cannot be made slow.
	for _, variable := range []string{"YIELDSHELL_DENY_COMMAND_REGEX=^(?=a)(a|aa)*$", "YIELDSHELL_ALLOW_COMMAND_REGEX=^(?=a)(a|aa)*$"} {
		t.Run(variable, func(t *testing.T) {
			t.Parallel()
			s := startAny(t, variable)
			refused(t, s.Execute(strings.Repeat("a", 200)+"!", nil))
		})
	}
}

func TestExamplesOfTheSpecificationRun(t *testing.T) {
	t.Parallel()
	s := startAny(t)
	for _, list := range [][]string{{"NONE"}, {"MODIFIES_WORKSPACE_FILES"}, {"CHANGES_PACKAGES_OR_DEPENDENCIES", "MAKES_NETWORK_REQUESTS"},
		{"MAKES_NETWORK_REQUESTS"}, {"DELETES_FILES"}, {"RUNS_PRIVILEGED_COMMANDS"}} {
		eq(t, fmt.Sprint(list), s.Execute("echo x", args{"side_effects": list}).Status, "completed")
	}
	refused(t, s.Execute("echo x", args{"side_effects": []string{"MODIFIES_PROTECTED_FILES"}}))
}

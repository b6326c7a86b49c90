package policy

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// BlockedSideEffectsVariable is the environment variable that replaces the
// default blocklist.
const BlockedSideEffectsVariable = "MCP_YIELDSHELL_BLOCKED_SIDE_EFFECTS"

// None is the category of a command without meaningful side effects. It stands
// alone.
const None = "NONE"

// category is a side effect that a command may have, and what an agent should
// do instead when the operator does not allow it. A guidance names no other
// category: the refusal must only name those that are blocked.
type category struct {
	name     string
	guidance string
}

// categories returns the specification's list, in its order.
func categories() []category {
	return []category{
		{"CHANGES_NETWORK_CONFIGURATION", "Leave interfaces, routes, DNS, proxies and firewall rules as they are. Inspect them with read-only commands (ip addr, ip route, cat /etc/resolv.conf), and give the user the exact change to apply if one is needed."},
		{"CHANGES_PACKAGES_OR_DEPENDENCIES", "Work with the versions that are installed already. Propose the change as an edit of the manifest or lock file, or name the package and version, and ask the user to install it."},
		{"CONSUMES_SIGNIFICANT_RESOURCES", "Bound the work first: a smaller input, one target or one test, fewer parallel jobs, a short timeout_ms. Estimate the cost of the full run and ask the user before starting it."},
		{"DELETES_FILES", "List what would be removed (ls, find without -delete, git clean -n) and show it to the user. To get files out of the way, move them into a dated folder inside the workspace so that they can be put back."},
		{"EXPOSES_SECRETS", "Do not print, copy or send the secret. Test only that it is there (for example test -n \"$TOKEN\" or test -s FILE), refer to it by its name, and let the program that needs it read it itself."},
		{"KILLS_AGENT_PROCESS", "Do not signal or restart the agent, its client or this server. To end a command that was started here, call the stop tool with its execution_id; otherwise ask the user to restart the agent."},
		{"MAKES_NETWORK_REQUESTS", "Use what is on this machine: installed documentation, local caches, vendored sources, offline flags (--offline, --no-index). If a download is needed, tell the user the URL and why, and continue once the file is there."},
		{"MODIFIES_OS_SETTINGS", "Do not change system-wide configuration such as /etc, units, kernel parameters or the registry. Read the present value, write the wanted configuration as a draft file in the workspace, and ask an administrator to review and apply it."},
		{"MODIFIES_OS_USER_SETTINGS", "Leave the user's dotfiles, shell start-up files and application preferences alone. Set what the task needs for this command only, with the env argument or a configuration file in the project, and offer a permanent change to the user as a snippet."},
		{"MODIFIES_OUTSIDE_WORKSPACE", "Keep every write inside the workspace: pass a cwd there, direct output and temporary files to a folder in it, and ask the user to copy results elsewhere."},
		{"MODIFIES_PRODUCTION_SERVICES", "Do not touch live systems from here. Use a local, test or staging target, or the tool's dry-run mode (plan, diff, --dry-run), and hand the result to the people who deploy."},
		{"MODIFIES_PROTECTED_FILES", "Do not write to protected files, and do not change their permissions to get around the protection. Put the proposed contents into a new file or a patch in the workspace and ask the owner to review and apply it."},
		{"MODIFIES_SECURITY_CONTROLS", "Leave permissions, access rules, certificates, sandboxing and auditing as they are. If one of them is in the way, report which and what it refused, and ask for a decision instead of weakening it."},
		{"MODIFIES_WORKSPACE_FILES", "This server is read-only for now: read, search and diff, run checks in their no-write mode (for example gofmt -l, prettier --check), and present the change as a patch in your answer."},
		{None, "The operator accepts no command that claims to have no side effects. Think about what this one may do, such as the files it writes or the hosts it contacts, and declare those categories; if it truly does nothing, use another way to read the information."},
		{"OTHER", "Choose the specific categories that describe the effect. If none fits, explain to the user in words what the command would change, and let them decide or run it themselves."},
		{"RUNS_INLINE_CODE", "Write the code to a reviewable workspace file (for example scripts/check.py or tools/build.sh) and execute that file in a small, inspectable step, declaring the effects that it has; do not pass code with -c or -e, in a here-document or through a pipe into an interpreter. An operator can clear the default blocklist by starting the server with " + BlockedSideEffectsVariable + "=,"},
		{"RUNS_PRIVILEGED_COMMANDS", "Run without sudo, su, doas or an elevated prompt: use per-user alternatives such as a virtual environment, a prefix inside the workspace or a port above 1024. If administrator rights are unavoidable, give the user the exact command to run."},
		{"STOPS_OR_RESTARTS_SERVICES", "Look at the service with status and log commands only. Start a separate instance on another port for a test, or ask whoever runs the service to restart it at a good time."},
		{"UNKNOWN", "Find out what the command does before running it: read the script, its --help or its manual page, try a dry run, or split it into smaller steps. Then declare the categories that apply."},
		{"USES_DESTRUCTIVE_GIT_OPERATION", "Keep history and uncommitted work recoverable: create a backup branch or git stash first, prefer git revert, git switch and new commits over reset --hard, clean -f, a history rewrite or a forced push, and ask the user before discarding anything."},
	}
}

// SideEffects returns the names of all categories, in the specification's
// order, for the input schema's enum.
func SideEffects() []string {
	var names []string
	for _, c := range categories() {
		names = append(names, c.name)
	}
	return names
}

// DefaultBlocked returns the categories that are blocked when the operator says
// nothing.
func DefaultBlocked() []string {
	return []string{
		"KILLS_AGENT_PROCESS",
		"MODIFIES_OS_SETTINGS",
		"MODIFIES_OS_USER_SETTINGS",
		"MODIFIES_PROTECTED_FILES",
		"RUNS_INLINE_CODE",
	}
}

// Guidance returns what to do instead of a command of the named category, and
// false for a name that is no category.
func Guidance(name string) (string, bool) {
	for _, c := range categories() {
		if c.name == name {
			return c.guidance, true
		}
	}
	return "", false
}

// Blocklist is the set of categories that the server refuses. The zero value
// refuses none; ParseBlocklist makes the one that the operator asked for.
type Blocklist struct {
	names []string
}

// ParseBlocklist reads the value of MCP_YIELDSHELL_BLOCKED_SIDE_EFFECTS. The
// empty value, like an unset variable, means the default. A value without any
// entry, such as ",", means that nothing is blocked.
func ParseBlocklist(value string) (Blocklist, error) {
	if value == "" {
		return Blocklist{names: DefaultBlocked()}, nil
	}
	var list Blocklist
	for entry := range strings.SplitSeq(value, ",") {
		name := strings.TrimSpace(entry)
		if name == "" || slices.Contains(list.names, name) {
			continue
		}
		if err := known(name); err != nil {
			return Blocklist{}, fmt.Errorf("%s: %w", BlockedSideEffectsVariable, err)
		}
		list.names = append(list.names, name)
	}
	return list, nil
}

// Names returns the blocked categories in the order in which they were given.
func (b Blocklist) Names() []string { return slices.Clone(b.names) }

// Check judges the side_effects of a call: the list must hold at least one
// category, known ones only, and NONE must stand alone. Then it refuses what
// the operator blocked, in one error that names every blocked category and no
// other, with the next safer step for each.
func (b Blocklist) Check(declared []string) error {
	if len(declared) == 0 {
		return errors.New(`side_effects must name at least one category; use ["NONE"] for a command without meaningful side effects`)
	}
	for _, name := range declared {
		if err := known(name); err != nil {
			return fmt.Errorf("side_effects: %w", err)
		}
	}
	others := slices.ContainsFunc(declared, func(name string) bool { return name != None })
	if others && slices.Contains(declared, None) {
		return errors.New("side_effects: NONE must stand alone; leave it out when another category applies")
	}
	return b.refuse(declared)
}

func (b Blocklist) refuse(declared []string) error {
	var blocked []string
	for _, name := range declared {
		if slices.Contains(b.names, name) && !slices.Contains(blocked, name) {
			blocked = append(blocked, name)
		}
	}
	if len(blocked) == 0 {
		return nil
	}
	var text strings.Builder
	fmt.Fprintf(&text, "execution was stopped by policy before the process started: side_effects declares what this server blocks (%s).",
		strings.Join(blocked, ", "))
	for _, name := range blocked {
		guidance, _ := Guidance(name)
		fmt.Fprintf(&text, " Safer next action for %s: %s", name, guidance)
	}
	return errors.New(text.String())
}

// known refuses a name that is no category, and says which one was probably
// meant.
func known(name string) error {
	names := SideEffects()
	if slices.Contains(names, name) {
		return nil
	}
	hint := "the categories are " + strings.Join(names, ", ")
	if near := Nearest(name, names); len(near) > 0 {
		hint = "did you mean " + strings.Join(near, " or ") + "?"
	}
	return fmt.Errorf("%s is not a side-effect category (names are case-sensitive); %s", quote(name), hint)
}

package policy

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// CheckEnv refuses an overlay that no environment can hold: a name that is
// empty or holds '=' or NUL, a value that holds NUL (both end where the system
// reads the NUL, and what follows would become something else), and, where the
// system ignores case in names, two names for one variable. The error names
// env and the variable and never shows a value.
func CheckEnv(overlay map[string]string) error {
	seen := make(map[string]string, len(overlay))
	for _, name := range slices.Sorted(maps.Keys(overlay)) {
		switch {
		case name == "":
			return fmt.Errorf("env: a variable name is empty")
		case strings.Contains(name, "="):
			return fmt.Errorf("env: the variable name %s must not contain '='", quote(name))
		case strings.Contains(name, "\x00"):
			return fmt.Errorf("env: the variable name %s must not contain a NUL character", quote(name))
		case strings.Contains(overlay[name], "\x00"):
			return fmt.Errorf("env: the value of %s must not contain a NUL character", quote(name))
		}
		key := envKey(name)
		if other, ok := seen[key]; ok {
			return fmt.Errorf("env: %s and %s name the same variable on this system", quote(other), quote(name))
		}
		seen[key] = name
	}
	return nil
}

// MergeEnv lays overlay, which CheckEnv accepted, over the parent environment
// of NAME=VALUE entries and returns a complete environment in which each
// variable stands once. The result depends on the input alone: the parent's
// variables come first in their order, with the last value where the parent
// has several and its spelling of the name, then the new ones sorted by name. An empty value is a variable
// that is set and empty. A parent entry without a name is left out. Neither
// argument is changed.
func MergeEnv(parent []string, overlay map[string]string) []string {
	merged := make([]string, 0, len(parent)+len(overlay))
	place := make(map[string]int, len(parent)+len(overlay))
	set := func(name, value string) {
		key := envKey(name)
		if i, ok := place[key]; ok {
			spelling, _, _ := splitEnv(merged[i])
			merged[i] = spelling + "=" + value
			return
		}
		place[key] = len(merged)
		merged = append(merged, name+"="+value)
	}
	for _, entry := range parent {
		if name, value, ok := splitEnv(entry); ok {
			set(name, value)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(overlay)) {
		set(name, overlay[name])
	}
	return merged
}

// EnvVariables yields the name and value of each variable of an environment of
// NAME=VALUE entries.
func EnvVariables(environ []string) func(yield func(name, value string) bool) {
	return func(yield func(name, value string) bool) {
		for _, entry := range environ {
			if name, value, ok := splitEnv(entry); ok && !yield(name, value) {
				return
			}
		}
	}
}

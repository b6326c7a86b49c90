//go:build unix

package policy

import "strings"

// envKey is what two names have in common when they name one variable.
func envKey(name string) string { return name }

// splitEnv parts a NAME=VALUE entry; ok is false when it has no name.
func splitEnv(entry string) (name, value string, ok bool) {
	name, value, ok = strings.Cut(entry, "=")
	return name, value, ok && name != ""
}

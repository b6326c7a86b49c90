package policy

import "strings"

// envKey is what two names have in common when they name one variable: Windows
// keeps the case of a name and ignores it in look-ups.
func envKey(name string) string { return strings.ToUpper(name) }

// splitEnv parts a NAME=VALUE entry; ok is false when it has no name. Windows
// keeps the current directory of each drive in entries such as `=C:=C:\work`,
// whose name begins with the '='.
func splitEnv(entry string) (name, value string, ok bool) {
	if entry == "" {
		return "", "", false
	}
	i := strings.IndexByte(entry[1:], '=')
	if i < 0 {
		return "", "", false
	}
	return entry[:i+1], entry[i+2:], true
}

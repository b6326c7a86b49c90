package main

import (
	"context"
	"strings"

	"golang.org/x/sys/windows/registry"
)

// pathAdvice passes on this terminal's PATH.
const pathAdvice = `'mcp-yieldshell install CLIENT --env "PATH=%PATH%"' gives a client's commands the PATH of this terminal`

// defaultShell is the shell that commands run in, with what makes it end.
func defaultShell(lookupEnv func(string) (string, bool)) (name string, args []string) {
	name, _ = lookupEnv("ComSpec")
	if name == "" {
		name = "cmd.exe"
	}
	return name, []string{"/d", "/c", "exit 0"}
}

// desktopPath is the PATH that Explorer gives to programs: the system's, then
// the user's.
func desktopPath(context.Context) (path, source string) {
	var parts []string
	for _, place := range []struct {
		root registry.Key
		key  string
	}{
		{registry.LOCAL_MACHINE, `SYSTEM\CurrentControlSet\Control\Session Manager\Environment`},
		{registry.CURRENT_USER, `Environment`},
	} {
		if value := registryPath(place.root, place.key); value != "" {
			parts = append(parts, value)
		}
	}
	return strings.Join(parts, ";"), "the registry"
}

// registryPath reads a PATH from the registry, or nothing.
func registryPath(root registry.Key, key string) string {
	k, err := registry.OpenKey(root, key, registry.QUERY_VALUE)
	if err != nil {
		return ""
	}
	defer k.Close()
	value, _, err := k.GetStringValue("Path")
	if err != nil {
		return ""
	}
	if expanded, err := registry.ExpandString(value); err == nil {
		value = expanded
	}
	return strings.Trim(value, ";")
}

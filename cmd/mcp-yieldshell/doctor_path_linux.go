package main

import (
	"context"
	"os"
)

// desktopPath is the PATH that programs get that the desktop starts. The
// user's systemd knows it; without one it is what a login sets.
func desktopPath(ctx context.Context) (path, source string) {
	if path := pathFromLines(printed(ctx, "systemctl", "--user", "show-environment")); path != "" {
		return path, "systemctl --user show-environment"
	}
	if path := pathFromLines(textOf("/etc/environment")); path != "" {
		return path, "/etc/environment"
	}
	if path := pathFromLoginDefs(textOf("/etc/login.defs"), os.Geteuid() == 0); path != "" {
		return path, "/etc/login.defs"
	}
	return "/usr/local/bin:/usr/bin:/bin", "the usual one"
}

// textOf is a file's content, or nothing.
func textOf(file string) string {
	text, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	return string(text)
}

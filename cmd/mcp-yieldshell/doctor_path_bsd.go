//go:build unix && !linux && !darwin

package main

import "context"

// desktopPath is the PATH that a login sets, see login.conf(5).
func desktopPath(context.Context) (path, source string) {
	return "/sbin:/bin:/usr/sbin:/usr/bin:/usr/local/sbin:/usr/local/bin", "the usual one"
}

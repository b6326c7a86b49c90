package main

import "context"

// desktopPath is the PATH that programs get that Finder or the Dock starts.
func desktopPath(ctx context.Context) (path, source string) {
	if path := printed(ctx, "launchctl", "getenv", "PATH"); path != "" {
		return path, "launchctl getenv PATH"
	}
	return "/usr/bin:/bin:/usr/sbin:/sbin", "launchd's default"
}

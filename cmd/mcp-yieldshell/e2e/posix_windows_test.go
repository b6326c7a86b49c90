package e2e

import "syscall"

const posix = false

// underWine reports whether the server runs on Wine and not on Windows.
func underWine() bool {
	return syscall.NewLazyDLL("ntdll.dll").NewProc("wine_get_version").Find() == nil
}

// Package tree finds the processes that descend from this one, and signals
// them, on each POSIX system as well as that system allows.
//
// On Linux the calling process adopts orphans and /proc tells who its children
// are; on FreeBSD the kernel lists them (procctl(2)); on macOS forks are
// followed by their events (kqueue(2)); elsewhere only a process group is
// known.
//
// A supervisor is initialised before most packages (see keeper), so on Linux
// this one imports nothing but proc_unix/sys, syscall and unsafe, and what those
// do themselves.
package tree

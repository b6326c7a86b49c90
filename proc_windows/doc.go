// Package procwindows implements proc.Backend for Windows.
//
// Every execution is a Job Object of its own: it is closed with its last
// handle, which only the server holds, and lets nobody out. The shell is born
// inside the job (PROC_THREAD_ATTRIBUTE_JOB_LIST), inherits its three pipe
// ends and nothing else (PROC_THREAD_ATTRIBUTE_HANDLE_LIST), and is created
// suspended, so that it runs only once its membership has been verified. That
// is why CreateProcess is called here and not through os/exec, which knows
// neither attribute. The server itself sits in an outer job of the same kind,
// for its helper processes.
//
// The shell has a hidden console of its own, so that no window opens and
// Ctrl-C reaches everything on that console and nothing else. Consoles belong
// to processes, not to threads; whatever needs to be done on another console
// is done by a short-lived helper process: the same executable, see IsHelper.
//
// What shares the shell's console is attached, everything else in the job is
// detached (see survey). A job tells when it becomes empty through a
// completion port, which one goroutine per backend reads.
//
// The package imports the standard library, proc and golang.org/x/sys. Files
// without a Windows build tag hold the pure parts, which are tested on every
// system.
package procwindows

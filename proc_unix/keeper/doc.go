// Package keeper is the supervisor's side of an execution: a process of its
// own that starts the shell, adopts every orphan below it, reports what becomes
// of them over a socket, and ends them all when that socket closes.
//
// The supervisor is this same program, started again, so importing the package
// makes a program one: init does not return in a process that has been started
// as a supervisor. A program initialises its packages in the order of their
// import paths, those first whose dependencies are ready. On Linux this one
// depends on nothing but math, runtime, syscall, sync, time and what those do,
// so its turn comes before os, fmt and all that depends on them, whose memory
// and time a supervisor then never takes: half of what it would be.
//
// It may import proc_unix/sys, proc_unix/tree, proc_unix/wire, runtime,
// syscall, sync, time and unsafe; files of other systems golang.org/x/sys/unix,
// os and os/signal as well.
package keeper

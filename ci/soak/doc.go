//go:build linux

// Command soak puts a server under random load for a long time, and looks
// whether it loses anything or keeps what it should give back.
//
//	go run ./ci/soak [-for 10m] [-seed N] [-server PATH] [-race]
//
// Workers share one session with one server that lives through the whole run.
// They run commands, read their output in pieces, write to them, stop them,
// kill their processes and their supervisors, and cancel calls; the client
// reads slowly, and at times not at all. Beside that, servers come and go:
// some are closed, some get a signal, some are killed, some have a client that
// stopped reading for good.
//
// What must hold, and is printed as a failure otherwise:
//
//   - every call is answered, and every byte of output arrives once;
//   - a command ends as what was done to it says;
//   - no process is left by what has ended, be it a command or a server;
//   - at the end the server has as many descriptors, threads and children as at
//     the beginning, and its memory has not grown during the second half.
//
// It runs on Linux, and exits with 1 if something failed.
package main

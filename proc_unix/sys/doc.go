// Package sys has the system calls that a supervisor needs and package syscall
// lacks on Linux.
//
// golang.org/x/sys/unix has them too, but depends on packages that have a
// supervisor initialised late (see keeper). This one imports nothing but math,
// syscall and unsafe.
package sys

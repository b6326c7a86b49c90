// Package proc is the contract between the portable part of the server and
// the systems it runs on: what it takes to start a command, to follow it and
// everything that it starts, and to end all of it.
//
// Two backends implement it. proc_unix gives every command a session of its
// own under a supervisor process; proc_windows gives it a Job Object. The
// conformance suite in proctest states the contract as tests, and every
// backend runs it.
//
// proc imports the standard library only. It never imports a backend: the
// command chooses one.
package proc

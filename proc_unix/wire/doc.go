// Package wire is what a server and its supervisors say to each other: frames
// on a stream socket, and their payloads.
//
// A supervisor is initialised before most packages (see keeper), so this one
// imports nothing but errors, io and unsafe.
package wire

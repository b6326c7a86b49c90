// Package fake is a proc.Backend without processes, for tests of what stands
// above the platforms. A test plays the system: it lets the command print,
// exit, leave processes behind, ignore signals or vanish, and it sees what the
// server did.
//
// Nothing in it waits for real time, so it works in a testing/synctest bubble.
// It imports proc and the standard library only.
package fake

//go:build unix && !linux

package main

// hangUpEvents is nothing: a hang-up is reported unasked.
const hangUpEvents = 0

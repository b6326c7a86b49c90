// Package psnap names processes for people, through gopsutil. It is a package
// of its own so that a backend's supervisor, which is ready before most of the
// program has been initialised, does not wait for gopsutil's dependencies.
//
// It imports the standard library and gopsutil.
package psnap

//go:build !linux

package main

import "os"

// widen would make a pipe hold size bytes. Here, only the system can.
func widen(*os.File, int) {}

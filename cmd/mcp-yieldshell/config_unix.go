//go:build unix

package main

// homeVariable holds the home directory, which "~" stands for in directories.
const homeVariable = "HOME"

// executableSuffix ends the names of programs.
const executableSuffix = ""

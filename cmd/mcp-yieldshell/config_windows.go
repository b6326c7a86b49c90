package main

// homeVariable holds the home directory, which "~" stands for in directories.
const homeVariable = "USERPROFILE"

// executableSuffix ends the names of programs.
const executableSuffix = ".exe"

package main

// homeVariable holds the home directory, which "~" stands for in directories.
const homeVariable = "USERPROFILE"

package main

// scriptSuffix ends the names of files that can be run.
const scriptSuffix = ".bat"

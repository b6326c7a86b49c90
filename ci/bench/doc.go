//go:build linux

// Command bench measures the server from outside and prints each figure beside
// its physical limit, measured in the same run: the same work by a plain fork
// and exec, by cat >/dev/null, and so on. Absolute figures vary with the
// machine; the ratios are what counts.
//
//	go run ./ci/bench [-json FILE] [-k REGEXP] [-server PATH]
//
// It runs on Linux. It exits with 1 if a figure misses its target.
package main

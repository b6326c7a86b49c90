// Package e2e holds the tests of the whole program: they build it, start it
// as a client would, and look at what it does from outside, over stdio and in
// the process table.
//
// The files that begin with spec_ follow the specification's tool reference;
// the others take one kind of trouble each: hang, tree, signal, zombie and so
// on. survivors_test.go, load_test.go and idle_test.go are about everything
// at once.
//
// The tests build the program with the race detector when they run with it
// themselves. YIELDSHELL_TEST_BINARY names a program to test instead, and
// YIELDSHELL_TEST_EXEC words to put before it, such as "wine"; then the tests
// that need a POSIX server are skipped. Those that need a server on Windows are
// in the files that end with _windows_server_test.go; YIELDSHELL_TEST_HELPER
// names this package's test program, built for Windows, to a client on Linux.
// With -short, those that take longer than a few seconds are skipped.
//
// It imports mcp/mcptest and nothing else of this module.
package e2e

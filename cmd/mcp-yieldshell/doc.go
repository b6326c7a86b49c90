// Command mcp-yieldshell is a shell server for AI agents: it speaks the Model
// Context Protocol on its standard input and output and runs commands that
// move to the background by themselves when they take long.
//
// Without arguments it serves. The subcommands are for people: call makes one
// tool call and prints the result, install and uninstall change a client's
// configuration, doctor checks that everything works, the others say what they
// say. One table of them, in commands.go, makes the usage, the manual page and
// the completions of the shells.
//
// This package is the composition root, the only one that knows both the
// portable packages and the backends: it reads the configuration, chooses the
// backend, wires registry, tools and transport, and bounds the server's end.
package main

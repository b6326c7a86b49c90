// Package clients knows the programs that use MCP servers: where each keeps its
// list of servers on each system, and what an entry looks like there. It plans
// changes to such a file, which can be shown before they are made, and makes
// them so that a crash leaves the old file or the new one.
//
// A new client is one entry in All.
//
// It imports the standard library and package edit below it.
package clients

package main

import "github.com/yieldshell/mcp-yieldshell/mcp/clients"

func newHost(home string, getenv func(string) string) clients.Host {
	return clients.MacOS(home, getenv)
}

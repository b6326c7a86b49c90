package main

import (
	_ "embed"
	"strings"
)

//go:embed package.md
var packageText string

// readme is what PyPI and npm show of the package. The last line proves to the
// MCP registry that the package belongs to the server of that name.
func readme(r release) string {
	text := strings.Replace(packageText, "URL.\n", "<"+r.url()+">.\n", 1)
	return "# " + displayName + "\n\n" + text + "\n<!-- mcp-name: " + r.registryName() + " -->\n"
}

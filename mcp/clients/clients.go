package clients

import (
	"os"
	"path/filepath"
	"slices"

	"github.com/yieldshell/mcp-yieldshell/mcp/clients/edit"
)

// Name is what the server is called in every client.
const Name = "yieldshell"

// A Client is a program that starts MCP servers.
type Client struct {
	ID    string // what a person calls it on the command line
	Title string // what it calls itself
	// After says what to do for the client to see a change.
	After string

	// user lists the files that it may read its user's servers from. The first
	// one that exists is edited, and if none does, the last one is made.
	user func(Host) []string
	// project lists the same below a project's folder; nil if it has none.
	project []string

	format format
	shape  shape
	// servers is the path to the table of servers in its file.
	servers []string
	// native is another such path, which counts before servers where the file
	// has a table there.
	native []string
}

// All lists the clients in the order in which they are shown.
func All() []Client {
	return []Client{
		{
			ID: "claude-desktop", Title: "Claude Desktop",
			After:   "quit Claude Desktop and start it again",
			user:    claudeDesktop,
			servers: []string{"mcpServers"},
		},
		{
			ID: "claude-code", Title: "Claude Code",
			After: "start a new session; '/mcp' lists the servers",
			user: func(h Host) []string {
				return []string{filepath.Join(h.dirOr("CLAUDE_CONFIG_DIR", h.Home), ".claude.json")}
			},
			project: []string{".mcp.json"},
			servers: []string{"mcpServers"},
			shape:   shape{first: []edit.Member{{Name: "type", Value: "stdio"}}},
		},
		{
			ID: "cursor", Title: "Cursor",
			After:   "Cursor asks whether to enable the server; or enable it in its settings under MCP",
			user:    below(home, ".cursor", "mcp.json"),
			project: []string{filepath.Join(".cursor", "mcp.json")},
			servers: []string{"mcpServers"},
		},
		{
			ID: "vscode", Title: "Visual Studio Code",
			After:   "run 'MCP: List Servers' from the command palette and start the server",
			user:    below(config, "Code", "User", "mcp.json"),
			project: []string{filepath.Join(".vscode", "mcp.json")},
			servers: []string{"servers"},
			shape:   shape{first: []edit.Member{{Name: "type", Value: "stdio"}}},
		},
		{
			ID: "codex", Title: "Codex",
			After: "start a new session; '/mcp' lists the servers",
			user: func(h Host) []string {
				return []string{filepath.Join(h.dirOr("CODEX_HOME", filepath.Join(h.Home, ".codex")), "config.toml")}
			},
			project: []string{filepath.Join(".codex", "config.toml")},
			format:  formatTOML,
			servers: []string{"mcp_servers"},
		},
		{
			ID: "gemini", Title: "Gemini CLI",
			After:   "start a new session; '/mcp' lists the servers",
			user:    below(home, ".gemini", "settings.json"),
			project: []string{filepath.Join(".gemini", "settings.json")},
			servers: []string{"mcpServers"},
		},
		{
			ID: "opencode", Title: "OpenCode",
			After: "start OpenCode again; 'opencode mcp list' lists the servers",
			user: func(h Host) []string {
				dir := filepath.Join(h.XDG, "opencode")
				return []string{filepath.Join(dir, "opencode.jsonc"), filepath.Join(dir, "opencode.json")}
			},
			project: []string{"opencode.jsonc", "opencode.json"},
			// Version 2 still reads what version 1 does, and a new file is for both.
			servers: []string{"mcp"},
			native:  []string{"mcp", "servers"},
			shape: shape{
				list: true, env: "environment",
				first: []edit.Member{{Name: "type", Value: "local"}},
				last:  []edit.Member{{Name: "enabled", Value: true}},
			},
		},
		{
			ID: "zed", Title: "Zed",
			After:   "Zed starts the server at once; its agent settings show the state",
			user:    zed,
			project: []string{filepath.Join(".zed", "settings.json")},
			servers: []string{"context_servers"},
			shape: shape{
				first: []edit.Member{{Name: "source", Value: "custom"}},
				args:  true,
			},
		},
		{
			ID: "windsurf", Title: "Windsurf",
			After:   "press Refresh in the MCP panel, or start Windsurf again",
			user:    below(home, ".codeium", "windsurf", "mcp_config.json"),
			servers: []string{"mcpServers"},
			shape:   shape{args: true},
		},
	}
}

// Find returns the client that is called so.
func Find(id string) (Client, bool) {
	all := All()
	i := slices.IndexFunc(all, func(c Client) bool { return c.ID == id })
	if i < 0 {
		return Client{}, false
	}
	return all[i], true
}

// IDs lists what the clients are called.
func IDs() []string {
	var ids []string
	for _, c := range All() {
		ids = append(ids, c.ID)
	}
	return ids
}

// A File is one that a client reads its servers from.
type File struct {
	Path string
	// Shared: it belongs to a project, whose people share it. Others are their
	// user's own, and may hold secrets.
	Shared bool
}

// UserFile is the file in which the client keeps its user's servers.
func (c Client) UserFile(h Host) File { return File{Path: firstThatExists(c.user(h))} }

// ProjectFile is the file in which the client keeps the servers of the project
// in dir. Not every client has one.
func (c Client) ProjectFile(dir string) (file File, has bool) {
	if len(c.project) == 0 {
		return File{}, false
	}
	files := make([]string, len(c.project))
	for i, name := range c.project {
		files[i] = filepath.Join(dir, name)
	}
	return File{Path: firstThatExists(files), Shared: true}, true
}

// firstThatExists takes a file that cannot be looked at for one that exists,
// so that reading it tells why.
func firstThatExists(files []string) string {
	for _, file := range files {
		if _, err := os.Lstat(file); err == nil || !os.IsNotExist(err) {
			return file
		}
	}
	return files[len(files)-1]
}

func home(h Host) string   { return h.Home }
func config(h Host) string { return h.Config }

// below is a client that has one file, always in the same place below a folder.
func below(base func(Host) string, names ...string) func(Host) []string {
	return func(h Host) []string {
		return []string{filepath.Join(base(h), filepath.Join(names...))}
	}
}

// claudeDesktop finds the settings of the packaged program too: Windows shows
// that one a folder of its own in place of %APPDATA%.
func claudeDesktop(h Host) []string {
	const folder, name = "Claude", "claude_desktop_config.json"
	if h.Packages != "" {
		packages, _ := filepath.Glob(filepath.Join(h.Packages, "Claude_*")) // errs only on the pattern
		for i, dir := range packages {
			packages[i] = filepath.Join(dir, "LocalCache", "Roaming", folder, name)
		}
		if len(packages) > 0 {
			return packages
		}
	}
	return []string{filepath.Join(h.Config, folder, name)}
}

// zed keeps to the XDG folders, except on Windows.
func zed(h Host) []string {
	if h.Packages != "" {
		return []string{filepath.Join(h.Config, "Zed", "settings.json")}
	}
	return []string{filepath.Join(h.XDG, "zed", "settings.json")}
}

package clients

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const self = "/opt/bin/mcp-yieldshell"

// noEnv is an environment without variables.
func noEnv(string) string { return "" }

func TestUserFiles(t *testing.T) {
	hosts := map[string]Host{
		"unix":    Unix("/h", noEnv),
		"macos":   MacOS("/h", noEnv),
		"windows": Windows("/h", noEnv),
	}
	appSupport, roaming := "/h/Library/Application Support", "/h/AppData/Roaming"
	for id, want := range map[string]map[string]string{
		"claude-desktop": {
			"unix":    "/h/.config/Claude/claude_desktop_config.json",
			"macos":   appSupport + "/Claude/claude_desktop_config.json",
			"windows": roaming + "/Claude/claude_desktop_config.json",
		},
		"claude-code": {"unix": "/h/.claude.json", "macos": "/h/.claude.json", "windows": "/h/.claude.json"},
		"cursor":      {"unix": "/h/.cursor/mcp.json", "macos": "/h/.cursor/mcp.json", "windows": "/h/.cursor/mcp.json"},
		"vscode": {
			"unix":    "/h/.config/Code/User/mcp.json",
			"macos":   appSupport + "/Code/User/mcp.json",
			"windows": roaming + "/Code/User/mcp.json",
		},
		"codex":  {"unix": "/h/.codex/config.toml", "macos": "/h/.codex/config.toml", "windows": "/h/.codex/config.toml"},
		"gemini": {"unix": "/h/.gemini/settings.json", "macos": "/h/.gemini/settings.json", "windows": "/h/.gemini/settings.json"},
		"opencode": {
			"unix":    "/h/.config/opencode/opencode.json",
			"macos":   "/h/.config/opencode/opencode.json",
			"windows": "/h/.config/opencode/opencode.json",
		},
		"zed": {
			"unix":    "/h/.config/zed/settings.json",
			"macos":   "/h/.config/zed/settings.json",
			"windows": roaming + "/Zed/settings.json",
		},
		"windsurf": {
			"unix":    "/h/.codeium/windsurf/mcp_config.json",
			"macos":   "/h/.codeium/windsurf/mcp_config.json",
			"windows": "/h/.codeium/windsurf/mcp_config.json",
		},
	} {
		c, ok := Find(id)
		if !ok {
			t.Errorf("no client %s", id)
			continue
		}
		for system, path := range want {
			if got := filepath.ToSlash(c.UserFile(hosts[system]).Path); got != path {
				t.Errorf("%s on %s: %s, want %s", id, system, got, path)
			}
		}
	}
	if len(All()) != 9 {
		t.Errorf("%d clients: this table has 9", len(All()))
	}
}

func TestFilesByVariable(t *testing.T) {
	base := t.TempDir()
	env := map[string]string{
		"XDG_CONFIG_HOME": filepath.Join(base, "xdg"), "CODEX_HOME": "/codex", "CLAUDE_CONFIG_DIR": "/claude",
		"APPDATA": "/roaming", "LOCALAPPDATA": filepath.Join(base, "local"),
	}
	getenv := func(name string) string { return env[name] }
	check := func(id string, h Host, want string) {
		t.Helper()
		c, _ := Find(id)
		if got := c.UserFile(h).Path; got != want {
			t.Errorf("%s: %s, want %s", id, got, want)
		}
	}
	check("vscode", Unix("/h", getenv), filepath.Join(base, "xdg/Code/User/mcp.json"))
	check("zed", MacOS("/h", getenv), filepath.Join(base, "xdg/zed/settings.json"))
	check("codex", Unix("/h", getenv), filepath.FromSlash("/codex/config.toml"))
	check("claude-code", Unix("/h", getenv), filepath.FromSlash("/claude/.claude.json"))
	check("claude-desktop", Windows("/h", getenv), filepath.FromSlash("/roaming/Claude/claude_desktop_config.json"))

	// The packaged Claude Desktop sees a folder of its own.
	packaged := filepath.Join(base, "local", "Packages", "Claude_pzs8sxrjxfjjc")
	if err := os.MkdirAll(packaged, 0o755); err != nil {
		t.Fatal(err)
	}
	check("claude-desktop", Windows("/h", getenv), filepath.Join(packaged, "LocalCache", "Roaming", "Claude", "claude_desktop_config.json"))

	// An existing jsonc is edited instead of making another file.
	jsonc := filepath.Join(base, "xdg", "opencode", "opencode.jsonc")
	write(t, jsonc, "{}")
	check("opencode", Unix("/h", getenv), jsonc)

	env["XDG_CONFIG_HOME"] = "relative" // counts as unset
	check("zed", Unix("/h", getenv), filepath.FromSlash("/h/.config/zed/settings.json"))
}

func TestProjectFiles(t *testing.T) {
	dir := t.TempDir()
	for id, want := range map[string]string{
		"claude-code": ".mcp.json", "cursor": ".cursor/mcp.json", "vscode": ".vscode/mcp.json",
		"codex": ".codex/config.toml", "gemini": ".gemini/settings.json", "opencode": "opencode.json",
		"zed": ".zed/settings.json", "claude-desktop": "", "windsurf": "",
	} {
		c, _ := Find(id)
		file, has := c.ProjectFile(dir)
		if has != (want != "") || has && file.Path != filepath.Join(dir, filepath.FromSlash(want)) {
			t.Errorf("%s: %s %v, want %s", id, file.Path, has, want)
		}
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestRealFiles takes an entry into files as people have them, and out again.
func TestRealFiles(t *testing.T) {
	entry := Entry{Command: self, Env: []Variable{{"YIELDSHELL_LOG_LEVEL", "info"}}}
	for _, test := range []struct{ name, client, before, after string }{
		{
			"Claude Desktop with settings of its own", "claude-desktop",
			`{
  "globalShortcut": "Alt+Space",
  "mcpServers": {
    "filesystem": {
      "command": "npx",
      "args": [
        "-y",
        "@modelcontextprotocol/server-filesystem",
        "/Users/x/Desktop"
      ]
    }
  }
}
`,
			`{
  "globalShortcut": "Alt+Space",
  "mcpServers": {
    "filesystem": {
      "command": "npx",
      "args": [
        "-y",
        "@modelcontextprotocol/server-filesystem",
        "/Users/x/Desktop"
      ]
    },
    "yieldshell": {
      "command": "/opt/bin/mcp-yieldshell",
      "env": {
        "YIELDSHELL_LOG_LEVEL": "info"
      }
    }
  }
}
`,
		},
		{
			"Claude Code between its counters and projects", "claude-code",
			`{
  "numStartups": 184,
  "mcpServers": {
    "github": {
      "type": "http",
      "url": "https://api.example.com/mcp/",
      "headers": {
        "Authorization": "Bearer x\u0026y"
      }
    }
  },
  "projects": {
    "/home/x/p": {
      "mcpServers": {},
      "history": [ {"display": "hi"} ],
      "lastCost": 0.10000000000000001
    }
  },
  "bigNumber": 12345678901234567890
}`,
			`{
  "numStartups": 184,
  "mcpServers": {
    "github": {
      "type": "http",
      "url": "https://api.example.com/mcp/",
      "headers": {
        "Authorization": "Bearer x\u0026y"
      }
    },
    "yieldshell": {
      "type": "stdio",
      "command": "/opt/bin/mcp-yieldshell",
      "env": {
        "YIELDSHELL_LOG_LEVEL": "info"
      }
    }
  },
  "projects": {
    "/home/x/p": {
      "mcpServers": {},
      "history": [ {"display": "hi"} ],
      "lastCost": 0.10000000000000001
    }
  },
  "bigNumber": 12345678901234567890
}`,
		},
		{
			"VS Code with inputs, tabs and CRLF", "vscode",
			"{\r\n\t// tokens\r\n\t\"inputs\": [\r\n\t\t{ \"id\": \"t\", \"type\": \"promptString\" },\r\n\t],\r\n\t\"servers\": {\r\n\t\t\"o\": { \"type\": \"stdio\", \"command\": \"o\" } // keep\r\n\t}\r\n}\r\n",
			"{\r\n\t// tokens\r\n\t\"inputs\": [\r\n\t\t{ \"id\": \"t\", \"type\": \"promptString\" },\r\n\t],\r\n\t\"servers\": {\r\n\t\t\"o\": { \"type\": \"stdio\", \"command\": \"o\" }, // keep\r\n\t\t\"yieldshell\": {\r\n\t\t\t\"type\": \"stdio\",\r\n\t\t\t\"command\": \"/opt/bin/mcp-yieldshell\",\r\n\t\t\t\"env\": {\r\n\t\t\t\t\"YIELDSHELL_LOG_LEVEL\": \"info\"\r\n\t\t\t}\r\n\t\t}\r\n\t}\r\n}\r\n",
		},
		{
			"Codex with profiles and another server", "codex",
			`model = "gpt-5-codex"   # the usual one
approval_policy = "on-request"

[profiles.fast]
model = "gpt-5-mini"

[mcp_servers.context7]
command = "npx"
args = ["-y", "@upstash/context7-mcp"]

[mcp_servers.context7.env]
API_KEY = "x"

[projects."/home/x/p"]
trust_level = "trusted"
`,
			`model = "gpt-5-codex"   # the usual one
approval_policy = "on-request"

[profiles.fast]
model = "gpt-5-mini"

[mcp_servers.context7]
command = "npx"
args = ["-y", "@upstash/context7-mcp"]

[mcp_servers.context7.env]
API_KEY = "x"

[projects."/home/x/p"]
trust_level = "trusted"

[mcp_servers.yieldshell]
command = "/opt/bin/mcp-yieldshell"

[mcp_servers.yieldshell.env]
YIELDSHELL_LOG_LEVEL = "info"
`,
		},
		{
			"OpenCode version 1", "opencode",
			`{
  "$schema": "https://opencode.ai/config.json",
  "mcp": {
    "other": {
      "type": "remote",
      "url": "https://example.com/mcp",
      "enabled": false
    },
  },
}
`,
			`{
  "$schema": "https://opencode.ai/config.json",
  "mcp": {
    "other": {
      "type": "remote",
      "url": "https://example.com/mcp",
      "enabled": false
    },
    "yieldshell": {
      "type": "local",
      "command": ["/opt/bin/mcp-yieldshell"],
      "environment": {
        "YIELDSHELL_LOG_LEVEL": "info"
      },
      "enabled": true
    },
  },
}
`,
		},
		{
			"OpenCode version 2", "opencode",
			`{
  "mcp": {
    "timeout": 5000,
    "servers": {
      "other": {"type": "remote", "url": "https://example.com/mcp"}
    }
  }
}
`,
			`{
  "mcp": {
    "timeout": 5000,
    "servers": {
      "other": {"type": "remote", "url": "https://example.com/mcp"},
      "yieldshell": {
        "type": "local",
        "command": ["/opt/bin/mcp-yieldshell"],
        "environment": {
          "YIELDSHELL_LOG_LEVEL": "info"
        }
      }
    }
  }
}
`,
		},
		{
			"Zed with its comments", "zed",
			`// Zed settings
//
// For information on how to configure Zed, see the Zed
// documentation: https://zed.dev/docs/configuring-zed
{
  "context_servers": {},
  "theme": {
    "mode": "system",
    "light": "One Light", // bright
  },
}
`,
			`// Zed settings
//
// For information on how to configure Zed, see the Zed
// documentation: https://zed.dev/docs/configuring-zed
{
  "context_servers": {
    "yieldshell": {
      "source": "custom",
      "command": "/opt/bin/mcp-yieldshell",
      "args": [],
      "env": {
        "YIELDSHELL_LOG_LEVEL": "info"
      }
    }
  },
  "theme": {
    "mode": "system",
    "light": "One Light", // bright
  },
}
`,
		},
		{
			"Gemini CLI on one line", "gemini",
			`{"security":{"auth":{"selectedType":"oauth-personal"}},"mcpServers":{}}`,
			`{"security":{"auth":{"selectedType":"oauth-personal"}},"mcpServers":{"yieldshell":{"command":"/opt/bin/mcp-yieldshell","env":{"YIELDSHELL_LOG_LEVEL":"info"}}}}`,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			c, _ := Find(test.client)
			file := File{Path: filepath.Join(t.TempDir(), "f")}
			write(t, file.Path, test.before)
			p, err := c.Add(file, entry, self)
			if err != nil {
				t.Fatal(err)
			}
			if got := string(p.After); got != test.after {
				t.Fatalf("got:\n%s\nwant:\n%s", got, test.after)
			}
			write(t, file.Path, test.after)
			p, err = c.Add(file, entry, self)
			if err != nil || p.Changed() {
				t.Errorf("again: %v\n%s", err, p.After)
			}
			entries, err := c.Entries(file)
			if err != nil || len(entries) == 0 || entries[len(entries)-1].Name != Name || entries[len(entries)-1].Command != self {
				t.Errorf("entries: %+v %v", entries, err)
			}
			p, err = c.Remove(file, self)
			if err != nil {
				t.Fatal(err)
			}
			if got := string(p.After); got != test.before {
				t.Errorf("removed:\n%s\nwant:\n%s", got, test.before)
			}
		})
	}
}

// TestUpdates changes entries that are there already.
func TestUpdates(t *testing.T) {
	entry := Entry{Command: self, Env: []Variable{{"K", "new"}}}
	for _, test := range []struct{ name, client, before, after, note string }{
		{
			"the Python package", "claude-desktop",
			`{"mcpServers": {"yieldshell": {"command": "uvx", "args": ["mcp-yieldshell"], "env": {"K": "old", "L": "1"}}}}`,
			`{"mcpServers": {"yieldshell": {"command": "/opt/bin/mcp-yieldshell", "args": [], "env": {"K": "new", "L": "1"}}}}`,
			"",
		},
		{
			"settings of the client", "gemini",
			"{\n \"mcpServers\": {\n  \"yieldshell\": {\n   \"command\": \"/old/mcp-yieldshell\",\n   \"timeout\": 600000, // long\n   \"trust\": true\n  }\n }\n}",
			"{\n \"mcpServers\": {\n  \"yieldshell\": {\n   \"command\": \"/opt/bin/mcp-yieldshell\",\n   \"timeout\": 600000, // long\n   \"trust\": true,\n   \"env\": {\n    \"K\": \"new\"\n   }\n  }\n }\n}",
			"",
		},
		{
			"a disabled one", "windsurf",
			`{"mcpServers": {"yieldshell": {"command": "mcp-yieldshell", "disabled": true, "env": {"K": "new"}}}}`,
			`{"mcpServers": {"yieldshell": {"command": "/opt/bin/mcp-yieldshell", "disabled": true, "env": {"K": "new"}, "args": []}}}`,
			"disabled",
		},
		{
			"Zed's old form", "zed",
			`{"context_servers": {"yieldshell": {"command": {"path": "uvx", "args": ["mcp-yieldshell"], "env": {"L": "1"}}, "settings": {}}}}`,
			`{"context_servers": {"yieldshell": {"command": "/opt/bin/mcp-yieldshell", "settings": {}, "args": [], "env": {"L": "1", "K": "new"}}}}`,
			"",
		},
		{
			"OpenCode's list", "opencode",
			`{"mcp": {"yieldshell": {"type": "local", "command": ["npx", "-y", "mcp-yieldshell@1.2.0"], "enabled": false}}}`,
			`{"mcp": {"yieldshell": {"type": "local", "command": ["/opt/bin/mcp-yieldshell"], "enabled": false, "environment": {"K": "new"}}}}`,
			"disabled",
		},
		{
			"Codex's inline table", "codex",
			"[mcp_servers]\nyieldshell = { command = \"uvx\", args = [\"mcp-yieldshell\"], env = { K = \"old\" }, tool_timeout_sec = 90 }\n",
			"[mcp_servers]\nyieldshell = { command = \"/opt/bin/mcp-yieldshell\", args = [], env = { K = \"new\" }, tool_timeout_sec = 90 }\n",
			"",
		},
		{
			"Codex's tables", "codex",
			"[mcp_servers.yieldshell]\ncommand = \"uvx\"\nargs = [\n  \"mcp-yieldshell\",\n]\nenabled = false # for now\n",
			"[mcp_servers.yieldshell]\ncommand = \"/opt/bin/mcp-yieldshell\"\nargs = []\nenabled = false # for now\n\n[mcp_servers.yieldshell.env]\nK = \"new\"\n",
			"disabled",
		},
		{
			"another name for it", "cursor",
			`{"mcpServers": {"shell": {"command": "uvx", "args": ["mcp-yieldshell"]}}}`,
			`{"mcpServers": {"shell": {"command": "uvx", "args": ["mcp-yieldshell"]}, "yieldshell": {"command": "/opt/bin/mcp-yieldshell", "env": {"K": "new"}}}}`,
			`the entry "shell" starts this server too`,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			c, _ := Find(test.client)
			file := File{Path: filepath.Join(t.TempDir(), "f")}
			write(t, file.Path, test.before)
			p, err := c.Add(file, entry, self)
			if err != nil {
				t.Fatal(err)
			}
			if got := string(p.After); got != test.after {
				t.Errorf("got:\n%s\nwant:\n%s", got, test.after)
			}
			if notes := strings.Join(p.Notes, "\n"); test.note == "" && notes != "" || !strings.Contains(notes, test.note) {
				t.Errorf("notes: %q, want %q", notes, test.note)
			}
		})
	}
}

func TestForeignEntryIsLeftAlone(t *testing.T) {
	c, _ := Find("cursor")
	file := File{Path: filepath.Join(t.TempDir(), "f")}
	write(t, file.Path, `{"mcpServers": {"yieldshell": {"command": "bash", "args": ["-i"]}}}`)
	if _, err := c.Add(file, Entry{Command: self}, self); !errors.Is(err, ErrForeign) || !strings.Contains(err.Error(), `"bash -i"`) {
		t.Error(err)
	}
	if _, err := c.Remove(file, self); !errors.Is(err, ErrForeign) {
		t.Error(err)
	}
}

// What cannot be kept is not written over, and an error says what is there.
func TestOddEntriesAreLeftAlone(t *testing.T) {
	c, _ := Find("cursor")
	file := File{Path: filepath.Join(t.TempDir(), "f")}
	entry := Entry{Command: self, Env: []Variable{{"K", "new"}}}
	for _, test := range []struct{ entry, problem string }{
		{`{"url": "http://localhost:1/"}`, "it names no command"},
		{`"mcp-yieldshell"`, "it names no command"},
		{`{"command": "mcp-yieldshell", "env": ["K=old", "L=1"]}`, `"mcpServers.yieldshell.env" is a list where an object was expected`},
		{`{"command": "mcp-yieldshell", "env": "K=old"}`, `"mcpServers.yieldshell.env" is a string where an object was expected`},
	} {
		write(t, file.Path, `{"mcpServers": {"yieldshell": `+test.entry+`}}`)
		if _, err := c.Add(file, entry, self); err == nil || !strings.Contains(err.Error(), test.problem) {
			t.Errorf("%s: %v", test.entry, err)
		}
	}
}

func TestHugeFilesAreLeftAlone(t *testing.T) {
	c, _ := Find("cursor")
	file := File{Path: filepath.Join(t.TempDir(), "f")}
	write(t, file.Path, "{}")
	if err := os.Truncate(file.Path, mostBytes+1); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Add(file, Entry{Command: self}, self); err == nil || !strings.Contains(err.Error(), "33554433 bytes; the most that is edited are 33554432") {
		t.Error(err)
	}
}

// TestBothForms: OpenCode reads both of its forms.
func TestBothForms(t *testing.T) {
	c, _ := Find("opencode")
	file := File{Path: filepath.Join(t.TempDir(), "f")}
	write(t, file.Path, `{"mcp": {"yieldshell": {"command": ["mcp-yieldshell"]}, "servers": {"yieldshell": {"command": ["mcp-yieldshell"]}}}}`)
	p, err := c.Remove(file, self)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(p.After), `{"mcp": {"servers": {}}}`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	// In a file of both forms an entry is changed where it is.
	write(t, file.Path, `{"mcp": {"yieldshell": {"command": ["mcp-yieldshell"]}, "servers": {}}}`)
	if p, err = c.Add(file, Entry{Command: self}, self); err != nil {
		t.Fatal(err)
	}
	if got, want := string(p.After), `{"mcp": {"yieldshell": {"command": ["/opt/bin/mcp-yieldshell"]}, "servers": {}}}`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	// A server of version 1 may be called servers.
	write(t, file.Path, `{"mcp": {"servers": {"type": "local", "command": ["x"]}}}`)
	if p, err = c.Add(file, Entry{Command: self}, self); err != nil {
		t.Fatal(err)
	}
	want := `{"mcp": {"servers": {"type": "local", "command": ["x"]}, "yieldshell": {"type": "local", "command": ["/opt/bin/mcp-yieldshell"], "enabled": true}}}`
	if got := string(p.After); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestRuns(t *testing.T) {
	for _, test := range []struct {
		words string
		want  bool
	}{
		{"mcp-yieldshell", true},
		{"/usr/local/bin/mcp-yieldshell", true},
		{`C:\Users\x\go\bin\MCP-Yieldshell.EXE`, true},
		{self, true},
		{"/renamed/server", true},
		{"uvx mcp-yieldshell", true},
		{"uvx mcp-yieldshell@latest", true},
		{"uvx mcp-yieldshell==1.0", true},
		{"npx -y mcp-yieldshell@1.2.0", true},
		{"uv --directory /src/mcp-yieldshell run mcp-yieldshell", true},
		{"python -m mcp_yieldshell", true},
		{"cmd /c npx mcp-yieldshell", true},
		{"docker run -i --rm ghcr.io/x/mcp-yieldshell:1.2", true},
		{"bash", false},
		{"uvx mcp-yieldshell-extras", false},
		{"uvx not-mcp-yieldshell", false},
		{"", false},
	} {
		words := strings.Split(test.words, " ")
		at := self
		if test.words == "/renamed/server" {
			at = test.words
		}
		if got := (Entry{Command: words[0], Args: words[1:]}).Runs(at); got != test.want {
			t.Errorf("%q: %v", test.words, got)
		}
	}
}

// TestDocumentation: each client has a page, which shows the entry that is
// written.
func TestDocumentation(t *testing.T) {
	docs := filepath.Join("..", "..", "docs", "clients")
	index := read(t, filepath.Join(docs, "README.md"))
	for _, c := range All() {
		page := strings.ReplaceAll(read(t, filepath.Join(docs, c.ID+".md")), "\r\n", "\n")
		snippet, err := c.Snippet(Entry{Command: "/usr/local/bin/mcp-yieldshell"})
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(page, "\n"+string(snippet)+"```\n") {
			t.Errorf("%s.md does not show\n%s", c.ID, snippet)
		}
		if !strings.Contains(page, "\n    mcp-yieldshell install "+c.ID+"\n") {
			t.Errorf("%s.md does not say how to install", c.ID)
		}
		if !strings.Contains(index, "[`"+c.ID+"`]("+c.ID+".md)") {
			t.Errorf("README.md does not list %s", c.ID)
		}
	}
}

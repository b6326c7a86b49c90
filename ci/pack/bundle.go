package main

import (
	"context"
	"fmt"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/yieldshell/mcp-yieldshell/mcp"
)

// manifest is the manifest.json of an MCP bundle, version 0.3 of its format.
type manifest struct {
	ManifestVersion string                  `json:"manifest_version"`
	Name            string                  `json:"name"`
	DisplayName     string                  `json:"display_name"`
	Version         string                  `json:"version"`
	Description     string                  `json:"description"`
	LongDescription string                  `json:"long_description"`
	Author          map[string]string       `json:"author"`
	Repository      map[string]string       `json:"repository"`
	Homepage        string                  `json:"homepage"`
	Documentation   string                  `json:"documentation"`
	Support         string                  `json:"support"`
	License         string                  `json:"license"`
	Keywords        []string                `json:"keywords"`
	Server          bundleServer            `json:"server"`
	Tools           []bundleTool            `json:"tools"`
	Compatibility   map[string][]string     `json:"compatibility"`
	UserConfig      map[string]bundleOption `json:"user_config"`
}

type bundleServer struct {
	Type       string       `json:"type"`
	EntryPoint string       `json:"entry_point"`
	Config     bundleConfig `json:"mcp_config"`
}

type bundleConfig struct {
	Command string            `json:"command"`
	Args    []string          `json:"args"`
	Env     map[string]string `json:"env"`
}

type bundleTool struct {
	Name        string `json:"name"`
	Description string `json:"description"`
}

// bundleOption is a setting that the client asks its user for. Each has a
// default, since an unset one would reach the server as "${user_config.NAME}".
type bundleOption struct {
	Type        string `json:"type"`
	Title       string `json:"title"`
	Description string `json:"description"`
	Required    bool   `json:"required"`
	Default     string `json:"default"`
}

// packBundle makes the bundle that a desktop client installs with one click. A
// bundle names no architecture, so there is one for each.
func packBundle(r release, t target, binary []byte) error {
	if !t.bundle {
		return nil
	}
	tools, err := listTools()
	if err != nil {
		return err
	}
	described, err := encoded(bundleManifest(r, t, tools))
	if err != nil {
		return err
	}
	data, err := zipped([]file{
		{"manifest.json", 0o644, described},
		{"LICENSE", 0o644, r.license},
		{"server/" + t.executable(), 0o755, binary},
	}, r.time)
	if err != nil {
		return err
	}
	return r.save("mcpb", r.bundleName(t), data)
}

func (r release) bundleName(t target) string {
	return fmt.Sprintf("mcp-yieldshell_%s_%s_%s.mcpb", r.version, t.os, t.arch)
}

func bundleManifest(r release, t target, tools []bundleTool) manifest {
	options := map[string]bundleOption{}
	env := map[string]string{}
	for _, s := range settings() {
		options[s.option] = bundleOption{Type: s.kind, Title: s.title, Description: s.about, Default: s.initial}
		env[s.variable] = "${user_config." + s.option + "}"
	}
	return manifest{
		ManifestVersion: "0.3",
		Name:            "mcp-yieldshell",
		DisplayName:     displayName,
		Version:         r.version,
		Description:     summary,
		LongDescription: "Runs shell commands. One that is still running after a moment moves to the background by itself, and is read, written to, waited for and stopped from there. The server runs any command that it is given, with your rights.",
		Author:          map[string]string{"name": r.owner(), "url": "https://github.com/" + r.owner()},
		Repository:      map[string]string{"type": "git", "url": r.url()},
		Homepage:        r.url(),
		Documentation:   r.url() + "#readme",
		Support:         r.url() + "/issues",
		License:         "MIT",
		Keywords:        keywords(),
		Server: bundleServer{
			Type:       "binary",
			EntryPoint: "server/" + t.executable(),
			Config: bundleConfig{
				Command: "${__dirname}/server/" + t.executable(),
				Args:    []string{},
				Env:     env,
			},
		},
		Tools:         tools,
		Compatibility: map[string][]string{"platforms": {t.nodeOS}},
		UserConfig:    options,
	}
}

// listTools asks the server itself, and keeps each description's first
// sentence.
func listTools() ([]bundleTool, error) {
	ctx := context.Background()
	near, far := sdk.NewInMemoryTransports()
	server, err := mcp.NewServer(mcp.Config{}).Connect(ctx, far, nil)
	if err != nil {
		return nil, err
	}
	defer server.Wait()
	client, err := sdk.NewClient(&sdk.Implementation{Name: "pack"}, nil).Connect(ctx, near, nil)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	list, err := client.ListTools(ctx, nil)
	if err != nil {
		return nil, err
	}
	var tools []bundleTool
	for _, t := range list.Tools {
		tools = append(tools, bundleTool{t.Name, firstSentence(t.Description)})
	}
	return tools, nil
}

func firstSentence(text string) string {
	text, _, _ = strings.Cut(text, "\n")
	if sentence, _, ok := strings.Cut(text, ". "); ok {
		return sentence + "."
	}
	return text
}

package main

import (
	_ "embed"
	"fmt"
	"path"
	"strings"
)

// packageJSON is npm's package.json, in the order in which people write it.
type packageJSON struct {
	Name        string            `json:"name"`
	Version     string            `json:"version"`
	Description string            `json:"description"`
	MCPName     string            `json:"mcpName,omitempty"`
	Keywords    []string          `json:"keywords,omitempty"`
	License     string            `json:"license"`
	Homepage    string            `json:"homepage"`
	Bugs        map[string]string `json:"bugs"`
	Repository  map[string]string `json:"repository"`

	OS             []string          `json:"os,omitempty"`
	CPU            []string          `json:"cpu,omitempty"`
	PreferUnplug   bool              `json:"preferUnplugged,omitempty"` // Yarn: a binary runs from a real folder
	Engines        map[string]string `json:"engines,omitempty"`
	Bin            map[string]string `json:"bin,omitempty"`
	OptionalDepend map[string]string `json:"optionalDependencies,omitempty"`
}

func (r release) packageJSON(name, description string) packageJSON {
	return packageJSON{
		Name: name, Version: r.version, Description: description, License: "MIT",
		Homepage:   r.url() + "#readme",
		Bugs:       map[string]string{"url": r.url() + "/issues"},
		Repository: map[string]string{"type": "git", "url": "git+" + r.url() + ".git"},
	}
}

// npmTarget is the name of the package with a target's binary. It lies in the
// owner's scope, where nobody else can publish.
func (r release) npmTarget(t target) string {
	return "@" + strings.ToLower(r.owner()) + "/" + path.Base(r.npm) + "-" + t.nodeOS + "-" + t.nodeCPU
}

// packNPMTarget makes the package with one binary. npm installs it only on its
// own system, since the main package names it as optional.
func packNPMTarget(r release, t target, binary []byte) error {
	p := r.packageJSON(r.npmTarget(t), fmt.Sprintf("The %s binary of %s for %s", t.nodeCPU, r.npm, t.nodeOS))
	p.OS, p.CPU, p.PreferUnplug = []string{t.nodeOS}, []string{t.nodeCPU}, true
	return r.saveNPM(p, file{t.executable(), 0o755, binary})
}

//go:embed launcher.js
var launcher string

// packNPMMain makes the package that people install: a launcher, and the names
// of the packages with the binaries.
func packNPMMain(r release) error {
	p := r.packageJSON(r.npm, summary)
	p.MCPName, p.Keywords = r.registryName(), keywords()
	p.Engines = map[string]string{"node": ">=18"}
	p.Bin = map[string]string{"mcp-yieldshell": "launcher.js"}
	p.OptionalDepend = map[string]string{}
	for _, t := range targets() {
		p.OptionalDepend[r.npmTarget(t)] = r.version
	}
	stem := "@" + strings.ToLower(r.owner()) + "/" + path.Base(r.npm)
	script := strings.Replace(launcher, "@OWNER/NAME", stem, 1)
	return r.saveNPM(p, file{"launcher.js", 0o755, []byte(script)}, file{"README.md", 0o644, []byte(readme(r))})
}

// saveNPM writes a package as npm pack names it.
func (r release) saveNPM(p packageJSON, files ...file) error {
	described, err := encoded(p)
	if err != nil {
		return err
	}
	all := append([]file{{"package.json", 0o644, described}, {"LICENSE", 0o644, r.license}}, files...)
	for i := range all {
		all[i].name = "package/" + all[i].name
	}
	data, err := tarred(all, r.time)
	if err != nil {
		return err
	}
	name := strings.ReplaceAll(strings.TrimPrefix(p.Name, "@"), "/", "-")
	return r.save("npm", name+"-"+r.version+".tgz", data)
}

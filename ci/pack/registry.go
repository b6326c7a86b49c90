package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// serverJSON describes the server to the MCP registry.
type serverJSON struct {
	Schema      string            `json:"$schema"`
	Name        string            `json:"name"`
	Title       string            `json:"title"`
	Description string            `json:"description"`
	Version     string            `json:"version"`
	WebsiteURL  string            `json:"websiteUrl"`
	Repository  map[string]string `json:"repository"`
	Packages    []serverPackage   `json:"packages"`
}

type serverPackage struct {
	RegistryType string            `json:"registryType"`
	Identifier   string            `json:"identifier"`
	Version      string            `json:"version,omitempty"`
	FileSHA256   string            `json:"fileSha256,omitempty"`
	RuntimeHint  string            `json:"runtimeHint,omitempty"`
	Transport    map[string]string `json:"transport"`
	Environment  []serverVariable  `json:"environmentVariables"`
}

type serverVariable struct {
	Name        string `json:"name"`
	Description string `json:"description"`
}

const serverSchema = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"

// writeServerJSON lists the packages of the kinds that are published. Those
// that suit every system come first.
func writeServerJSON(r release, kinds []string, sums map[string]string) error {
	s := serverJSON{
		Schema:      serverSchema,
		Name:        r.registryName(),
		Title:       displayName,
		Description: summary,
		Version:     r.version,
		WebsiteURL:  r.url(),
		Repository:  map[string]string{"url": r.url(), "source": "github"},
	}
	for _, kind := range []string{"npm", "pypi", "oci", "mcpb"} {
		if !slices.Contains(kinds, kind) {
			continue
		}
		packages, err := r.packages(kind, sums)
		if err != nil {
			return err
		}
		s.Packages = append(s.Packages, packages...)
	}
	data, err := encoded(s)
	if err != nil {
		return err
	}
	return r.save(".", "server.json", data)
}

func (r release) packages(kind string, sums map[string]string) ([]serverPackage, error) {
	p := serverPackage{RegistryType: kind, Transport: map[string]string{"type": "stdio"}}
	for _, s := range settings() {
		p.Environment = append(p.Environment, serverVariable{s.variable, s.about})
	}
	switch kind {
	case "npm":
		p.Identifier, p.Version, p.RuntimeHint = r.npm, r.version, "npx"
	case "pypi":
		version, err := pep440(r.version)
		if err != nil {
			return nil, err
		}
		p.Identifier, p.Version, p.RuntimeHint = r.pypi, version, "uvx"
	case "oci":
		p.Identifier, p.RuntimeHint = "ghcr.io/"+strings.ToLower(r.repository)+":"+r.version, "docker"
	case "mcpb":
		return r.bundlePackages(p, sums)
	}
	return []serverPackage{p}, nil
}

// bundlePackages lists each bundle with the digest that clients compare.
func (r release) bundlePackages(p serverPackage, sums map[string]string) ([]serverPackage, error) {
	var packages []serverPackage
	for _, t := range targets() {
		if !t.bundle {
			continue
		}
		sum, ok := sums[r.bundleName(t)]
		if !ok {
			return nil, fmt.Errorf("the checksums lack %s", r.bundleName(t))
		}
		p.Identifier = fmt.Sprintf("%s/releases/download/v%s/%s", r.url(), r.version, r.bundleName(t))
		p.FileSHA256 = sum
		packages = append(packages, p)
	}
	return packages, nil
}

// readChecksums reads lines of a digest and a file's name.
func readChecksums(path string) (map[string]string, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	sums := map[string]string{}
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		words := strings.Fields(lines.Text())
		if len(words) != 2 {
			return nil, fmt.Errorf("%s: %q is not a digest and a name", path, lines.Text())
		}
		sums[words[1]] = words[0]
	}
	return sums, lines.Err()
}

// checkSchema validates a document against a JSON schema.
func checkSchema(args []string) error {
	f := flag.NewFlagSet("pack schema", flag.ExitOnError)
	schemaFile := f.String("schema", "", "the schema's `file`")
	f.Parse(args) // exits on a mistake
	if f.NArg() != 1 {
		return errors.New("schema takes the name of one document")
	}
	var schema jsonschema.Schema
	if err := decodeFile(*schemaFile, &schema); err != nil {
		return err
	}
	resolved, err := schema.Resolve(nil)
	if err != nil {
		return fmt.Errorf("%s: %w", *schemaFile, err)
	}
	var document any
	if err := decodeFile(f.Arg(0), &document); err != nil {
		return err
	}
	if err := resolved.Validate(document); err != nil {
		return fmt.Errorf("%s: %w", f.Arg(0), err)
	}
	return nil
}

func decodeFile(path string, into any) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

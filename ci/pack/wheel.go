package main

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"regexp"
	"strings"
)

// packWheel makes the wheel: the binary as a script, which pip and uv put on
// the PATH as it is, and the metadata. The format is the specification "Binary
// distribution format" of the Python Packaging User Guide.
func packWheel(r release, t target, binary []byte) error {
	if len(t.wheel) == 0 {
		return nil
	}
	version, err := pep440(r.version)
	if err != nil {
		return err
	}
	stem := wheelName(r.pypi) + "-" + version
	info := stem + ".dist-info/"
	files := []file{
		{stem + ".data/scripts/" + t.executable(), 0o755, binary},
		{info + "METADATA", 0o644, []byte(wheelMetadata(r, version))},
		{info + "WHEEL", 0o644, []byte(wheelTags(t))},
		{info + "licenses/LICENSE", 0o644, r.license},
	}
	files = append(files, file{info + "RECORD", 0o644, []byte(wheelRecord(files, info+"RECORD"))})
	data, err := zipped(files, r.time)
	if err != nil {
		return err
	}
	return r.save("pypi", stem+"-py3-none-"+strings.Join(t.wheel, ".")+".whl", data)
}

// wheelName is a project's name as file names have it.
func wheelName(name string) string {
	return strings.ToLower(regexp.MustCompile(`[-_.]+`).ReplaceAllString(name, "_"))
}

func wheelMetadata(r release, version string) string {
	var b strings.Builder
	for _, field := range [][2]string{
		{"Metadata-Version", "2.4"},
		{"Name", r.pypi},
		{"Version", version},
		{"Summary", summary},
		{"Keywords", strings.Join(keywords(), ",")},
		{"License-Expression", "MIT"},
		{"License-File", "LICENSE"},
		{"Project-URL", "Source, " + r.url()},
		{"Project-URL", "Changelog, " + r.url() + "/blob/main/CHANGELOG.md"},
		{"Project-URL", "Issues, " + r.url() + "/issues"},
		{"Classifier", "Environment :: Console"},
		{"Classifier", "Intended Audience :: Developers"},
		{"Classifier", "Programming Language :: Go"},
		{"Classifier", "Topic :: System :: Shells"},
		{"Requires-Python", ">=3.8"},
		{"Description-Content-Type", "text/markdown"},
	} {
		fmt.Fprintf(&b, "%s: %s\n", field[0], field[1])
	}
	return b.String() + "\n" + readme(r)
}

func wheelTags(t target) string {
	var b strings.Builder
	b.WriteString("Wheel-Version: 1.0\nGenerator: mcp-yieldshell-pack\nRoot-Is-Purelib: false\n")
	for _, tag := range t.wheel {
		fmt.Fprintf(&b, "Tag: py3-none-%s\n", tag)
	}
	return b.String()
}

// wheelRecord lists the files with their digests, and itself without.
func wheelRecord(files []file, self string) string {
	var b strings.Builder
	for _, f := range files {
		digest := sha256.Sum256(f.data)
		fmt.Fprintf(&b, "%s,sha256=%s,%d\n", f.name, base64.RawURLEncoding.EncodeToString(digest[:]), len(f.data))
	}
	return b.String() + self + ",,\n"
}

var (
	semantic   = regexp.MustCompile(`^(\d+\.\d+\.\d+)(?:-([a-z]+)\.?(\d+))?$`)
	preRelease = map[string]string{"alpha": "a", "beta": "b", "rc": "rc", "dev": ".dev"}
)

// pep440 writes a semantic version as Python does: 1.2.3-rc.1 is 1.2.3rc1.
func pep440(version string) (string, error) {
	m := semantic.FindStringSubmatch(version)
	if m == nil {
		return "", fmt.Errorf("version %q: want 1.2.3 or 1.2.3-rc.1, for Python's sake", version)
	}
	if m[2] == "" {
		return m[1], nil
	}
	word, ok := preRelease[m[2]]
	if !ok {
		return "", fmt.Errorf("version %q: a pre-release is alpha, beta, rc or dev with a number, for Python's sake", version)
	}
	return m[1] + word + m[3], nil
}

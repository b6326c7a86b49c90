package clients

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/yieldshell/mcp-yieldshell/mcp/clients/edit"
)

// ErrForeign: a client has an entry of our name that starts something else.
var ErrForeign = errors.New("is not this server")

// format is the language of a client's file.
type format int

const (
	formatJSON format = iota // with or without comments
	formatTOML
)

// document is a file that can be edited.
type document interface {
	Get(path ...string) (any, bool)
	Set(value any, path ...string) error
	Delete(path ...string) error
	Bytes() []byte
}

func (f format) parse(src []byte) (document, error) {
	if f == formatTOML {
		return edit.ParseTOML(src)
	}
	return edit.ParseJSON(src)
}

// A Plan is a change to a client's file that has not been made yet.
type Plan struct {
	Client Client
	File   File
	// target is what is written: the end of the symbolic links, if File is one.
	target string
	// Existed: there is a file already. Its content is Before.
	Existed       bool
	Before, After []byte
	// Notes tell what the person should know about it, a sentence each.
	Notes []string
}

// Changed reports whether there is anything to do.
func (p Plan) Changed() bool { return !bytes.Equal(p.Before, p.After) }

// Add plans to put an entry into the client's file. One that is there already
// is brought up to date: the command, the arguments and the variables that e
// names. What else it has stays. self is the path of the running program.
func (c Client) Add(file File, e Entry, self string) (Plan, error) {
	p, doc, err := c.open(file)
	if err != nil {
		return Plan{}, err
	}
	table := c.tableOf(doc)
	path := append(slices.Clone(table), Name)
	current, exists := doc.Get(path...)
	switch {
	case !exists || current == nil:
		entry := c.shape.object(e)
		if !slices.Equal(table, c.native) {
			entry = append(entry, c.shape.last...)
		}
		err = doc.Set(entry, path...)
	case !c.shape.read(current).Runs(self):
		return Plan{}, fmt.Errorf("%s: the entry %q %w: %s; rename or remove it first", file.Path, Name, ErrForeign, c.shape.read(current).does())
	default:
		was := c.shape.read(current)
		if was.Disabled {
			p.Notes = append(p.Notes, "the entry is disabled, and stays so until you enable it")
		}
		err = c.update(doc, path, was, e)
	}
	if err != nil {
		return Plan{}, fmt.Errorf("%s: %w", file.Path, err)
	}
	for _, other := range c.entries(doc) {
		if other.Name != Name && other.Runs(self) {
			p.Notes = append(p.Notes, fmt.Sprintf("the entry %q starts this server too (%s)", other.Name, other.Words()))
		}
	}
	p.After = doc.Bytes()
	return p, nil
}

// update writes what differs.
func (c Client) update(doc document, path []string, was, e Entry) error {
	at := func(names ...string) []string { return append(slices.Clone(path), names...) }
	fresh := c.shape.object(e)
	for _, m := range fresh {
		if m.Name == "command" || m.Name == "args" {
			if err := doc.Set(m.Value, at(m.Name)...); err != nil {
				return err
			}
		}
	}
	if _, has := doc.Get(at("args")...); has && !c.shape.list {
		if err := doc.Set(append([]string{}, e.Args...), at("args")...); err != nil {
			return err
		}
	}
	name := c.shape.envName()
	old, has := doc.Get(at(name)...)
	if !has || old == nil {
		var env edit.Object
		for _, v := range mergeVariables(was.Env, e.Env) {
			env = append(env, edit.Member{Name: v.Name, Value: v.Value})
		}
		if len(env) == 0 {
			return nil
		}
		return doc.Set(env, at(name)...)
	}
	for _, v := range e.Env {
		if err := doc.Set(v.Value, at(name, v.Name)...); err != nil {
			return err
		}
	}
	return nil
}

// mergeVariables is was with what is new in its place or behind it.
func mergeVariables(was, more []Variable) []Variable {
	all := slices.Clone(was)
	for _, v := range more {
		if i := slices.IndexFunc(all, func(o Variable) bool { return o.Name == v.Name }); i >= 0 {
			all[i] = v
		} else {
			all = append(all, v)
		}
	}
	return all
}

// Remove plans to take our entry out of the client's file.
func (c Client) Remove(file File, self string) (Plan, error) {
	p, doc, err := c.open(file)
	if err != nil {
		return Plan{}, err
	}
	if !p.Existed {
		return p, nil
	}
	for _, table := range c.tables(doc) {
		path := append(table, Name)
		current, exists := doc.Get(path...)
		if !exists {
			continue
		}
		if e := c.shape.read(current); !e.Runs(self) {
			return Plan{}, fmt.Errorf("%s: the entry %q %w: %s; remove it by hand if you want to", file.Path, Name, ErrForeign, e.does())
		}
		if err := doc.Delete(path...); err != nil {
			return Plan{}, fmt.Errorf("%s: %w", file.Path, err)
		}
		p.After = doc.Bytes()
	}
	return p, nil
}

// Named is an entry with its name.
type Named struct {
	Name string
	Entry
}

// Entries lists the servers in a client's file by name. A file that does not
// exist has none.
func (c Client) Entries(file File) ([]Named, error) {
	_, doc, err := c.open(file)
	if err != nil {
		return nil, err
	}
	return c.entries(doc), nil
}

func (c Client) entries(doc document) []Named {
	var all []Named
	for _, table := range c.tables(doc) {
		v, _ := doc.Get(table...)
		servers, _ := v.(map[string]any)
		for name, server := range servers {
			if e := c.shape.read(server); e.Command != "" {
				all = append(all, Named{name, e})
			}
		}
	}
	slices.SortFunc(all, func(a, b Named) int { return bytes.Compare([]byte(a.Name), []byte(b.Name)) })
	return all
}

// tableOf is the path to the table that has our entry, or where it goes.
func (c Client) tableOf(doc document) []string {
	tables := c.tables(doc)
	for _, table := range tables {
		if _, has := doc.Get(append(slices.Clone(table), Name)...); has {
			return table
		}
	}
	return tables[0]
}

// tables lists the paths that entries are read from. The first one is where a
// new entry goes.
func (c Client) tables(doc document) [][]string {
	servers := slices.Clone(c.servers)
	v, exists := doc.Get(c.native...)
	if c.native == nil || !exists {
		return [][]string{servers}
	}
	// A server may be called like the table of servers.
	if c.shape.read(v).Command != "" {
		return [][]string{servers}
	}
	return [][]string{slices.Clone(c.native), servers}
}

// Snippet is the file that an entry alone would make.
func (c Client) Snippet(e Entry) ([]byte, error) {
	doc, err := c.format.parse(nil)
	if err != nil {
		return nil, err
	}
	if err := doc.Set(append(c.shape.object(e), c.shape.last...), append(slices.Clone(c.servers), Name)...); err != nil {
		return nil, err
	}
	return doc.Bytes(), nil
}

// mostBytes is the size of the largest file that is edited. The largest real
// ones, with a history of everything, have a few megabytes; to parse one takes
// some fifty times its size in memory.
const mostBytes = 32 << 20

// readFile is os.ReadFile for files of at most mostBytes.
func readFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.Size() > mostBytes {
		return nil, fmt.Errorf("%s has %d bytes; the most that is edited are %d", path, info.Size(), mostBytes)
	}
	return os.ReadFile(path)
}

// open reads and parses a client's file.
func (c Client) open(file File) (Plan, document, error) {
	target, err := followLinks(file.Path)
	if err != nil {
		return Plan{}, nil, err
	}
	p := Plan{Client: c, File: file, target: target}
	if target != file.Path {
		p.Notes = append(p.Notes, fmt.Sprintf("%s is a link; the file that changes is %s", file.Path, target))
	}
	text, err := readFile(target)
	switch {
	case err == nil:
		p.Existed, p.Before, p.After = true, text, text
	case !errors.Is(err, fs.ErrNotExist):
		return Plan{}, nil, err
	case !file.Shared:
		if _, err := os.Stat(filepath.Dir(target)); errors.Is(err, fs.ErrNotExist) {
			p.Notes = append(p.Notes, fmt.Sprintf("%s does not exist; is %s installed?", filepath.Dir(target), c.Title))
		}
	}
	doc, err := c.format.parse(text)
	if err != nil {
		return Plan{}, nil, fmt.Errorf("%s: %w", file.Path, err)
	}
	return p, doc, nil
}

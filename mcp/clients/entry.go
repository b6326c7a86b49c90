package clients

import (
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/yieldshell/mcp-yieldshell/mcp/clients/edit"
)

// An Entry is one server in a client's file.
type Entry struct {
	Command string
	Args    []string
	Env     []Variable // in the order in which they are written
	// Disabled: the entry is there but the client does not start it.
	Disabled bool
}

// A Variable is one environment variable that an entry sets.
type Variable struct{ Name, Value string }

// shape is how a client writes an entry.
type shape struct {
	list  bool          // command and arguments are one list
	args  bool          // the client wants arguments even if there are none
	env   string        // the table of variables, if it is not "env"
	first []edit.Member // what a new entry begins with
	last  []edit.Member // what it ends with, but not in the native table
}

func (s shape) envName() string {
	if s.env != "" {
		return s.env
	}
	return "env"
}

// object is a new entry as it is written, without its last members.
func (s shape) object(e Entry) edit.Object {
	object := edit.Object(slices.Clone(s.first))
	if s.list {
		object = append(object, edit.Member{Name: "command", Value: append([]string{e.Command}, e.Args...)})
	} else {
		object = append(object, edit.Member{Name: "command", Value: e.Command})
		if s.args || len(e.Args) > 0 {
			object = append(object, edit.Member{Name: "args", Value: append([]string{}, e.Args...)})
		}
	}
	if len(e.Env) > 0 {
		var env edit.Object
		for _, v := range e.Env {
			env = append(env, edit.Member{Name: v.Name, Value: v.Value})
		}
		object = append(object, edit.Member{Name: s.envName(), Value: env})
	}
	return object
}

// read takes from a decoded entry what it knows, in every form that the
// client has had.
func (s shape) read(v any) Entry {
	table, _ := v.(map[string]any)
	var e Entry
	switch command := table["command"].(type) {
	case string:
		e.Command, e.Args = command, stringsIn(table["args"])
	case []any:
		if words := stringsIn(command); len(words) > 0 {
			e.Command, e.Args = words[0], words[1:]
		}
	case map[string]any: // Zed, before 2025
		e.Command, _ = command["path"].(string)
		e.Args = stringsIn(command["args"])
		e.Env = variablesIn(command["env"])
	}
	e.Env = append(e.Env, variablesIn(table[s.envName()])...)
	disabled, _ := table["disabled"].(bool)
	enabled, said := table["enabled"].(bool)
	e.Disabled = disabled || said && !enabled
	return e
}

func stringsIn(v any) []string {
	list, _ := v.([]any)
	var words []string
	for _, item := range list {
		if word, ok := item.(string); ok {
			words = append(words, word)
		}
	}
	return words
}

func variablesIn(v any) []Variable {
	table, _ := v.(map[string]any)
	var variables []Variable
	for name, value := range table {
		variables = append(variables, Variable{name, fmt.Sprint(value)})
	}
	slices.SortFunc(variables, func(a, b Variable) int { return strings.Compare(a.Name, b.Name) })
	return variables
}

// Runs reports whether the entry starts this server: the program at self, one
// called mcp-yieldshell, or a launcher that is told to run that, such as uvx,
// npx or docker.
func (e Entry) Runs(self string) bool {
	if e.Command == "" {
		return false
	}
	if e.Command == self {
		return true
	}
	return slices.ContainsFunc(append([]string{e.Command}, e.Args...), namesServer)
}

// namesServer reports whether a word is the server's name: as a path, with a
// version, or with the underscore that a Python module needs.
func namesServer(word string) bool {
	word = path.Base(strings.ReplaceAll(word, `\`, "/"))
	word = strings.ToLower(strings.ReplaceAll(word, "_", "-"))
	word = strings.TrimSuffix(strings.TrimSuffix(word, ".exe"), ".cmd")
	rest, found := strings.CutPrefix(word, "mcp-yieldshell")
	return found && (rest == "" || strings.ContainsAny(rest[:1], "@=:[<>~!"))
}

// Words is the command line, for a message.
func (e Entry) Words() string {
	return strings.Join(append([]string{e.Command}, e.Args...), " ")
}

// does says what the entry does, for a message.
func (e Entry) does() string {
	if e.Command == "" {
		return "it names no command"
	}
	return fmt.Sprintf("it runs %q", e.Words())
}

// Launcher reports whether another program is asked to run the server.
func (e Entry) Launcher() bool {
	return !namesServer(filepath.ToSlash(e.Command))
}

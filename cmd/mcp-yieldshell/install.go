package main

import (
	"bufio"
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/mattn/go-isatty"
	"github.com/rogpeppe/go-internal/diff"

	"github.com/yieldshell/mcp-yieldshell/mcp/clients"
	"github.com/yieldshell/mcp-yieldshell/mcp/policy"
)

// installNotes is what the help of install and uninstall says of both.
const installNotes = `
install puts this program into a client's list of MCP servers, under the name
"yieldshell"; uninstall takes it out. Everything else in the file stays as it
is. Both show the difference first. On a terminal they then ask; otherwise to
run the command is to agree. The old file is kept beside the new one. An entry
that is there already keeps what the flags do not name.

`

// installation is what install and uninstall were asked to do.
type installation struct {
	sys     system
	project bool
	print   bool
	dryRun  bool
	yes     bool
	next    bool // say what the person does next
	env     []clients.Variable
	roots   []string
	clients []clients.Client
}

// install puts the server into the configuration of clients.
func install(args []string, sys system) int {
	in := installation{sys: sys, next: true}
	flags := in.flags("install")
	flags.BoolVar(&in.print, "print", false, "")
	flags.Func("env", "", in.addVariable)
	flags.Func("allow-cwd", "", in.addRoot)
	if status, done := in.parse(flags, args); done {
		return status
	}
	if err := in.checkVariables(); err != nil {
		fmt.Fprintf(sys.stderr, "mcp-yieldshell install: %v\n", err)
		return exitUsage
	}
	program, err := in.findProgram()
	if err != nil {
		fmt.Fprintf(sys.stderr, "mcp-yieldshell install: %v\n", err)
		return exitFailed
	}
	entry := clients.Entry{Command: in.commandFor(program), Env: in.env}
	if in.print {
		return in.printEntries(entry)
	}
	return in.run("install", func(c clients.Client, file clients.File) (clients.Plan, error) {
		return c.Add(file, entry, program.stable)
	})
}

// findProgram is findProgram for a path that is written to a file.
func (in *installation) findProgram() (program, error) {
	p, err := findProgram()
	if err != nil {
		return p, err
	}
	if !utf8.ValidString(p.stable) {
		return p, fmt.Errorf("the path of this program is %q; move it to one that is UTF-8, as clients' files are", p.stable)
	}
	err = p.lasting()
	if in.print && err != nil { // nothing is written
		fmt.Fprintf(in.sys.stderr, "mcp-yieldshell install: note: %v\n", err)
		err = nil
	}
	return p, err
}

// commandFor is the command of the entry: the program's path, since a client's
// PATH is another one, but its name for a project, whose people have it in
// different places.
func (in *installation) commandFor(p program) string {
	switch {
	case !in.project:
		return p.stable
	case p.onPath:
		return p.name
	}
	fmt.Fprintln(in.sys.stderr, "mcp-yieldshell install: note: this program is not on the PATH, so the project's file gets its path on this machine")
	return p.stable
}

// uninstall takes it out again.
func uninstall(args []string, sys system) int {
	in := installation{sys: sys}
	if status, done := in.parse(in.flags("uninstall"), args); done {
		return status
	}
	program, err := findProgram()
	if err != nil {
		fmt.Fprintf(sys.stderr, "mcp-yieldshell uninstall: %v\n", err)
		return exitFailed
	}
	return in.run("uninstall", func(c clients.Client, file clients.File) (clients.Plan, error) {
		return c.Remove(file, program.stable)
	})
}

func (in *installation) flags(name string) *flag.FlagSet {
	flags := flag.NewFlagSet("mcp-yieldshell "+name, flag.ContinueOnError)
	flags.SetOutput(io.Discard) // parse says it in one line
	flags.Usage = func() {}
	flags.BoolVar(&in.project, "project", false, "")
	flags.BoolVar(&in.dryRun, "dry-run", false, "")
	flags.BoolVar(&in.yes, "yes", false, "")
	return flags
}

// parse reads flags and clients. It reports whether that was all, and the exit
// status then.
func (in *installation) parse(flags *flag.FlagSet, args []string) (status int, done bool) {
	name := strings.TrimPrefix(flags.Name(), "mcp-yieldshell ")
	words, err := parseAnywhere(flags, args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		in.help(in.sys.stdout, name)
		return exitOK, true
	case err != nil:
		fmt.Fprintf(in.sys.stderr, "%s: %v; '%s --help' lists the flags\n", flags.Name(), err, flags.Name())
		return exitUsage, true
	case len(words) == 0:
		in.help(in.sys.stderr, name)
		return exitUsage, true
	}
	for _, word := range words {
		client, known := clients.Find(word)
		if !known {
			fmt.Fprintf(in.sys.stderr, "%s: unknown client %s%s; the clients are %s\n",
				flags.Name(), shown(word), didYouMean(word, clients.IDs()), strings.Join(clients.IDs(), ", "))
			return exitUsage, true
		}
		if _, has := client.ProjectFile("."); in.project && !has {
			fmt.Fprintf(in.sys.stderr, "%s: --project: %s has no file for projects; leave the flag out\n", flags.Name(), client.Title)
			return exitUsage, true
		}
		in.clients = append(in.clients, client)
	}
	return exitOK, false
}

// help shows a command's flags, the clients and their files.
func (in *installation) help(w io.Writer, name string) {
	fmt.Fprint(w, commandUsage(name), installNotes)
	host, err := thisHost(in.sys)
	if err != nil {
		fmt.Fprintf(w, "The clients: %s\n", strings.Join(clients.IDs(), ", "))
		return
	}
	fmt.Fprintln(w, "The clients and their files:")
	for _, c := range clients.All() {
		file := c.UserFile(host).Path
		mark := ""
		if _, err := os.Stat(file); err != nil {
			mark = " (does not exist)"
		}
		fmt.Fprintf(w, "  %-15s %s%s\n", c.ID, file, mark)
	}
}

func didYouMean(word string, known []string) string {
	if near := policy.Nearest(word, known); len(near) > 0 {
		return fmt.Sprintf(" (did you mean %s?)", near[0])
	}
	return ""
}

// addVariable takes one --env.
func (in *installation) addVariable(text string) error {
	name, value, found := strings.Cut(text, "=")
	switch {
	case !utf8.ValidString(text):
		return errors.New("it must be UTF-8")
	case !found || name == "" || strings.ContainsAny(name, "\x00 \t\r\n"):
		return errors.New("it must be NAME=VALUE, such as YIELDSHELL_LOG_LEVEL=info")
	case in.sets(name):
		return fmt.Errorf("%s is set twice", name)
	}
	in.env = append(in.env, clients.Variable{Name: name, Value: value})
	return nil
}

func (in *installation) sets(name string) bool {
	for _, v := range in.env {
		if v.Name == name {
			return true
		}
	}
	return false
}

// addRoot takes one --allow-cwd.
func (in *installation) addRoot(dir string) error {
	if dir == "" {
		return errors.New("it must be a directory")
	}
	path, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return fmt.Errorf("it must be a directory that exists (%w)", cause(err))
	case !utf8.ValidString(path):
		return errors.New("its name must be UTF-8")
	case !info.IsDir():
		return errors.New("it must be a directory, and is a file")
	case strings.ContainsRune(path, os.PathListSeparator):
		return fmt.Errorf("%s separates directories in %s, so none may have it in its name", string(os.PathListSeparator), policy.AllowedCwdsVariable)
	}
	in.roots = append(in.roots, path)
	return nil
}

// checkVariables asks what the server would say to its variables, and takes
// no complaint. Values that the client replaces first, such as
// ${workspaceFolder}, are not known here.
func (in *installation) checkVariables() error {
	if len(in.roots) > 0 {
		if in.sets(policy.AllowedCwdsVariable) {
			return fmt.Errorf("--allow-cwd sets %s, which --env sets too; use one of them", policy.AllowedCwdsVariable)
		}
		value := strings.Join(in.roots, string(os.PathListSeparator))
		in.env = append(in.env, clients.Variable{Name: policy.AllowedCwdsVariable, Value: value})
	}
	if problems := problemsOf(in.env); len(problems) > 0 {
		problem, _, _ := strings.Cut(problems[0], "; using the ") // what the server would do
		return fmt.Errorf("--env: %s", problem)
	}
	return nil
}

// problemsOf lists what the server would say if it were started with these
// variables and no others.
func problemsOf(variables []clients.Variable) []string {
	var environ []string
	values := map[string]string{}
	for _, v := range variables {
		if !strings.Contains(v.Value, "${") {
			environ = append(environ, v.Name+"="+v.Value)
			values[v.Name] = v.Value
		}
	}
	config, err := LoadConfig(func(name string) (string, bool) {
		value, set := values[name]
		return value, set
	}, environ)
	if err != nil {
		return []string{strings.TrimPrefix(err.Error(), "configuration: ")}
	}
	return config.Warnings
}

func (in *installation) printEntries(entry clients.Entry) int {
	for _, c := range in.clients {
		text, err := c.Snippet(entry)
		if err == nil {
			_, err = in.sys.stdout.Write(text)
		}
		if err != nil {
			fmt.Fprintf(in.sys.stderr, "mcp-yieldshell install: %v\n", err)
			return exitFailed
		}
	}
	return exitOK
}

// run plans all changes before it makes the first.
func (in *installation) run(name string, plan func(clients.Client, clients.File) (clients.Plan, error)) int {
	var plans []clients.Plan
	for _, c := range in.clients {
		file, err := in.file(c)
		var p clients.Plan
		if err == nil {
			p, err = plan(c, file)
		}
		if err != nil {
			fmt.Fprintf(in.sys.stderr, "mcp-yieldshell %s: %v\n", name, err)
			return exitFailed
		}
		plans = append(plans, p)
	}
	for _, p := range plans {
		if err := in.carryOut(p); err != nil {
			fmt.Fprintf(in.sys.stderr, "mcp-yieldshell %s: %v\n", name, err)
			return exitFailed
		}
	}
	return exitOK
}

func (in *installation) file(c clients.Client) (clients.File, error) {
	if in.project {
		dir, err := os.Getwd()
		if err != nil {
			return clients.File{}, err
		}
		file, _ := c.ProjectFile(dir)
		return file, nil
	}
	host, err := thisHost(in.sys)
	if err != nil {
		return clients.File{}, err
	}
	return c.UserFile(host), nil
}

// errDeclined: the person said no.
var errDeclined = errors.New("nothing was written")

// carryOut shows a plan, asks, and makes the change.
func (in *installation) carryOut(p clients.Plan) error {
	out := in.sys.stdout
	for _, note := range p.Notes {
		fmt.Fprintf(out, "%s: note: %s\n", p.Client.Title, note)
	}
	if !p.Changed() {
		fmt.Fprintf(out, "%s: %s: nothing to change\n", p.Client.Title, p.File.Path)
		return nil
	}
	fmt.Fprint(out, difference(p))
	if in.dryRun {
		fmt.Fprintf(out, "%s: %s: not written (--dry-run)\n", p.Client.Title, p.File.Path)
		return nil
	}
	if agreed, err := in.agreed(p.File.Path); err != nil || !agreed {
		return errors.Join(err, errDeclined)
	}
	backup, err := p.Write(time.Now())
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%s: %s: written\n", p.Client.Title, p.File.Path)
	if backup != "" {
		fmt.Fprintf(out, "  the file as it was: %s\n", backup)
	}
	if in.next {
		fmt.Fprintf(out, "  next: %s\n", p.Client.After)
	}
	return nil
}

// agreed asks a person. A script that runs the command has agreed.
func (in *installation) agreed(path string) (bool, error) {
	if in.yes || !isatty.IsTerminal(in.sys.stdin.Fd()) {
		return true, nil
	}
	fmt.Fprintf(in.sys.stdout, "Write this to %s? [Y/n] ", path)
	answer, err := bufio.NewReader(in.sys.stdin).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return false, err
	}
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return true, nil
	case "": // the end of the input is no answer
		return err == nil, nil
	}
	return false, nil
}

// longestLine is how much of a line the difference shows: some clients keep
// megabytes on one line.
const longestLine = 240

// difference shows what a plan changes, as diff -u does.
func difference(p clients.Plan) string {
	oldName := p.File.Path
	if !p.Existed {
		oldName = os.DevNull
	}
	text := diff.Diff(oldName, p.Before, p.File.Path, p.After)
	_, text, _ = bytes.Cut(text, []byte("\n")) // the line that repeats the names
	var b strings.Builder
	for line := range strings.Lines(string(text)) {
		b.WriteString(printable(shortened(strings.TrimRight(line, "\r\n"))))
		b.WriteByte('\n')
	}
	return b.String()
}

// shortened cuts a long line.
func shortened(line string) string {
	if runes := []rune(line); len(runes) > longestLine {
		return string(runes[:longestLine]) + "..."
	}
	return line
}

// printable makes a line safe to show: a control character in somebody's file
// must not reach the terminal.
func printable(line string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\t' {
			return unicode.ReplacementChar
		}
		return r
	}, line)
}

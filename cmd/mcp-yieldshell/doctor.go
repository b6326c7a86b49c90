package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"

	"github.com/yieldshell/mcp-yieldshell/cmd/mcp-yieldshell/selftest"
	"github.com/yieldshell/mcp-yieldshell/mcp/policy"
	"github.com/yieldshell/mcp-yieldshell/proc"
)

const doctorNotes = `
doctor checks this program, the system, the shell, the PATH, the configuration in
the environment, a live server and the clients' configuration, and says what it
found. Each line begins with

  ok       as it should be
  note     worth knowing
  warning  works, but perhaps not as you want
  problem  does not work

The exit status is 1 if there is a problem, and 0 otherwise. It changes
nothing but what a start does: the folder for output is made, and cleared of what
dead servers have left.
`

// The grades of a finding.
const (
	gradeOK      = "ok"
	gradeNote    = "note"
	gradeWarning = "warning"
	gradeProblem = "problem"
)

// finding is one thing that doctor found.
type finding struct {
	Area   string `json:"area"`
	Grade  string `json:"grade"`
	Text   string `json:"text"`
	Advice string `json:"advice,omitempty"` // what to do about it
}

// report is all that doctor found, as --json prints it.
type report struct {
	OK       bool      `json:"ok"` // there is no problem
	Version  string    `json:"version"`
	Program  string    `json:"program"`
	Findings []finding `json:"findings"`
}

// checkup is a doctor at work.
type checkup struct {
	sys     system
	program program
	report  report
	show    func(finding)
}

// doctor checks that everything works.
func doctor(ctx context.Context, args []string, sys system) int {
	flags := flag.NewFlagSet("mcp-yieldshell doctor", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.Usage = func() {}
	asJSON := flags.Bool("json", false, "print the findings as JSON")
	words, err := parseAnywhere(flags, args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprint(sys.stdout, commandUsage("doctor"), doctorNotes)
		return exitOK
	case err != nil:
		fmt.Fprintf(sys.stderr, "mcp-yieldshell doctor: %v; it takes --json only\n", err)
		return exitUsage
	case len(words) > 0:
		fmt.Fprintf(sys.stderr, "mcp-yieldshell doctor: unexpected argument %s; it takes --json only\n", shown(words[0]))
		return exitUsage
	}
	program, err := findProgram()
	if err != nil {
		fmt.Fprintf(sys.stderr, "mcp-yieldshell doctor: %v\n", err)
		return exitFailed
	}
	ctx, stop := signal.NotifyContext(ctx, endSignals()...)
	defer stop()
	c := &checkup{sys: sys, program: program, show: func(finding) {}}
	if !*asJSON {
		c.show = newFindingPrinter(sys.stdout)
	}
	c.run(ctx)
	if ctx.Err() != nil {
		fmt.Fprintln(sys.stderr, "mcp-yieldshell doctor: interrupted")
		return exitInterrupted
	}
	if *asJSON {
		encoder := json.NewEncoder(sys.stdout)
		encoder.SetEscapeHTML(false)
		err = encoder.Encode(c.report)
	} else {
		_, err = fmt.Fprintln(sys.stdout, c.verdict())
	}
	if err != nil || !c.report.OK {
		return exitFailed
	}
	return exitOK
}

func (c *checkup) run(ctx context.Context) {
	build := currentBuild()
	c.report = report{OK: true, Version: build.Version, Program: c.program.stable, Findings: []finding{}}
	c.find("program", gradeOK, "", "%s", build)
	c.checkProgram(ctx)
	guarantees := c.checkPlatform()
	c.checkShell(ctx)
	c.checkPath(ctx)
	c.checkConfiguration()
	c.checkServer(ctx, guarantees)
	c.checkClients(ctx)
}

// find adds a finding.
func (c *checkup) find(area, grade, advice, format string, args ...any) {
	f := finding{Area: area, Grade: grade, Text: fmt.Sprintf(format, args...), Advice: advice}
	if grade == gradeProblem {
		c.report.OK = false
	}
	c.report.Findings = append(c.report.Findings, f)
	c.show(f)
}

// newFindingPrinter prints findings under a heading for each area.
func newFindingPrinter(w io.Writer) func(finding) {
	area := ""
	return func(f finding) {
		if f.Area != area {
			if area != "" {
				fmt.Fprintln(w)
			}
			area = f.Area
			fmt.Fprintln(w, area)
		}
		fmt.Fprintf(w, "  %-8s %s\n", f.Grade, f.Text)
		if f.Advice != "" {
			fmt.Fprintf(w, "  %-8s %s\n", "", f.Advice)
		}
	}
}

// verdict sums up.
func (c *checkup) verdict() string {
	count := map[string]int{}
	for _, f := range c.report.Findings {
		count[f.Grade]++
	}
	plural := func(n int, word string) string {
		if n == 1 {
			return "1 " + word
		}
		return fmt.Sprintf("%d %ss", n, word)
	}
	text := plural(count[gradeProblem], gradeProblem) + ", " + plural(count[gradeWarning], gradeWarning)
	if c.report.OK {
		return "\nEverything works: " + text
	}
	return "\nSomething does not work: " + text
}

func (c *checkup) checkProgram(ctx context.Context) {
	const area = "program"
	if err := c.program.lasting(); err != nil {
		c.find(area, gradeWarning, "", "%v", err)
		return
	}
	if c.program.onPath {
		c.find(area, gradeOK, "", "%s, which is on the PATH", c.program.stable)
		return
	}
	advice := fmt.Sprintf("'mcp-yieldshell install' writes the full path; to type the name alone, put %s first on the PATH", filepath.Dir(c.program.stable))
	found, err := exec.LookPath(c.program.name)
	if err != nil {
		c.find(area, gradeNote, advice, "%s, which is not on the PATH", c.program.stable)
		return
	}
	switch other := c.compare(ctx, found); {
	case other.same:
		c.find(area, gradeOK, "", "%s; %s on the PATH starts the same version", c.program.stable, found)
	default:
		c.find(area, gradeWarning, advice, "%s; the PATH has another one: %s", c.program.stable, other)
	}
}

// another is a program that may be this one.
type another struct {
	path    string
	same    bool   // it is this one, or starts the same version
	version string // what it says of itself, if it does
}

func (a another) String() string {
	if a.version == "" {
		return a.path
	}
	return a.path + ", which is " + a.version
}

// compare asks a program called like this one for its version, unless it is
// this file: npm, pip and Scoop put launchers on the PATH.
func (c *checkup) compare(ctx context.Context, path string) another {
	if sameFile(path, c.program.path) {
		return another{path: path, same: true}
	}
	ctx, cancel := context.WithTimeout(ctx, askBound)
	defer cancel()
	line, _, _ := strings.Cut(printed(ctx, path, "version"), "\n")
	line = printable(strings.TrimSpace(line))
	if !strings.HasPrefix(line, "mcp-yieldshell ") {
		line = "" // one that knows no such command
	}
	return another{path: path, same: line == currentBuild().String(), version: line}
}

func (c *checkup) checkPlatform() proc.Guarantees {
	backend, err := newBackend()
	if err != nil {
		c.find("platform", gradeProblem, "docs/platforms.md says what the server needs of the system", "%v", err)
		return proc.Guarantees{}
	}
	guarantees := backend.Guarantees()
	if err := backend.Close(); err != nil {
		c.find("platform", gradeWarning, "", "%v", err)
	}
	if guarantees.Tree {
		c.find("platform", gradeOK, "", "every process that a command starts belongs to it, also one that leaves its session: 'stop' and timeouts end all of them")
	} else {
		c.find("platform", gradeNote, "docs/platforms.md says which ones", "a process that leaves its session may get away from 'stop' and timeouts on this system")
	}
	if guarantees.SurvivesServerKill {
		c.find("platform", gradeOK, "", "if the server is killed, its commands end all the same")
	} else {
		c.find("platform", gradeNote, "", "if the server is killed, some of what its commands started may live on")
	}
	return guarantees
}

// checkServer tries a server that is configured by nothing.
func (c *checkup) checkServer(ctx context.Context, guarantees proc.Guarantees) {
	dir, err := os.MkdirTemp("", "yieldshell-doctor")
	if err != nil {
		c.find("self-test", gradeProblem, "the server needs no such folder, but this test does", "%v", err)
		return
	}
	defer os.RemoveAll(dir)
	options := selftest.Options{
		Program: c.program.path,
		Env:     withoutConfiguration(c.sys.environ()),
		Dir:     dir,
		Stderr:  c.sys.stderr,
		Prepare: detachFromTerminal,

		Tree:               guarantees.Tree,
		SurvivesServerKill: guarantees.SurvivesServerKill,
	}
	selftest.Run(ctx, options, func(r selftest.Result) {
		switch {
		case r.Limited:
			c.find("self-test", gradeNote, "this system promises no more: see docs/platforms.md", "%s: %v", r.Step, r.Err)
		case r.Err != nil:
			c.find("self-test", gradeProblem, "", "%s: %v", r.Step, r.Err)
		default:
			c.find("self-test", gradeOK, "", "%s: %s", r.Step, r.Text)
		}
	})
}

// withoutConfiguration is an environment without the server's variables.
func withoutConfiguration(environ []string) []string {
	var rest []string
	for _, entry := range environ {
		if !isOurs(entry) {
			rest = append(rest, entry)
		}
	}
	return rest
}

// isOurs reports whether a variable, with or without its value, has one of the
// server's prefixes.
func isOurs(entry string) bool {
	name, _, _ := strings.Cut(entry, "=")
	name = strings.ToUpper(name)
	return strings.HasPrefix(name, "YIELDSHELL_") || strings.HasPrefix(name, "MCP_YIELDSHELL_")
}

// checkConfiguration explains the variables in this environment.
func (c *checkup) checkConfiguration() {
	const area = "configuration of this terminal"
	config, l := readConfig(c.sys.lookupEnv, c.sys.environ())
	effects := config.effects(func(variable string) bool { return l.text(variable) != "" })
	for _, variable := range configVariables() {
		value := l.text(variable)
		problem, warning := l.problem(variable)
		switch {
		case problem != "":
			c.find(area, gradeProblem, "correct or unset it: the server does not start like this", "%s", problem)
		case warning != "":
			c.find(area, gradeWarning, "", "%s", warning)
		case value == "":
			c.find(area, gradeOK, "", "%s is not set: %s", variable, effects[variable])
		default:
			c.find(area, gradeOK, "", "%s=%s: %s", variable, shown(value), effects[variable])
		}
	}
	for _, warning := range l.warnings {
		if !l.namesVariable(warning) {
			c.find(area, gradeWarning, "", "%s", warning)
		}
	}
	c.checkSpill(area, config)
	for _, root := range config.Dirs.Roots {
		c.checkDirectory(area, policy.AllowedCwdsVariable, policy.Dirs{Home: config.Dirs.Home}, root)
	}
	if config.Dirs.Default != "" || len(config.Dirs.Roots) > 0 {
		c.checkDirectory(area, policy.DefaultCwdVariable, config.Dirs, "")
	}
}

// checkSpill asks whether the folder for output can be used, as a start would.
func (c *checkup) checkSpill(area string, config Config) {
	kept, err := config.openSpill(func(text string, keyvals ...any) {
		c.find(area, gradeWarning, "", "%s: %s: %v", spillDirVariable, text, keyvals)
	})
	if err != nil {
		c.find(area, gradeProblem, "correct or unset it: the server does not start like this", "%v", err)
		return
	}
	if kept != nil {
		if err := kept.Close(); err != nil {
			c.find(area, gradeWarning, "", "%s: %v", spillDirVariable, err)
		}
	}
}

// checkDirectory asks whether a command could start in a directory.
func (c *checkup) checkDirectory(area, variable string, dirs policy.Dirs, dir string) {
	path, err := dirs.Resolve(dir)
	switch {
	case err != nil && dir == "":
		c.find(area, gradeWarning, "a command without a cwd argument will be refused; set "+policy.DefaultCwdVariable+" to an allowed directory", "%v", err)
	case err != nil:
		c.find(area, gradeWarning, "no command can start there until it exists", "%s: %s: %v", variable, shown(dir), err)
	case dir == "":
		c.find(area, gradeOK, "", "commands without a cwd argument start in %s", path)
	default:
		c.find(area, gradeOK, "", "%s: %s exists", variable, path)
	}
}

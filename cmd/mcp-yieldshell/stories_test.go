//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

var update = flag.Bool("update", false, "write the answers in docs/waiting.md anew")

// storiesFile is a page with calls and their answers. A block "story" holds
// lines "> TOOL ARGUMENTS", each followed by the answer; a block "... file=NAME"
// is a file of the story's folder, and a block "sh run" is run there.
const storiesFile = "../../docs/waiting.md"

// TestStories plays the calls of the page and checks that what they did is what
// the page says.
func TestStories(t *testing.T) {
	if testing.Short() {
		t.Skip("the stories' parts have tests of their own in e2e, which are shorter")
	}
	for _, program := range []string{"python3", "node", "make", "cc", "curl"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("the stories need %s", program)
		}
	}
	page, err := os.ReadFile(storiesFile)
	if err != nil {
		t.Fatal(err)
	}
	p := player{t: t}
	played := p.page(string(page))
	if *update {
		if err := os.WriteFile(storiesFile, []byte(played), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if p.calls == 0 {
		t.Error("the page has no calls")
	}
}

// player plays a page.
type player struct {
	t       *testing.T
	out     strings.Builder
	dir     string
	session *sdk.ClientSession
	calls   int
	// now maps what the page says to what it is in this run: the arguments
	// for executions, and for the position after the last match.
	now map[string]string
}

// page returns the page with this run's answers.
func (p *player) page(text string) string {
	p.t.Helper()
	var fence string
	var block []string
	for line := range strings.Lines(text) {
		switch {
		case fence == "" && strings.HasPrefix(line, "### "):
			p.begin()
		case fence == "" && strings.HasPrefix(line, "```"):
			fence, block = strings.TrimSpace(line[3:]), nil
			fmt.Fprint(&p.out, line)
			continue
		case fence != "" && line == "```\n":
			p.block(fence, block)
			fence = ""
		case fence != "":
			block = append(block, line)
			continue
		}
		fmt.Fprint(&p.out, line)
	}
	p.end()
	return p.out.String()
}

// begin begins a story: a folder and a server of its own.
func (p *player) begin() {
	p.end()
	p.dir, p.now = p.t.TempDir(), map[string]string{}
	self, err := os.Executable()
	if err != nil {
		p.t.Fatal(err)
	}
	server := exec.Command(self)
	server.Args[0] = "mcp-yieldshell" // TestMain looks at it
	server.Dir = p.dir
	server.Env = append(os.Environ(), "MCP_YIELDSHELL_BLOCKED_SIDE_EFFECTS=KILLS_AGENT_PROCESS", searchVariable+"=on")
	server.Stderr = os.Stderr
	client := sdk.NewClient(&sdk.Implementation{Name: "stories"}, nil)
	p.session, err = client.Connect(p.t.Context(), &sdk.CommandTransport{Command: server, TerminateDuration: 30 * time.Second}, nil)
	if err != nil {
		p.t.Fatal(err)
	}
}

func (p *player) end() {
	if p.session != nil {
		p.session.Close() // the server's exit status is of no interest
		p.session = nil
	}
}

// block does what a block says, and writes it.
func (p *player) block(fence string, lines []string) {
	p.t.Helper()
	text := strings.Join(lines, "")
	switch name, file := fence, ""; {
	case fence == "story":
		p.story(lines)
		return
	case strings.Contains(fence, "file="):
		_, file, _ = strings.Cut(name, "file=")
		if err := os.WriteFile(filepath.Join(p.dir, file), []byte(text), 0o666); err != nil {
			p.t.Fatal(err)
		}
	case fence == "sh run":
		c := exec.Command("sh", "-ec", text)
		c.Dir = p.dir
		if out, err := c.CombinedOutput(); err != nil {
			p.t.Fatalf("%v: %s", err, out)
		}
	}
	fmt.Fprint(&p.out, text)
}

// story makes the calls of a block.
func (p *player) story(lines []string) {
	p.t.Helper()
	for len(lines) > 0 {
		call := lines[0]
		n := 1
		for n < len(lines) && !strings.HasPrefix(lines[n], "> ") {
			n++
		}
		was := strings.Join(lines[1:n], "")
		lines = lines[n:]
		for old, now := range p.now {
			call = strings.Replace(call, old, now, 1)
		}
		is := p.call(call)
		if got, want := gist(is), gist(was); got != want && !*update {
			p.t.Errorf("%s\nis\n%s\nbut the page says\n%s", call, is, was)
		}
		for argument, line := range map[string]*regexp.Regexp{`"execution_id": %q`: idLine, `"since_seq": %s`: nextLine} {
			old, now := line.FindStringSubmatch(was), line.FindStringSubmatch(is)
			if old != nil && now != nil {
				p.now[fmt.Sprintf(argument, old[1])] = fmt.Sprintf(argument, now[1])
			}
		}
		fmt.Fprint(&p.out, call, is)
	}
}

var (
	idLine   = regexp.MustCompile(`(?m)^execution_id: (\S+)$`)
	nextLine = regexp.MustCompile(`(?m)^  next_seq: (\d+)$`)
	// gistLine is what must be the same in each run.
	gistLine = regexp.MustCompile(`(?m)^ *(status|wait_result|text|total|stopped|ok|exit_code|capped|evicted): .*$`)
)

func gist(answer string) string { return strings.Join(gistLine.FindAllString(answer, -1), "\n") }

// call makes one call and returns the answer as the command line prints it.
func (p *player) call(line string) string {
	p.t.Helper()
	p.calls++
	words := strings.SplitN(strings.TrimSpace(line), " ", 3)
	if len(words) != 3 || !json.Valid([]byte(words[2])) {
		p.t.Fatalf("no call: %s", line)
	}
	result, err := p.session.CallTool(p.t.Context(), &sdk.CallToolParams{Name: words[1], Arguments: json.RawMessage(words[2])})
	if err != nil {
		p.t.Fatalf("%s: %v", line, err)
	}
	var b bytes.Buffer
	if err := printResult(&b, result, false); err != nil {
		p.t.Fatal(err)
	}
	if result.IsError {
		p.t.Errorf("%s: %s", line, b.String())
	}
	return elided(b.String())
}

// elided leaves out the middle of long texts.
func elided(answer string) string {
	const most, kept = 12, 3
	var out, text []string
	flush := func() {
		if n := len(text); n > most {
			text = append(append(text[:kept:kept], fmt.Sprintf("  … %d lines\n", n-2*kept)), text[n-kept:]...)
		}
		out = append(out, text...)
		text = nil
	}
	for line := range strings.Lines(answer) {
		if strings.HasPrefix(line, "  | ") {
			text = append(text, line)
			continue
		}
		flush()
		out = append(out, line)
	}
	flush()
	return strings.Join(out, "")
}

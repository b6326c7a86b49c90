package e2e

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/yieldshell/mcp-yieldshell/mcp/mcptest"
)

// program is the command that starts the server. TestMain sets it.
var program []string

func TestMain(m *testing.M) {
	if name := os.Getenv("E2E_HELPER"); name != "" {
		os.Exit(helper(name, os.Args[1:]))
	}
	os.Exit(runTests(m))
}

func runTests(m *testing.M) int {
	flag.Parse()
	// Nearly all tests wait for processes and timers, not for the processor:
	// many more than there are processors may run side by side.
	if err := setDefaultFlag("test.parallel", "12"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	binary := os.Getenv("YIELDSHELL_TEST_BINARY")
	if binary == "" {
		dir, err := os.MkdirTemp("", "yieldshell-e2e")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(dir)
		if binary, err = build(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	program = append(strings.Fields(os.Getenv("YIELDSHELL_TEST_EXEC")), binary)
	return m.Run()
}

func setDefaultFlag(name, value string) error {
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == name })
	// The go command itself may pass the default on.
	if given && flag.Lookup(name).Value.String() != fmt.Sprint(runtime.GOMAXPROCS(0)) {
		return nil
	}
	return flag.Set(name, value)
}

func build(dir string) (string, error) {
	binary := filepath.Join(dir, "mcp-yieldshell")
	if runtime.GOOS == "windows" {
		binary += ".exe"
	}
	words := []string{"build", "-o", binary}
	if raceDetector {
		words = append(words, "-race")
	}
	out, err := exec.Command("go", append(words, "github.com/yieldshell/mcp-yieldshell/cmd/mcp-yieldshell")...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return binary, nil
}

type args = mcptest.Args

// startAny starts a server with the given variables, NAME=value.
func startAny(t *testing.T, env ...string) *mcptest.Server {
	t.Helper()
	return mcptest.Start(t, mcptest.Options{Command: program, Env: variables(env)})
}

// start is startAny for a test whose commands need a POSIX system.
func start(t *testing.T, env ...string) *mcptest.Server {
	t.Helper()
	needPOSIX(t)
	return startAny(t, env...)
}

// startIn starts a server in a folder.
func startIn(t *testing.T, dir string, env ...string) *mcptest.Server {
	t.Helper()
	needPOSIX(t)
	return mcptest.Start(t, mcptest.Options{Command: program, Env: variables(env), Dir: dir})
}

// startUnder starts a server with words before its command.
func startUnder(t *testing.T, wrapper []string, env ...string) *mcptest.Server {
	t.Helper()
	needPOSIX(t)
	return mcptest.Start(t, mcptest.Options{Command: program, Env: variables(env), Wrapper: wrapper})
}

func variables(env []string) map[string]string {
	m := make(map[string]string)
	for _, v := range env {
		name, value, _ := strings.Cut(v, "=")
		m[name] = value
	}
	return m
}

// posixServer reports whether the server under test runs on a POSIX system,
// wherever its client runs.
func posixServer() bool { return posix && len(program) == 1 }

// echoed is what echo says in the default shell of the server's system.
func echoed(text string) string {
	if posixServer() {
		return text + "\n"
	}
	return text + "\r\n"
}

func needPOSIX(t *testing.T) {
	t.Helper()
	if !posixServer() {
		t.Skipf("needs a POSIX server; this one is %q", program)
	}
}

func needProgram(t *testing.T, name string) {
	t.Helper()
	if _, err := exec.LookPath(name); err != nil {
		t.Skipf("%s is not installed", name)
	}
}

func slow(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("takes longer than -short allows")
	}
}

func eq[T comparable](t testing.TB, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %.700v, want %.700v", what, show(got), show(want))
	}
}

func show(v any) string {
	if s, ok := v.(string); ok {
		return fmt.Sprintf("%q", s)
	}
	return fmt.Sprint(v)
}

func contains(t testing.TB, what, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(strings.ToLower(text), strings.ToLower(part)) {
			t.Errorf("%s lacks %q: %.700q", what, part, text)
		}
	}
}

// completed checks a command that ended by itself with this output and exit
// code 0.
func completed(t testing.TB, r *mcptest.Result, stdout string) {
	t.Helper()
	ended(t, r, stdout, 0)
}

func ended(t testing.TB, r *mcptest.Result, stdout string, code int64) {
	t.Helper()
	if r.Status != "completed" || r.IsError || r.ExitCode == nil || *r.ExitCode != code || r.Stdout != stdout {
		t.Errorf("got %.900v, want completed with exit code %d and stdout %.300q", r, code, stdout)
	}
}

// refused checks an execute that started nothing, and that its error says all
// of the parts.
func refused(t testing.TB, r *mcptest.Result, parts ...string) {
	t.Helper()
	if r.Status != "failed_to_start" || !r.IsError || r.ExecutionID != "" {
		t.Errorf("got %.700v (isError %v), want a refusal without an execution_id", r, r.IsError)
	}
	if r.Error == "" {
		t.Error("a refusal without an error")
	}
	contains(t, "error", r.Error, parts...)
}

// unknown checks the answer to an execution_id that does not exist.
func unknown(t testing.TB, r *mcptest.Result, id string) {
	t.Helper()
	eq(t, "isError", r.IsError, true)
	eq(t, "execution_id", r.ExecutionID, id)
	eq(t, "error", r.Error, "Unknown execution_id: "+id)
}

package e2e

import (
	"strings"
	"testing"
)

func TestTheOverlayAddsReplacesAndEmpties(t *testing.T) {
	t.Parallel()
	s := start(t, "YS_KEPT=kept", "YS_PARENT=parent")
	r := s.Execute(`echo "$YS_KEPT $YS_NEW ${YS_A+set}[$YS_A] ${YS_PARENT+set}[$YS_PARENT]"`,
		args{"env": args{"YS_NEW": "new", "YS_A": "", "YS_PARENT": ""}})
	completed(t, r, "kept new set[] set[]\n")
	completed(t, s.Execute(`echo "$YS_NEW.$YS_PARENT"`, nil), ".parent\n")
	completed(t, s.Execute("printf %s \"$V\"", args{"env": args{"V": "a=b \"c\" 'd' $e\nü"}}), "a=b \"c\" 'd' $e\nü")
	completed(t, s.Execute("env | grep -c '^YS_PARENT='", args{"env": args{"YS_PARENT": "x"}}), "1\n")
	completed(t, s.Execute("printf %s \"$V\" | wc -c | tr -d ' '", args{"env": args{"V": strings.Repeat("x", 100_000)}}), "100000\n")
}

func TestBadEnvironmentsAreRefused(t *testing.T) {
	t.Parallel()
	s := startAny(t)
	for _, env := range []args{
		{"PATH=/evil": "x"}, {"YS_B=1": "c"}, {"": "v"}, {"=": "v"}, {"=C:": "v"},
		{"YS_A": "a\x00YS_INJECT=1"}, {"Y\x00S": "1"}, {"OK": "1", "BAD=": "2"},
	} {
		refused(t, s.Execute("env", args{"env": env}), "env")
	}
	eq(t, "rows", len(s.Rows()), 0)
	eq(t, "status", s.Execute("echo alive", nil).Status, "completed")
}

func TestEnvironmentValuesThatAreNoStrings(t *testing.T) {
	t.Parallel()
	s := startAny(t)
	ask := `echo "$PORT-$DBG-$NIL-$F-$A"`
	if !posixServer() {
		ask = `echo %PORT%-%DBG%-%NIL%-%F%-%A%`
	}
	for _, env := range []any{
		args{"PORT": 3000, "DBG": true}, args{"NIL": nil}, args{"F": 3e3}, args{"L": []int{1}}, args{"O": args{}},
		[]string{"A=b"}, 5, "A=b",
	} {
		r := s.Execute(ask, args{"env": env})
		if r.Status == "failed_to_start" {
			refused(t, r, "env")
			continue
		}
		for _, bad := range []string{"<nil>", "null", "e+", "map[", "3e3", "%!"} {
			if strings.Contains(r.Stdout, bad) {
				t.Errorf("env %v gave %q", env, r.Stdout)
			}
		}
	}
	contains(t, "stdout", s.Execute(ask, args{"env": `{"A": "from text"}`}).Stdout, "-from text")
	completed(t, s.Execute("echo x", args{"env": ""}), echoed("x"))
}

func TestTheServersOwnVariablesStayOutOfCommands(t *testing.T) {
	t.Parallel()
	s := start(t)
	out := s.Execute("env", nil).Stdout
	for name := range strings.Lines(out) {
		for _, own := range []string{"GOGC=", "GOMAXPROCS=", "GOTRACEBACK=", "YIELDSHELL_SUPERVISOR"} {
			if strings.HasPrefix(name, own) {
				t.Errorf("a command sees %q", name)
			}
		}
	}
	inherited, err := run("sh", "-c", "env")
	if err != nil {
		t.Fatal(err)
	}
	names := func(text string) map[string]bool {
		set := make(map[string]bool)
		for line := range strings.Lines(text) {
			if name, _, ok := strings.Cut(line, "="); ok {
				set[name] = true
			}
		}
		return set
	}
	have := names(out)
	for name := range names(inherited) {
		if !have[name] && !strings.Contains(name, "YIELDSHELL_") && name != "_" {
			t.Errorf("%s did not reach the command", name)
		}
	}
}

func TestAMinimalEnvironmentIsEnough(t *testing.T) {
	t.Parallel()
	s := startUnder(t, []string{"env", "-i"})
	r := s.Execute(`printf 'caf\303\251 \342\202\254\n'; echo "[$HOME][$LANG]"; command -v ls >/dev/null && echo ls`, nil)
	completed(t, r, "café €\n[][]\nls\n")
	r = s.Execute("echo 'é'", args{"name": "é"})
	completed(t, r, "é\n")
	eq(t, "command", s.Row(r.ExecutionID).Command, "echo 'é'")
	completed(t, s.Execute("echo $0", args{"shell": "/bin/sh"}), "/bin/sh\n")
}

func TestADamagedEnvironmentIsNoObstacle(t *testing.T) {
	t.Parallel()
	// A name given twice, one without a value, and one that no shell takes.
	s := startUnder(t, []string{"env", "YS-DASH=1", "YS.DOT=2", "YS_EMPTY="})
	r := s.Execute(`env | grep -c '^YS[-._]'`, nil)
	eq(t, "status", r.Status, "completed")
	if n := strings.TrimSpace(r.Stdout); n != "1" && n != "3" { // dash drops what is no name
		t.Errorf("got %s variables", n)
	}
}

func TestTheOverlayIsFoundByTheShellsLookup(t *testing.T) {
	t.Parallel()
	s := start(t)

	r := s.Execute("mkdir bin; ln -s /bin/sh bin/myshell; pwd", nil)
	eq(t, "status", r.Status, "completed")
	completed(t, s.Execute("echo found", args{"shell": "myshell", "env": args{"PATH": s.Dir + "/bin:/usr/bin:/bin"}}), "found\n")
	refused(t, s.Execute("echo found", args{"shell": "myshell"}), "shell")
}

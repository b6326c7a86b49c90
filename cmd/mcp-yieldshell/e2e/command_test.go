package e2e

import (
	"os"
	"strings"
	"testing"
)

func TestCommandsThatAreNoneAreRefused(t *testing.T) {
	t.Parallel()
	s := startAny(t)
	for _, command := range []string{"", " ", "   ", "\n\t\n", "\r\n", "\v\f"} {
		refused(t, s.Execute(command, nil), "command")
	}
	eq(t, "rows", len(s.Rows()), 0)
}

func TestACommentIsACommand(t *testing.T) {
	t.Parallel()
	s := start(t)
	completed(t, s.Execute("# only a comment", nil), "")
	completed(t, s.Execute(":", nil), "")
}

func TestANULByteIsRefusedAndNothingRuns(t *testing.T) {
	t.Parallel()
	s := startAny(t)
	for _, command := range []string{"echo safe > ran\x00; echo x > pwned", "\x00", "echo x > ran\x00"} {
		refused(t, s.Execute(command, nil), "NUL")
	}
	files, err := os.ReadDir(s.Dir)
	if err != nil {
		t.Fatal(err)
	}
	eq(t, "files", len(files), 0)
	eq(t, "status", s.Execute("echo alive", nil).Status, "completed")
}

func TestCommandsArriveByteForByte(t *testing.T) {
	t.Parallel()
	s := start(t)
	const body = "a!b \\n \\\\ \\\\\\\\ `tick` $HOME \"q\" 'q' %s %d %PATH% ü 🎉 \t^&|<>(){}[]~*?#;\n"
	completed(t, s.Execute("cat <<'EOF'\n"+body+"EOF", nil), body)
	completed(t, s.Execute(`printf '%s|' a\\b 'c\\d' "e\\f" '!' ; echo`, nil), `a\b|c\\d|e\f|!|`+"\n")
	completed(t, s.Execute("printf '%s' one\\\ntwo", nil), "onetwo")
	completed(t, s.Execute("echo a\necho b\n\n", nil), "a\nb\n")
	completed(t, s.Execute("printf '%s' 'a\rb'", nil), "a\rb")
	completed(t, s.Execute(`x='a  b'; echo "$x"`, nil), "a  b\n")
}

func TestACommandIsNoOptionOfTheShell(t *testing.T) {
	t.Parallel()
	s := start(t)
	for _, command := range []string{"-c 'echo pwned'", "-e", "+x", "--version", "-"} {
		r := s.Execute(command, nil)
		eq(t, command+": status", r.Status, "completed")
		eq(t, command+": exit code", r.Exit(), "127")
		eq(t, command+": stdout", r.Stdout, "")
	}
}

func TestLongCommands(t *testing.T) {
	t.Parallel()
	s := start(t)
	completed(t, s.Execute(": '"+strings.Repeat("x", 120_000)+"'; echo ok", nil), "ok\n")
	for _, size := range []int{131_072, 140_000, 3_000_000} {
		refused(t, s.Execute(": '"+strings.Repeat("x", size)+"'; echo ok", nil), "long")
	}
	completed(t, s.Execute("echo alive", nil), "alive\n")
	eq(t, "rows", len(s.Rows()), 2)
}

func TestUnicodeInCommandNameAndOutput(t *testing.T) {
	t.Parallel()
	s := start(t)
	const command = "mkdir -p '日本 dir' && cd '日本 dir' && touch 'naïve—🎉.txt' && ls"
	r := s.Execute(command, args{"name": "été 🎉"})
	completed(t, r, "naïve—🎉.txt\n")
	row := s.Row(r.ExecutionID)
	eq(t, "command", row.Command, command)
	if row.Name == nil || *row.Name != "été 🎉" {
		t.Errorf("name: %v", row.Name)
	}
}

func TestCommandsShareNoState(t *testing.T) {
	t.Parallel()
	s := start(t)
	want := s.Execute("pwd; echo \"[$LEAK]\"; umask; ulimit -n; ulimit -c", nil).Stdout
	completed(t, s.Execute("cd / && export LEAK=1 && umask 077 && ulimit -n 64 && ulimit -c 0 && set -e", nil), "")
	completed(t, s.Execute("pwd; echo \"[$LEAK]\"; umask; ulimit -n; ulimit -c", nil), want)
}

func TestCommandsHaveTheServersLimitsAndMask(t *testing.T) {
	t.Parallel()
	const ask = "ulimit -Sa; ulimit -Ha; umask; nice"
	set := []string{"sh", "-c", `umask 027; ulimit -Sn 1111; ulimit -Hn 2222; ulimit -Ss 4096; exec "$@"`, "sh"}
	s := startUnder(t, set)
	want, err := run(append(set, "sh", "-c", ask)...)
	if err != nil {
		t.Fatal(err)
	}
	eq(t, "limits", s.Execute(ask, nil).Stdout, want)
}

func TestALoneSurrogateGetsOneAnswer(t *testing.T) {
	t.Parallel()
	s := startAny(t)
	p := s.Expect("41")
	s.SendRaw([]byte(`{"jsonrpc":"2.0","id":41,"method":"tools/call","params":{"name":"execute","arguments":{"command":"echo [\ud83d]","side_effects":["NONE"]}}}` + "\n"))
	m := p.Answer()
	if m.Error == nil {
		if strings.Contains(strings.ToLower(string(m.Result)), `\ud83d`) {
			t.Errorf("the answer has a lone surrogate: %s", m.Result)
		}
		if posixServer() { // cmd writes in a code page that may lack it
			contains(t, "result", string(m.Result), "�")
		}
	}
	completed(t, s.Execute("echo alive", nil), echoed("alive"))
}

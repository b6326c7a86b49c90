package e2e

import (
	"strings"
	"testing"
	"time"
)

func TestYieldVariables(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		env   []string
		given args
	}{
		{[]string{"YIELDSHELL_DEFAULT_YIELD_MS=300"}, nil},
		{[]string{"YIELDSHELL_MAX_YIELD_MS=300"}, nil},
		{[]string{"YIELDSHELL_MAX_YIELD_MS=300"}, args{"yield_ms": 50000}},
		{[]string{"YIELDSHELL_MAX_YIELD_MS=300", "YIELDSHELL_DEFAULT_YIELD_MS=40000"}, nil},
		{[]string{"YIELDSHELL_DEFAULT_YIELD_MS=40000"}, args{"yield_ms": 300}},
	} {
		t.Run(strings.Join(c.env, " "), func(t *testing.T) {
			t.Parallel()
			s := start(t, c.env...)
			begun := time.Now()
			eq(t, "status", s.Execute("exec sleep 1000", c.given).Status, "backgrounded")
			notBefore(t, "execute", begun, 290*time.Millisecond)
			quickly(t, "execute", begun, prompt)
		})
	}
}

func TestTheDefaultYieldIsThirtySeconds(t *testing.T) {
	slow(t)
	t.Parallel()
	s := start(t)
	begun := time.Now()
	eq(t, "status", s.Execute("exec sleep 1000", nil).Status, "backgrounded")
	notBefore(t, "execute", begun, 29500*time.Millisecond)
	quickly(t, "execute", begun, 36*time.Second)
}

func TestTheDefaultTimeout(t *testing.T) {
	t.Parallel()
	s := start(t, "YIELDSHELL_DEFAULT_TIMEOUT_MS=500")
	eq(t, "by default", s.Execute("exec sleep 1000", nil).Status, "timed_out")
	completed(t, s.Execute("sleep 1; echo done", args{"timeout_ms": 0}), "done\n")
	completed(t, s.Execute("sleep 1; echo done", args{"timeout_ms": 50000}), "done\n")
	unlimited := start(t, "YIELDSHELL_DEFAULT_TIMEOUT_MS=0")
	completed(t, unlimited.Execute("sleep 1; echo done", nil), "done\n")
}

func TestTheDefaultFolder(t *testing.T) {
	t.Parallel()
	root := layout(t, []string{"a", "b"}, nil)
	s := startIn(t, root+"/a", "YIELDSHELL_DEFAULT_CWD="+root+"/b")
	completed(t, s.Execute("pwd -P", nil), root+"/b\n")
	completed(t, s.Execute("pwd -P", args{"cwd": root + "/a"}), root+"/a\n")
	completed(t, startIn(t, root+"/a").Execute("pwd -P", nil), root+"/a\n")
}

func TestTheResponseCapIsDefaultAndMaximum(t *testing.T) {
	t.Parallel()
	s := start(t, "YIELDSHELL_MAX_OUTPUT_BYTES=500")
	r := s.Execute("seq 1 1000", nil)
	eq(t, "by default", len(r.Stdout), 500)
	eq(t, "beyond", len(s.Call("read", r.On(args{"max_output_bytes": 5000})).Stdout), 500)
	eq(t, "below", len(s.Call("read", r.On(args{"max_output_bytes": 5})).Stdout), 5)
	eq(t, "nothing is lost", s.Call("read", r.On(nil)).StartSeq, 1006)
}

func TestLogsGoToStderrOnly(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"", "json"} {
		t.Run("format "+format, func(t *testing.T) {
			t.Parallel()
			s := start(t, "YIELDSHELL_LOG_LEVEL=trace", "YIELDSHELL_LOG_FORMAT="+format, "SECRET_OF_MINE=hunter2hunter2")
			s.Execute("echo output-text; echo $SECRET_OF_MINE", args{"env": args{"OVERLAY": "overlay-text"}})
			s.SendRaw([]byte("no json\n"))
			s.MustRequest("ping", nil)
			s.Close()
			for _, private := range []string{"hunter2", "output-text", "overlay-text"} {
				if strings.Contains(s.Stderr(), private) {
					t.Errorf("the log has %q: %.2000s", private, s.Stderr())
				}
			}
			if format == "json" {
				for line := range strings.Lines(s.Stderr()) {
					if !strings.HasPrefix(line, "{") {
						t.Errorf("a line of the log is no JSON: %q", line)
					}
				}
			}
		})
	}
	s := start(t)
	s.Execute("echo x", nil)
	s.Close()
	eq(t, "stderr of a quiet session", s.Stderr(), "")
}

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/yieldshell/mcp-yieldshell/mcp/mcptest"
)

// layout makes folders and links below a new folder; "a -> b" is a link.
func layout(t *testing.T, folders []string, links map[string]string) string {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range folders {
		if err := os.MkdirAll(filepath.Join(root, f), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, target := range links {
		if err := os.Symlink(filepath.Join(root, target), filepath.Join(root, name)); err != nil {
			t.Skipf("links are not permitted here: %v", err)
		}
	}
	return root
}

func TestAFolderThatIsNoneIsRefused(t *testing.T) {
	t.Parallel()
	s := startAny(t)
	if err := os.WriteFile(filepath.Join(s.Dir, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	dirs := []string{"missing", "file", "file/x"}
	separator := `/`
	if posixServer() {
		dirs = append(dirs, "missing/..") // Windows takes ".." off the text, without looking
	} else {
		separator = `\\` // as the error quotes it
	}
	for _, dir := range dirs {
		name := strings.ReplaceAll(dir, "/", separator)
		refused(t, s.Execute("echo x > ran", args{"cwd": s.Dir + "/" + dir}), name)
		refused(t, s.Execute("echo x > ran", args{"cwd": dir}), name)
	}
	refused(t, s.Execute("echo x", args{"cwd": "a\x00b"}), "cwd")
	eq(t, "rows", len(s.Rows()), 0)
	eq(t, "status", s.Execute("echo alive", args{"cwd": ""}).Status, "completed")
}

func TestTheFolderIsUsedAndReported(t *testing.T) {
	t.Parallel()
	root := layout(t, []string{"in/deep", "with space ü"}, map[string]string{"link": "in"})
	s := startIn(t, root)
	for given, want := range map[string]string{
		root + "/in": root + "/in", "in": root + "/in", "in/deep/..": root + "/in", "./in/": root + "/in",
		"with space ü": root + "/with space ü", "link": root + "/in", ".": root, "/": "/",
	} {
		r := s.Execute("pwd -P", args{"cwd": given})
		completed(t, r, want+"\n")
	}
	r := s.Execute("true", args{"cwd": root + "/in"})
	eq(t, "cwd in ps", s.Row(r.ExecutionID).CWD, root+"/in")
	completed(t, s.Execute("pwd -P", nil), root+"\n")
}

func TestAllowedRootsHold(t *testing.T) {
	t.Parallel()
	root := layout(t, []string{"ok/in", "ok-evil", "out", "ok/in/deep"},
		map[string]string{"ok/link": "out", "good": "ok/in", "ok/loop": "ok", "chain": "good"})
	s := startIn(t, root, "YIELDSHELL_ALLOWED_CWDS="+root+"/ok:"+root+"/nowhere", "YIELDSHELL_DEFAULT_CWD="+root+"/ok")
	for _, dir := range []string{"ok", "ok/", "ok/in", "ok/in/..", "good", "chain", "ok/loop", "ok/loop/in/deep", "ok/link/../ok/in"} {
		r := s.Execute("pwd -P", args{"cwd": root + "/" + dir})
		if dir == "ok/link/../ok/in" { // by name it is ok/ok/in, by the links it is ok/in
			if r.Status == "completed" {
				eq(t, dir, r.Stdout, root+"/ok/in\n")
			}
			continue
		}
		eq(t, dir, r.Status, "completed")
	}
	completed(t, s.Execute("pwd -P", args{"cwd": "in"}), root+"/ok/in\n")
	completed(t, s.Execute("pwd -P", nil), root+"/ok\n")
	for _, dir := range []string{"ok/link", "ok-evil", "ok/../out", "out", "ok/in/../../out", ".", "ok/..", "ok/link/", "ok/loop/link"} {
		refused(t, s.Execute("echo > ran", args{"cwd": root + "/" + dir}), "allowed")
	}
	for _, dir := range []string{"/", "..", "link", "/proc/self/cwd/..", "/proc/self/root"} {
		refused(t, s.Execute("echo > ran", args{"cwd": dir}), "allowed")
	}
	if found, _ := filepath.Glob(root + "/*/ran"); found != nil {
		t.Errorf("a refused command ran: %v", found)
	}
}

func TestADefaultFolderOutsideTheRootsIsRefused(t *testing.T) {
	t.Parallel()
	root := layout(t, []string{"ok"}, nil)
	s := startIn(t, root, "YIELDSHELL_ALLOWED_CWDS="+root+"/ok", "YIELDSHELL_DEFAULT_CWD=/")
	refused(t, s.Execute("pwd", nil), "allowed")
	refused(t, s.Execute("pwd", args{"cwd": ""}), "allowed")
	completed(t, s.Execute("pwd -P", args{"cwd": root + "/ok"}), root+"/ok\n")
}

func TestARootThatIsALink(t *testing.T) {
	t.Parallel()
	root := layout(t, []string{"real/in"}, map[string]string{"root": "real"})
	s := startIn(t, root, "YIELDSHELL_ALLOWED_CWDS="+root+"/root")
	completed(t, s.Execute("pwd -P", args{"cwd": root + "/root/in"}), root+"/real/in\n")
	completed(t, s.Execute("pwd -P", args{"cwd": root + "/real/in"}), root+"/real/in\n")
	refused(t, s.Execute("pwd", args{"cwd": root}), "allowed")
}

func TestTheServersFolderMayDisappear(t *testing.T) {
	t.Parallel()
	root := layout(t, []string{"gone"}, nil)
	s := startIn(t, root+"/gone")
	if err := os.Remove(root + "/gone"); err != nil {
		t.Fatal(err)
	}
	completed(t, s.Execute("pwd -P", args{"cwd": "/"}), "/\n")
	refused(t, s.Execute("pwd", nil), "gone")
	completed(t, s.Execute("echo alive", args{"cwd": root}), "alive\n")
}

func TestAServerInAFolderThatHasGoneComesUp(t *testing.T) {
	t.Parallel()
	needPOSIX(t)
	root := layout(t, []string{"gone"}, nil)
	s := mcptest.Start(t, mcptest.Options{
		Command: program,
		Dir:     root + "/gone",
		Wrapper: []string{"sh", "-c", `rmdir ../gone; exec "$@"`, "sh"},
		Env:     map[string]string{"YIELDSHELL_DEFAULT_CWD": root},
	})
	completed(t, s.Execute("pwd -P", nil), root+"\n")
	completed(t, s.Execute("echo alive", args{"cwd": "/"}), "alive\n")
}

package e2e

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"golang.org/x/sys/windows"
)

const posix = false

// underWine reports whether the server runs on Wine and not on Windows.
func underWine() bool {
	return syscall.NewLazyDLL("ntdll.dll").NewProc("wine_get_version").Find() == nil
}

// typed runs a line as if it stood after "cmd /d /s /c", and reports whether
// that can be done here.
func typed(t *testing.T, line string) (stdout string, code uint32, can bool) {
	t.Helper()
	cmd := exec.Command("cmd")
	cmd.SysProcAttr = &syscall.SysProcAttr{
		CmdLine:       `cmd /d /s /c "` + line + `"`,
		CreationFlags: windows.CREATE_NO_WINDOW,
	}
	cmd.Env = append(os.Environ(), "E2E_HELPER=windows")
	out, err := cmd.Output()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return string(out), uint32(cmd.ProcessState.ExitCode()), true
}

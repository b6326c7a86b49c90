package procwindows

import (
	"testing"
	"unsafe"

	"go.uber.org/goleak"
	"golang.org/x/sys/windows"

	"github.com/yieldshell/mcp-yieldshell/proc"
	"github.com/yieldshell/mcp-yieldshell/proc/proctest"
)

func TestMain(m *testing.M) {
	if IsHelper() {
		Help()
	}
	proctest.HelperMain()
	testHelperMain()
	goleak.VerifyTestMain(m)
}

func newTestBackend(t testing.TB) proc.Backend {
	t.Helper()
	b, err := New()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestConformance(t *testing.T) {
	parallel := 40
	if onWine() {
		parallel = 8
	}
	proctest.Run(t, newTestBackend, proctest.Helpers{
		Quote:       func(s string) string { return `"` + s + `"` },
		Background:  func(command string) string { return "start /b \"\" " + command },
		Alive:       alive,
		Descriptors: func() int { return handles(t) },
		Unsupported: "SIGNOPE",
		TooLong:     40000,
		Parallel:    parallel,
		NotAProgram: "no program",
	})
}

// handles counts the handles of this process. Wine counts none, and is asked
// for one after the other.
func handles(t *testing.T) int {
	t.Helper()
	if onWine() {
		n := 0
		get := kernel32.NewProc("GetHandleInformation")
		for h := uintptr(4); h < 1<<13; h += 4 {
			var flags uint32
			if r, _, _ := get.Call(h, uintptr(unsafe.Pointer(&flags))); r != 0 {
				n++
			}
		}
		return n
	}
	var n uint32
	r, _, err := kernel32.NewProc("GetProcessHandleCount").Call(uintptr(windows.CurrentProcess()), uintptr(unsafe.Pointer(&n)))
	if r == 0 {
		t.Fatal(err)
	}
	return int(n)
}

// alive reports whether a process lives. A job counts one out a moment before the
// process itself is known to have ended.
func alive(pid int) bool {
	h, err := windows.OpenProcess(windows.SYNCHRONIZE, false, uint32(pid))
	if err != nil {
		return false
	}
	defer windows.CloseHandle(h)
	const moment = 500 // ms
	event, err := windows.WaitForSingleObject(h, moment)
	return err != nil || event == uint32(windows.WAIT_TIMEOUT)
}

// onWine reports whether the tests run on Wine and not on Windows.
func onWine() bool {
	return windows.NewLazySystemDLL("ntdll.dll").NewProc("wine_get_version").Find() == nil
}

// needsWindows skips a test of something that Wine does differently.
func needsWindows(t *testing.T, why string) {
	t.Helper()
	if onWine() {
		t.Skip("Wine: " + why)
	}
}

package procwindows

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/windows"
)

// helperArg makes this executable a helper. It is private to this package.
const helperArg = "yieldshell-console-helper"

// request is what a helper reads from its stdin, as JSON.
type request struct {
	// Event is sent to the consoles, if Send is set.
	Event uint32
	Send  bool
	// Title is the original title of the execution's console, and Shell the
	// process that it was made for, which may have ended.
	Title string
	Shell int
	// Server is the process that must never share a console that an event is
	// sent to.
	Server int
	// PIDs are the processes whose consoles are visited.
	PIDs []int
}

// reply is what a helper writes to its stdout, as JSON. A process whose
// console could not be found out is in none of the lists.
type reply struct {
	Attached []int // on the execution's console
	Detached []int // on another one
	None     []int // without a console
	Reached  []int // on a console that the event was sent to
}

// IsHelper reports whether this process is to be a helper of a backend in
// another process of the same executable.
func IsHelper() bool { return len(os.Args) == 2 && os.Args[1] == helperArg }

// Help does the work of a helper and ends the process. A process has one
// console at a time and shares its fate, which is why the server leaves this
// to another one.
func Help() {
	if err := help(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func help() error {
	var req request
	if err := json.NewDecoder(os.Stdin).Decode(&req); err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(visit(req))
}

const (
	// For a moment while a process leaves a console, others on it cannot be
	// attached to, with the error that means no console (seen on Wine under
	// load). So that answer counts only when it is repeated.
	attachTries = 3
	attachPause = 50 * time.Millisecond
	// hearTime is how long a helper waits for its own event.
	hearTime = time.Second
)

// visit goes through the consoles of the processes.
func visit(req request) reply {
	heard := make(chan struct{}, 1)
	v := visitor{
		request: req,
		heard:   heard,
		deaf: syscall.NewCallback(func(uint32) uintptr {
			select {
			case heard <- struct{}{}:
			default:
			}
			return 1
		}),
		seen: make(map[int]bool),
	}
	ask := req.PIDs
	for try := 1; ; try++ {
		ask = slices.DeleteFunc(slices.Clone(ask), func(pid int) bool { return v.attach(pid) })
		if len(ask) == 0 || try == attachTries {
			v.reply.None = ask
			return v.reply
		}
		time.Sleep(attachPause)
	}
}

// visitor is a visit under way.
type visitor struct {
	request
	reply
	deaf  uintptr // a handler that makes this process deaf to events
	heard <-chan struct{}
	seen  map[int]bool // who is on the consoles that were visited
}

// attach does what was requested on the console of a process. It reports false
// if there seems to be none.
func (v *visitor) attach(pid int) bool {
	if v.seen[pid] {
		return true
	}
	freeConsole()
	if err := attachConsole(uint32(pid)); err != nil {
		return !errors.Is(err, windows.ERROR_INVALID_HANDLE) // documented: no console
	}
	list, err := consoleProcesses()
	if err != nil {
		return true
	}
	var here []int // who of the execution is on this console
	for _, id := range list {
		v.seen[int(id)] = true
		if slices.Contains(v.PIDs, int(id)) {
			here = append(here, int(id))
		}
	}
	if isCommands(list, v.request) {
		v.Attached = append(v.Attached, here...)
	} else {
		v.Detached = append(v.Detached, here...)
	}
	if v.Send && !slices.Contains(list, uint32(v.Server)) && v.send() == nil {
		v.Reached = append(v.Reached, here...)
	}
	return true
}

// isCommands reports whether this process's console, which it shares with the
// listed ones, is the execution's. Where that cannot be told, it is: Wine 8
// lacks original titles.
func isCommands(list []uint32, req request) bool {
	if slices.Contains(list, uint32(req.Shell)) {
		return true
	}
	title := consoleOriginalTitle()
	return title == "" || title == req.Title
}

// send sends an event to everything on this process's console. What a process
// does with events is reset when it attaches to a console or leaves it. So it
// stays until the event has come to it, too, which would end it otherwise: each
// process gets it on a thread of its own, some time later.
func (v *visitor) send() error {
	if err := setCtrlHandler(v.deaf); err != nil {
		return err
	}
	if err := windows.GenerateConsoleCtrlEvent(v.Event, 0); err != nil {
		return err
	}
	select {
	case <-v.heard:
	case <-time.After(hearTime):
	}
	return nil
}

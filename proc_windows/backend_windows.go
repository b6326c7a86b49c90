package procwindows

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/windows"

	"github.com/yieldshell/mcp-yieldshell/proc"
)

// backend implements proc.Backend.
type backend struct {
	self    string // this executable, for helpers
	page    codePage
	scripts *scripts

	// outer is the job that the server itself is in, so that a helper cannot
	// outlive it. It is nil where the system refused that; what
	// holds the commands is their own jobs.
	outer *job
	// port receives the messages of all jobs. Its only reader is listen.
	port   windows.Handle
	joined chan struct{} // closed when listen has returned

	// deaf: whoever started this process made it ignore Ctrl-C, by
	// CREATE_NEW_PROCESS_GROUP for example.
	deaf bool
	// hearing is held while it does not, for the start of a process.
	hearing sync.Mutex

	// promptTime and breakTime pace the steps of a stop. They are the
	// constants of these names but in tests of a single step.
	promptTime, breakTime time.Duration

	mu      sync.Mutex
	last    uintptr
	running map[uintptr]*process // by key
}

var _ proc.Backend = (*backend)(nil)

// portClosing is the key that ends listen. Keys of executions begin above it.
const portClosing = 0

// New makes the backend. There may be several in one process.
func New() (proc.Backend, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	port, err := windows.CreateIoCompletionPort(windows.InvalidHandle, 0, 0, 1)
	if err != nil {
		return nil, fmt.Errorf("CreateIoCompletionPort: %w", err)
	}
	b := &backend{
		self:    self,
		page:    consolePage(),
		scripts: newScripts(os.TempDir()),
		outer:   enclose(),
		port:    port,
		joined:  make(chan struct{}),
		deaf:    isDeaf(uint32(os.Getpid())),

		promptTime: promptTime,
		breakTime:  breakTime,

		running: make(map[uintptr]*process),
	}
	go b.listen()
	return b, nil
}

// enclose puts this process into a job that ends with it. Failing is no
// error: jobs of a client may forbid it.
func enclose() *job {
	j, err := newJob()
	if err != nil {
		return nil
	}
	if err := j.adopt(windows.CurrentProcess()); err != nil {
		j.close() // holds nobody
		return nil
	}
	return j
}

// listen passes the jobs' messages on. What a message says does not matter:
// messages may be lost, so each is only a hint to look.
func (b *backend) listen() {
	defer close(b.joined)
	for {
		var message uint32
		var key uintptr
		var pid *windows.Overlapped // a process id, for most messages
		if err := windows.GetQueuedCompletionStatus(b.port, &message, &key, &pid, windows.INFINITE); err != nil || key == portClosing {
			return
		}
		b.mu.Lock()
		p := b.running[key]
		b.mu.Unlock()
		if p != nil {
			p.poke()
		}
	}
}

// Guarantees implements proc.Backend.
func (b *backend) Guarantees() proc.Guarantees {
	return proc.Guarantees{Tree: true, SurvivesServerKill: true}
}

// Warm implements proc.Backend. There is nothing to prepare.
func (b *backend) Warm() {}

// Close implements proc.Backend.
func (b *backend) Close() error {
	err := windows.PostQueuedCompletionStatus(b.port, 0, portClosing, nil)
	if err == nil {
		<-b.joined
	}
	err = errors.Join(err, windows.CloseHandle(b.port), b.scripts.close())
	if b.outer != nil {
		// Without the limit, closing the job does not end this process.
		if lerr := b.outer.setLimits(0); lerr != nil {
			return errors.Join(err, lerr)
		}
		err = errors.Join(err, b.outer.close())
	}
	return err
}

// Start implements proc.Backend.
func (b *backend) Start(spec proc.Spec) (proc.Process, error) {
	order, err := b.prepare(spec)
	if err != nil {
		return nil, err
	}
	p, err := b.start(order)
	if err != nil {
		if order.script != "" {
			b.scripts.remove(order.script)
		}
		return nil, err
	}
	return p, nil
}

// order is a command that is ready to start.
type order struct {
	program string
	line    string
	dir     string
	env     []uint16
	script  string // path of the batch file that the line runs, or empty
}

func (b *backend) prepare(spec proc.Spec) (order, error) {
	if err := checkText(spec); err != nil {
		return order{}, err
	}
	dir, err := usableDir(spec.Dir)
	if err != nil {
		return order{}, &proc.StartError{Op: "cwd", Err: err}
	}
	sh, err := findShell(spec)
	if err != nil {
		return order{}, &proc.StartError{Op: "shell", Err: err}
	}
	if sh.kind == proc.ShellCmd && strings.HasPrefix(dir, `\\`) {
		return order{}, &proc.StartError{Op: "cwd", Err: fmt.Errorf("%s: %w", dir, errNetworkDir)}
	}
	o := order{program: sh.program, dir: dir, env: environBlock(spec.Env)}
	if o.line, o.script, err = b.commandLine(sh, spec.Command); err != nil {
		return order{}, &proc.StartError{Op: "command", Err: err}
	}
	return o, nil
}

// commandLine makes the command line, and the batch file if it takes one.
func (b *backend) commandLine(sh shell, command string) (line, path string, err error) {
	if sh.kind == proc.ShellCmd {
		command = trimLines(command)
	}
	if sh.dialect == dialectMSYS {
		if err := checkMSYS(command); err != nil {
			return "", "", err
		}
	}
	if sh.kind != proc.ShellCmd || !needsScript(sh.program, command) {
		line = sh.line(command)
		return line, "", checkLine(line)
	}
	chcp, err := systemFile("chcp.com")
	if err != nil {
		return "", "", err
	}
	text, err := script(command, chcp)
	if err != nil {
		return "", "", err
	}
	if path, err = b.scripts.write(text); err != nil {
		return "", "", err
	}
	return cmdLine(sh.program, `"`+path+`"`), path, nil
}

func (b *backend) start(o order) (*process, error) {
	j, err := newJob()
	if err != nil {
		return nil, &proc.StartError{Op: "start", Err: err}
	}
	pipes, err := openPipes(func() *textDecoder { return newTextDecoder(b.page) })
	if err != nil {
		return nil, &proc.StartError{Op: "pipe", Err: errors.Join(err, j.close())}
	}
	p := newProcess(b, j, pipes, o.script)
	if err := b.register(p); err != nil {
		pipes.closeAll()
		return nil, &proc.StartError{Op: "start", Err: errors.Join(err, j.close())}
	}
	if err := p.run(o); err != nil {
		b.forget(p)
		pipes.closeAll()
		return nil, &proc.StartError{Op: opOf(err), Err: errors.Join(err, j.close())}
	}
	pipes.closeFar()
	return p, nil
}

// hear calls start, which starts a process. That must not inherit that the
// server ignores Ctrl-C: a command would be deaf to a stop, and under Wine
// nobody would hear a helper.
func (b *backend) hear(start func() error) error {
	if !b.deaf {
		return start()
	}
	b.hearing.Lock()
	defer b.hearing.Unlock()
	ignoreCtrlC(false)
	defer ignoreCtrlC(true)
	return start()
}

// register enters p under a key of its own, before its job has a process.
func (b *backend) register(p *process) error {
	b.mu.Lock()
	b.last++
	p.key = b.last
	b.running[p.key] = p
	b.mu.Unlock()
	if err := p.job.notify(b.port, p.key); err != nil {
		b.forget(p)
		return err
	}
	return nil
}

func (b *backend) forget(p *process) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.running, p.key)
}

// opOf says what was wrong when CreateProcess failed.
func opOf(err error) string {
	var code syscall.Errno
	if !errors.As(err, &code) {
		return "start"
	}
	switch code {
	case windows.ERROR_DIRECTORY:
		return "cwd"
	case windows.ERROR_BAD_EXE_FORMAT, windows.ERROR_FILE_NOT_FOUND, windows.ERROR_PATH_NOT_FOUND,
		windows.ERROR_ACCESS_DENIED, windows.ERROR_ELEVATION_REQUIRED, windows.ERROR_EXE_MACHINE_TYPE_MISMATCH:
		return "shell"
	}
	return "start"
}

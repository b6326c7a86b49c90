//go:build unix

package procunix

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/yieldshell/mcp-yieldshell/proc"
	"github.com/yieldshell/mcp-yieldshell/proc_unix/wire"
)

// DefaultShell runs commands that name no shell of their own; POSIX has one in
// every system.
const DefaultShell = "/bin/sh"

// prepare checks a specification as far as that is possible without a
// process, and turns it into what execve takes.
func prepare(spec proc.Spec) (*wire.StartRequest, error) {
	if err := checkText(spec); err != nil {
		return nil, &proc.StartError{Op: "command", Err: err}
	}
	if err := checkDir(spec.Dir); err != nil {
		return nil, &proc.StartError{Op: "cwd", Err: err}
	}
	name := spec.Shell
	if name == "" {
		name = DefaultShell
	}
	path, err := findShell(name, spec)
	if err != nil {
		return nil, &proc.StartError{Op: "shell", Err: fmt.Errorf("cannot run shell %q: %w", name, err)}
	}
	return &wire.StartRequest{Path: path, Dir: spec.Dir, Argv: arguments(name, spec.Command), Env: spec.Env}, nil
}

// arguments is the argument list for a shell. The first one is the name as it
// was given, as in a shell.
func arguments(shell, command string) []string {
	if proc.KindOfShell(shell) == proc.ShellPowerShell {
		return []string{shell, "-NoLogo", "-NoProfile", "-NonInteractive", "-Command", command}
	}
	return []string{shell, "-c", proc.GuardDash(command)}
}

// checkText refuses what execve would not take: it ends text at a NUL, and
// Linux bounds each string (execve(2), MAX_ARG_STRLEN).
func checkText(spec proc.Spec) error {
	if err := checkString("the command", spec.Command); err != nil {
		return err
	}
	for _, kv := range spec.Env {
		name, _, _ := strings.Cut(kv, "=")
		if err := checkString(fmt.Sprintf("the environment variable %q", name), kv); err != nil {
			return err
		}
	}
	return nil
}

func checkString(what, s string) error {
	if strings.IndexByte(s, 0) >= 0 {
		return fmt.Errorf("%s contains a NUL byte", what)
	}
	if maxString > 0 && len(s) >= maxString {
		return fmt.Errorf("%s has %d bytes, and the limit is %d: %w", what, len(s), maxString-1, proc.ErrTooLong)
	}
	return nil
}

func checkDir(dir string) error {
	info, err := os.Stat(dir)
	if err != nil {
		return fmt.Errorf("working directory %q: %w", dir, cause(err))
	}
	if !info.IsDir() {
		return fmt.Errorf("working directory %q: %w", dir, unix.ENOTDIR)
	}
	if err := mayExecute(dir); err != nil {
		return fmt.Errorf("working directory %q: %w", dir, err)
	}
	return nil
}

// findShell returns the path of the shell. A bare name is looked up on the
// PATH of the command's environment, and a relative path is taken from its
// working directory.
func findShell(name string, spec proc.Spec) (string, error) {
	if strings.ContainsRune(name, '/') {
		path := name
		if !filepath.IsAbs(path) {
			path = filepath.Join(spec.Dir, path)
		}
		return path, checkProgram(path)
	}
	found := error(errNotOnPath)
	for _, dir := range filepath.SplitList(lookup(spec.Env, "PATH")) {
		if !filepath.IsAbs(dir) {
			dir = filepath.Join(spec.Dir, dir)
		}
		path := filepath.Join(dir, name)
		err := checkProgram(path)
		if err == nil {
			return path, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			found = err
		}
	}
	return "", found
}

var (
	errNotOnPath  = errors.New("not found on PATH")
	errNotRegular = errors.New("not a regular file")
)

func lookup(env []string, name string) string {
	for _, kv := range env {
		if n, v, _ := strings.Cut(kv, "="); n == name {
			return v
		}
	}
	return ""
}

func checkProgram(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return cause(err)
	}
	if !info.Mode().IsRegular() {
		return errNotRegular
	}
	return mayExecute(path)
}

func mayExecute(path string) error {
	return unix.Faccessat(unix.AT_FDCWD, path, unix.X_OK, unix.AT_EACCESS)
}

// cause is the error number without the operation and the path, which the
// message around it has already.
func cause(err error) error {
	var errno unix.Errno
	if errors.As(err, &errno) {
		return errno
	}
	return err
}

// startFailure explains what execve, or what leads up to it, has refused.
func startFailure(spec proc.Spec, req *wire.StartRequest, errno unix.Errno) error {
	if err := checkDir(spec.Dir); err != nil { // it changed since
		return &proc.StartError{Op: "cwd", Err: err}
	}
	switch errno {
	case unix.E2BIG:
		return &proc.StartError{Op: "command", Err: fmt.Errorf("the command and its environment together: %w", proc.ErrTooLong)}
	case unix.ENOENT:
		return shellError(req, errors.New("the interpreter that its first line names does not exist"))
	case unix.ENOEXEC:
		return shellError(req, errors.New("neither a program for this system nor a script with an interpreter line"))
	case unix.EACCES, unix.EPERM, unix.ENOTDIR, unix.ELOOP, unix.ETXTBSY, unix.EINVAL, unix.ENAMETOOLONG:
		return shellError(req, errno)
	}
	return &proc.StartError{Op: "start", Err: errno}
}

func shellError(req *wire.StartRequest, err error) error {
	return &proc.StartError{Op: "shell", Err: fmt.Errorf("cannot run shell %q: %w", req.Argv[0], err)}
}

package procwindows

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/sys/windows"
	"golang.org/x/sys/windows/registry"

	"github.com/yieldshell/mcp-yieldshell/proc"
)

// shell is a program that runs commands, and how it takes them.
type shell struct {
	program string // absolute path
	kind    proc.ShellKind
	dialect dialect
	// inside is what comes before -c: the program that wsl.exe starts.
	inside string
}

// line is the command line that runs the command.
func (s shell) line(command string) string {
	switch {
	case s.kind == proc.ShellCmd:
		return cmdLine(s.program, command)
	case s.kind == proc.ShellPowerShell:
		return quoteProgram(s.program) + " -NoLogo -NoProfile -NonInteractive -Command " + quoteArg(powerShellScript(command))
	}
	return quoteProgram(s.program) + s.inside + " -c " + s.dialect.quote(proc.GuardDash(command))
}

// findShell finds the program that Spec.Shell means.
func findShell(spec proc.Spec) (shell, error) {
	path, err := shellPath(spec)
	if err != nil {
		return shell{}, err
	}
	if isBatch(path) {
		return shell{}, fmt.Errorf("%s is a batch file, which cannot take a command unaltered; use cmd and call it there", path)
	}
	s := shell{program: path, kind: proc.KindOfShell(path)}
	switch name := strings.TrimSuffix(strings.ToLower(filepath.Base(path)), ".exe"); {
	case name == "wsl":
		s.inside = " -e bash"
	case name == "bash" && isWSLs(filepath.Dir(path)):
		s.dialect = dialectPOSIX
	case isMSYS(path):
		s.dialect = dialectMSYS
	}
	return s, nil
}

// isMSYS reports whether a program belongs to the MSYS2 or Cygwin runtime, or
// is a launcher of Git for Windows, which passes its command line on to one
// that does.
func isMSYS(program string) bool {
	dir := filepath.Dir(program)
	for _, home := range []string{dir, filepath.Join(filepath.Dir(dir), "usr", "bin")} {
		for _, runtime := range []string{"msys-2.0.dll", "cygwin1.dll"} {
			if isFile(filepath.Join(home, runtime)) {
				return true
			}
		}
	}
	return false
}

// isWSLs reports whether the bash.exe of a folder is WSL's.
func isWSLs(dir string) bool {
	windir, err := windows.GetSystemWindowsDirectory()
	return err == nil && within(dir, windir) || strings.EqualFold(filepath.Base(filepath.Clean(dir)), "WindowsApps")
}

func shellPath(spec proc.Spec) (string, error) {
	name := spec.Shell
	if name == "" {
		if name = lookup(spec.Env, "ComSpec"); name == "" {
			return systemFile("cmd.exe")
		}
	}
	if strings.EqualFold(name, "bash") || strings.EqualFold(name, "bash.exe") {
		return findBash(spec.Env)
	}
	if !strings.ContainsAny(name, `\/:`) {
		return searchPath(name, spec.Env, func(string) bool { return true })
	}
	if !filepath.IsAbs(name) {
		name = filepath.Join(spec.Dir, name)
	}
	if path, ok := executable(name, spec.Env); ok {
		return path, nil
	}
	return "", fmt.Errorf("shell %q: %w", name, exec.ErrNotFound)
}

func systemFile(name string) (string, error) {
	dir, err := windows.GetSystemDirectory()
	if err != nil {
		return "", fmt.Errorf("GetSystemDirectory: %w", err)
	}
	return filepath.Join(dir, name), nil
}

// searchPath looks a bare name up in the folders of PATH that suit. The
// current folder is not one of them.
func searchPath(name string, env []string, suits func(dir string) bool) (string, error) {
	for _, dir := range filepath.SplitList(lookup(env, "PATH")) {
		if !filepath.IsAbs(dir) || !suits(dir) {
			continue
		}
		if path, ok := executable(filepath.Join(dir, name), env); ok {
			return path, nil
		}
	}
	return "", fmt.Errorf("shell %q: %w", name, exec.ErrNotFound)
}

// executable finds the file that path means, with the extensions of PATHEXT.
func executable(path string, env []string) (string, bool) {
	extensions := lookup(env, "PATHEXT")
	if extensions == "" {
		extensions = ".COM;.EXE;.BAT;.CMD"
	}
	candidates := []string{}
	if filepath.Ext(path) != "" {
		candidates = append(candidates, path)
	}
	for _, ext := range strings.Split(extensions, ";") {
		if strings.HasPrefix(ext, ".") {
			candidates = append(candidates, path+strings.ToLower(ext))
		}
	}
	for _, c := range candidates {
		if isFile(c) {
			return c, true
		}
	}
	return "", false
}

// isFile follows no link: the execution aliases of WindowsApps are links that
// only CreateProcess understands.
func isFile(path string) bool {
	fi, err := os.Lstat(path)
	return err == nil && !fi.IsDir()
}

// findBash finds the bash of Git for Windows, or another one on PATH. The
// bash.exe of the system folder and of WindowsApps is WSL's, where neither the
// paths nor the environment are what the caller means.
func findBash(env []string) (string, error) {
	notWSL := func(dir string) bool { return !isWSLs(dir) }
	if path, err := searchPath("bash.exe", env, notWSL); err == nil {
		return path, nil
	}
	for _, home := range gitHomes(env) {
		if path := filepath.Join(home, "bin", "bash.exe"); isFile(path) {
			return path, nil
		}
	}
	return "", errors.New(`shell "bash": Git for Windows was not found; give the path of a bash.exe, or "wsl" for the bash of WSL`)
}

// gitHomes lists where Git for Windows may be installed, likeliest first.
func gitHomes(env []string) []string {
	var homes []string
	if git, err := searchPath("git.exe", env, func(string) bool { return true }); err == nil {
		homes = append(homes, filepath.Dir(filepath.Dir(git))) // Git\cmd\git.exe
	}
	for _, root := range []registry.Key{registry.CURRENT_USER, registry.LOCAL_MACHINE} {
		if home := installedGit(root); home != "" {
			homes = append(homes, home)
		}
	}
	for _, place := range [][2]string{
		{"ProgramFiles", "Git"}, {"ProgramW6432", "Git"}, {"ProgramFiles(x86)", "Git"}, {"LocalAppData", `Programs\Git`},
	} {
		if dir := lookup(env, place[0]); dir != "" {
			homes = append(homes, filepath.Join(dir, place[1]))
		}
	}
	return homes
}

func installedGit(root registry.Key) string {
	k, err := registry.OpenKey(root, `SOFTWARE\GitForWindows`, registry.QUERY_VALUE|registry.WOW64_64KEY)
	if err != nil {
		return ""
	}
	defer k.Close()
	home, _, err := k.GetStringValue("InstallPath")
	if err != nil {
		return ""
	}
	return home
}

// within reports whether dir is root or below it.
func within(dir, root string) bool {
	dir, root = filepath.Clean(dir), filepath.Clean(root)
	return strings.EqualFold(dir, root) ||
		len(dir) > len(root) && strings.EqualFold(dir[:len(root)], root) && dir[len(root)] == '\\'
}

// checkText refuses what cannot be passed to CreateProcess.
func checkText(spec proc.Spec) error {
	if strings.ContainsRune(spec.Command, 0) {
		return &proc.StartError{Op: "command", Err: errors.New("a NUL byte cannot be part of a command")}
	}
	if strings.ContainsRune(spec.Shell, 0) {
		return &proc.StartError{Op: "shell", Err: errors.New("a NUL byte cannot be part of a path")}
	}
	if strings.ContainsRune(spec.Dir, 0) {
		return &proc.StartError{Op: "cwd", Err: errors.New("a NUL byte cannot be part of a path")}
	}
	for _, kv := range spec.Env {
		if strings.ContainsRune(kv, 0) {
			return &proc.StartError{Op: "start", Err: errors.New("a NUL byte cannot be part of the environment")}
		}
	}
	return nil
}

// maxDir is the longest working directory that CreateProcess takes: MAX_PATH
// with room for a backslash and a NUL, whatever the registry says about long
// paths.
const maxDir = windows.MAX_PATH - 2

// errNetworkDir: cmd would say so and start in the system's folder instead.
var errNetworkDir = errors.New(`cmd cannot start in a network path; use a drive letter that is mapped to it, or another shell, such as powershell`)

// usableDir turns the directory into a form that CreateProcess takes, or says
// why it cannot be used.
func usableDir(dir string) (string, error) {
	fi, err := os.Stat(dir)
	if err != nil {
		return "", err
	}
	if !fi.IsDir() {
		return "", fmt.Errorf("%s is not a directory", dir)
	}
	dir = plainPath(dir)
	if units(dir) <= maxDir {
		return dir, nil
	}
	short, err := shortPath(dir)
	if err != nil {
		return "", err
	}
	if n := units(dir); units(short) > maxDir {
		return "", fmt.Errorf("a path of %d characters, and Windows takes %d for a working directory: %w", n, maxDir, proc.ErrTooLong)
	}
	return short, nil
}

// shortPath returns the path made of 8.3 names, where the volume has them.
func shortPath(path string) (string, error) {
	long, err := windows.UTF16PtrFromString(verbatimPath(path))
	if err != nil {
		return "", err
	}
	buf := make([]uint16, 1024)
	for {
		n, err := windows.GetShortPathName(long, &buf[0], uint32(len(buf)))
		if err != nil {
			return "", fmt.Errorf("GetShortPathName: %w", err)
		}
		if int(n) < len(buf) {
			return plainPath(windows.UTF16ToString(buf[:n])), nil
		}
		buf = make([]uint16, n)
	}
}

// dialect is how a program takes its command line apart. Windows leaves that
// to each program.
type dialect int

const (
	dialectC     dialect = iota // the C runtime's rules, which nearly all follow
	dialectMSYS                 // the MSYS2 and Cygwin runtimes, so Git Bash
	dialectPOSIX                // a POSIX shell reads it: the bash.exe of WSL
)

// quote makes one argument of any text.
func (d dialect) quote(s string) string {
	switch d {
	case dialectMSYS:
		return quoteMSYS(s)
	case dialectPOSIX:
		return quotePOSIX(s)
	}
	return quoteArg(s)
}

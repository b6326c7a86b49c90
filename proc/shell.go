package proc

import "strings"

// ShellKind says how a shell takes a command on its command line.
type ShellKind int

// The kinds of shells.
const (
	ShellPOSIX      ShellKind = iota // NAME -c COMMAND, also for interpreters such as python3
	ShellCmd                         // cmd /d /s /c "COMMAND"
	ShellPowerShell                  // NAME -NoLogo -NoProfile -NonInteractive -Command COMMAND
)

// KindOfShell tells the kind from the program's name, whatever its folder,
// case and ".exe".
func KindOfShell(path string) ShellKind {
	name := path[strings.LastIndexAny(path, `/\`)+1:]
	name = strings.TrimSuffix(strings.ToLower(name), ".exe")
	switch name {
	case "cmd":
		return ShellCmd
	case "powershell", "pwsh", "pwsh-preview":
		return ShellPowerShell
	}
	return ShellPOSIX
}

// GuardDash puts one space before a command that begins with "-" or "+", which
// a shell would otherwise take for options.
func GuardDash(command string) string {
	if strings.HasPrefix(command, "-") || strings.HasPrefix(command, "+") {
		return " " + command
	}
	return command
}

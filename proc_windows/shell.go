package procwindows

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf16"

	"github.com/yieldshell/mcp-yieldshell/proc"
)

const (
	// maxLine is the length of a command line that CreateProcess takes, in
	// UTF-16 units and without the NUL.
	maxLine = 32766
	// maxCmdLine is what cmd takes as a command line. It cuts longer ones.
	maxCmdLine = 8191
	// maxScriptLine is what it takes as a line of a batch file, which it reads
	// into as much memory, but in bytes and with the line's end.
	maxScriptLine = 8189
	// maxMSYS is how long a command the MSYS2 and Cygwin runtimes take: they
	// look for wildcards in every argument, in memory for 8192 characters, and
	// cut what is longer without a word (glob.cc in the runtime).
	maxMSYS = 8000
)

var (
	errPercent = errors.New(`a command for cmd that has several lines, or more than about 8000 characters, ` +
		`runs as a batch file, where % means something else; put it on one line, or use a shell that takes it as it is: powershell, pwsh or bash`)
	errCtrlZ = errors.New(`a command for cmd that has several lines runs as a batch file, which ends at a Ctrl-Z (character 26); ` +
		`put it on one line, or use a shell that takes it as it is: powershell, pwsh or bash`)
)

// cmdLine is the command line that makes cmd run the command. With /s it
// takes off the outer quotes and uses everything between them as it is, so
// nothing must be escaped.
func cmdLine(program, command string) string {
	return quoteProgram(program) + ` /d /s /c "` + command + `"`
}

// quoteProgram makes argument 0, in which a quote cannot stand.
func quoteProgram(path string) string { return `"` + path + `"` }

// trimLines takes off line ends after the command, which mean nothing.
func trimLines(command string) string { return strings.TrimRight(command, "\r\n") }

// needsScript reports whether cmd takes the command only as a batch file: on
// its command line it ignores all but the first line, and has a limit.
func needsScript(program, command string) bool {
	return strings.ContainsAny(command, "\r\n") || units(cmdLine(program, command)) > maxCmdLine
}

// script is the content of the batch file for a command. A caret at a line's end
// joins it with the next. chcp is the path of the program that sets the code page.
func script(command, chcp string) (string, error) {
	command = strings.ReplaceAll(trimLines(command), "\r\n", "\n")
	command = strings.ReplaceAll(command, "\r", "\n")
	switch {
	case strings.Contains(command, "%"):
		return "", errPercent
	case strings.Contains(command, "\x1A"):
		return "", errCtrlZ
	}
	length := 0
	for line := range strings.SplitSeq(command, "\n") {
		if length += len(line); length > maxScriptLine {
			return "", fmt.Errorf("a line of %d bytes: cmd takes %d in a batch file; %s: %w", length, maxScriptLine, wayOut(length), proc.ErrTooLong)
		}
		if !continues(line) {
			length = 0
		}
	}
	text := "@echo off\n"
	if strings.ContainsFunc(command, func(r rune) bool { return r > 127 }) {
		// cmd reads a batch file in the console's code page. A command's PATH
		// need not lead to the program.
		text += `@"` + chcp + `" 65001 >nul` + "\n"
	}
	return strings.ReplaceAll(text+command, "\n", "\r\n") + "\r\n", nil
}

// wayOut says how to run a line that is too long for cmd.
func wayOut(length int) string {
	// Other shells have a line of their own, with quotes and options around the
	// command.
	const others = maxLine - 2048
	if length > others {
		return "write it to a script file and run that"
	}
	return "another shell, such as powershell, takes more"
}

// continues reports whether a line ends with a caret that no other escapes.
func continues(line string) bool {
	carets := len(line) - len(strings.TrimRight(line, "^"))
	return carets%2 == 1
}

// powerShellScript is what PowerShell is told to run for a command: with UTF-8
// for its streams, without progress records, and ending with the exit code of
// the last program or, if none failed, with 1 if the last statement failed.
//
// The command is data in it, a literal, and becomes code as it is: what it
// begins or ends with cannot touch the rest. The second attempt is for text
// that nothing may follow (begin, process and end blocks); it also makes the
// message about a syntax error speak of the command alone.
func powerShellScript(command string) string {
	return `$ProgressPreference='SilentlyContinue';` +
		`try{$OutputEncoding=[Console]::InputEncoding=[Console]::OutputEncoding=New-Object Text.UTF8Encoding $false}catch{};` +
		`$yieldshell=` + powerShellLiteral(command) + `;` +
		"try{$yieldshell=[ScriptBlock]::Create($yieldshell+\"`n`n`$yieldshell=`$?\")}" +
		`catch{try{$yieldshell=[ScriptBlock]::Create($yieldshell)}` +
		`catch{[Console]::Error.WriteLine($_.Exception.InnerException.Message);exit 1}};` +
		`$global:LASTEXITCODE=0;` +
		`. $yieldshell;` +
		`if($LASTEXITCODE){exit $LASTEXITCODE}elseif($yieldshell -is [bool] -and -not $yieldshell){exit 1}`
}

// powerShellLiteral makes a string literal in which nothing is expanded.
// PowerShell ends it at any of five characters that look like a single quote;
// doubled, each stands for itself.
func powerShellLiteral(s string) string {
	var b strings.Builder
	b.WriteByte('\'')
	for _, r := range s {
		b.WriteRune(r)
		switch r {
		case '\'', '\u2018', '\u2019', '\u201A', '\u201B':
			b.WriteRune(r)
		}
	}
	b.WriteByte('\'')
	return b.String()
}

// quoteMSYS makes one argument for a program of the MSYS2 or Cygwin runtime.
// Within quotes, where it expands no wildcard, a backslash escapes a quote or
// another backslash wherever they stand; not so in an argument that begins
// like a path of Windows, which a space prevents (see build_argv in the
// runtime's dcrt0.cc).
func quoteMSYS(s string) string {
	if len(s) > 1 && s[1] == ':' || strings.HasPrefix(s, `\`) {
		s = " " + s
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}

// quotePOSIX makes one word for a POSIX shell.
func quotePOSIX(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// quoteArg makes one argument as the C runtime takes it apart.
func quoteArg(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	slashes := 0
	for i := range len(s) {
		switch s[i] {
		case '\\':
			slashes++
		case '"':
			// Backslashes before a quote, and the quote, are escaped.
			b.WriteString(strings.Repeat(`\`, slashes+1))
			slashes = 0
		default:
			slashes = 0
		}
		b.WriteByte(s[i])
	}
	b.WriteString(strings.Repeat(`\`, slashes) + `"`)
	return b.String()
}

// units is the length of s for Windows, which counts UTF-16 units.
func units(s string) int {
	n := 0
	for _, r := range s {
		n += max(1, utf16.RuneLen(r))
	}
	return n
}

// checkMSYS refuses a command that the MSYS2 and Cygwin runtimes would cut.
func checkMSYS(command string) error {
	if n := units(command); n > maxMSYS {
		return fmt.Errorf("a command of %d characters: Git Bash, MSYS2 and Cygwin take %d; write it to a script file and run that: %w", n, maxMSYS, proc.ErrTooLong)
	}
	return nil
}

// checkLine refuses a command line that CreateProcess would not take.
func checkLine(line string) error {
	if n := units(line); n > maxLine {
		return fmt.Errorf("a command line of %d characters: Windows takes %d: %w", n, maxLine, proc.ErrTooLong)
	}
	return nil
}

// isBatch reports whether a program is a batch file. CreateProcess would run
// it through cmd, which reads arguments by rules of its own, so that text
// meant as an argument could run as a command ("BatBadBut", CVE-2024-24576).
func isBatch(path string) bool {
	path = strings.ToLower(strings.TrimRight(path, " ."))
	return strings.HasSuffix(path, ".bat") || strings.HasSuffix(path, ".cmd")
}

package main

import (
	"context"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// askBound bounds what the system is asked about the PATH.
const askBound = 3 * time.Second

// everydayPrograms are looked for on the PATH: those that agents run most, and
// that people like to keep in folders of their own.
func everydayPrograms() []string {
	return []string{
		"git", "gh", "make", "cmake", "docker", "kubectl", "rg", "jq",
		"node", "npm", "npx", "pnpm", "yarn", "bun", "deno",
		"python3", "pip", "uv", "poetry", "go", "cargo", "rustc",
		"java", "mvn", "gradle", "ruby", "bundle", "php", "dotnet", "brew",
	}
}

// checkPath compares this terminal's PATH with the one that a program gets
// that is started from the desktop: shells' start files add to the first only.
func (c *checkup) checkPath(ctx context.Context) {
	const area = "PATH"
	here, _ := c.sys.lookupEnv("PATH")
	if here == "" {
		c.find(area, gradeProblem, "", "PATH is not set: commands find no programs")
		return
	}
	c.find(area, gradeOK, "", "in this terminal: %s", printable(here))
	ctx, cancel := context.WithTimeout(ctx, askBound)
	defer cancel()
	desktop, source := desktopPath(ctx)
	c.find(area, gradeOK, "", "of a client that is started from the desktop (%s): %s", source, printable(desktop))
	missing := onlyOn(here, desktop)
	if len(missing) == 0 {
		c.find(area, gradeOK, "", "what this terminal finds, such a client's commands find too")
		return
	}
	c.find(area, gradeWarning, pathAdvice,
		"commands of such a client may not find: %s", strings.Join(missing, ", "))
}

// onlyOn lists the everyday programs that one PATH finds and another does not.
func onlyOn(here, desktop string) []string {
	var missing []string
	for _, name := range everydayPrograms() {
		if finds(here, name) && !finds(desktop, name) {
			missing = append(missing, name)
		}
	}
	return missing
}

// finds reports whether a PATH has a program.
func finds(path, name string) bool {
	return slices.ContainsFunc(filepath.SplitList(path), func(dir string) bool {
		if !filepath.IsAbs(dir) {
			return false
		}
		_, err := exec.LookPath(filepath.Join(dir, name))
		return err == nil
	})
}

// pathFromLines finds the last "PATH=..." among lines of NAME=VALUE, as
// /etc/environment and systemctl write them.
func pathFromLines(text string) string {
	path := ""
	for line := range strings.Lines(text) {
		line = strings.TrimPrefix(strings.TrimSpace(line), "export ")
		if value, ok := strings.CutPrefix(line, "PATH="); ok {
			value = strings.TrimPrefix(value, "$") // systemctl: $'...' if it has odd characters
			path = strings.Trim(value, `"'`)
		}
	}
	return path
}

// pathFromLoginDefs reads the PATH that login(1) gives to users, or to root,
// from the text of /etc/login.defs.
func pathFromLoginDefs(text string, root bool) string {
	setting := "ENV_PATH"
	if root {
		setting = "ENV_SUPATH"
	}
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) == 2 && fields[0] == setting {
			return strings.TrimPrefix(fields[1], "PATH=")
		}
	}
	return ""
}

// printed is what a program prints, or nothing if it fails.
func printed(ctx context.Context, name string, args ...string) string {
	output, err := exec.CommandContext(ctx, name, args...).Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(output))
}

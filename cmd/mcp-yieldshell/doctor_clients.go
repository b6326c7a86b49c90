package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/yieldshell/mcp-yieldshell/mcp/clients"
)

const clientsArea = "clients"

// checkClients looks which clients start this server, and whether they will
// find it.
func (c *checkup) checkClients(ctx context.Context) {
	host, err := thisHost(c.sys)
	if err != nil {
		c.find(clientsArea, gradeWarning, "", "%v", err)
		return
	}
	found := false
	var without []string
	for _, client := range clients.All() {
		configured := false
		for _, file := range clientFiles(client, host) {
			entries, err := client.Entries(file)
			if err != nil {
				c.find(clientsArea, gradeWarning, "", "%s: %v", client.Title, err)
				continue
			}
			for _, entry := range entries {
				if entry.Runs(c.program.stable) {
					configured = true
					c.checkEntry(ctx, client, file, entry)
				}
			}
		}
		found = found || configured
		if _, err := os.Stat(client.UserFile(host).Path); err == nil && !configured {
			without = append(without, client.Title)
		}
	}
	if len(without) > 0 {
		c.find(clientsArea, gradeNote, "", "these have a configuration here without this server: %s", strings.Join(without, ", "))
	}
	if !found {
		c.find(clientsArea, gradeNote, "'mcp-yieldshell install CLIENT' configures one; without CLIENT it lists them", "no client is configured to start this server")
	}
}

// clientFiles are the files that a client would read here: its user's, and
// that of a project in this directory.
func clientFiles(client clients.Client, host clients.Host) []clients.File {
	files := []clients.File{client.UserFile(host)}
	dir, err := os.Getwd()
	if err != nil {
		return files
	}
	// In the home directory the two can be one file.
	if file, has := client.ProjectFile(dir); has && file.Path != files[0].Path {
		files = append(files, file)
	}
	return files
}

// checkEntry asks what a client will get to run.
func (c *checkup) checkEntry(ctx context.Context, client clients.Client, file clients.File, entry clients.Named) {
	where := fmt.Sprintf("%s: %q in %s", client.Title, entry.Name, file.Path)
	again := fmt.Sprintf("'mcp-yieldshell install %s' points it to this program", client.ID)
	if file.Shared {
		again = fmt.Sprintf("'mcp-yieldshell install --project %s' points it to this program", client.ID)
	}
	if entry.Name != clients.Name {
		again = fmt.Sprintf("the entry's command should be %s", c.program.stable)
	}
	path, err := exec.LookPath(entry.Command)
	switch {
	case entry.Disabled:
		c.find(clientsArea, gradeNote, "enable it in the client's settings", "%s is disabled", where)
	case err != nil:
		c.find(clientsArea, gradeProblem, again, "%s runs %s, which cannot be started: %v", where, entry.Command, cause(err))
	case entry.Launcher() && !sameFile(path, c.program.path):
		c.find(clientsArea, gradeNote, again, "%s runs %q, which chooses the program by itself", where, entry.Words())
	default:
		c.checkTarget(where, again, entry.Command, c.compare(ctx, path))
	}
	for _, problem := range problemsOf(entry.Env) {
		c.find(clientsArea, gradeWarning, "", "%s: %s", where, problem)
	}
}

// checkTarget judges the program that an entry leads to.
func (c *checkup) checkTarget(where, again, command string, target another) {
	switch {
	case !target.same:
		c.find(clientsArea, gradeWarning, again, "%s runs another program: %s", where, target)
	case !sameFile(target.path, c.program.path):
		c.find(clientsArea, gradeOK, "", "%s runs %s, which starts the same version", where, target.path)
	case !filepath.IsAbs(command):
		c.find(clientsArea, gradeOK, "", "%s runs this program by its name, which the client must find on its PATH", where)
	default:
		c.find(clientsArea, gradeOK, "", "%s runs this program", where)
	}
}

// cause is an error without the name that the message has already.
func cause(err error) error {
	var execErr *exec.Error
	if errors.As(err, &execErr) {
		err = execErr.Err
	}
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) {
		err = pathErr.Err
	}
	return err
}

package e2e

import "os/exec"

// run runs a program and returns what it printed.
func run(words ...string) (string, error) {
	out, err := exec.Command(words[0], words[1:]...).CombinedOutput()
	return string(out), err
}

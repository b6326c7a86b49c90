package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
)

// helper is what the test binary does when a command under test runs it.
func helper(name string, words []string) int {
	switch name {
	case "init":
		return careless(words)
	case "subreaper":
		return subreaper(words[0])
	case "drip":
		return drip(words)
	case "listen":
		return listen(words)
	}
	fmt.Fprintln(os.Stderr, "unknown helper", name)
	return 2
}

// subreaper adopts orphans, as a process manager does, and so stands between
// them and whoever else wants to adopt them. It leaves two sleeps that have
// left its session.
func subreaper(marker string) int {
	const prSetChildSubreaper = 36 // prctl(2)
	if _, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, prSetChildSubreaper, 1, 0); errno != 0 {
		fmt.Fprintln(os.Stderr, "prctl:", errno)
		return 1
	}
	script := fmt.Sprintf("setsid sh -c 'setsid sleep %s & setsid sleep %s &'", marker, marker)
	if err := exec.Command("sh", "-c", script).Run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	forever := make(chan os.Signal, 1)
	signal.Notify(forever, syscall.SIGUSR1)
	<-forever
	return 0
}

// careless runs a command and waits for it and for nothing else: orphans that
// it adopts as the first process of a namespace stay zombies.
func careless(words []string) int {
	c := exec.Command(words[0], words[1:]...)
	c.Stdin, c.Stdout, c.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err := os.Unsetenv("E2E_HELPER"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if err := c.Run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

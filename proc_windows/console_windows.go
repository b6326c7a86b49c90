package procwindows

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"

	"golang.org/x/sys/windows"
)

// helperBound is how long a helper may take. It only calls the console, but
// the console is a process too, and may hang; on a busy machine the start alone
// can take a second.
const helperBound = 4 * time.Second

// visitConsoles lets a helper process do what the request says.
func (b *backend) visitConsoles(ctx context.Context, req request) (reply, error) {
	ctx, cancel := context.WithTimeout(ctx, helperBound)
	defer cancel()
	req.Server = os.Getpid()
	in, err := json.Marshal(req)
	if err != nil {
		return reply{}, err
	}
	cmd := exec.CommandContext(ctx, b.self, helperArg)
	cmd.Stdin = bytes.NewReader(in)
	cmd.WaitDelay = time.Second
	// Without a console, so that it can attach to others.
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: windows.DETACHED_PROCESS}
	var out bytes.Buffer
	cmd.Stdout = &out
	if err := b.hear(cmd.Start); err != nil {
		return reply{}, fmt.Errorf("console helper: %w", err)
	}
	err = cmd.Wait()
	if ctx.Err() != nil {
		return reply{}, fmt.Errorf("console helper: %w", context.Cause(ctx))
	}
	if err != nil {
		return reply{}, fmt.Errorf("console helper: %w", err)
	}
	var r reply
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		return reply{}, fmt.Errorf("console helper: %w", err)
	}
	return r, nil
}

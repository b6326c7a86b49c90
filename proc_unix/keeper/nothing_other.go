//go:build linux && !amd64 && !arm64 && !mips && !mipsle && !mips64 && !mips64le

package keeper

import "syscall"

// setNoEffect makes sure only that commands do not inherit that a signal is
// ignored.
func setNoEffect(sig syscall.Signal) {
	if disposition(sig) == sigIgnore {
		setDisposition(sig, sigDefault)
	}
}

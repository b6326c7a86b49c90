//go:build linux && (mips || mipsle)

package sys

const (
	// System calls younger than Linux 5.0 have the same number everywhere, but for
	// an offset on MIPS.
	numPidfdSendSignal = 4424
	numPidfdOpen       = 4434
	numCloseRange      = 4436

	sigsetSize = 16
	sigBlock   = 1 // SIG_BLOCK
)

//go:build linux && (mips64 || mips64le)

package sys

const (
	// System calls younger than Linux 5.0 have the same number everywhere, but for
	// an offset on MIPS.
	numPidfdSendSignal = 5424
	numPidfdOpen       = 5434
	numCloseRange      = 5436

	sigsetSize = 16
	sigBlock   = 1 // SIG_BLOCK
)

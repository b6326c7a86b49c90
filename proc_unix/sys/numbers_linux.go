//go:build !mips && !mipsle && !mips64 && !mips64le

package sys

const (
	// System calls younger than Linux 5.0 have the same number everywhere, but for
	// an offset on MIPS.
	numPidfdSendSignal = 424
	numPidfdOpen       = 434
	numCloseRange      = 436

	sigsetSize = 8
	sigBlock   = 0 // SIG_BLOCK
)

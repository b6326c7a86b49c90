package e2e

import "testing"

// checkPeakMemory fails the test if the process ever used more than limit
// kilobytes. The race detector multiplies what a program uses.
func checkPeakMemory(t *testing.T, pid, limit int) {
	t.Helper()
	if raceDetector {
		limit *= 4
	}
	if peak := kilobytes(t, pid, "status", "VmHWM:"); peak > limit {
		t.Errorf("peak memory is %d kB, more than %d", peak, limit)
	}
}

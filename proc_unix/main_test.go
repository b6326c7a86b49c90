//go:build unix

package procunix

import (
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if IsSupervisor() {
		Supervise()
	}
	goleak.VerifyTestMain(m)
}

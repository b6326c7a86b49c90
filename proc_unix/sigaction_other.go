//go:build unix && (!linux || mips || mipsle || mips64 || mips64le)

package procunix

// resetIgnored does nothing here: signals that os/signal handles start with
// their default disposition, and others that the launcher had ignored stay
// ignored.
func resetIgnored() {}

//go:build unix && !linux

package procunix

// maxString: there is no limit on a single string, only on their sum.
const maxString = 0

// readable asks for the number of bytes in a pipe: FIONREAD of <sys/filio.h>,
// which has the same number on all BSDs and macOS.
const readable = 0x4004667f

// widen would make a pipe hold size bytes. Here, only the system can.
func widen(int, int) bool { return false }

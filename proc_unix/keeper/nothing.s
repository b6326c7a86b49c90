//go:build linux && (amd64 || arm64)

#include "textflag.h"

// A signal handler that does nothing. It is the kernel that calls it, and that
// has left the address to return to where a call would have.
TEXT ·nothing(SB), NOSPLIT|NOFRAME, $0-0
	RET

DATA ·nothingAddress(SB)/8, $·nothing(SB)
GLOBL ·nothingAddress(SB), RODATA, $8

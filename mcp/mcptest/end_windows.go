package mcptest

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// hurrySignal is a kill: there is no other signal to send.
var hurrySignal = os.Kill

// transient reports whether a start that failed so is worth another try: Wine
// answers so about once in a thousand starts.
func transient(err error) bool { return errors.Is(err, windows.ERROR_INTERNAL_ERROR) }

package mcptest

import "os"

// hurrySignal is a kill: there is no other signal to send.
var hurrySignal = os.Kill

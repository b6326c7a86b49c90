package e2e

import "sync/atomic"

// markers numbers what the tests of this run mark.
var markers atomic.Int64

#!/bin/sh
# wine-exec.sh PROGRAM ARGUMENT...: runs a program under Wine, with its output by
# way of a file. Every process under Wine inherits the standard error of the one
# that made Wine start it, services of Wine's own included; "go test" waits for
# the end of a pipe that one of these holds.
out=$(mktemp)
wine "$@" >"$out" 2>&1
code=$?
cat "$out"
rm -f "$out"
exit "$code"

#!/bin/sh
# Runs the tests for Windows under Wine, on a Debian machine with Go:
#
#     ci/check-windows.sh                   every package
#     ci/check-windows.sh ARGUMENT...       these arguments of go test instead
#
# On Windows itself, plain "go test ./..." does the same and more; README.md
# in this folder says what Wine cannot show.
set -eu
cd "$(dirname "$0")/.."

settings=$(ci/setup-wine.sh)
eval "$settings"
trap 'wineserver -k || true' EXIT # whatever a failed test has left

[ $# -gt 0 ] || set -- ./...
# Packages side by side would compete for the two seconds that some tests
# give the system; Wine's server is one process in any case.
GOOS=windows GOARCH=amd64 CGO_ENABLED=0 go test -overlay "$WINE_OVERLAY" -exec wine -p 1 -timeout 15m "$@"

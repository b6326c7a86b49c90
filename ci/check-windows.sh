#!/bin/sh
# Runs the tests for Windows under Wine, on a Debian machine with Go:
#
#     ci/check-windows.sh               every package, then the program's own
#                                       tests once more with a client on Linux
#     ci/check-windows.sh ARGUMENT...   go test with these arguments instead
#
# On Windows itself, plain "go test ./..." does the same and more; README.md
# in this folder says what Wine cannot show.
set -eu
cd "$(dirname "$0")/.."

. ci/need.sh
take_wine ci/check-windows.sh "$@"

settings=$(ci/setup-wine.sh)
eval "$settings"
trap 'wineserver -k || true' EXIT # whatever a failed test has left

export GOARCH=amd64 CGO_ENABLED=0 # of both sides

# under_wine ARGUMENT...: go test for Windows. Packages take turns: Wine's server
# is a single thread, and its cmd loses children under load.
under_wine() {
	GOOS=windows go test -overlay "$WINE_OVERLAY" -exec "$PWD/ci/wine-exec.sh" -p 1 -timeout 15m "$@"
}

if [ $# -gt 0 ]; then
	under_wine "$@"
	exit
fi

e2e=./cmd/mcp-yieldshell/e2e
# shellcheck disable=SC2046 # package paths hold no spaces
under_wine $(GOOS=windows go list ./... | grep -v '/e2e$')

# The tests of the whole program build it, but there is no go command in Wine.
# Four at a time, again for the sake of its server.
built=$(mktemp -d)
trap 'rm -rf "$built"; wineserver -k || true' EXIT
GOOS=windows go build -o "$built/mcp-yieldshell.exe" ./cmd/mcp-yieldshell
YIELDSHELL_TEST_BINARY=$(winepath -w "$built/mcp-yieldshell.exe")
export YIELDSHELL_TEST_BINARY
under_wine -parallel 4 "$e2e"

# Programs that a client on Linux cannot be itself.
GOOS=windows go test -c -o "$built/e2e.exe" "$e2e"
YIELDSHELL_TEST_HELPER=$(winepath -w "$built/e2e.exe")
export YIELDSHELL_TEST_HELPER
echo "== a client on Linux"
YIELDSHELL_TEST_BINARY=$built/mcp-yieldshell.exe YIELDSHELL_TEST_EXEC=wine go test -parallel 4 "$e2e"

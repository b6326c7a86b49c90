#!/bin/sh
# Makes a snapshot of a release from the last commit and tests its files, on a
# Debian machine with Go, Python and npm:
#
#     ci/check-release.sh [FOLDER]
#
# FOLDER gets the release's files; by default they are removed afterwards. What
# has no tool here is left out, and said: the image needs a Docker daemon, the
# SBOMs need syft. Signing needs an identity, so only the real release signs.
set -eu
cd "$(dirname "$0")/.."
. ci/need.sh

need git git
need gzip gzip
need man man-db
need bsdtar libarchive-tools
need go golang
need npm npm

GORELEASER=github.com/goreleaser/goreleaser/v2@v2.15.1
REGISTRY=github.com/modelcontextprotocol/registry@v1.8.9

tools=${XDG_CACHE_HOME:-$HOME/.cache}/mcp-yieldshell-release
mkdir -p "$tools"
[ -x "$tools/goreleaser" ] || GOBIN=$tools go install "$GORELEASER"
goreleaser=$tools/goreleaser

"$goreleaser" check

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

skip=sign
docker info >/dev/null 2>&1 || skip=$skip,docker
command -v syft >/dev/null 2>&1 || skip=$skip,sbom
echo "left out of this snapshot: $skip"

# A clone holds what is committed, and lies in another folder every time.
snapshot() { # FOLDER COMMAND...
	git clone -q --no-local . "$1"
	(
		cd "$1"
		shift
		"$goreleaser" "$@" --snapshot --clean
	)
}
snapshot "$work/one" release --skip="$skip"
dist=$work/one/dist

version=$(sed -n 's/.*"version":"\([^"]*\)".*/\1/p' "$dist/metadata.json")
ci/pack-release.sh "$dist" "$version"

echo "== the same commit gives the same binary"
snapshot "$work/two" build --single-target --skip=post-hooks --output "$work/again"
host=$(go env GOOS)_$(go env GOARCH)
cmp "$work/again" "$(echo "$dist/mcp-yieldshell_${host}_"*/mcp-yieldshell)"

echo "== server.json fits the registry's schema"
registry=$(go mod download -json "$REGISTRY" | sed -n 's/^\t"Dir": "\(.*\)",$/\1/p')
go run ./ci/pack schema -schema "$registry/internal/validators/schemas/2025-12-11.json" "$dist/server.json"

ci/test-release.sh "$dist" "$version"

if [ $# -gt 0 ]; then
	rm -rf "$1"
	mv "$dist" "$1"
fi

#!/bin/sh
# Makes a snapshot of a release from the last commit and tests its files, on a
# Debian machine with Go, Python and npm:
#
#     ci/check-release.sh [FOLDER]
#
# FOLDER gets the release's files; without it they are removed afterwards. What
# has no tool here is left out, and said: the image needs a Docker daemon, the
# SBOMs need syft. Signing needs an identity, so a stand-in for cosign notes what
# it is to sign.
set -eu
folder=${1:+$(realpath -m "$1")}
cd "$(dirname "$0")/.."
. ci/need.sh

need git git
need gzip gzip
need man man-db
need bsdtar libarchive-tools
need npm npm
python3 -c 'import ensurepip' 2>/dev/null || need ensurepip python3-venv
[ "$(id -u)" -ne 0 ] || need wine wine wine64

GORELEASER=v2.15.1
REGISTRY=github.com/modelcontextprotocol/registry@v1.8.9

tools=${XDG_CACHE_HOME:-$HOME/.cache}/mcp-yieldshell-release/goreleaser-$GORELEASER
goreleaser=$tools/goreleaser
[ -x "$goreleaser" ] || GOBIN=$tools go install "github.com/goreleaser/goreleaser/v2@$GORELEASER"

"$goreleaser" check

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

skip=
docker info >/dev/null 2>&1 || skip=docker
command -v syft >/dev/null 2>&1 || skip=${skip:+$skip,}sbom
echo "left out of this snapshot: ${skip:-nothing}"

mkdir "$work/bin"
cat >"$work/bin/cosign" <<'SH'
#!/bin/sh
# cosign sign-blob --bundle=SIGNATURE FILE --yes
sha256sum <"$3" >"${2#--bundle=}"
SH
chmod +x "$work/bin/cosign"

# A clone holds what is committed, and nothing changes in it meanwhile.
git clone -q --no-local . "$work/one"
cd "$work/one"
PATH=$work/bin:$PATH "$goreleaser" release --snapshot --clean ${skip:+--skip="$skip"}
version=$(sed -n 's/.*"version":"\([^"]*\)".*/\1/p' dist/metadata.json)
ci/pack-release.sh dist "$version"

echo "== what was signed is what is there"
sha256sum <dist/checksums.txt | cmp - dist/checksums.txt.sigstore.json
rm dist/checksums.txt.sigstore.json

echo "== docs/install.md says how to build the same bytes, in any folder"
git clone -q --no-local . "$work/two"
(
	cd "$work/two"
	CGO_ENABLED=0 go build -trimpath -buildvcs=true -ldflags "-s -w \
		-X main.version=$version \
		-X main.commit=$(git rev-parse HEAD) \
		-X main.date=$(TZ=UTC git log -1 --date=format-local:%Y-%m-%dT%H:%M:%SZ --format=%cd)" \
		./cmd/mcp-yieldshell
)
cmp "$work/two/mcp-yieldshell" dist/mcp-yieldshell_"$(go env GOOS)_$(go env GOARCH)"_*/mcp-yieldshell

echo "== server.json fits the registry's schema"
registry=$(go mod download -json "$REGISTRY" | sed -n 's/^\t"Dir": "\(.*\)",$/\1/p')
go run ./ci/pack schema -schema "$registry/internal/validators/schemas/2025-12-11.json" dist/server.json

ci/test-release.sh dist "$version"

if [ -n "$folder" ]; then
	mkdir -p "$folder"
	cp -r dist/. "$folder"
fi

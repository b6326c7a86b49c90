#!/bin/sh
# Tests the files of a release as their users meet them: unpacks or installs
# each one that this machine can run, without a network, and asks the program
# for its version and for one call.
#
#     ci/test-release.sh DIST VERSION
#
# The archive for Windows runs under Wine if wine is installed. uv and mcpb are
# fetched by pip and npm into the user's cache.
set -eu
cd "$(dirname "$0")/.."

dist=$(cd "$1" && pwd)
version=$2
commit=$(git rev-parse HEAD)
pypi=${PYPI_NAME:-mcp-yieldshell}
npm=${NPM_NAME:-mcp-yieldshell}

UV=0.13.8
MCPB=2.1.2

cache=${XDG_CACHE_HOME:-$HOME/.cache}/mcp-yieldshell-release
uv=$cache/uv-$UV/bin/uv
mcpb=$cache/mcpb-$MCPB/node_modules/.bin/mcpb
[ -x "$uv" ] || { python3 -m venv "$cache/uv-$UV" && "$cache/uv-$UV/bin/pip" install -q "uv==$UV"; }
[ -x "$mcpb" ] || npm install --silent --no-fund --no-audit --prefix "$cache/mcpb-$MCPB" "@anthropic-ai/mcpb@$MCPB"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export HOME="$work/home" npm_config_cache="$work/npm-cache" UV_CACHE_DIR="$work/uv-cache" UV_OFFLINE=1
mkdir "$HOME"

os=$(go env GOOS)
arch=$(go env GOARCH)
case $arch in
amd64) machine=x86_64 node=x64 ;;
arm64) machine=aarch64 node=arm64 ;;
*) echo "ci/test-release.sh: no table for $arch" >&2 && exit 1 ;;
esac

story() { echo "== $*"; }

fail() {
	echo "ci/test-release.sh: $*" >&2
	exit 1
}

# works COMMAND...: the program names the version and the commit, serves under
# that version, and runs a command.
works() {
	said=$("$@" version)
	case $said in
	"mcp-yieldshell $version commit $commit built "*) ;;
	*) fail "$*: version says: $said" ;;
	esac
	said=$("$@" call execute '{"command": "echo hello", "side_effects": ["NONE"]}')
	case $said in
	*"status: completed"*"stdout:"*hello*) ;;
	*) fail "$*: the call says: $said" ;;
	esac
	said=$(printf '%s\n' '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}' | "$@")
	case $said in
	*'"serverInfo":{'*"\"version\":\"$version\""*) ;;
	*) fail "$*: initialize says: $said" ;;
	esac
	echo "   $* works"
}

story "checksums"
# Users find all files in one folder.
mkdir "$work/download"
find "$dist" "$dist/mcpb" -maxdepth 1 -type f -exec cp {} "$work/download" \;
(cd "$work/download" && sha256sum -c --quiet checksums.txt)
echo "   $(wc -l <"$dist/checksums.txt") files"

story "no template is left in a package or manifest"
if grep -arl '{{ *\.Env' "$dist"/*.deb "$dist"/*.rpm "$dist"/*.apk "$dist"/*.zst \
	"$dist/homebrew" "$dist/scoop" "$dist/winget" "$dist/server.json"; then
	fail "those above hold one"
fi

story "every binary is static, trimmed, and of its target"
for binary in "$dist"/mcp-yieldshell_*/mcp-yieldshell*; do
	built=$(go version -m "$binary")
	target=$(basename "$(dirname "$binary")")
	for setting in CGO_ENABLED=0 -trimpath=true vcs.revision="$commit" vcs.modified=false; do
		case $built in
		*"$setting"*) ;;
		*) fail "$target: not built with $setting" ;;
		esac
	done
	named=$(echo "$built" | sed -n 's/^\tbuild\tGOOS=//p')_$(echo "$built" | sed -n 's/^\tbuild\tGOARCH=//p')
	case $target in
	mcp-yieldshell_"$named"_*) ;;
	*) fail "$target is built for $named" ;;
	esac
done
case $(ldd "$dist/mcp-yieldshell_${os}_${arch}"_*/mcp-yieldshell 2>&1) in
*"not a dynamic executable"* | *"statically linked"*) ;;
*) fail "the binary for this machine is dynamic" ;;
esac

story "the archive"
mkdir "$work/archive"
tar -xzf "$dist/mcp-yieldshell_${version}_${os}_${arch}.tar.gz" -C "$work/archive"
works "$work/archive/mcp-yieldshell"
for file in LICENSE README.md CHANGELOG.md man/mcp-yieldshell.1 \
	completions/mcp-yieldshell.bash completions/mcp-yieldshell.zsh \
	completions/mcp-yieldshell.fish completions/mcp-yieldshell.ps1; do
	[ -s "$work/archive/$file" ] || fail "the archive lacks $file"
done
MANWIDTH=100 man -l "$work/archive/man/mcp-yieldshell.1" | grep -q "$version" || fail "the manual page does not name the version"

story "the archive for Windows"
if command -v wine >/dev/null 2>&1; then
	mkdir "$work/windows"
	bsdtar -xf "$dist/mcp-yieldshell_${version}_windows_amd64.zip" -C "$work/windows"
	(
		settings=$(ci/setup-wine.sh "$cache/wine")
		eval "$settings"
		trap 'wineserver -k' EXIT
		works wine "$work/windows/mcp-yieldshell.exe"
	)
else
	echo "   left out: wine is not installed"
fi

story "packages for Linux"
# Each holds the same files; what differs is the wrapping.
for format in deb rpm apk pkg.tar.zst; do
	package=$dist/mcp-yieldshell_${version}_${os}_${arch}.$format
	root=$work/$format
	mkdir "$root"
	case $package in
	*.deb) dpkg-deb -x "$package" "$root" ;;
	*) bsdtar -xf "$package" -C "$root" ;;
	esac
	works "$root/usr/bin/mcp-yieldshell"
	for file in man/man1/mcp-yieldshell.1.gz bash-completion/completions/mcp-yieldshell fish/vendor_completions.d/mcp-yieldshell.fish; do
		[ -s "$root/usr/share/$file" ] || fail "$package lacks $file"
	done
done

story "Python: uv tool, uvx and pip"
wheel=$(echo "$dist"/pypi/*"$machine"*.whl)
release=$(basename "$wheel" | cut -d- -f2)
UV_TOOL_DIR=$work/tools UV_TOOL_BIN_DIR=$work/bin "$uv" tool install -q --no-index --find-links "$dist/pypi" "$pypi==$release"
works "$work/bin/mcp-yieldshell"
works "$uv" tool run -q --no-index --find-links "$dist/pypi" --from "$pypi==$release" mcp-yieldshell
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q --disable-pip-version-check --no-index --find-links "$dist/pypi" "$pypi==$release"
works "$work/venv/bin/mcp-yieldshell"
"$work/venv/bin/pip" uninstall -q -y "$pypi"
[ ! -e "$work/venv/bin/mcp-yieldshell" ] || fail "pip left the binary behind"

story "npm"
mkdir "$work/npm"
npm install --silent --no-fund --no-audit --offline --prefix "$work/npm" \
	"$dist/npm/$(echo "${npm#@}" | tr / -)-$version.tgz" "$dist"/npm/*-"$(basename "$npm")-$os-$node-$version".tgz
works "$work/npm/node_modules/.bin/mcp-yieldshell"
(cd "$work/npm" && works npx --offline "$npm")

story "MCP bundles"
bundles=0
for bundle in "$dist"/mcpb/*.mcpb; do
	rm -rf "$work/bundle"
	bundles=$((bundles + 1))
	mkdir "$work/bundle"
	bsdtar -xf "$bundle" -C "$work/bundle"
	"$mcpb" validate "$work/bundle/manifest.json" >"$work/validated" || { cat "$work/validated" && fail "$bundle"; }
	case $bundle in *_"${os}_${arch}.mcpb") works "$work/bundle/server/mcp-yieldshell" ;; esac
done
echo "   $bundles bundles are valid"

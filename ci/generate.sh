#!/bin/sh
# Makes the manual page and the completions of the shells, as the program prints
# them:
#
#     ci/generate.sh FOLDER [VERSION [TIME]]
#
# The archives and packages of a release hold these files.
set -eu
cd "$(dirname "$0")/.."

folder=$1
flags="-X main.version=${2:-} -X main.date=${3:-}"

rm -rf "$folder"
mkdir -p "$folder/man" "$folder/man.gz" "$folder/completions"
program=$folder/mcp-yieldshell
go build -ldflags "$flags" -o "$program" ./cmd/mcp-yieldshell
"$program" man >"$folder/man/mcp-yieldshell.1"
gzip -9 -n -c "$folder/man/mcp-yieldshell.1" >"$folder/man.gz/mcp-yieldshell.1.gz"
for shell in bash zsh fish; do
	"$program" completion "$shell" >"$folder/completions/mcp-yieldshell.$shell"
done
"$program" completion powershell >"$folder/completions/mcp-yieldshell.ps1"
rm "$program"

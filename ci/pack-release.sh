#!/bin/sh
# Makes what names all files of a release, once goreleaser has made them: the
# npm package that people install, and the MCP registry's server.json.
#
#     ci/pack-release.sh DIST VERSION
#
# PYPI_NAME and NPM_NAME are the names on those registries. A real release leaves
# empty the one where it is not published, and server.json leaves it out.
set -eu
cd "$(dirname "$0")/.."

pypi=${PYPI_NAME-mcp-yieldshell}
npm=${NPM_NAME-mcp-yieldshell}
go run ./ci/pack release \
	-version "$2" \
	-time "$(git log -1 --format=%ct)" \
	-repository "${GITHUB_REPOSITORY:-yieldshell/mcp-yieldshell}" \
	-pypi "${pypi:-mcp-yieldshell}" \
	-npm "${npm:-mcp-yieldshell}" \
	-registries "mcpb,oci${pypi:+,pypi}${npm:+,npm}" \
	-checksums "$1/checksums.txt" \
	-out "$1"

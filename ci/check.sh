#!/bin/sh
# Everything that a change must pass, on a Debian machine with Go:
#
#     ci/check.sh            install format vet lint vuln test clients windows
#     ci/check.sh STEP...    some of these; quick: the short tests; release: a
#                            snapshot of a release, and tests of it; soak: 10
#                            minutes of load; fuzz: each target for a minute
#
# windows tests for Windows, under Wine. On Windows (with Git's bash) and on
# macOS the steps format, vet, lint and test work as well.
#
# It installs what it uses. Each step prints its name and how long it took.
set -eu
cd "$(dirname "$0")/.."

STATICCHECK=honnef.co/go/tools/cmd/staticcheck@v0.8.2
GOVULNCHECK=golang.org/x/vuln/cmd/govulncheck@v1.9.0
# Each backend, and each system that shares it but has files of its own.
VET="linux/amd64 linux/arm darwin/arm64 windows/amd64 windows/arm64 windows/386 freebsd/amd64 openbsd/amd64 netbsd/amd64 dragonfly/amd64"
LINT="linux/amd64 darwin/arm64 freebsd/amd64 windows/amd64 windows/arm64 windows/386"

. ci/need.sh

step_install() {
	need gcc gcc # the race detector is linked with it
	need /usr/include/stdlib.h libc6-dev
	need python3 python3-minimal # the policy tests compare expressions with it
	need setsid util-linux
	need /usr/lib/postgresql postgresql # a real daemon for the containment tests
	go mod download
}

step_format() {
	unformatted=$(gofmt -l .)
	if [ -n "$unformatted" ]; then
		printf 'not formatted:\n%s\n' "$unformatted" >&2
		exit 1
	fi
	go mod tidy -diff
}

step_vet() {
	for target in $VET; do
		echo "  $target"
		GOOS=${target%/*} GOARCH=${target#*/} CGO_ENABLED=0 go vet ./...
	done
}

step_lint() {
	tools=$(mktemp -d)
	trap 'rm -rf "$tools"' EXIT
	GOBIN=$tools go install "$STATICCHECK"
	for target in $LINT; do
		echo "  $target"
		# What only another system's files use is no waste on this one.
		checks=inherit
		case $target in darwin/* | freebsd/*) checks=inherit,-U1000 ;; esac
		GOOS=${target%/*} GOARCH=${target#*/} CGO_ENABLED=0 "$tools/staticcheck" -checks "$checks" ./...
	done
}

# Known vulnerabilities in what the program reaches. The list of them is on the
# network: where that cannot be reached, nothing has been checked, and the step
# says so. A workflow on GitHub can reach it, and fails otherwise.
step_vuln() (
	tools=$(mktemp -d)
	trap 'rm -rf "$tools"' EXIT
	GOBIN=$tools go install "$GOVULNCHECK"
	for target in linux windows; do
		status=0
		GOOS=$target CGO_ENABLED=0 "$tools/govulncheck" ./... >"$tools/report" 2>&1 || status=$?
		if [ "$status" -eq 0 ]; then
			echo "  $target: $(tail -n 1 "$tools/report")"
		elif [ -z "${GITHUB_ACTIONS:-}" ] && grep -q 'fetching vulnerabilities' "$tools/report"; then
			echo "  NOT CHECKED: $(tail -n 1 "$tools/report")" >&2
			break
		else
			cat "$tools/report" >&2
			exit 1
		fi
	done
)

step_test() {
	# One package at a time: two of them load both cores, and wait for real
	# processes to end within real bounds.
	CGO_ENABLED=1 go test -race -p 1 -count=1 -timeout 30m ./...
}

# The same without those that take long: storms, loads, graces of 10 s.
step_quick() {
	CGO_ENABLED=1 go test -race -short -p 1 -timeout 20m ./...
}

step_windows() {
	ci/check-windows.sh
	ci/check-clients.sh windows
}

step_release() {
	ci/check-release.sh
}

# The MCP clients of others, and the official conformance suite.
step_clients() {
	ci/check-clients.sh
}

step_soak() {
	go run ./ci/soak -for 10m
}

step_fuzz() {
	ci/fuzz.sh 60s
}

[ $# -gt 0 ] || set -- install format vet lint vuln test clients windows
for step; do
	case $step in
	install | format | vet | lint | vuln | test | clients | quick | windows | release | soak | fuzz) ;;
	*)
		echo "ci/check.sh: unknown step $step; the steps are install format vet lint vuln test clients quick windows release soak fuzz" >&2
		exit 2
		;;
	esac
	echo "== $step"
	begun=$(date +%s)
	"step_$step"
	echo "== $step: $(($(date +%s) - begun)) s"
done

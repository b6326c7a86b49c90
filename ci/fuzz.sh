#!/bin/sh
# Runs the fuzz targets, each for a while:
#
#     ci/fuzz.sh [TIME] [REGEXP]      30s for each target that matches, unless
#                                     told otherwise
#
# An input that fails is kept in the package's testdata/fuzz by the go command,
# and is from then on part of the tests. So are those there that have reached
# code which no other did.
set -eu
cd "$(dirname "$0")/.."

time=${1:-30s}
wanted=${2:-.}
failed=
report=$(mktemp)
trap 'rm -f "$report"' EXIT
for package in $(go list ./...); do
	folder=$(go list -f '{{.Dir}}' "$package")
	for target in $(sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\)(.*/\1/p' "$folder"/*_test.go 2>/dev/null | grep -E "$wanted" || true); do
		# A target for another system is not among those that are built here.
		go test -list "^$target\$" "$package" | grep -q "^$target\$" || continue
		echo "== $target"
		if ! go test -run '^$' -fuzz "^$target\$" -fuzztime "$time" "$package" >"$report" 2>&1; then
			cat "$report"
			failed=yes
		fi
		grep '^fuzz: elapsed' "$report" | tail -n 1
	done
done
[ -z "$failed" ] || exit 1

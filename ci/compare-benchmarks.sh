#!/bin/sh
# Compares the benchmarks of the working tree with those of a revision:
#
#     ci/compare-benchmarks.sh REVISION [PACKAGE...]
#
# The two take turns, ROUNDS times (10 unless set), so that the machine's pace
# is the same for both, and benchstat says which differences are more than
# chance. BENCH is a regular expression for the names of benchmarks.
set -eu
cd "$(dirname "$0")/.."

BENCHSTAT=golang.org/x/perf/cmd/benchstat@v0.0.0-20260908200009-22c9c6c9d4da

if [ $# -eq 0 ]; then
	echo "usage: ci/compare-benchmarks.sh REVISION [PACKAGE...]" >&2
	exit 2
fi
revision=$(git rev-parse --verify "$1^{commit}")
shift
[ $# -gt 0 ] || set -- ./...

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/old"
git archive "$revision" | tar -x -C "$work/old"

# measure TREE OUTPUT PACKAGE...: one round.
measure() (
	output=$2
	cd "$1"
	shift 2
	go test -run '^$' -bench "${BENCH:-.}" -benchmem "$@" >>"$output"
)

round=0
while [ "$round" -lt "${ROUNDS:-10}" ]; do
	measure "$work/old" "$work/old.txt" "$@"
	measure "$PWD" "$work/new.txt" "$@"
	round=$((round + 1))
done
go run "$BENCHSTAT" "$work/old.txt" "$work/new.txt"

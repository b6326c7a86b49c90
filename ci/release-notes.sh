#!/bin/sh
# Prints what CHANGELOG.md says of a version; it is an error if that is nothing.
#
#     ci/release-notes.sh v1.2.3
set -eu
cd "$(dirname "$0")/.."

notes=$(awk -v heading="## ${1#v}" '
	/^## / { found = ($0 == heading || index($0, heading " ") == 1); next }
	found' CHANGELOG.md)
if [ -z "$notes" ]; then
	echo "ci/release-notes.sh: CHANGELOG.md says nothing of ${1#v}" >&2
	exit 1
fi
printf '%s\n' "$notes"

# shellcheck shell=sh
# For scripts to source.

# need COMMAND_OR_FILE PACKAGE... installs Debian packages unless the command or
# file is there already, which takes root.
need() {
	needed=$1
	shift
	if command -v "$needed" >/dev/null 2>&1 || [ -e "$needed" ]; then
		return
	fi
	if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null 2>&1; then
		echo "$0: $needed is missing; on Debian: apt-get install $*" >&2
		exit 1
	fi
	[ -n "${apt_updated:-}" ] || apt-get update -qq >/dev/null
	apt_updated=1
	DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >/dev/null
}

# take_wine SCRIPT ARGUMENT... runs the script once more from its beginning, as
# the only one that uses Wine's prefix: at its end a run ends everything in it.
# Memory is not laid out at random there: Debian's Wine needs fixed addresses
# and does not reserve them, so about one process in 500 came to nothing. Where
# the system does not allow that, it goes without.
take_wine() {
	[ -z "${WINE_LOCKED:-}" ] || return 0
	fixed="setarch -R"
	$fixed true 2>/dev/null || fixed=
	cache=${XDG_CACHE_HOME:-$HOME/.cache}
	mkdir -p "$cache"
	# shellcheck disable=SC2086 # words
	WINE_LOCKED=1 exec flock --close "$cache/mcp-yieldshell-wine.lock" $fixed "$@"
}

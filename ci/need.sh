# shellcheck shell=sh
# For scripts to source: need COMMAND_OR_FILE PACKAGE... installs Debian packages
# unless the command or file is there already, which takes root.
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

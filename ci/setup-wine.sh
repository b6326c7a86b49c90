#!/bin/sh
# Makes a Wine prefix in which this project's tests for Windows run, on a
# Debian machine, and prints the settings that they need:
#
#     settings=$(ci/setup-wine.sh [FOLDER]) && eval "$settings"
#     GOOS=windows go test -overlay "$WINE_OVERLAY" -exec wine ./...
#     wineserver -k        # ends what runs in the prefix
#
# FOLDER keeps the prefix for the next time; the default is in the user's
# cache. It installs Debian's wine, wine64 and gcc-mingw-w64-x86-64 if they are
# missing, which takes root.
set -eu

# shellcheck source=ci/need.sh
. "$(dirname "$0")/need.sh"

folder=${1:-${XDG_CACHE_HOME:-$HOME/.cache}/mcp-yieldshell-wine}
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)

say() { echo "ci/setup-wine.sh: $*" >&2; }

need wine wine wine64
need x86_64-w64-mingw32-gcc gcc-mingw-w64-x86-64

# Without a UTF-8 locale Wine mangles file names. mscoree and mshtml would ask
# to download Mono and Gecko.
export WINEPREFIX="$folder/prefix" WINEDEBUG=-all WINEDLLOVERRIDES="mscoree,mshtml=" LC_ALL=C.UTF-8

if [ ! -f "$folder/made" ]; then
	say "making the prefix"
	rm -rf "$WINEPREFIX"
	wineboot -i >/dev/null 2>&1
	wineserver -w
	# Every Go program needs ProcessPrng, which Wine has from 8.13 on.
	library=$WINEPREFIX/drive_c/windows/system32/bcryptprimitives.dll
	if [ ! -e "$library" ]; then
		cat >"$folder/prng.c" <<-'C'
			#include <windows.h>
			BOOLEAN NTAPI SystemFunction036(PVOID, ULONG); /* RtlGenRandom */
			__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE data, SIZE_T size) {
				return SystemFunction036(data, (ULONG)size);
			}
		C
		x86_64-w64-mingw32-gcc -shared -s -o "$library" "$folder/prng.c" -ladvapi32
	fi
	: >"$folder/made"
fi

# Wine starts explorer.exe for whoever is the first to ask for the desktop, and
# ends it after the last. Started by a command, it would be in that command's
# job and end with it, while others are asking for the desktop. This program
# keeps the desktop.
keeper=$folder/desktop.exe
if [ ! -e "$keeper" ]; then
	cat >"$folder/desktop.c" <<-'C'
		#include <stdio.h>
		#include <windows.h>
		int main(void) {
			printf("%d\n", GetDesktopWindow() != NULL);
			fflush(stdout);
			Sleep(INFINITE);
		}
	C
	x86_64-w64-mingw32-gcc -s -o "$keeper" "$folder/desktop.c" -luser32
fi

# os.RemoveAll, and with it the end of t.TempDir, uses a call that Wine 8
# answers with STATUS_NOT_IMPLEMENTED, which is not one of the answers that the
# standard library falls back on. Tests are built with one that does.
source=$(go env GOROOT)/src/internal/syscall/windows/at_windows.go
patched=$folder/at_windows.go
sed 's|^\t\tSTATUS_NOT_SUPPORTED:|\t\tSTATUS_NOT_SUPPORTED, NTStatus(0xC0000002):|' "$source" >"$patched"
if cmp -s "$source" "$patched"; then
	say "the change to $source did not apply"
	exit 1
fi
printf '{"Replace":{"%s":"%s"}}\n' "$source" "$patched" >"$folder/overlay.json"

# A server that stays makes each start of a program five times as fast. Its
# services must not be started by a test: they would inherit its output pipe,
# and go test would wait for them.
wineserver -p 2>/dev/null || true # it runs already
wine cmd /c exit </dev/null >/dev/null 2>&1
(wine "$keeper" </dev/null 2>/dev/null &) | head -n 1 >/dev/null

# quote TEXT: one word for a shell.
quote() { printf "'%s'" "$(printf '%s' "$1" | sed "s/'/'\\\\''/g")"; }

for name in WINEPREFIX WINEDEBUG WINEDLLOVERRIDES LC_ALL; do
	eval "value=\$$name"
	# shellcheck disable=SC2154 # set by eval
	echo "export $name=$(quote "$value")"
done
echo "export WINE_OVERLAY=$(quote "$folder/overlay.json")"

#!/bin/bash
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# check_includes.sh [DIR]: includes go down only, one library has one user.
#
#     cmd -> analyze -> record, edit -> trace, model -> store, probe -> format, ring, symbol -> base
#
# check_circles.py lists, folder by folder, what may include what, and finds circles of files.
# Prints one "ok" or "not ok" line per rule, with the offending lines.
set -u

here=$(cd "$(dirname "$0")" && pwd)
cd "${1:-$here/..}" || exit 1
status=0

verdict()
{
	if [ -z "$2" ]; then
		echo "ok $1"
	else
		echo "not ok $1: $(wc -l <<<"$2") offending"
		sed 's/^/    /' <<<"$2"
		status=1
	fi
}

# only_in NAME PATTERN DIRS...: a header that only the named directories may include
only_in()
{
	local name=$1 pattern=$2 bad dir args=()

	shift 2
	for dir in "$@"; do
		args+=(-e "^$dir/")
	done
	bad=$(grep -nH -E "^[[:space:]]*#[[:space:]]*include[[:space:]]*[<\"]$pattern[>\"]" \
		$(find cmd analyze src -name '*.[ch]' 2>/dev/null) /dev/null | grep -v "${args[@]}")
	verdict "$name" "$bad"
}

"$here/check_circles.py" . || status=1
only_in "sqlite3.h only in analyze" 'sqlite3(ext)?\.h' analyze
only_in "zstd.h only in the codec" 'zstd[a-z_]*\.h' src/format
only_in "libbpf only in probe" 'bpf/(lib)?(bpf|btf)[a-z_]*\.h' src/probe
only_in "libzip only in the store" 'zip[a-z]*\.h' src/store
only_in "libedit only in the shell of sql" 'editline/.*\.h' cmd
only_in "jansson only in the server of mcp" 'jansson\.h' cmd
only_in "libelf, libdw and libiberty only in symbol" '(libelf|gelf|(elfutils|libiberty)/.*)\.h' src/symbol
only_in "the wire only at its ends" '(\.\./)*bpf/wire\.h' src/ring src/probe src/record
only_in "the inside of an open trace only in its reader" 'trace/trace_state\.h' src/trace
only_in "only cmd knows the command line" 'cmd/.*' cmd

bad=$(find cmd analyze src bpf \( -name 'utils.[ch]' -o -name 'util.[ch]' -o -name 'common.[ch]' \
	-o -name 'helpers.[ch]' \) 2>/dev/null)
verdict "no utils.h, no common.h" "$bad"

# Nothing swaps bytes: a machine of the other order is told so by the first header that it matters to.
read -ra cc <<<"${CC:-cc}"
bad=$("${cc[@]}" -fsyntax-only -U__BYTE_ORDER__ -D__BYTE_ORDER__=__ORDER_BIG_ENDIAN__ -Isrc -x c \
	src/format/chunk.h 2>&1) &&
	bad='a build for a big-endian machine is not refused'
grep -q 'error.*traces are little-endian' <<<"$bad" && bad=
verdict "a build for a big-endian machine is refused by name" "$bad"

# The library neither prints nor exits; a child process that it forked may end.
bad=$(grep -nE '(^|[^a-z_.>])(printf|puts|putchar|perror|exit|_exit|abort)[[:space:]]*\(' \
	$(find src analyze -name '*.c' 2>/dev/null) /dev/null |
	grep -vE '^src/(record/[a-z_/]*|base/privilege)\.c:[0-9]+:.*_exit[[:space:]]*\(' | grep -vE ':[0-9]+:[[:space:]]*/?\*')
verdict "the library never prints, never exits" "$bad"

# Somebody else's file may shrink or change at any time: read() says so, a mapping ends the process.
bad=$(grep -nE '(^|[^a-z_])mmap[[:space:]]*\(|_MMAP' $(find src/symbol src/record -name '*.c' 2>/dev/null) /dev/null)
verdict "files of the workload are never mapped" "$bad"

exit $status

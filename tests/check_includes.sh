#!/bin/bash
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# check_includes.sh [DIR]: includes go down only, one library has one user.
#
#     cmd -> analyze -> record, edit -> trace, model -> store, probe -> format, ring, symbol -> base
#
# A directory may include itself and any layer below its own, not its neighbours in the same layer.
# Prints one "ok" or "not ok" line per rule, with the offending lines.
set -u

cd "${1:-$(dirname "$0")/..}" || exit 1
status=0

# Layer of a directory; higher may include lower. Same number: neighbours, which may not meet.
layer_of()
{
	case $1 in
	cmd) echo 70 ;;
	analyze) echo 60 ;;
	record | edit) echo 50 ;;
	trace | model) echo 40 ;;
	store | probe) echo 30 ;;
	format | ring | symbol) echo 20 ;;
	base) echo 10 ;;
	*) echo 0 ;;
	esac
}

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

# Prints "file:line: directory included-path" for quoted includes of every C file.
quoted_includes()
{
	grep -nH -E '^[[:space:]]*#[[:space:]]*include[[:space:]]*"' \
		$(find cmd analyze src -name '*.[ch]' 2>/dev/null) /dev/null |
		sed -E 's/^([^:]+):([0-9]+):[^"]*"([^"]+)".*/\1 \2 \3/'
}

check_direction()
{
	local bad='' file line path from to included

	while read -r file line path; do
		from=${file#src/}
		from=${from%%/*}
		included=${path#src/}
		case $included in
		*/*) to=${included%%/*} ;;
		*) to=$from ;;		# beside the file, or generated
		esac
		[ "$to" = bpf ] && continue	# the wire: a rule of its own
		if [ "$(layer_of "$to")" -eq 0 ]; then
			bad+="$file:$line: includes $path, which is in no layer"$'\n'
		elif [ "$to" != "$from" ] && [ "$(layer_of "$to")" -ge "$(layer_of "$from")" ]; then
			bad+="$file:$line: $from includes $path"$'\n'
		fi
	done < <(quoted_includes)
	verdict "includes go down only" "${bad%$'\n'}"
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

check_direction
only_in "sqlite3.h only in analyze" 'sqlite3(ext)?\.h' analyze
only_in "zstd.h only in the codec" 'zstd[a-z_]*\.h' src/format
only_in "libbpf only in probe" 'bpf/(lib)?(bpf|btf)[a-z_]*\.h' src/probe
only_in "libzip only in the store" 'zip[a-z]*\.h' src/store
only_in "libedit only in the shell of sql" 'editline/.*\.h' cmd
only_in "libelf, libdw and libiberty only in symbol" '(libelf|gelf|(elfutils|libiberty)/.*)\.h' src/symbol
only_in "the wire only at its ends" '(\.\./)*bpf/wire\.h' src/ring src/probe src/record
only_in "only cmd knows the command line" 'cmd/.*' cmd

bad=$(find cmd analyze src bpf \( -name 'utils.[ch]' -o -name 'util.[ch]' -o -name 'common.[ch]' -o -name 'helpers.[ch]' \) 2>/dev/null)
verdict "no utils.h, no common.h" "$bad"

# Nothing swaps bytes: a machine of the other order is told so by the first header that it matters to.
bad=$("${CC:-cc}" -fsyntax-only -U__BYTE_ORDER__ -D__BYTE_ORDER__=__ORDER_BIG_ENDIAN__ -Isrc -x c src/format/chunk.h 2>&1) &&
	bad='a build for a big-endian machine is not refused'
grep -q 'error.*traces are little-endian' <<<"$bad" && bad=
verdict "a build for a big-endian machine is refused by name" "$bad"

# The library neither prints nor exits; a child process that it forked may end.
bad=$(grep -nE '(^|[^a-z_.>])(printf|puts|putchar|perror|exit|_exit|abort)[[:space:]]*\(' \
	$(find src analyze -name '*.c' 2>/dev/null) /dev/null |
	grep -vE '^src/(record/[a-z_/]*|base/helper)\.c:[0-9]+:.*_exit[[:space:]]*\(' | grep -vE ':[0-9]+:[[:space:]]*/?\*')
verdict "the library never prints, never exits" "$bad"

# Somebody else's file may shrink or change at any time: read() says so, a mapping ends the process.
bad=$(grep -nE '(^|[^a-z_])mmap[[:space:]]*\(|_MMAP' $(find src/symbol src/record -name '*.c' 2>/dev/null) /dev/null)
verdict "files of the workload are never mapped" "$bad"

exit $status

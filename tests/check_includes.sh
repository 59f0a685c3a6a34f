#!/bin/bash
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# check_includes.sh [DIR]: includes go down only, one library has one user, file names are unique.
#
#     cmd -> analyze -> session, event -> store, probe -> chunk, ring, symbol -> base
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
	cmd) echo 60 ;;
	analyze) echo 50 ;;
	session | event) echo 40 ;;
	store | probe) echo 30 ;;
	chunk | ring | symbol) echo 20 ;;
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
			# chunk.h carries events, and event.h is the list both ends share.
			case "$from $included" in
			"chunk event/event.h" | "store event/event.h") continue ;;
			esac
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
only_in "zstd.h only in the codec" 'zstd[a-z_]*\.h' src/chunk
only_in "libbpf only in probe" 'bpf/(lib)?(bpf|btf)[a-z_]*\.h' src/probe
only_in "libzip only in the store" 'zip[a-z]*\.h' src/store
only_in "libelf only in symbol" '(libelf|gelf|elfutils/.*)\.h' src/symbol
only_in "the wire only at its ends" '(\.\./)*bpf/wire\.h' src/ring src/chunk src/probe src/session
only_in "only cmd knows the command line" 'cmd/.*' cmd

bad=$(find cmd analyze src bpf schema tests \( -name '*.c' -o -name '*.h' -o -name '*.sh' -o -name '*.py' -o -name '*.sql' \) \
	-printf '%f %p\n' 2>/dev/null | sort |
	awk '{ n[$1]++; where[$1] = where[$1] " " $2 } END { for (f in n) if (n[f] > 1) print f ":" where[f] }' |
	grep -v '^run\.sh:')
verdict "file names are unique" "$bad"

bad=$(find cmd analyze src bpf \( -name 'utils.[ch]' -o -name 'util.[ch]' -o -name 'common.[ch]' -o -name 'helpers.[ch]' \) 2>/dev/null)
verdict "no utils.h, no common.h" "$bad"

bad=$(for f in $(find cmd analyze src bpf tests schema \( -name '*.[ch]' -o -name '*.sh' -o -name '*.bash' -o -name '*.py' \) 2>/dev/null); do
	head -n 2 "$f" | grep -q SPDX-License-Identifier || echo "$f"
done)
verdict "every source file names its license" "$bad"

# Nothing swaps bytes: a machine of the other order is told so by the first header that it matters to.
bad=$("${CC:-cc}" -fsyntax-only -U__BYTE_ORDER__ -D__BYTE_ORDER__=__ORDER_BIG_ENDIAN__ -Isrc -x c src/chunk/chunk.h 2>&1) &&
	bad='a build for a big-endian machine is not refused'
grep -q 'error.*traces are little-endian' <<<"$bad" && bad=
verdict "a build for a big-endian machine is refused by name" "$bad"

# The library neither prints nor exits; a child process that it forked may end.
bad=$(grep -nE '(^|[^a-z_.>])(printf|puts|putchar|perror|exit|_exit|abort)[[:space:]]*\(' \
	$(find src analyze -name '*.c' 2>/dev/null) /dev/null |
	grep -vE '^src/(session/[a-z_]*|probe/run_stats)\.c:[0-9]+:.*_exit[[:space:]]*\(' | grep -vE ':[0-9]+:[[:space:]]*/?\*')
verdict "the library never prints, never exits" "$bad"

# Somebody else's file may shrink or change at any time: read() says so, a mapping ends the process.
bad=$(grep -nE '(^|[^a-z_])mmap[[:space:]]*\(|_MMAP' $(find src/symbol src/session -name '*.c' 2>/dev/null) /dev/null)
verdict "files of the workload are never mapped" "$bad"

exit $status

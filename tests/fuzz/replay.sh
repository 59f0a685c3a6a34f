#!/bin/bash
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# replay.sh: runs every fuzz target over its corpus, which the build has unpacked (tests/fuzz/corpus/TARGET.tar.xz: what
# fuzzing has found and is worth keeping), and over fresh seeds: generated traces and recorded ones (real/).
# Prints "ok NAME" or "not ok NAME: reason".
set -u

here=$(cd "$(dirname "$0")" && pwd)
build=${BUILD:-$here/../../build}
tmp=$(mktemp -d "${TMPDIR:-/tmp}/ebpfrec-replay.XXXXXX") || exit 1
trap 'rm -rf "$tmp"' EXIT
status=0

# replay NAME DIR...: runs one target over all files of the directories
replay()
{
	local name=$1 limit

	shift
	# A bomb must not get the memory it requests, and no input takes long. Sanitizers need terabytes of addresses.
	limit='ulimit -v 2000000'
	grep -qa '__asan_init\|__tsan_init' "$build/fuzz/$name" && limit=:
	if (eval "$limit"; FUZZ_ASK_ALL=1 timeout 600 "$build/fuzz/$name" "$@") >"$tmp/out" 2>"$tmp/err"; then
		echo "ok $name: $(tail -n 1 "$tmp/out")"
	else
		echo "not ok $name: $(grep -a '/' "$tmp/err" | grep -av '^ ' | tail -n 1):" \
			"$(grep -a -m 1 'ERROR\|runtime error\|not true' "$tmp/err")"
		status=1
	fi
}

if ! "$build/fuzz/make_seeds" "$tmp/seeds" "$here"/real/*; then
	echo "not ok fuzz: the seeds cannot be made"
	exit 1
fi
for source in "$here"/fuzz_*.c; do
	name=$(basename "$source" .c)
	dirs=()
	for dir in "$build/fuzz/corpus/$name" "$tmp/seeds/$name"; do
		[ -d "$dir" ] && dirs+=("$dir")
	done
	if [ -e "$here/corpus/$name.tar.xz" ] && [ ! -e "$build/fuzz/corpus/$name.unpacked" ]; then
		echo "not ok $name: its corpus is not unpacked; run make fuzz-bin"
		status=1
		continue
	fi
	# These read whole traces, too.
	case $name in fuzz_analysis | fuzz_repair) dirs+=("$build/fuzz/corpus/fuzz_trace") ;; esac
	replay "$name" "${dirs[@]}"
done
exit $status

#!/bin/bash
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# replay.sh: every fuzz target over its corpus (tests/fuzz/corpus/TARGET: what fuzzing has found worth
# keeping) and over fresh seeds: generated traces and recorded ones (real/). Prints "ok NAME" or "not ok NAME: reason".
set -u

here=$(cd "$(dirname "$0")" && pwd)
build=${BUILD:-$here/../../build}
tmp=$(mktemp -d "${TMPDIR:-/tmp}/ebpfrec-replay.XXXXXX") || exit 1
trap 'rm -rf "$tmp"' EXIT
status=0

"$build/fuzz/make_seeds" "$tmp/seeds" "$here"/real/* || { echo "not ok fuzz: seeds cannot be made"; exit 1; }
for source in "$here"/fuzz_*.c; do
	name=$(basename "$source" .c)
	dirs=()
	for dir in "$here/corpus/$name" "$tmp/seeds/$name"; do
		[ -d "$dir" ] && dirs+=("$dir")
	done
	# whole traces are for all who take one
	case $name in fuzz_analysis | fuzz_repair) dirs+=("$here/corpus/fuzz_trace") ;; esac
	# a bomb must not get the memory it asks for, and nothing takes long (sanitizers need terabytes of addresses)
	limit='ulimit -v 2000000'
	grep -qa __asan_init "$build/fuzz/$name" && limit=:
	grep -qa __tsan_init "$build/fuzz/$name" && limit=:
	if (eval "$limit"; FUZZ_ASK_ALL=1 timeout 120 "$build/fuzz/$name" "${dirs[@]}") >"$tmp/out" 2>"$tmp/err"; then
		echo "ok $name: $(tail -n 1 "$tmp/out")"
	else
		echo "not ok $name: $(grep -a '/' "$tmp/err" | grep -av '^ ' | tail -n 1): $(grep -a -m 1 'ERROR\|runtime error\|not true' "$tmp/err")"
		status=1
	fi
done
exit $status

#!/bin/bash
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# What `ebpfrec export` writes, in engines that npm has, without root: the stream for ClickHouse in chdb, a current one
# (Debian's is old, tests/kernel/fleet.sh has it), CSV and SQLite in DuckDB, and Parquet in three readers. Traces are
# generated; answers are those of `report`.
set -u

here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
build=${BUILD:-$top/build}
export EBPFREC=${EBPFREC:-$build/ebpfrec} PYTHONPATH=$top/tests/kernel PYTHONDONTWRITEBYTECODE=1 LC_ALL=C TZ=UTC
tmp=$(mktemp -d "${TMPDIR:-/var/tmp}/ebpfrec-engines.XXXXXX") || exit 1
trap 'rm -rf "$tmp"' EXIT

engines=$("$here/install.sh" 2>"$tmp/err") || { echo "SKIP engines: $(tail -n 1 "$tmp/err")"; exit 0; }
for i in 0 1 2; do
	"$build/bench/bin/gen_trace_large" -n 150000 -r 50000 -s $((i + 7)) "$tmp/host$i" >/dev/null ||
		{ echo "not ok engines: gen_trace_large"; exit 1; }
done
"$build/bench/bin/gen_trace_large" -n 700000 -r 200000 -s 3 "$tmp/large" >/dev/null ||
	{ echo "not ok engines: gen_trace_large"; exit 1; }
"$build/tests/cli/gen_golden" "$tmp/host3" >/dev/null || { echo "not ok engines: gen_golden"; exit 1; }
for i in 0 1 2 3; do
	sed -i '/^crc32c=/d' "$tmp/host$i/manifest"	# it would not match
	printf 'host=host%d\nnote.role=%s\n' $i "$([ $i -lt 2 ] && echo web || echo db)" >>"$tmp/host$i/manifest"
done
python3 "$here/check.py" "$here/ask.mjs" "$engines" "$tmp"

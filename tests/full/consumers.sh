#!/bin/bash
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# The same figures in every consumer: report, sql, exported files and databases, the page, the viewer, metrics and MCP
# say of made traces what `report` says, also of lossy, damaged, unfinished and empty ones, and of a window. Then
# Perfetto's own reader and MCP's official client, with recordings.
. "$(dirname "$0")/../kernel/harness.bash"

for kind in "" stacks late lost who threads waits heap damaged open; do
	"$BUILD/tests/cli/gen_golden" "$tmp/${kind:-golden}" $kind >/dev/null || not_ok "consumers: gen_golden $kind"
done
cp -r "$tmp/golden" "$tmp/empty" && truncate -s 64 "$tmp/empty/chunk-000000.ebr"
python3 "$here/../full/consumers.py" "$EBPFREC" "$tmp" || test_status=1

# ---- Perfetto ----

# `export --to perfetto`, read by Perfetto's own trace_processor: times of threads on CPUs, requests, rates, resident
# memory, stacks and tasks are those of `report`; over a whole trace, a window, lost events, threads that come and go,
# and odd names.

# compare TRACE [FROM_NS UNTIL_NS]
compare()
{
	local trace=$1

	shift
	"$EBPFREC" export -q -f -i "$trace" --to perfetto -o "$tmp/x.pftrace" ${1:+--from "${1}ns" --to "${2}ns"} \
		2>"$tmp/export.err" ||
		{ not_ok "perfetto: export $*" "$(cat "$tmp/export.err")"; return; }
	node "$here/../perfetto/check.mjs" "$EBPFREC" "$tp" "$trace" "$tmp/x.pftrace" "$@" 2>"$tmp/node.err" |
		sed "s/perfetto, /perfetto: $(basename "$trace"): /" >"$tmp/verdicts"
	grep -q 'ok perfetto' "$tmp/verdicts" || not_ok "perfetto: trace_processor" "$(tail -n 3 "$tmp/node.err")"
	if grep '^not ok' "$tmp/verdicts"; then
		test_status=1
	fi
	grep '^ok' "$tmp/verdicts"
}

if ! tp=$("$here/../perfetto/trace_processor.sh" 2>"$tmp/fetch.err"); then
	skip perfetto "$(tail -n 1 "$tmp/fetch.err")"
else
	recorded whole --stacks 1/20 --offcpu 1ms -- python3 "$top/tests/full/perfetto_work.py" "$tmp/file"
	compare "$tmp/whole"
	compare "$tmp/whole" 50000000 90000000
	# a thread has exited when the window begins, and leaves its CPU inside
	from=$(sql_value whole "SELECT max(t.end_ns) + 1 FROM threads AS t WHERE t.end_ns > 0 AND
		EXISTS (SELECT 1 FROM switches AS s WHERE s.utid = t.utid AND s.ts_ns > t.end_ns + 1)")
	compare "$tmp/whole" "$from" $((from + 10000000))
	recorded lossy --stacks 1/20 --ring-size 32K -- python3 "$top/tests/full/perfetto_work.py" "$tmp/file"
	compare "$tmp/lossy"

	"$EBPFREC" export -q -i "$tmp/whole" --to perfetto -o "$tmp/x.pftrace" 2>"$tmp/again.err"
	check "perfetto: a file that exists is not replaced without -f" \
		"[ $? -ne 0 ] && grep -q -- '-f replaces' '$tmp/again.err'" "$(cat "$tmp/again.err")"
fi

# ---- clients of MCP ----

# What `ebpfrec mcp` answers about recordings, and about traces that are damaged, lossy or have hostile names: sizes and
# completeness of every tool; and the protocol's official client, from npm, which finds out what a slow thread waits
# for. tests/cli/mcp.py has the protocol.
fresh

if "$EBPFREC" mcp "$tmp" </dev/null 2>&1 | grep -q 'built without jansson'; then
	skip "mcp" "the program was built without jansson"
	exit 0
fi
mkdir "$tmp/traces" && cd "$tmp/traces" || exit 1
tools=${BUILD:-$top/build}/tests/cli
"$tools/gen_golden" golden && for kind in chaotic damaged lossy partial; do
	"$tools/gen_doubtful" $kind $kind || exit 1
done
"$EBPFREC" record -q -o slow -- "$WORK/causes" requests "" "" >/dev/null 2>"$tmp/err"
check "mcp: recording" "[ $? -eq 0 ]" "$(cat "$tmp/err")"
"$EBPFREC" record -q --profile --stacks --offcpu 1ms -o names -- "$WORK/odd_names" >/dev/null 2>"$tmp/err"
check "mcp: recording of hostile names" "[ $? -eq 0 ]" "$(cat "$tmp/err")"
while IFS= read -r line; do
	echo "$line"
	[[ $line != not\ ok* ]] || test_status=1
done < <(python3 "$here/mcp_sizes.py" "$EBPFREC" "$tmp/traces" 2>&1 || echo "not ok mcp: the script failed")

# 10 s and 30 MB once; no script of a package runs
sdk=@modelcontextprotocol/sdk@1.32.2
cache=${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/ebpfrec/mcp-client-${sdk##*@}
if ! [ -e "$cache" ]; then
	mkdir -p "$cache.new" && npm install --prefix "$cache.new" --no-audit --no-fund --ignore-scripts --loglevel=error \
		$sdk >"$tmp/err" 2>&1 &&
		mv -T "$cache.new" "$cache" 2>/dev/null
	rm -rf "$cache.new"
fi
if ! [ -e "$cache" ]; then
	skip "mcp_client" "npm has no $sdk: $(tail -n 1 "$tmp/err")"
	exit 0
fi
cp "$here/mcp_client.mjs" "$cache" || exit 1
while IFS= read -r line; do
	echo "$line"
	[[ $line != not\ ok* ]] || test_status=1
done < <(node "$cache/mcp_client.mjs" "$EBPFREC" "$tmp/traces" slow 2>&1 || echo "not ok mcp_client: the script failed")

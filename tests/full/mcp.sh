#!/bin/bash
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# What `ebpfrec mcp` answers about recordings, and about traces that are damaged, lossy or have hostile names: sizes and
# completeness of every tool; and the protocol's official client, from npm, which finds out what a slow thread waits
# for. tests/cli/mcp.py has the protocol.
. "$(dirname "$0")/../kernel/harness.bash"

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

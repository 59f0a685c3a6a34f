#!/bin/bash
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# The same figures in every consumer: report, sql, exported files and databases, the page, the viewer, metrics and MCP
# say of made traces what `report` says, also of lossy, damaged, unfinished and empty ones, and of a window.
. "$(dirname "$0")/../kernel/harness.bash"

for kind in "" stacks late lost who threads waits heap damaged open; do
	"$BUILD/tests/cli/gen_golden" "$tmp/${kind:-golden}" $kind >/dev/null || not_ok "consumers: gen_golden $kind"
done
cp -r "$tmp/golden" "$tmp/empty" && truncate -s 64 "$tmp/empty/chunk-000000.ebr"
python3 "$here/../full/consumers.py" "$EBPFREC" "$tmp" || test_status=1

#!/bin/bash
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# demo_trace.sh: records the trace of `ebpfrec demo` in an emulated machine, and puts it into cmd/demo/shop.ebpfrec. To
# be run again when the trace format changes, after `make STATIC=1 all work` and `make build/work/heap_user`.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
logs=$(mktemp -d "${TMPDIR:-/var/tmp}/ebpfrec-demo.XXXXXX")
trap 'rm -rf "$logs"' EXIT

VM_LOGS=$logs VM_CHECKS=$here/guest/record_demo.sh "$here/run.sh" 6.12
rm -rf "$top/cmd/demo/shop.ebpfrec"
sed -n 's/^# demo //p' "$logs"/*.results | tr -d '\r' | base64 -d | tar -xz -C "$top/cmd/demo"
"${BUILD:-$top/build}/ebpfrec" check -i "$top/cmd/demo/shop.ebpfrec"

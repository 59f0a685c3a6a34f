#!/bin/bash
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# record_real.sh: remakes tests/fuzz/real/: traces that were really recorded, in an emulated machine, as seeds
# (make_seeds.c). `make fuzz-real` builds everything it needs and runs this script.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
logs=$(mktemp -d "${TMPDIR:-/var/tmp}/ebpfrec-real.XXXXXX")
trap 'rm -rf "$logs"' EXIT
VM_CACHE=${VM_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/ebpfrec/vm} VM_LOGS=$logs VM_CHECKS=$here/guest_record.sh \
	"$here/../vm/run.sh" 6.12
rm -rf "$here/real"
sed -n 's/^packed //p' "$logs"/*.results | tr -d '\r' | base64 -d | tar xz -C "$here"
du -ab "$here/real"

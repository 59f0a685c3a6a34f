#!/bin/bash
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# mixed_load.sh TIMES SCRATCH: compiles, copies and writes past the page cache, TIMES times over.
#
# It compiles the load generators next to this script, so that the work stays the same when
# the rest of the project changes. Two compilers run at once; copying and direct writes follow.
set -eu

times=$1 scratch=$2
load=$(cd "$(dirname "$0")" && pwd)/load
dir=$scratch/mixed
rm -rf "$dir"
mkdir -p "$dir"
for ((i = 0; i < times; i++)); do
	printf '%s\0' "$load"/*.c | xargs -0 -P 2 -I {} gcc -std=gnu11 -O2 -g -D_GNU_SOURCE -c {} -o /dev/null
	cp -r /usr/include/linux "$dir/copy"
	tar -C "$dir" -cf "$dir/copy.tar" copy
	dd if=/dev/zero of="$dir/direct" bs=64k count=200 oflag=direct status=none
	dd if="$dir/direct" of=/dev/null bs=4k count=500 iflag=direct status=none
	rm -rf "$dir/copy" "$dir/copy.tar" "$dir/direct"
done
rm -rf "$dir"

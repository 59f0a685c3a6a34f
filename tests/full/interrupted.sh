#!/bin/bash
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# Commands that make a file or a trace make all of it or nothing: for any signal at any instant, the output is
# missing or whole, and no other file remains. After kill -9 the next command removes the leftovers. A full disk
# leaves nothing either. The test does not choose the instant of a signal, only that the output has been begun: the
# claim holds at any instant.
. "$(dirname "$0")/../kernel/harness.bash"

recorded long -- sh -c "for i in 1 2 3 4; do '$WORK/alloc_storm' 60 240 >/dev/null
	dd if=/dev/zero of='$tmp/f' bs=64k count=32 conv=fsync 2>/dev/null; done"
cp -r "$tmp/long" "$tmp/hurt"
dd if=/dev/zero of="$(find "$tmp/hurt" -name '*.ebr' | head -n 1)" bs=1 seek=3000 count=8 conv=notrunc 2>/dev/null
full=
if mount_at "$tmp/small" -t tmpfs -o size=64k tmpfs 2>/dev/null; then
	full=$tmp/small
else
	skip "interrupted: a full disk" "tmpfs cannot be mounted here"
fi
export full

checker <"$top/tests/full/interrupted.py"

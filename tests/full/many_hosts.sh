#!/bin/bash
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# Several traces at once: two recordings lie on one axis where the wall clock says they do, and their rows are those
# of each alone.
. "$(dirname "$0")/../kernel/harness.bash"

recorded a -e sched -- "$WORK/busy_threads" one 300
sleep 0.3
recorded b -e sched -- "$WORK/busy_threads" one 300
sed -i '/^crc32c=/d;s/^host=.*/host=other/' "$tmp/b/manifest"

checker <"$top/tests/full/many_hosts.py"

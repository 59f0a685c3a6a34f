#!/bin/busybox sh
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# record_demo.sh: run by ../demo_trace.sh instead of checks.sh: records `shop`, and prints the trace as base64.
for module in jbd2 ext4; do modprobe $module 2>/dev/null; done
mke2fs -F /dev/vda >/dev/null 2>&1
mkdir -p /srv
mount -t ext4 /dev/vda /srv || mount -t ext2 /dev/vda /srv || exit 1
cd /tmp
if ebpfrec record -o shop.ebpfrec -- shop /srv/audit.log 3000 2>said; then
	echo "ok demo"
else
	echo "not ok demo"
fi
sed 's/^/# /' said
tar -cz shop.ebpfrec | base64 | sed 's/^/# demo /'

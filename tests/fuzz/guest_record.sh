#!/bin/busybox sh
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# guest_record.sh: runs in an emulated machine (tests/fuzz/record_real.sh): records small traces of all sources, and
# writes them to the results as one packed line. Nothing of the machine around it is in them.
. /tests/verdicts.sh

cd /tmp || exit 1
record() { name=$1; shift; ebpfrec record -o "$name" "$@" >/tmp/out 2>&1; check "real: $name" "[ $? -eq 0 ]" \
	"$(cat /tmp/out)"; }

# default sources with some work; a window of it that begins with much state
record whole -- sh -c 'pingpong 30 >/dev/null; dd if=/dev/zero of=/dev/nvme0n1 bs=64k count=4 2>/dev/null
	touch_memory 2 >/dev/null; sleep 0.1; cat /bin/busybox >/dev/null; ls /proc >/dev/null'
ebpfrec cut -i whole -o part --from 60ms --to 100ms 2>/tmp/out
check "real: part" "[ $? -eq 0 ]" "$(cat /tmp/out)"
ebpfrec cut -i whole -o few --comm pingpong 2>/tmp/out
check "real: few" "[ $? -eq 0 ]" "$(cat /tmp/out)"
# everything there is
record all -e all --stacks 1/7 --cmdlines --only -- sh \
	-c 'heap_user_dynamic 20 5000 3 >/dev/null; dd if=/dev/nvme0n1 of=/dev/null bs=32k count=3 2>/dev/null'
# short, with a note and a mark
echo firecrest >mark
record short -e sched,block --note 'a=b' --mark-fd 9 -- sleep 0.3 9<mark
mkdir real
for name in whole part few all short; do
	mkdir real/$name
	cp "$name"/*.ebr "$name"/manifest real/$name/
done
ls -l real/* >&2
echo "packed $(tar cz real | base64 -w 0)"

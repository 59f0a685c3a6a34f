#!/bin/busybox sh
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# guest_picture.sh: runs in an emulated machine (tests/page/picture.sh): records some seconds of mixed work, and writes the trace
# to the results as one packed line. Nothing of the machine around it is in it.
. /tests/verdicts.sh

cd /tmp || exit 1
hostname guest
cat >build <<'END'
#!/bin/busybox sh
(for i in 1 2 3; do dd if=/dev/urandom bs=64k count=12 2>/dev/null | gzip >/dev/null; done) &
(for i in 1 2 3 4; do dd if=/bin/busybox bs=64k count=16 2>/dev/null | sha256sum >/dev/null; sleep 0.2; done) &
pingpong 400 >/dev/null &
touch_memory 24 >/dev/null
ebpfrec mark -i /tmp/picture write
for i in 1 2 3 4 5 6; do dd if=/dev/zero of=/dev/nvme0n1 bs=32k count=24 seek=$((i * 24)) 2>/dev/null; sync; done
ebpfrec mark -i /tmp/picture read
dd if=/dev/nvme0n1 of=/dev/null bs=16k count=200 2>/dev/null
touch_memory 12 >/dev/null
wait
END
chmod +x build
ebpfrec record -o picture --stacks 1/50 -- ./build >/tmp/out 2>&1
check "picture" "[ $? -eq 0 ]" "$(cat /tmp/out)"
cat /tmp/out >&2
echo "packed $(tar cz picture | base64 -w 0)"

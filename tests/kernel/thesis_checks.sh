#!/bin/bash
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# The three assessments of a published comparison of tracing with conventional tools, by its own means.
#
#   stress -c 1                           about 100 % of one CPU: 97 to 100 in the middle second
#   stress -m 1 --vm-bytes 512M --vm-keep about 512 MiB resident: 512 to 520 (the program itself is small)
#   stress --hdd 2, file system on a loop within 5 % of iostat's figures for the device
#
# stress never syncs and unlinks what it wrote: without a sync now and then nothing might reach the device at all.
# All of the I/O falls inside iostat's one interval, so that its edges do not matter.
. "$(dirname "$0")/harness.bash"

command -v stress >/dev/null || { skip thesis "stress is not installed"; exit 0; }

recorded cpu -e sched -- "${undisturbed[@]}" stress -q -c 1 -t 3
recorded memory -e alloc.rss,task -- stress -q -m 1 --vm-bytes 512M --vm-keep -t 3

have_disk=0
if ! make_loop thesis 700; then
	skip thesis_hdd "no loop device here"
elif ! quiet_ext4 "$tmp/mnt"; then
	not_ok thesis_hdd "cannot make or mount a file system on $loop"
else
	have_disk=1
	# -y leaves out iostat's report since boot
	recorded disk -e block -- sh -c "
		S_COLORS=never iostat -d -x -k -y $loop_name 6 1 >'$tmp/iostat' & sleep 0.4; cd '$tmp/mnt'
		stress -q --hdd 2 --hdd-bytes 96M -t 4 & for i in 1 2 3 4 5 6 7 8 9; do sleep 0.4; sync -f .; done
		wait %2; sync -f .; wait"
fi

have_disk=$have_disk checker <<'EOF_PY'
from trace_query import *
tmp = os.environ["tmp"]

t = Trace(tmp + "/cpu")
rows = [r for r in t.report("cpu", "--by", "process", "--from", "1s", "--to", "2s") if r["comm"] == "stress"]
busy = max([r["util_pct"] for r in rows], default=0)
unknown = t.unknown_ns(10**9, 2 * 10**9) / 1e7
check("thesis: stress -c 1 is about 100 %", 97 - unknown <= busy <= 100, "%s, %.1f %% unknown" % (rows, unknown))

t = Trace(tmp + "/memory")
rows = [r for r in t.report("alloc", "--by", "process") if r["comm"] == "stress" and r["source"] == "rss"]
peak = max([r["peak_bytes"] for r in rows], default=0) / (1 << 20)
check("thesis: stress -m 1 --vm-bytes 512M is about 512 MiB", 512 <= peak <= 520, "%.1f MiB: %s" % (peak, rows))

if os.environ["have_disk"] == "1":
    t = Trace(tmp + "/disk")
    lines = [line.split() for line in open(tmp + "/iostat")]
    head = next(line for line in lines if line and line[0] == "Device")
    iostat = dict(zip(head[1:], map(float, next(line for line in lines if line and line[0] == os.environ["loop_name"])[1:])))
    rows = [r for r in t.report("io", "--by", "device") if r["device"] == os.environ["loop_name"] and r["op"] == "write"]
    check("thesis: stress --hdd wrote", iostat["wkB/s"] > 1000, iostat)
    near("thesis: bytes per second within 5 % of iostat", sum(r["bytes"] for r in rows) / 1024 / 6, iostat["wkB/s"], rel=0.05)
    near("thesis: writes per second within 5 % of iostat", sum(r["ios"] for r in rows) / 6, iostat["w/s"], rel=0.05)
EOF_PY

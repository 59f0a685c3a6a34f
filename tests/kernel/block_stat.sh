#!/bin/bash
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# 1,000 O_DIRECT writes of 64 KiB to a loop device, 500 reads by four threads at once, one discard,
# one flush, and a file system: exactly the requests and bytes that /sys/block/LOOP/stat counted.
# No tolerance on counts and bytes. Total time in flight: the kernel counts from the request's
# allocation with a clock it reads once per batch, so 20 % or 5 ms.
. "$(dirname "$0")/harness.bash"

make_loop disk 128 || { skip block_stat "no loop device here"; exit 0; }
stat_file=/sys/block/$loop_name/stat

# One recording per step, so that each stands alone: stat before and after, nothing else on the device.
step()
{
	local name=$1

	shift
	eval "before_$name() { cat '$stat_file' >'$tmp/$name.before'; }"
	recorded_seen "$name" -e block -- "$@"
	cat "$stat_file" >"$tmp/$name.after"
}

step write "$WORK/direct_io" "$loop" write 1000 65536
step read "$WORK/direct_io" "$loop" read 500 65536 4
step both sh -c "'$WORK/direct_io' '$loop' write 200 16384 2 >/dev/null & '$WORK/direct_io' '$loop' read 300 8192 3 >/dev/null; wait"
step discard sh -c "blkdiscard -o 1048576 -l 8388608 '$loop'; '$WORK/direct_io' '$loop' write 4 4096"
step flush "$WORK/direct_io" "$loop" write 10 4096 1 1
quiet_ext4 "$tmp/mnt" || not_ok "file system on $loop" "cannot make or mount it"
step files sh -c "dd if=/dev/zero of='$tmp/mnt/buffered' bs=64k count=200 conv=fsync 2>/dev/null; '$WORK/direct_io' '$tmp/mnt/direct' write 200 65536; sync -f '$tmp/mnt'"

checker <<'EOF_PY'
from trace_query import *
tmp, loop = os.environ["tmp"], os.environ["loop_name"]
FIELDS = ["read_ios", "read_merges", "read_sectors", "read_ms", "write_ios", "write_merges", "write_sectors", "write_ms",
          "in_flight", "io_ms", "queue_ms", "discard_ios", "discard_merges", "discard_sectors", "discard_ms", "flush_ios", "flush_ms"]

def stat(name):
    a, b = ([int(x) for x in open("%s/%s.%s" % (tmp, name, when)).read().split()] for when in ("before", "after"))
    return {f: y - x for f, x, y in zip(FIELDS, a, b)}

for name in ("write", "read", "both", "discard", "flush", "files"):
    t = Trace("%s/%s" % (tmp, name))
    s = stat(name)
    rows = [r for r in t.report("io", "--by", "device", "--with-recorder") if r["device"] == loop]
    for op in ("read", "write", "discard"):
        ios = sum(r["ios"] for r in rows if r["op"] == op)
        size = sum(r["bytes"] for r in rows if r["op"] == op)
        check("block %s: %s requests are the kernel's" % (name, op), ios == s[op + "_ios"], "%d, kernel %d" % (ios, s[op + "_ios"]))
        check("block %s: %s bytes are the kernel's" % (name, op), size == 512 * s[op + "_sectors"], "%d, kernel %d" % (size, 512 * s[op + "_sectors"]))
    flushes = sum(r["ios"] for r in rows if r["op"] == "flush")
    check("block %s: flushes are the kernel's" % name, flushes == s["flush_ios"], "%d, kernel %d" % (flushes, s["flush_ios"]))
    for op in ("read", "write"):
        if s[op + "_ios"] >= 100:
            total = t.one("SELECT sum(latency_ns) FROM block_requests WHERE device_name(dev) = '%s' AND op = '%s'" % (loop, op))
            near("block %s: total time of %ss is the kernel's" % (name, op), (total or 0) / 1e6, s[op + "_ms"], rel=0.2, absolute=5)
    # Time in queue is a sum of nanoseconds in the kernel, too: as above. Busy time (io_ticks) is sampled in jiffies, up to
    # 10 ms each, at the starts and ends of requests that are shorter than that: good to a quarter, and only over many.
    if s["read_ios"] + s["write_ios"] >= 100:
        d = t.sql("SELECT busy_ns, inflight_ns, depth_max FROM device_usage WHERE device_name(dev) = '%s'" % loop)[0]
        if s["io_ms"] >= 1000:
            near("block %s: busy time is the kernel's" % name, d["busy_ns"] / 1e6, s["io_ms"], rel=0.25)
        near("block %s: time in queue is the kernel's" % name, d["inflight_ns"] / 1e6, s["queue_ms"], rel=0.2, absolute=5)
    if name == "write":
        # One at a time: a request is in flight until its last completion, and nothing is queued before that.
        one = t.sql("SELECT queued_ns, complete_ns FROM block_requests WHERE device_name(dev) = '%s' ORDER BY queued_ns" % loop)
        check("block write: one at a time", d["depth_max"] == 1 and all(b["queued_ns"] > a["complete_ns"] for a, b in zip(one, one[1:])), d)
        check("block write: busy is the sum of times in flight", d["busy_ns"] == d["inflight_ns"], d)
    sums = t.balance(["block"])["block"]
    check("block %s: read + lost = attempted" % name, sums and sums[0] == sums[1] + sums[2], "attempted, read, lost = %s" % (sums,))

# The test would prove nothing if the device had not seen what it was given.
check("block: the device saw 1,000 writes", stat("write")["write_ios"] == 1000 and stat("write")["write_sectors"] == 128000, stat("write"))
check("block: the device saw a discard", stat("discard")["discard_ios"] >= 1, stat("discard"))
section = [x.split() for x in run("report", "-i", tmp + "/discard").split("Block I/O by name\n")[1].split("\n\n")[0].splitlines()[1:]]
ops = [x[2] for x in section if len(x) > 6]
check("block: a discard has a row of the summary, and does not lead it", ops and ops[0] != "discard" and "discard" in ops, section)
check("block: the device saw a flush", stat("flush")["flush_ios"] >= 1, stat("flush"))

# Who: direct I/O belongs to the process that did it, whoever ran when it completed.
for name, op in (("write", "write"), ("read", "read")):
    t = Trace("%s/%s" % (tmp, name))
    w = truth("%s/%s.out" % (tmp, name))
    rows = [r for r in t.report("io", "--by", "process") if r["device"] == loop and r["op"] == op]
    check("block %s: all of it is the process's own" % name,
          len(rows) == 1 and rows[0]["pid"] == w["pid"] and rows[0]["ios"] == w["ios"] and rows[0]["bytes"] == w["bytes"], rows)
    check("block %s: latencies are in order and inside the run" % name,
          rows and 0 < rows[0]["lat_p50_ns"] <= rows[0]["lat_p99_ns"] <= rows[0]["lat_max_ns"] <= w["end"] - w["start"], rows)
    # Bins add up, requests are counted where they complete.
    bins = [r for r in t.report("io", "--by", "device", "--every", "50ms") if r["device"] == loop and r["op"] == op]
    check("block %s: bins add up" % name, sum(r["ios"] for r in bins) == w["ios"] and sum(r["bytes"] for r in bins) == w["bytes"],
          (sum(r["ios"] for r in bins), sum(r["bytes"] for r in bins)))
EOF_PY

#!/bin/bash
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# Whose data a request moves. Two processes and a third with a mapping dirty files on ext4, a fourth syncs:
# the bytes go to those three, not to who synced. Direct I/O, reads, the journal, metadata, a program that writes the
# device itself, a file that two processes share, and swap each go where they belong, or are called
# unknown by their reason. Files are written once, so every page is written back once: 1 % for a page that
# the kernel happened to write back while it was being filled.
. "$(dirname "$0")/harness.bash"

make_loop disk 256 || { skip block_owner "no loop device here"; exit 0; }
quiet_ext4 "$tmp/mnt" || { not_ok "file system on $loop" "cannot make or mount it"; exit 1; }
fs=$loop_name fs_dev=$loop
dd if=/dev/zero of="$tmp/mnt/cold" bs=64k count=80 2>/dev/null
sync -f "$tmp/mnt"
make_loop raw 64
raw=$loop_name raw_dev=$loop
swap=
make_loop swap 64 && mkswap -q "$loop" >/dev/null && swapon "$loop" 2>/dev/null && undo+=("swapoff $loop") && swap=$loop_name
export fs raw swap
before_t()
{
	(cd "$tmp/mnt" && rm -f one two three shared four direct)
	sync
	echo 3 >/proc/sys/vm/drop_caches 2>/dev/null
}

cat >"$tmp/work.sh" <<-END
	# writer KEY COMMAND...: prints its pid and becomes it
	writer() { key=\$1; shift; sh -c "echo \${key}_pid=\\\$\\\$; exec \\"\\\$@\\"" sh "\$@"; }
	cd "$tmp/mnt"
	writer one dd if=/dev/zero of=one bs=64k count=320 2>/dev/null &
	writer two dd if=/dev/zero of=two bs=64k count=160 2>/dev/null &
	"$WORK/map_write" three 4194304 &
	wait
	writer sync sync -f .
	writer a dd if=/dev/zero of=shared bs=64k count=16 2>/dev/null
	writer b dd if=/dev/zero of=shared bs=64k count=16 seek=16 conv=notrunc 2>/dev/null
	writer sync2 sync -f .
	writer fsync dd if=/dev/zero of=four bs=64k count=32 conv=fsync 2>/dev/null
	"$WORK/direct_io" direct write 100 65536 | sed 's/^/direct_/'
	writer read dd if=cold of=/dev/null bs=64k 2>/dev/null
	writer raw dd if=/dev/zero of=$raw_dev bs=64k count=64 2>/dev/null
	writer sync3 sync $raw_dev
	[ -z "$swap" ] || "$WORK/page_out" 8388608
END
recorded_seen t -e sched,block -- bash "$tmp/work.sh"
[ -n "$swap" ] || skip "block_owner swap" "no swap on a loop device here"

checker <<'EOF_PY'
from trace_query import *
tmp, fs, raw, swap = (os.environ[k] for k in ("tmp", "fs", "raw", "swap"))
t = Trace(tmp + "/t")
w = truth(tmp + "/t.out")
KIB = 1024
rows = t.report("io", "--with-recorder")

def of(pid, op, device=fs, how=None):
    return [r for r in rows if r["pid"] == pid and r["op"] == op and r["device"] == device and (how is None or r["owner_how"] == how)]

def size(rs):
    return sum(r["bytes"] for r in rs)

lost = t.one("SELECT coalesce(sum(lost_cnt), 0) FROM losses WHERE class = 'block'")
check("owner: nothing of class block is lost", lost == 0, lost)
for name, want in (("one", 20480 * KIB), ("two", 10240 * KIB), ("map", 4096 * KIB), ("fsync", 2048 * KIB)):
    got = of(w[name + "_pid"], "write")
    near("owner %s: the bytes it dirtied are its own" % name, size(r for r in got if r["bytes"]), want, rel=0.01)
    check("owner %s: because it dirtied them" % name, {r["owner_how"] for r in got if r["bytes"]} == {"dirtied"}, got)
for name in ("sync", "sync2"):
    check("owner: %s owns none of what it wrote back" % name, size(of(w[name + "_pid"], "write")) == 0, of(w[name + "_pid"], "write"))
submitted = t.one("SELECT count(*) FROM block_requests r JOIN processes s ON s.upid = r.submitter_upid JOIN processes o ON o.upid = r.owner_upid "
                  "WHERE o.pid = %d AND s.pid <> o.pid" % w["one_pid"])
check("owner: others submitted them", submitted > 0, submitted)
shared = t.sql("SELECT p.pid, r.owner_how, r.bytes FROM block_requests r JOIN processes p ON p.upid = r.owner_upid "
               "WHERE r.file = '" + tmp + "/mnt/shared' AND r.op = 'write' AND device_name(dev) = '" + fs + "'")
check("owner: of a shared file, the last one", {r["pid"] for r in shared} == {w["b_pid"]}, shared)
check("owner: and it is said", sum(r["bytes"] for r in shared) >= 2048 * KIB and {r["owner_how"] for r in shared} <= {"dirtied_shared", "dirtied_mixed"}, shared)
direct = of(w["direct_pid"], "write")
check("owner: direct I/O is its process's", size(direct) == 6400 * KIB and {r["owner_how"] for r in direct} == {"direct"}, direct)
near("owner: reads are who reads", size(of(w["read_pid"], "read", how="read")), 5120 * KIB, rel=0.02)
got = of(w["raw_pid"], "write", raw)
check("owner: a device's own pages are who dirtied them", size(got) == 4096 * KIB and {r["owner_how"] for r in got} == {"dirtied"}, got)

unknown = [r for r in rows if r["device"] == fs and r["comm"] == "[unknown]" and r["op"] == "write" and r["bytes"]]
hows = {r["owner_how"] for r in unknown}
check("owner: what is unknown is metadata and journal", hows and hows <= {"metadata", "journal"}, unknown)
jbd2 = [r for r in rows if r["submitter"].startswith("jbd2/" + fs) and r["bytes"]]
check("owner: the journal wrote, for nobody", jbd2 and {r["comm"] for r in jbd2} == {"[unknown]"}, jbd2)
total = size(r for r in rows if r["device"] == fs and r["op"] == "write")
check("owner: metadata and journal are less than a tenth", 0 < size(unknown) < total / 10, (size(unknown), total))
files = {r["file"] for r in t.sql("SELECT DISTINCT file FROM block_requests WHERE op = 'write' AND owner_how LIKE 'dirtied%' AND device_name(dev) = '" + fs + "'")}
check("owner: files have names", {tmp + "/mnt/" + f for f in ("one", "two", "three", "four", "shared")} <= files, files)
devs = {r["ino_dev"] for r in t.sql("SELECT DISTINCT ino_dev FROM block_requests WHERE file = '" + tmp + "/mnt/one'")}
check("owner: and a file system", len(devs) == 1, devs)
per_inode = t.one("SELECT count(*) FROM dirty_events WHERE file_name(ino_dev, ino) = '" + tmp + "/mnt/one'")
check("owner: dirtying is not recorded page by page", 1 <= per_inode <= 60, per_inode)
if swap:
    out = [r for r in rows if r["device"] == swap and r["op"] == "write"]
    check("owner: swapped out, of nobody known", size(out) >= 4096 * KIB and {(r["comm"], r["owner_how"]) for r in out} == {("[unknown]", "swap")}, out)
EOF_PY

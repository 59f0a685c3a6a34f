# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
"""
block: what block.sh recorded. Each function is one claim.

On machines that hide a task from BPF (its init), the end of a request may come while that task has the CPU: no
recorder sees it. Such a request has a row without an end: rows are counted, ended or not, and reports have those that
ended.
"""
from trace_query import *

DEVICES = ("write", "read", "both", "discard", "flush", "raw", "fs")
LOOP = {name: os.environ["dev_" + name] for name in (*DEVICES, "swap")}
FIELDS = [
    "read_ios", "read_merges", "read_sectors", "read_ms", "write_ios", "write_merges", "write_sectors", "write_ms",
    "in_flight", "io_ms", "queue_ms", "discard_ios", "discard_merges", "discard_sectors", "discard_ms", "flush_ios",
    "flush_ms"
]
KIB, MIB = 1024, 1048576
t, w = Trace(tmp + "/t"), truth(tmp + "/t.out")
requests = t.sql(
    """SELECT device_name(r.dev) AS device, r.op AS op, r.sector AS sector, r.bytes AS bytes, r.file AS file,
                           r.pages AS pages, r.owner_how AS how, r.end_ns IS NOT NULL AS ended, o.pid AS pid,
                           s.pid AS submitter_pid, r.queued_ns AS queued_ns, r.complete_ns AS complete_ns, r.ino_dev AS
                           ino_dev
                      FROM block_requests r LEFT JOIN processes o ON o.upid = r.owner_upid
                      LEFT JOIN processes s ON s.upid = r.submitter_upid ORDER BY r.queued_ns""")
io = t.report("io", "--with-recorder")


def select(device=None, **columns):
    return [r for r in requests if (device is None or r["device"] == LOOP[device]) and
            all(r[k] == v for k, v in columns.items())]


def size(rows):
    return sum(r["bytes"] for r in rows)


# Requests whose end came while a task was current that the kernel hides from BPF: their losses are declared.
hidden = t.one("SELECT coalesce(sum(inferred_cnt), 0) FROM losses WHERE hook = 'BLOCK_COMPLETE'")


def is_all(rows, count, sum_of_bytes):
    """the requests are as many and have as many bytes as that, or lack hidden ones"""
    if not hidden:
        return (len(rows), size(rows)) == (count, sum_of_bytes)
    return count - hidden <= len(rows) <= count and size(rows) <= sum_of_bytes


def covered(rows):
    """bytes of the device that the requests cover: a page written twice counts once"""
    sectors = set()
    for r in rows:
        sectors.update(range(r["sector"], r["sector"] + r["bytes"] // 512))
    return 512 * len(sectors)


def stat(device):
    a, b = ([int(x) for x in open("%s/%s.%s" % (tmp, device, when)).read().split()] for when in ("before", "after"))
    return {f: y - x for f, x, y in zip(FIELDS, a, b)}


def rings_lost_nothing():
    full = t.one("SELECT coalesce(sum(full_cnt), 0) FROM losses")
    check("block: no event is lost in a ring, so counts are exact", full == 0, t.sql("SELECT * FROM losses"))
    sums = t.balance(["block"])["block"]
    check("block: read + lost = attempted", sums and sums[0] == sums[1] + sums[2], sums)


def the_kernel_saw_the_workload():
    s = stat("write")
    check("block: the device saw 1,000 writes", (s["write_ios"], s["write_sectors"]) == (1000, 128000), s)
    check("block: the device saw a discard", stat("discard")["discard_ios"] >= 1, stat("discard"))
    check("block: the device saw a flush", stat("flush")["flush_ios"] >= 1, stat("flush"))


def requests_and_bytes_are_the_kernels(device):
    s = stat(device)
    for op in "read", "write", "discard":
        rows = select(device, op=op)
        check("block %s: %s requests and bytes are the kernel's" % (device, op),
              is_all(rows, s[op + "_ios"], 512 * s[op + "_sectors"]),
              (len(rows), s[op + "_ios"], size(rows), 512 * s[op + "_sectors"], hidden))
    flushes = select(device, op="flush")
    check("block %s: flushes are the kernel's" % device, len(flushes) == s["flush_ios"], (len(flushes), s["flush_ios"]))


def reports_have_the_requests_that_ended(device):
    for op in "read", "write", "discard", "flush":
        rows = [r for r in select(device, op=op) if r["ended"]]
        got = [r for r in io if r["device"] == LOOP[device] and r["op"] == op]
        # a request with parts counts once for each of its owners, and for each submitter if the owner is unknown
        shares = t.one("SELECT count(*) FROM (SELECT DISTINCT rq, queued_ns, owner_upid, iif(owner_upid = 1, "
                       "submitter_utid, 0) FROM request_parts WHERE end_ns NOT NULL AND device_name(dev) = '%s' AND "
                       "op = '%s')" % (LOOP[device], op))
        check("block %s: report io has each ended %s" % (device, op),
              (sum(r["ios"] for r in got), size(got)) == (shares, size(rows)), (got, shares, size(rows)))
        bins = [r for r in t.report("io", "--by", "device", "--every", "50ms", "--with-recorder")
                if r["device"] == LOOP[device] and r["op"] == op]
        check("block %s: bins of each %s add up" % (device, op),
              (sum(r["ios"] for r in bins), size(bins)) == (len(rows), size(rows)), (len(rows), size(rows)))


def direct_io_belongs_to_its_process(device, op):
    rows = [r for r in select(device, op=op) if r["bytes"]]
    check("block %s: all of it is the process's own" % device, {r["pid"] for r in rows} == {w[device + "_pid"]} and
          is_all(rows, w[device + "_ios"], w[device + "_bytes"]), (len(rows), size(rows), hidden, w))
    got = [r for r in io if r["device"] == LOOP[device] and r["op"] == op]
    check("block %s: latencies are in order and inside the run" % device, len(got) == 1
          and 0 < got[0]["lat_p50_ns"] <= got[0]["lat_p99_ns"] <= got[0]["lat_max_ns"] <= w[device + "_end"] - w[
        device + "_start"], got)


def partitions_are_apart():
    name = os.environ["dev_parts"]
    want = {(name + "p1", "write"): (7, 7 * 16384), (name + "p2", "write"): (5, 5 * 8192),
            (name + "p2", "read"): (3, 3 * 65536), (name, "read"): (2, 2 * 32768)}
    before, after = ([[int(x) for x in line.split()] for line in open("%s/parts.%s" % (tmp, when))]
                     for when in ("before", "after"))
    kernel = {(name + "p%d" % (nr + 1), op): (after[nr][at] - before[nr][at],
                                              512 * (after[nr][at + 2] - before[nr][at + 2]))
              for nr in (0, 1) for at, op in ((0, "read"), (4, "write")) if after[nr][at] > before[nr][at]}
    check("block: the kernel's counters of partitions are those of the workload",
          kernel == {k: v for k, v in want.items() if k[0] != name}, kernel)
    for view, other in (("io", ""), ("io", ",comm"), ("io", ",size,op"), ("latency", ""), ("pattern", ",op")):
        rows = t.report(view, "--by", "partition" + other, "--with-recorder")
        got = {(r["partition"], r["op"]): (r["ios"], r.get("bytes", want[r["partition"], r["op"]][1]))
               for r in rows if r["partition"].startswith(name) and "op" in r}
        if other == ",comm":
            got = {r["partition"]: r["ios"] for r in rows if r["partition"].startswith(name)}
        check("block: report %s --by partition%s has the requests of each partition" % (view, other),
              got == ({name: 2, name + "p1": 7, name + "p2": 8} if other == ",comm" else want), rows)
    rows = t.report("io", "--by", "partition,file", "--with-recorder")
    check("block: report io --by partition,file, too",
          sum(r["ios"] for r in rows if r["partition"] == name + "p2") == 8, rows)


def one_at_a_time_is_a_depth_of_one():
    d = t.sql("SELECT busy_ns, inflight_ns, depth_max FROM device_usage WHERE device_name(dev) = '%s'" %
              LOOP["write"])[0]
    rows = select("write")
    unended = [r for r in rows if not r["ended"]]
    apart = all(not a["ended"] or b["queued_ns"] > a["complete_ns"] for a, b in zip(rows, rows[1:]))
    check("block write: one at a time", hidden or apart and (d["depth_max"] == 1 or unended), d)
    check("block write: busy is the sum of times in flight", d["busy_ns"] == d["inflight_ns"] or unended or hidden,
          (d, hidden))


def a_discard_has_a_row_of_the_summary():
    section = run("report", "-i", t.path, "--limit", "0").split("Block I/O by name\n")[1].split("\n\n")[0].splitlines()
    ops = [x.split()[2] for x in section[1:] if len(x.split()) > 6]
    check("block: a discard has a row of the summary, and does not lead it", ops and ops[0] != "discard" and
          "discard" in ops, section)


# ---- owners ----

def written_back_pages_belong_to_who_dirtied_them():
    for name, want in (("one", 20 * MIB), ("two", 10 * MIB), ("map", 4 * MIB), ("fsync", 2 * MIB), ("back", 4 * MIB)):
        rows = [r for r in select("fs", op="write", pid=w[name + "_pid"]) if r["bytes"]]
        check("owner %s: the bytes that it dirtied are its own" % name, covered(rows) == want, (covered(rows), want))
        check("owner %s: because it dirtied them" % name, {r["how"] for r in rows} == {"dirtied"}, rows[:5])
    for name in "sync", "sync2":
        rows = select("fs", op="write", pid=w[name + "_pid"])
        check("owner: %s owns none of the pages that it wrote back" % name, size(rows) == 0, rows[:5])
    others = [r for r in select(pid=w["one_pid"]) if r["submitter_pid"] != r["pid"]]
    check("owner: others submitted them", others, select(pid=w["one_pid"])[:5])
    per_inode = t.one("SELECT count(*) FROM dirty_events WHERE file_name(ino_dev, ino) = '" + tmp + "/mnt/one'")
    check("owner: dirtying is not recorded page by page", 1 <= per_inode <= 60, per_inode)


def a_shared_file_belongs_to_the_last_one():
    rows = select("fs", op="write", file=tmp + "/mnt/shared")
    check("owner: of a shared file, the last one", {r["pid"] for r in rows} == {w["b_pid"]}, rows[:5])
    check("owner: and the reason says so", covered(rows) == 2 * MIB and
          {r["how"] for r in rows} <= {"dirtied_shared", "dirtied_mixed"}, rows[:5])


def direct_io_and_reads_belong_to_who_does_them():
    rows = [r for r in select("fs", op="write", pid=w["direct_pid"]) if r["bytes"]]
    check("owner: direct I/O is its process's", size(rows) == 6400 * KIB and {r["how"] for r in rows} == {"direct"},
          rows[:5])
    rows = select("fs", op="read", pid=w["cold_pid"], file=tmp + "/mnt/cold")
    check("owner: reads are who reads", size(rows) == 5120 * KIB and {r["how"] for r in rows} == {"read"}, rows[:5])
    rows = [r for r in select("raw", op="write", pid=w["raw_pid"]) if r["bytes"]]
    check("owner: a device's own pages are who dirtied them", covered(rows) == 4096 * KIB and
          {r["how"] for r in rows} == {"dirtied"}, rows[:5])


def unknown_owners_have_a_reason():
    unknown = [r for r in io if r["device"] == LOOP["fs"] and r["comm"] == "[unknown]" and r["op"] == "write"
               and r["bytes"]]
    hows = {r["owner_how"] for r in unknown}
    check("owner: unknown are metadata and journal", hows and hows <= {"metadata", "journal"}, unknown)
    jbd2 = [r for r in io if r["submitter"].startswith("jbd2/" + LOOP["fs"]) and r["bytes"]]
    check("owner: the journal wrote, for an unknown owner", jbd2 and {r["comm"] for r in jbd2} == {"[unknown]"}, jbd2)
    if LOOP["swap"]:
        out = [r for r in io if r["device"] == LOOP["swap"] and r["op"] == "write"]
        # the kernel leaves out pages that are in use elsewhere: as many as it likes
        check("owner: swapped out pages have no known owner", {(r["comm"], r["owner_how"]) for r in out} ==
              {("[unknown]", "swap")}, out)


# ---- which file ----

def each_byte_has_its_file(key, path, op, pages, want):
    rows = [r for r in select("fs", op=op, file=tmp + path, pid=w[key + "_pid"]) if r["bytes"]]
    others = [r for r in select("fs", op=op)
              if r not in rows and (r["pid"] == w[key + "_pid"] or r["file"] == tmp + path)]
    check("files %s: its bytes, by their path" % key, covered(rows) == want,
          (covered(rows), want, rows, hidden, others))
    check("files %s: the kind of its pages" % key, {r["pages"] for r in rows} == {pages}, rows[:5])


def names_change_and_files_keep_their_own():
    for what, path, op, want in (("renamed: before, by its old path", "old_name", "read", 4 * MIB),
                                 ("renamed: after, by its new one", "sub dir/new_name", "read", 4 * MIB),
                                 ("a removed file keeps its own", "first", "write", MIB),
                                 ("one with the inode number of a removed file, too", "second", "write", 2 * MIB),
                                 ("below a bind mount: by the file system's own mount", "inner/bound", "read",
                                  4 * MIB)):
        rows = select("fs", op=op, file="%s/mnt/%s" % (tmp, path))
        check("files %s" % what, covered(rows) == want, (covered(rows), want, rows[:5]))
    rows = [r for r in select("fs") if r["file"].endswith("/d/d/d/deep")]
    check("files too deep: the last directories, and that there are more", size(rows) == MIB // 4 and
          all(r["file"].startswith(".../") for r in rows), rows)
    devs = {r["ino_dev"] for r in select("fs", file=tmp + "/mnt/one")}
    check("files: and a file system", len(devs) == 1, devs)


def direct_reads_use_the_memory_of_the_process():
    rows = select("fs", op="read", file=tmp + "/mnt/sub dir/b", pid=w["dio_pid"])
    # a read of 64 KiB is several requests where the file's next block is elsewhere on the disk
    check("files direct: requests of at most 64 KiB from its own memory",
          is_all(rows, max(64, len(rows)), 4 * MIB) and max(r["bytes"] for r in rows) <= 64 << 10
          and {r["pages"] for r in rows} == {"anon"}, (len(rows), size(rows), hidden, {r["pages"] for r in rows}))


def reports_name_the_files():
    by_file = t.report("io", "--with-recorder", "--by", "file,process,device")
    got = {(r["pid"], r["file"]): r["bytes"] for r in by_file
           if r["device"] == LOOP["fs"] and r["file"].startswith(tmp) and r["bytes"]}
    want = {}
    for r in select("fs", ended=1):
        if r["file"].startswith(tmp) and r["bytes"]:
            want[r["pid"], r["file"]] = want.get((r["pid"], r["file"]), 0) + r["bytes"]
    check("files: report io --by file has the same", got == want, (got, want))
    why = [r for r in t.report("why", "--comm", "dd", "--limit", "0") if r["section"] == "Files"]
    row = next((r["row"] for r in why if r["name"] == "file" and r["value"] == tmp + "/mnt/new"), None)
    got = [r["value"] for r in why if r["name"] == "bytes" and r["row"] == row]
    check("files: report why names them", got == [size(select("fs", ended=1, file=tmp + "/mnt/new"))], why)
    kinds = {r["pages"] for r in select("fs") if not r["file"] and r["bytes"]}
    check("files: requests without one are metadata or the journal", kinds <= {"disk", "kernel", "none"}, kinds)


rings_lost_nothing()
the_kernel_saw_the_workload()
for one in DEVICES:
    requests_and_bytes_are_the_kernels(one)
    reports_have_the_requests_that_ended(one)
direct_io_belongs_to_its_process("write", "write")
direct_io_belongs_to_its_process("read", "read")
if os.path.exists(tmp + "/part2"):
    partitions_are_apart()
one_at_a_time_is_a_depth_of_one()
a_discard_has_a_row_of_the_summary()
written_back_pages_belong_to_who_dirtied_them()
a_shared_file_belongs_to_the_last_one()
direct_io_and_reads_belong_to_who_does_them()
unknown_owners_have_a_reason()
each_byte_has_its_file("cat_a", "/mnt/a", "read", "file", 4 * MIB)
each_byte_has_its_file("cat_b", "/mnt/sub dir/b", "read", "file", 4 * MIB)
each_byte_has_its_file("mapped", "/mnt/c", "read", "file", 4 * MIB)
each_byte_has_its_file("new", "/mnt/new", "write", "anon", 4 * MIB)
each_byte_has_its_file("back", "/mnt/buffered", "write", "file", 4 * MIB)
each_byte_has_its_file("big", "/mnt/big", "write", "anon", 8 * MIB)
names_change_and_files_keep_their_own()
direct_reads_use_the_memory_of_the_process()
reports_name_the_files()

# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
"""block_parts work | check: what block.sh records, and what the trace has to say about it. Each function is
one claim."""
import mmap
import os
import sys
import subprocess
import threading
import time

tmp = os.environ["tmp"]
ZRAM, HELD, FILES = (os.environ[name + "_dev"] for name in ("zram", "held", "files"))
WRITERS = "parts-a", "parts-b", "parts-c", "parts-d"
MERGERS = "merge-a", "merge-b", "merge-c"
FILE_CNT, FILE_BYTES = 25, 20480

# ---- the workload ----


def named(name, call, *args):
    pid = os.fork()
    if pid == 0:
        open("/proc/self/comm", "w").write(name)
        call(*args)
        os._exit(0)
    return pid


def until(what, condition):
    end = time.monotonic() + 100
    while not condition():
        if time.monotonic() > end:
            sys.exit("block_parts: waited too long for " + what)
        time.sleep(0.02)


def stat_now(device):
    return [int(x) for x in open("/sys/block/%s/stat" % device).read().split()]


def direct_write(device, sector, size=4096):
    fd = os.open("/dev/" + device, os.O_WRONLY | os.O_DIRECT)
    os.pwrite(fd, mmap.mmap(-1, size), sector * 512)
    os.close(fd)


def zram():
    direct_io = os.environ["WORK"] + "/direct_io"
    for args in ("write", "300", "65536", "4"), ("read", "200", "16384", "2"):
        subprocess.run([direct_io, "/dev/" + ZRAM, *args], check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["blkdiscard", "-o", "1048576", "-l", "8388608", "/dev/" + ZRAM], check=True)


def waits_in_write(pid):
    """in pwrite64 and uninterruptible: its bio is in the scheduler"""
    return open("/proc/%d/stat" % pid).read().split(") ")[1][0] == "D" and \
        open("/proc/%d/wchan" % pid).read() not in ("", "0")


def merge():
    """The device's tags are used up; what comes next waits in the scheduler, where neighbours merge."""
    tags = int(open("/sys/block/%s/mq/0/nr_tags" % HELD).read())
    subprocess.run(["fsfreeze", "-f", tmp + "/outer"], check=True)
    fill = [threading.Thread(target=direct_write, args=(HELD, i * 128)) for i in range(tags + 8)]
    for thread in fill:
        thread.start()
    until("full device", lambda: int(open("/sys/block/%s/inflight" % HELD).read().split()[1]) >= tags)
    merges, pids = stat_now(HELD)[5], []
    for i, name in enumerate(MERGERS):
        pids.append(named(name, direct_write, HELD, 40000 + i * 8))
        if i == 0:
            until("first writer", lambda: waits_in_write(pids[0]))
        until("merge", lambda: stat_now(HELD)[5] >= merges + i)
    subprocess.run(["fsfreeze", "-u", tmp + "/outer"], check=True)
    for pid in pids:
        os.waitpid(pid, 0)
    for thread in fill:
        thread.join()


def write_files(name):
    for i in range(FILE_CNT):
        with open("%s/files/%s-%02d" % (tmp, name, i), "wb") as f:
            f.write(b"o" * FILE_BYTES)


def work():
    if ZRAM:
        zram()
    if HELD:
        merge()
    for pid in [named(name, write_files, name) for name in WRITERS]:
        os.waitpid(pid, 0)
    subprocess.run(["sync", "-f", tmp + "/files"], check=True)


# ---- claims ----


def grew(device, field):
    a, b = ([int(x) for x in open("%s/%s.%s" % (tmp, device, when)).read().split()] for when in ("before", "after"))
    return b[field] - a[field]


def as_the_kernel_counted(device):
    row = [r for r in t.report("devices") if r["device"] == device][0]
    for op, ios, sectors in ("read", 0, 2), ("write", 4, 6):
        have = row[op + "s"], row[op + "_bytes"]
        check("block parts %s: %ss and their bytes are the kernel's" % (device, op),
              have == (grew(device, ios), grew(device, sectors) * 512),
              (have, grew(device, ios), grew(device, sectors)))
    merges = sum(grew(device, field) for field in (1, 5, 12))
    check("block parts %s: merges are the kernel's" % device, row["merges"] == merges, (row["merges"], merges))


def zram_belongs_to_who_asked():
    rows = t.sql("""SELECT p.comm AS comm, r.op AS op, count(*) AS cnt, sum(r.bytes) AS bytes, count(r.latency_ns)
                    AS timed
                      FROM block_requests r JOIN processes p ON p.upid = r.owner_upid
                     WHERE device_name(r.dev) = '%s'
                       AND (r.op = 'discard') = (p.comm = 'blkdiscard') GROUP BY r.op""" % ZRAM)
    have = {r["op"]: (r["cnt"], r["bytes"], r["timed"]) for r in rows}
    want = {"write": (300, 300 * 65536, 300), "read": (200, 200 * 16384, 200), "discard": (1, 8388608, 1)}
    check("block parts: bios of zram belong to who asked", have == want, have)


def each_merged_writer_has_its_bytes():
    rows = [r for r in t.report("io", "--by", "process,device,op") if r["comm"] in MERGERS]
    have = sorted((r["comm"], r["device"], r["op"], r["ios"], r["bytes"]) for r in rows)
    check("block parts: each of three merged writers has its bytes",
          have == [(name, HELD, "write", 1, 4096) for name in MERGERS], have)
    check("block parts: the kernel merged two", grew(HELD, 5) == 2, grew(HELD, 5))
    cnt = t.one("SELECT count(*) FROM block_requests WHERE device_name(dev) = '%s' AND bytes = 12288" % HELD)
    check("block parts: they are one request", cnt == 1, cnt)


def each_writer_has_its_small_files():
    rows = [r for r in t.report("io", "--by", "process,device,op")
            if r["comm"] in WRITERS and (r["device"], r["op"]) == (FILES, "write")]
    have = sorted((r["comm"], r["bytes"]) for r in rows)
    check("block parts: each of four writers has the bytes of its files",
          have == [(name, FILE_CNT * FILE_BYTES) for name in WRITERS], have)
    rows = [r for r in t.report("io", "--by", "file,device") if r["device"] == FILES]
    have = {os.path.basename(r["file"] or ""): r["bytes"] for r in rows}
    want = {"%s-%02d" % (name, i): FILE_BYTES for name in WRITERS for i in range(FILE_CNT)}
    check("block parts: each of 100 files has its bytes", {k: have.get(k) for k in want} == want,
          {k: have.get(k) for k in want if have.get(k) != want[k]})
    parts, whole = (t.sql("SELECT dev, sum(bytes) AS bytes FROM %s GROUP BY dev ORDER BY dev" % table)
                    for table in ("request_parts", "block_requests"))
    check("block parts: the bytes of parts are those of requests", parts == whole, (parts, whole))


if sys.argv[1] == "work":
    work()
else:
    from trace_query import Trace, check
    t = Trace(tmp + "/merged")
    full = t.one("SELECT coalesce(sum(full_cnt), 0) FROM losses")
    check("block parts: no event is lost in a ring", full == 0, full)
    if ZRAM:
        as_the_kernel_counted(ZRAM)
        zram_belongs_to_who_asked()
    if HELD:
        as_the_kernel_counted(HELD)
        each_merged_writer_has_its_bytes()
    as_the_kernel_counted(FILES)
    each_writer_has_its_small_files()

# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
"""Called by containers.sh."""
from trace_query import *
tmp, pid, threads, processes = os.environ["tmp"], *(int(os.environ[k]) for k in ("pid", "threads", "processes"))
t = Trace(tmp + "/many")
got = t.one("SELECT count(DISTINCT tid) FROM threads JOIN processes USING (upid) WHERE processes.pid = %d AND "
            "threads.at_start" % pid)
rows = t.one("SELECT count(*) FROM threads JOIN processes USING (upid) WHERE processes.pid = %d" % pid)
check("tasks: each of %d threads is in the snapshot, once" % threads, got == rows == threads, (got, rows))
got = t.one("SELECT count(DISTINCT pid) FROM processes WHERE ppid = %d AND at_start AND comm = 'many_threads' AND "
            "end_ns IS NULL" % pid)
rows = t.one("SELECT count(*) FROM processes WHERE ppid = %d" % pid)
check("tasks: each of %d processes is, with its name and parent" % processes, got == rows == processes, (got, rows))
# as ebpfrec-record(1) states it
info = {r["key"]: r["value"] for r in t.sql("SELECT key, value FROM info")}
queue = t.one("SELECT max(queue_size_bytes) FROM cost")
bound = 6 * int(info["ring.cnt"]) * int(info["ring.bytes"]) + 3 * queue + (32 << 20) + 2048 * t.one(
    "SELECT count(*) FROM threads")
rss = truth(tmp + "/many.out")["max_rss_kib"] << 10
print("# tasks: %.1f MB of memory at most, %.1f MB on disk" % (rss / 1e6, t.one("SELECT sum(bytes) FROM blocks") / 1e6))
check("tasks: the recorder stays below the bound of the manual", 0 < rss <= bound, (rss, bound))

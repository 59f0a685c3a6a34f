# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
"""self_cost.py any|flood: called by self_cost.sh."""
from trace_query import *


def steady():
    t = Trace(tmp + "/steady")
    w = truth(tmp + "/steady.out")
    progs = {}
    for line in open(tmp + "/steady.out"):
        if line.startswith("{"):
            p = json.loads(line)
            progs[p["name"]] = p
    # the kernel's counts were read one after the other, while the programs went on
    rows, rows_after = ({r["name"]: r for r in t.report("cost", *t.window(0, t.at(w[when]))) if r["part"] == "kernel"}
                        for when in ("before", "after"))
    # the programs ran before the recording's start, too, while the others were attached: little
    for name, hook in (("cache_alloc", "cache_alloc"), ("cache_free", "cache_free")):
        if "run_time_ns" not in progs.get(name, {}):
            print("SKIP self_cost: run time of %s: this bpftool shows none" % name)
            continue
        check("self_cost: %s: the extrapolated number of runs is the kernel's" % name,
              0.9 * rows[hook]["runs"] <= progs[name]["run_cnt"] <= 1.1 * rows_after[hook]["runs"],
              (rows[hook]["runs"], progs[name]["run_cnt"], rows_after[hook]["runs"]))
        # A run takes up to twice as long while other processes use the caches: the samples, one tick per slice, may be
        # unlucky. A hook's time is that of both its programs: the second one runs when the first was interrupted.
        ratio = rows[hook]["cpu_ns"] / (progs[name]["run_time_ns"] + progs.get(name + "_2", {}).get("run_time_ns", 0))
        check("self_cost: %s: the extrapolated run time is the kernel's, within a factor of 2" % name,
              0.5 <= ratio <= 2, ratio)
        check("self_cost: %s: only a part was measured" % name, 0 < rows[hook]["measured"] < 0.5 * rows[hook]["runs"],
              rows[hook])


def windows():
    t = Trace(tmp + "/busy")
    end = t.one("SELECT max(to_ns) FROM blocks")
    def recorder(lo, hi):
        rows = t.report("cost", *t.window(lo, hi))
        get = lambda part, name: next((r for r in rows if r["part"] == part and r["name"] == name), {})
        return {"user": get("recorder", "user")["cpu_ns"], "sys": get("recorder", "system")["cpu_ns"],
                "bytes": get("all", "")["bytes_written"],
                "kernel": sum(r["cpu_ns"] for r in rows if r["part"] == "kernel"), "all": get("all", "")["cpu_ns"]}
    cuts = [0, 12_345_678, 700_000_001, 700_000_002, 1_500_000_000, end]
    parts = [recorder(a, b) for a, b in zip(cuts, cuts[1:])]
    whole = recorder(0, end)
    for key in ("user", "sys", "bytes", "kernel", "all"):
        check("self_cost: %s of neighbouring windows add up" % key, sum(p[key] for p in parts) == whole[key],
              (parts, whole))
    check("self_cost: the parts are the whole", whole["all"] == whole["user"] + whole["sys"] + whole["kernel"]
          and whole["kernel"] > 0, whole)
    sums = t.sql("SELECT sum(user_ns) AS user, sum(sys_ns) AS sys, sum(bytes_written) AS bytes FROM cost")[0]
    check("self_cost: and what the samples say", (whole["user"], whole["sys"], whole["bytes"]) ==
          (sums["user"], sums["sys"], sums["bytes"]), (whole, sums))
    blocks = t.one("SELECT sum(bytes) FROM blocks")
    check("self_cost: bytes written are the blocks of just these times", whole["bytes"] == blocks, (whole, blocks))
    check("self_cost: a window inside a slice has its share", 0 < parts[1]["bytes"] < whole["bytes"]
          and parts[2]["bytes"] <= 100, parts)
    bins = t.report("cost", "--every", "100ms")
    check("self_cost: bins add up", sum(b["bytes_written"] for b in bins) == blocks
          and sum(b["kernel_ns"] for b in bins) == whole["kernel"], (len(bins), whole))
    out = run("report", "-i", t.path, "--format", "csv", *t.window(0, 700_000_001)).strip().split("\n")
    lo = recorder(0, 700_000_001)
    last = {r.split(",")[2]: r.split(",")[3] for r in out if r.startswith("Recording cost,")}
    check("self_cost: the summary's end says it for its window", out[-1].startswith("Recording cost,")
          and int(last.get("kernel_ns", -1)) == lo["kernel"] and int(last["bytes_written"]) == lo["bytes"], (last, lo))
    high = t.sql("SELECT max(queue_max_bytes) AS q, max(queue_size_bytes) AS size, min(cpu_cnt) AS cpus FROM cost")[0]
    check("self_cost: the queue's high-water mark is there, below its limit", 0 < high["q"] <= high["size"]
          and high["cpus"] == os.cpu_count(), high)


def flood():
    t = Trace(tmp + "/flood")
    hwm = truth(tmp + "/flood.out")["hwm_kib"] << 10
    info = {r["key"]: r["value"] for r in t.sql("SELECT key, value FROM info")}
    high = t.sql("SELECT max(queue_max_bytes) AS q, max(queue_size_bytes) AS size, max(rss_bytes) AS rss FROM cost")[0]
    tasks = t.one("SELECT count(*) FROM threads")
    # as ebpfrec-record(1) states it
    bound = 6 * int(info["ring.cnt"]) * int(info["ring.bytes"]) + 3 * high["size"] + (32 << 20) + 2048 * tasks
    check("self_cost: in a flood the recorder stays below the bound of the manual", 0 < hwm <= bound, (hwm, bound))
    # (the rest of the queue is encoded after the high-water mark was read)
    check("self_cost: and so do its samples", 0 < high["rss"] <= bound, (high, bound))
    # beyond the limit only by the content of the rings when a block ends, in slabs
    rings = int(info["ring.cnt"]) * (int(info["ring.bytes"]) + (2 << 20))
    check("self_cost: the queue was used and kept its limit", 0.3 * high["size"] < high["q"] <= high["size"] + rings,
          high)
    lost = t.one("SELECT sum(full_cnt) FROM losses")
    check("self_cost: what did not fit is declared", lost and lost > 0, lost)
    for c, s in t.balance(("sched", "alloc")).items():
        check("self_cost: in a flood read + lost = attempted, class %s" % c, s and s[0] == s[1] + s[2], s)


if sys.argv[1] == "flood":
    flood()
else:
    steady()
    windows()

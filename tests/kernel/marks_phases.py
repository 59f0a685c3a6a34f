# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
"""Called by marks_phases.sh."""
from trace_query import *
tmp, busy, touch = (os.environ[k] for k in ("tmp", "busy", "touch"))
t = Trace(tmp + "/marked")
span = t.one("SELECT max(to_ns) FROM blocks")
marks = t.sql("SELECT * FROM marks ORDER BY ts_ns")
check("marks: four, the second build is its own", [(m["name"], m["nr"]) for m in marks] == [("build", 1), ("test", 1),
    ("build", 2), ("all done", 1)], marks)
at = {(m["name"], m["nr"]): m["ts_ns"] for m in marks}

def account(r):
    return r["oncpu_ns"] + r["idle_ns"] + r["unknown_ns"] + r["other_ns"]

# every answer of the one that followed: CPUs add up to its window
answers = open(tmp + "/follow.csv").read().split("\n\n")
bad = [a for a in map(rows_of, answers) if len(a) != os.cpu_count() or any(account(r) != 500_000_000 for r in a)]
check("follow: every answer is whole", not bad, bad[:1])

phases = t.report("totals", "--phases")
check("phases: one row per interval, in order, without a hole",
      [p["phase"] for p in phases] == ["[start]", "build", "test", "build#2", "all done"] and phases[0]["t_ns"] == 0
      and all(a["t_ns"] + a["dur_ns"] == b["t_ns"] for a, b in zip(phases, phases[1:]))
      and phases[-1]["t_ns"] + phases[-1]["dur_ns"] == span, phases)
check("phases: report --phases is the view totals", rows_of(run("report", "-i", tmp + "/marked", "--phases", "--format",
    "csv")) == phases, phases)
for name, col, source in ("oncpu_ns", "oncpu_ns", "cpu"), ("ios", "ios", "io"):
    # of the machine: unknown time of a CPU is not busy, time of a thread with only a known number is; a request with
    # parts counts once for its device
    whole = sum(r[col] for r in t.report(source, "--by", "thread" if source == "cpu" else "device")
                if source != "cpu" or r["comm"] != "[unknown]" or r["tid"])
    check("phases: %s of all add up to the whole" % name, sum(p[name] for p in phases) == whole,
          (sum(p[name] for p in phases), whole))
by = {p["phase"]: p for p in phases}
check("phases: memory is in the interval that touched it", by["test"]["rss_alloc_bytes"] >= 60 << 20, by["test"])

burn = t.report("cpu", "--phases", "--comm", busy)
check("cpu --phases: the busy one is in its interval alone", [r["phase"] for r in burn] == ["build"], burn)
whole = t.report("cpu", "--comm", busy)
check("cpu --phases: and with all of its CPU time", burn and [r["oncpu_ns"] for r in whole] == [burn[0]["oncpu_ns"]],
      (burn, whole))
window = t.report("cpu", "--from", "mark:build", "--to", "mark:test", "--comm", busy)
check("--from mark: and --to mark: are that interval", window and window[0]["oncpu_ns"] == burn[0]["oncpu_ns"],
      (window, burn))
idle = t.report("cpu", "--from", "mark:build#2", "--to", "all done", "--comm", busy)
check("mark:NAME#2, and a name by itself", not idle, idle)

p = t.sql("SELECT pid, start_ns, end_ns FROM processes WHERE comm = '%s'" % touch)[0]
a = t.report("cpu", "--during", touch, "--by", "cpu", "--with-idle")
b = t.report("cpu", "--during", p["pid"], "--by", "cpu", "--with-idle")
check("--during: the life of a process, by name and by pid", a == b
      and all(account(r) == p["end_ns"] - p["start_ns"] for r in a), (a, p))
for args, status, word in (["--during", "sleep"], 2, "processes are 'sleep'"), (["--during", "nobody"], 1,
    "no process"), (["--from", "mark:nope"], 2, "no mark 'nope'"), (["--during", "sh", "--from", "1s"], 2, "leave out"):
    r = subprocess.run([EBPFREC, "report", "-i", tmp + "/marked", "cpu"] + args, stdout=subprocess.PIPE,
                       stderr=subprocess.PIPE)
    check("%s: refused with the reason" % " ".join(args), r.returncode == status and word in r.stderr.decode(),
          r.stderr.decode())

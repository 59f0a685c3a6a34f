# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
"""Called by cpu_time.sh."""

from trace_query import *
def changed(a, b):
    rows = rows_of(run("diff", "--workload", "--format", "csv", tmp + "/" + a, tmp + "/" + b))
    # The time of a request depends on other users of this machine's disk.
    return rows, [r for r in rows if r["verdict"] != "same" and not r["metric"].startswith(("lat_", "wall_"))]

rows, mine = changed("before", "after")
cpu = [r for r in mine if r["metric"] == "oncpu_ns"]
check("diff: points at the process that burns more", [r["role"] for r in cpu] == ["duty[worker] worker"], mine)
check("diff: and at nothing else", len(mine) == 1, mine)
if cpu:
    # About three times as much: beside other load it burns more or less. Its own clock leaves out the program's start,
    # some milliseconds of the 150 or more.
    burnt = {n: truth(tmp + "/" + n + ".duty")["cpu_ns"] for n in ("before", "after")}
    # Time that a hypervisor took is in the trace's time, and not in the thread's clock.
    stolen = {n: Trace(tmp + "/" + n).one("SELECT coalesce(sum(steal_ns), 0) FROM cpu_usage WHERE upid IN (SELECT "
                                          "upid FROM processes WHERE comm = 'worker' AND is_workload)")
              for n in ("before", "after")}
    off = 100 * (stolen["after"] + stolen["before"] * burnt["after"] / burnt["before"]) / burnt["before"]
    near("diff: as much more CPU time as it says itself", cpu[0]["change_pct"],
         100 * (burnt["after"] / burnt["before"] - 1), absolute=15 + off)
    check("diff: small p", cpu[0]["p_value"] < 0.001, cpu[0])
check("diff: verdicts and p values agree", all((r["verdict"] == "changed") == (r["p_value"] < 0.01) for r in rows
                                               if r["verdict"] in ("same", "changed") and r["p_value"] != ""),
      [r for r in rows if r["verdict"] in ("same", "changed")][:9])
wall = {n: Trace(tmp + "/" + n).one("SELECT max(coalesce(end_ns, (SELECT max(to_ns) FROM blocks))) - "
                                    "max(min(start_ns), 0) FROM processes WHERE is_workload AND upid >= 16")
        for n in ("before", "after")}
check("diff: the workload's wall time comes first", rows[0]["metric"] == "wall_ns"
      and (rows[0]["a"], rows[0]["b"]) == (wall["before"], wall["after"]), (rows[0], wall))
steady = [r for r in rows if r["role"].startswith("duty[steady]") and r["metric"] == "oncpu_ns"]
check("diff: the steady one is the same", len(steady) == 1 and steady[0]["verdict"] == "same", steady)
t = Trace(tmp + "/after")
truth_ns = t.one("SELECT sum(oncpu_ns) FROM cpu_usage WHERE upid IN (SELECT upid FROM processes WHERE comm = "
                 "'worker' AND is_workload)")
check("diff: values are those of the reports", cpu and cpu[0]["b"] == truth_ns, (cpu, truth_ns))
# Names that differ in digits are one role; pseudonyms must not become so.
for name in ("before", "after"):
    run("redact", "-i", tmp + "/" + name, "-o", tmp + "/redacted-" + name, "--salt", "one")
hidden, hidden_mine = changed("redacted-before", "redacted-after")
check("diff: of redacted traces, the same roles", len({r["role"] for r in hidden}) == len({r["role"] for r in rows}),
      (sorted({r["role"] for r in hidden}), sorted({r["role"] for r in rows})))
check("diff: of redacted traces, one process", [r["metric"] for r in hidden_mine] == ["oncpu_ns"] == [r["metric"]
    for r in mine], hidden_mine)
rows, mine = changed("before", "again")
check("diff: the same again has not changed", not mine, mine)
check("diff: but has all it is made of", {"dd zero", "true", "seq 40", "pingpong 20000"} <= {r["role"] for r in rows},
      sorted({r["role"] for r in rows}))
code = subprocess.run([EBPFREC, "diff", "--exit-code", "--format", "csv", tmp + "/before", tmp + "/after"],
                      stdout=subprocess.DEVNULL).returncode
check("diff: --exit-code says so", code == 1, code)
text = open(tmp + "/flame.html").read().split('data-unit="ns">')[1].split("</pre>")[0]
lines = [x.split("\t") for x in text.splitlines()]
frames = {x[0].rsplit(" ", 1)[0].rsplit(";", 1)[-1]: (float(x[2]), x[3]) for x in lines if x[2]}
check("diff: one coloured frame, the function that has more", list(frames) == ["burn_beta"], frames)
interval = [float(x) for x in re.findall(r"[-+][\d.]+", frames.get("burn_beta", (0, "0 (0 .. 0)"))[1])]
check("diff: with an interval around 20 %", len(interval) == 3 and 10 < interval[1] <= interval[0] <= interval[2] < 30
      and interval[1] < 21.5 and interval[2] > 18.5, frames)
sums = {"a": 0, "b": 0}
for line in open(tmp + "/flame.folded"):
    for name, value in zip("ab", line.rsplit(" ", 2)[1:]):
        sums[name] += int(value)
used = {n: sum(Trace("%s/%s.%d" % (tmp, n, i)).one(
    "SELECT sum(oncpu_ns) FROM cpu_usage WHERE upid IN (SELECT upid FROM processes WHERE is_workload)")
    for i in range(1, 11)) / 10 for n in "ab"}
check("diff: the widths add up to the mean time on the CPU", all(abs(sums[n] - used[n]) < 1000 for n in "ab"),
      (sums, used))

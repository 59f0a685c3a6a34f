# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
"""Called by cpu_time.sh."""
import math
from trace_query import *
period_ns = 1_000_000_000 // int(os.environ["HZ"])
t = Trace(tmp + "/burn")
w = truth(tmp + "/burn.out")
ITS = "FROM cpu_samples JOIN threads USING (utid) WHERE tid = %d"


def lost_of(t):
    return t.one("SELECT coalesce(sum(lost_cnt + missed_cnt), 0) FROM losses WHERE source = 'cpu.sample'")


lost = lost_of(t)
# The number of a thread's samples in each function, among those with a user stack of this thread's code
texts = [r["text"] for r in t.sql("SELECT stack_text(stack, ts_ns, 'user') AS text " + ITS % w["tid_user"])]
inner = {f: sum(1 for x in texts if x and "burn_%s" % f in x) for f in ("alpha", "beta", "gamma")}
n = sum(inner.values())
check("profile: nearly all samples show the function", n >= 0.9 * len(texts) - 10, (n, len(texts)))
measured = sum(w[f + "_ns"] for f in inner)
for f, cnt in inner.items():
    p = w[f + "_ns"] / measured
    # Five standard deviations of a binomial distribution of n samples: with random samples, one run in a million is
    # outside.
    check("profile: the share of burn_%s" % f, abs(cnt - n * p) <= 5 * math.sqrt(n * p * (1 - p)), (cnt, n, p))
system = [r["text"] or "" for r in t.sql("SELECT stack_text(stack, ts_ns, 'kernel') AS text " + ITS % w["tid_system"])]
check("profile: a thread in system calls has kernel stacks",
      sum("vfs_read" in x for x in system) >= 0.8 * len(system) - 10 and system, system[:3])
for thread in "user", "system", "idle":
    # The clock fires at fixed times. The beginning of a stay on the CPU between two of them is chance: half a sample or
    # less for each stay. These add up like random errors, and ten times as much is allowed. If a hypervisor takes a CPU
    # away for more than a period, there is one sample for all of it: a tenth of the time may be missing so, and the
    # time that the kernel reports as stolen.
    used, stays, steal = t.sql("SELECT coalesce(sum(oncpu_ns), 0) AS a, coalesce(sum(switches), 0) AS b, "
                               "coalesce(sum(steal_ns), 0) AS c " "FROM cpu_usage(0, NULL, 0) JOIN threads USING "
                               "(utid) WHERE tid = %d" % w["tid_" + thread])[0].values()
    got, most = t.one("SELECT count(*) " + ITS % w["tid_" + thread]), used / period_ns
    slack = 3 + 5 * math.sqrt(min(most, stays + 1))
    check("profile: thread %s has a sample for each period on the CPU" % thread,
        0.9 * most - steal / period_ns - slack - lost <= got <= most + slack, (got, most, stays, steal, lost))
names = t.report("profile", "--tid", str(w["tid_user"]))
self_ns = {f: sum(r["self_ns"] for r in names if "burn_" + f in r["function"]) for f in inner}
check("profile: functions are in the order of their time", self_ns["alpha"] > self_ns["beta"] > self_ns["gamma"],
      self_ns)
# (all of it is over before the recorder has looked at a sample)
brief = [r["text"] or "" for r in Trace(tmp + "/short").sql("SELECT stack_text(stack, ts_ns, 'user') AS text " + ITS %
                                                            truth(tmp + "/short.out")["tid_user"])]
check("profile: a short program's functions have names", sum("burn_" in x for x in brief) >= 0.9 * len(brief) - 3
      and brief, brief[:3])


def of_thread(name, thread):
    return [r["text"] or "" for r in Trace("%s/%s" % (tmp, name)).sql("SELECT stack_text(stack, ts_ns) AS text " + ITS %
        truth("%s/%s.out" % (tmp, name))["tid_" + thread])]


# A program without frame pointers: of each sample the whole chain, from the thread's first function. At its start a
# thread is in code of the C library that has no frame yet, and in the kernel before it has run.
if Trace(tmp + "/bare").one("SELECT count(*) FROM info WHERE key = 'profile.unwind' AND value = 'dwarf'"):
    chains = { "user": r"^(_*clone3?;)?(start_thread;)?user;burn_outer;burn_",
              "system": r"^(_*clone3?;)?(start_thread;)?system_calls;vfs_read;" }
    for thread, chain in chains.items():
        got = of_thread("bare", thread)
        check("profile: without frame pointers, the whole chain of thread %s" % thread,
              sum(bool(re.search(chain, x)) for x in got) >= 0.95 * len(got) - 2 and len(got) > 100,
              [x for x in got if not re.search(chain, x)][:3])
    fp = of_thread("pointers", "user")
    check("profile: frame pointers alone do not show it", sum("user;burn_outer" in x for x in fp) <= 0.05 * len(fp) + 2
          and fp, fp[:3])
    # more is on the stack than a sample copies
    deep = of_thread("deep", "user")
    check("profile: a stack whose copy ends says so", sum(bool(re.match(r"\(not unwound\);burn_outer;burn_", x))
                                                          for x in deep) >= 0.9 * len(deep) - 2 and deep,
          [x for x in deep if not x.startswith("(not unwound);")][:3])
    folded = run("report", "profile", "-i", tmp + "/deep", "--format", "folded", "--tid",
                 str(truth(tmp + "/deep.out")["tid_user"]))
    check("profile: so do reports", "(not unwound);burn_outer;burn_alpha" in folded, folded[:300])

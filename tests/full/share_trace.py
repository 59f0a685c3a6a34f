# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
"""Called by share_trace.sh."""
from concurrent.futures import ThreadPoolExecutor
from trace_query import *
tmp, seconds = os.environ["tmp"], int(os.environ["seconds"])
A = Trace(tmp + "/before")
FROM = A.begin_from(seconds * 400_000_000)
TO = FROM + seconds * (200_000_000 if seconds < 20 else 100_000_000)
# The summary groups by the last name of a process. A part that ends between a fork and its exec has an older name: no
# such end.
unnamed = [(r["start_ns"], r["named_ns"]) for r in A.sql("SELECT p.start_ns, max(e.ts_ns) AS named_ns FROM processes "
                                                         "p JOIN task_events e USING (upid) WHERE e.type IN ('exec', "
                                                         "'rename') AND p.start_ns NOT NULL GROUP BY upid")]
while any(start < TO <= named for start, named in unnamed):
    TO = min(named for start, named in unnamed if start < TO <= named) + 1
# A part does not know the effects of an event after the window on a thread inside it: it must not end there either.
TO = A.end_from(TO)
LIMIT = 24_000_000
run("cut", "-i", A.path, "-o", tmp + "/part", *A.window(FROM, TO))
run("bundle", "--redact", "--salt", "one", "--max-size", "24MB", "-i", tmp + "/part", "-o", tmp + "/public.zip")
run("bundle", "--redact", "--salt", "one", "--max-size", "24MB", "-i", A.path, "-o", tmp + "/at-once.zip",
    *A.window(FROM, TO))
run("check", "-i", tmp + "/public.zip")
size = os.path.getsize(tmp + "/public.zip")
check("share: the bundle is below its size, and whole", size <= LIMIT, size)
check("share: other programs take it", subprocess.run(["unzip", "-tq", tmp + "/public.zip"],
                                                      stdout=subprocess.DEVNULL).returncode == 0, "unzip -t")

# ---- the same numbers, other names ----
NAMES = {"comm", "by_comm", "beside", "holder", "submitter", "largest_rss_comm", "call_site", "user_stack",
         "kernel_stack", "stack", "function"}
# the size of blocks with other names is their own
NAMES |= {"bytes_written", "bytes_per_event"}
# objects of waits without a name that a bundle replaces
OBJECT = re.compile(r"(pipe|socket|inode):\[\d+\]|[0-9a-f]+|(process|epoll|eventfd|timerfd|signalfd|inotify) "
                    r"\d+|\d[\d.]* [num]?s")
INSTANTS = {"t_ns", "start_ns", "end_ns", "peak_ns", "rss_peak_at_ns"}
# A part of a trace may not know the names of vectors. A burst over an edge is shorter in a part.
BEYOND = {"path": {"object"}, "processes": {"cmdline"}, "irq": {"name"}, "bins": {"name", "spikes", "spike_max_bytes"}}
# a cause and the next one contain names of processes and locks, and so does a verdict
BEYOND["whatif"] = {"cause", "next", "verdict"}
BEYOND["symbols"] = {"module", "build_id"}
ARGS = {"spikes": ["--spike-min", "1MiB"]}
views = [x["view"] for x in json.loads(run("report", "--list", "--format", "json"))]
pseudonyms = {}
pool = ThreadPoolExecutor(2)    # the trace and the bundle are asked at the same time
# activities of a process after its exit belong to it, too
inside = {r["pid"] for r in A.sql("SELECT pid FROM processes GROUP BY pid HAVING count(*) = 1 AND min(start_ns) >= "
                                  "%d AND max(end_ns) < %d" % (FROM, TO - 100_000_000))}


def numbers(view, row, shift_ns):
    return {k: v - shift_ns if k in INSTANTS and v != "" else "" if k == "object" and not OBJECT.fullmatch(str(v))
            else v for k, v in row.items() if k not in NAMES and k not in BEYOND.get(view, ())}


def compare(view, bundle, args):
    args_of_view = [*args, *ARGS.get(view, ())]
    a, b = pool.map(lambda ask: ask(), (lambda: A.report(view, *args_of_view, *A.window(FROM, TO)),
                                        lambda: bundle.report(view, *args_of_view)))
    if view == "spikes":    # a burst over an edge of the window is shorter in a part
        a, b = ([r for r in rows if r["pid"] in inside] for rows in (a, b))
    a = sorted(((json.dumps(numbers(view, r, FROM)), r) for r in a), key=lambda x: x[0])
    b = sorted(((json.dumps(numbers(view, r, 0)), r) for r in b), key=lambda x: x[0])
    alike = [x for x, _ in a]
    times, shared = collections.Counter(alike), collections.Counter(x for x, _ in b)
    check("share: report %s has the same numbers (%d rows)" % (" ".join([view] + args), len(a)),
          alike == [x for x, _ in b] and (len(a) > 0 or view in ("spikes", "stacks", "pressure", "requests",
                                                                "symbols")),
          [list((x - y).elements())[:3] for x, y in ((times, shared), (shared, times))] + [len(a), len(b)])
    for (x, ra), (y, rb) in zip(a, b):
        if times[x] == 1 and x == y:
            for k in ("comm", "by_comm", "holder", "submitter", "largest_rss_comm"):
                if ra.get(k):
                    pseudonyms.setdefault(ra[k], set()).add(rb[k])


z, once = Trace(tmp + "/public.zip"), Trace(tmp + "/at-once.zip")
check("share: all views are compared", {"totals", "cpu", "irq", "sched", "states", "parallel", "why", "alloc", "spikes",
                                        "io", "latency", "pattern", "devices", "preempts", "timeline", "waits", "locks",
                                        "path", "throttle", "beside", "memory", "growth", "leaks", "lifetimes", "sizes",
                                        "stacks", "profile", "loss", "cost", "summary"} <= set(views), views)
for view in views:
    # the first two have sections; there were no long waits and no quotas; beside looks at requests that end after the
    # window
    if view in ("summary", "why", "offcpu", "throttle", "beside"):
        continue
    compare(view, z, [])
    if view not in ("growth", "leaks", "lifetimes", "stacks", "profile", "locks", "path", "pressure", "processes",
                    "whatif", "symbols"):
        compare(view, z, ["--every", "100ms"])
for view, by in (("cpu", "thread"), ("cpu", "cpu"), ("sched", "thread"), ("states", "thread"), ("io", "device"),
                 ("irq", "cpu")):
    compare(view, z, ["--by", by])
for view in ("cpu", "alloc", "io"):
    compare(view, once, [])
# The data on the recording is the original's; whether a burst is a spike depends on the usual rate in the whole trace.
# Rows with the same figures are in order of their names, which differ.
def summary(path, shift_ns, *args):
    rows = {}
    for r in rows_of(run("report", "-i", path, "summary", "--format", "csv", *args)):
        if r["section"] not in ("Recording", "Spikes", "Causes") and r["name"] not in NAMES:
            rows.setdefault((r["section"], r["row"]), []).append((r["name"], r["value"] - shift_ns
                if r["name"] in INSTANTS else r["value"]))
    return collections.Counter((section, str(values)) for (section, _), values in rows.items())


whole, part = summary(A.path, FROM, *A.window(FROM, TO)), summary(z.path, 0)
check("share: report summary has the same numbers (%d rows)" % len(whole), whole == part and len(whole) > 10,
      (whole - part, part - whole))
# (the recorder's own keep their name, others of that name do not)
pseudonyms = {k: v for k, v in pseudonyms.items() if not k.startswith("ebpfrec")}
check("share: one pseudonym for each name", all(len(v) == 1 for v in pseudonyms.values()),
      {k: v for k, v in pseudonyms.items() if len(v) != 1})
renamed = {k: min(v) for k, v in pseudonyms.items() if {k} != v}
check("share: and one name for each pseudonym", len(set(renamed.values())) == len(renamed), renamed)
mine = {"steady", "worker", "pingpong", "touch_memory", "direct_io", "dd"}
check("share: names of the workload are pseudonyms", mine & set(pseudonyms) == mine & set(renamed)
      and len(mine & set(renamed)) >= 4 and all(re.fullmatch("proc-[a-z]+", renamed[n]) for n in mine & set(renamed)),
      sorted(mine & set(pseudonyms)))
shown = run("report", "-i", z.path, "cpu", "--limit", "0") + run("sql", "-i", z.path,
    "SELECT comm, exe, cmdline FROM processes")
seen = [n for n in mine if re.search(r"\b%s\b" % n, shown)]
check("share: and shown nowhere", not seen, seen)

# ---- diff ----
rows = rows_of(run("diff", "--workload", "--format", "csv", tmp + "/before", tmp + "/after"))
truth = [json.load(open(tmp + "/%s.truth" % n)) for n in ("before", "after")]
# The time of a request, and the number of writes that make up a file, depend on other users of this machine's disk. If
# diff itself reports lost requests (ends under tasks that are hidden from BPF), their number cannot be compared.
# "unknown" for the wall time, beside another load, is not a claim. A process whose birth
# was lost may have a role of its own.
claims = [r for r in rows if r["verdict"] != "same" and (r["metric"], r["verdict"]) != ("wall_ns", "unknown")
          and not r["metric"].startswith("lat_") and not (r["metric"] == "ios" and r["role"].startswith("dd"))
          and (r["complete"] or not (r["metric"].startswith("io") or r["verdict"].startswith("only")))]


STEAL_NS = sum(t["steal"][0] for t in truth)
UNKNOWN_NS = sum(Trace(tmp + "/" + n).unknown_ns(0, 1 << 60) for n in ("before", "after"))


def borne_out(r):
    role = next((k for k in truth[0] if r["role"] == k or r["role"].startswith(k + " ")), None)
    if not role:
        return False
    (cpu_a, io_a), (cpu_b, io_b) = (t[role] for t in truth)
    if r["metric"] in ("ios", "io_bytes"):  # a program that was not in the page cache had to be read
        return io_a != io_b
    # the trace has all of a process's life except time without a known owner, wait4() has the scheduler's charge: they
    # agree to some per cent
    return r["metric"] == "oncpu_ns" and r["verdict"] == "changed" and abs(r["b"] - r["a"] - (
        cpu_b - cpu_a)) < 0.02 * cpu_a + 2_000_000 + STEAL_NS + UNKNOWN_NS


mine = [r for r in claims if r["role"].startswith("duty[worker]") and r["metric"] == "oncpu_ns"]
others = [r for r in claims if r not in mine and not borne_out(r)]
for r in claims:
    if r not in mine and borne_out(r):
        print("# diff says %s of %s is %s, was %s: so does the kernel" % (r["metric"], r["role"], r["b"], r["a"]))
check("share: diff points at the process that burns more", len(mine) == 1 and mine[0]["verdict"] == "changed"
      and mine[0]["p_value"] < 0.001, (mine, truth))
check("share: and at nothing else that the kernel does not bear out", not others, (others, truth))
if mine:
    real = truth[1]["duty[worker]"][0] - truth[0]["duty[worker]"][0]
    near("share: by as much as the kernel says", mine[0]["b"] - mine[0]["a"], real, rel=0.05,
         absolute=STEAL_NS + UNKNOWN_NS)
steady = [r for r in rows if r["role"].startswith("duty[steady]") and r["metric"] == "oncpu_ns"]
check("share: of what burns as it did it says so", len(steady) == 1
      and (steady[0]["verdict"] == "same" or steady[0] in claims), steady)

#!/usr/bin/env python3
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
"""
one_answer.py [KIND...]: a figure that stands in several places is the same in all of them.

Over a chaotic trace, a damaged one, one with losses and one of which some sources were not recorded, it compares what
the views say of the whole trace and, added up, of bins; the data of the page; the rows for ClickHouse; the metrics; and
an exported database. It does so with every figure that more than one of them has, and with whether the window is
complete.
"""
import base64
import collections
import csv
import functools
import io
import json
import os
import re
import sqlite3
import subprocess
import sys
import tempfile
import zlib

BUILD = os.environ.get("BUILD", os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "build"))
EBPFREC, GEN = os.environ.setdefault("EBPFREC", os.path.join(BUILD, "ebpfrec")), os.path.join(BUILD,
    "tests/cli/gen_doubtful")
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "kernel"))
import landing  # noqa: E402

STATES = ["running", "runnable", "preempted", "throttled", "disk", "uninterruptible", "sleeping", "stopped", "unknown"]
# View, what tells its rows apart, and columns whose bins add up, ^ those of which the largest counts
SUMS = [("cpu", ["comm"], ["oncpu_ns", "switches", "preempted"]),
        ("sched", ["comm"], ["waits", "wait_ns", "^wait_max_ns", "wakeups", "preempts", "unknown_waits"]),
        ("states", ["comm"], ["life_ns"] + [s + "_ns" for s in STATES]),
        ("waits", ["comm", "kind"], ["waits", "wait_ns", "^wait_max_ns"]), ("parallel", ["comm"], ["oncpu_ns"]),
        ("alloc", ["comm", "source"], ["allocs", "frees", "alloc_bytes", "free_bytes", "exit_bytes", "^peak_bytes"]),
        ("memory", ["comm"], ["^rss_peak_bytes"]), ("io", ["comm", "device", "op"],
                                                    ["ios", "bytes", "^lat_max_ns", "errors"]),
        ("latency", ["device", "op"], ["ios", "errors", "^lat_max_ns"]),
        ("pattern", ["device", "op"], ["ios", "bytes"]), ("devices", ["device"],
                                                          ["reads", "read_bytes", "writes", "write_bytes", "errors",
                                                           "busy_ns", "inflight_ns"]),
        ("totals", [], ["oncpu_ns", "switches", "preempted", "^wait_max_ns", "rss_alloc_bytes", "slab_alloc_bytes",
                        "page_alloc_bytes", "^rss_peak_bytes", "ios", "io_bytes", "^io_lat_max_ns"]),
        ("loss", ["class"], ["lost_events"]),]


def run(*args):
    r = subprocess.run([EBPFREC] + [str(a) for a in args], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if r.returncode:
        sys.exit("not ok one_answer: %s: %s" % (args, r.stderr.decode()))
    return r.stdout, r.stderr.decode()


def number(text):
    return int(text) if re.fullmatch(r"-?\d+", text) else text


@functools.cache
def report(trace, view, *more):
    """(rows, whether the command says that the window is complete)"""
    out, err = run("report", "-i", trace, view, "--format", "csv", "--limit", 0, *more)
    rows = [{k: number(v) for k, v in row.items()} for row in csv.DictReader(io.StringIO(out.decode("utf-8",
        "replace")))]
    return rows, "the window is incomplete" not in err


def added(rows, keys, columns, times=1):
    """{(key, ..., column): sum or highest}, without those that are 0 or nothing"""
    sums = {}
    for row in rows:
        for c in columns:
            name, v = c.lstrip("^"), row.get(c.lstrip("^"))
            if not isinstance(v, (int, float)):
                continue
            at = tuple(row[k] for k in keys) + (name,)
            sums[at] = max(sums.get(at, 0), v) if c[0] == "^" else sums.get(at, 0) + v * times
    return {k: v for k, v in sums.items() if v}


def by_of(view, keys):
    return ["--by", "comm,device,op"] if view == "io" else ["--by", "comm"] if keys[:1] == ["comm"] else []


class Trace:
    def __init__(self, kind, directory):
        self.kind, self.path = kind, os.path.join(directory, kind + ".ebpfrec")
        subprocess.run([GEN, kind, self.path], check=True)
        self.failed = []
        self.figures = 0

    def same(self, what, a, b):
        """Both are figures by key; what one has not is 0"""
        self.figures += len(a)
        wrong = [(k, a.get(k, 0), b.get(k, 0)) for k in sorted(set(a) | set(b), key=str) if a.get(k, 0) != b.get(k, 0)]
        if wrong:
            self.failed.append("%s: %d of %d differ: %s" % (what, len(wrong), len(a), wrong[:4]))

    def whole(self, view, keys, columns, more=()):
        return added(report(self.path, view, *by_of(view, keys), *more)[0], keys, columns)

    def all_of(self, view, keys, columns):
        """With the recorder and idle CPUs, whom the lists of a trace have, too."""
        return self.whole(view, keys, columns, [] if view == "loss" else ["--with-recorder", "--with-idle"])

    # ---- views: the whole, and its bins ----

    def check_bins(self):
        for view, keys, columns in SUMS:
            rows = report(self.path, view, *by_of(view, keys), "--every", "300ms")[0]
            self.same("%s and its bins" % view, self.whole(view, keys, columns), added(rows, keys, columns))

    # ---- the machine ----

    def check_machine(self):
        """The machine is the same whoever a report is about; time of which what ran is not known is not busy."""
        def machine(*more):
            return {r["name"]: float(r["value"] or 0) for r in report(self.path, "summary", *more)[0]
                    if r["section"] == "Machine"}

        def summary(section, *columns):
            rows = {}
            for r in report(self.path, "summary")[0]:
                if r["section"] == section:
                    rows.setdefault(r["row"], {})[r["name"]] = r["value"]
            return added(rows.values(), ["comm"], columns)

        cpus = report(self.path, "cpu", "--by", "cpu")[0]
        totals = report(self.path, "totals")[0][0]
        pid = next(r["pid"] for r in report(self.path, "cpu")[0] if r["pid"] != "")
        self.same("the machine, and with --pid", machine(), machine("--pid", pid))
        self.same("the machine, and with idle time", machine(), machine("--with-idle", "--with-recorder"))
        self.same("time on CPUs and totals", {"ns": sum(r["oncpu_ns"] for r in cpus)}, {"ns": totals["oncpu_ns"]})
        busy = sum(float(r["util_pct"]) for r in cpus)
        of_all = machine()["cpu_busy_pct"] * machine()["cpus"]
        # each is rounded
        if max(abs(of_all - busy), abs(float(totals["util_pct"]) - busy)) > 0.001 * (len(cpus) + 1):
            self.failed.append("CPUs are busy: %s %% in all, totals %s, cpu %s" % (of_all, totals["util_pct"], busy))
        if self.kind != "partial":
            self.same("peaks of the machine and totals", {"bytes": machine()["rss_peak_bytes"]},
                      {"bytes": totals["rss_peak_bytes"]})
            self.same("peaks of names and memory", summary("Memory by name", "rss_peak_bytes"),
                      self.whole("memory", ["comm"], ["rss_peak_bytes"]))
        self.same("CPUs on the page", {"ns": sum(r["oncpu_ns"] for r in cpus)}, {"ns": self.page_busy_ns})

    # ---- the page ----

    def page(self):
        out = os.path.join(os.path.dirname(self.path), self.kind + ".html")
        run("export", "-q", "-i", self.path, "--to", "html", "-o", out)
        text = open(out, encoding="utf-8", errors="replace").read()
        coded = re.search(r'id="data"[^>]*>([^<]*)<', text).group(1)
        data = json.loads(zlib.decompress(base64.b64decode(coded)))
        for r in data["results"].values():
            cnt = len(next(iter(r.values())))
            for column in r.values():
                column += [0] * (cnt - len(column))
            for i in range(1, len(r.get("bin", []))):
                r["bin"][i] += r["bin"][i - 1]
        self.page_state = re.search(r'<p class="(\w+)">', text).group(1) == "complete"
        self.page_texts = data["texts"]
        return data["results"]

    def page_rows(self, result):
        rows = [dict(zip(result, row)) for row in zip(*result.values())]
        for row in rows:
            for k in ("process", "source", "op", "what"):
                if row.get(k) is not None:
                    row[k] = self.page_texts[row[k]]
            # those of a name without rows of their own: "other NAME"
            row["comm"] = re.sub(r"^(\d+ \d* |other )", "", row.get("process") or "")
        return rows

    def check_page(self):
        results = self.page()
        for view, keys, columns in SUMS:
            name = {"sched": "waits", "alloc": "memory"}.get(view, view)
            if name not in ("cpu", "waits", "states", "memory", "io") or view in ("memory", "waits"):
                continue
            keys = [k for k in keys if k not in ("device", "op")]
            columns = [c for c in columns if c.lstrip("^") in results[name]]
            rows = [r for r in self.page_rows(results[name])]
            whole = [r for r in report(self.path, view)[0] if r.get("source") != "vm"]
            if any(r["comm"] == "other" for r in rows):    # not every name has rows of its own
                keys = [k for k in keys if k != "comm"]
            self.same("%s and the page" % view, added(whole, keys, columns), added(rows, keys, columns))
        self.losses = self.page_rows(results["loss"])
        self.page_busy_ns = sum(results["cpus"]["oncpu_ns"])

    # ---- bins, ClickHouse ----

    def check_comm_bins(self):
        bins = report(self.path, "bins", "--every", "1s", "--align")[0]
        data = run("export", "-q", "-i", self.path, "--to", "clickhouse", "--every", "1s", "-o", "-")[0]
        sent = [row for table, row in landing.rows(data) if table == "comm_bins"]
        columns = ["running_ns", "runnable_ns", "preempted_ns", "throttled_ns", "disk_ns", "uninterruptible_ns",
                   "unknown_ns", "^rss_peak_bytes", "rss_grown_bytes", "slab_alloc_bytes", "page_alloc_bytes",
                   "heap_alloc_bytes", "spikes", "ios", "io_bytes", "lat_sum_ns", "^lat_max_ns", "lat_ios",
                   "lost_events"]
        self.same("bins and ClickHouse", added(bins, ["name"], columns), added(sent, ["name"], columns))
        self.same("bins and ClickHouse, complete", added(bins, ["name"], ["complete"]),
                  added(sent, ["name"], ["complete"]))

        states = self.all_of("states", ["comm"], columns[:7])
        off_cpu = {}
        for (comm, column), v in self.all_of("states", ["comm"], [s + "_ns" for s in STATES[1:]]).items():
            off_cpu[comm, "wait_ns"] = off_cpu.get((comm, "wait_ns"), 0) + v
        self.same("states off the CPUs and waits", off_cpu, self.all_of("waits", ["comm"], ["wait_ns"]))
        self.same("states and cpu", self.all_of("states", ["comm"], columns[:1]),
                  {k[:-1] + ("running_ns",): v for k, v in self.all_of("cpu", ["comm"], ["oncpu_ns"]).items()
                   if k[0] != "[idle]"})
        self.same("bins and states", added(bins, ["name"], columns[:7]), states)
        self.same("bins and memory", added(bins, ["name"], ["^rss_peak_bytes"]),
                  self.all_of("memory", ["comm"], ["^rss_peak_bytes"]))
        self.same("bins and alloc", added(bins, ["name"], columns[8:12]),
                  {(comm, {"rss": "rss_grown_bytes"}.get(source, source + "_alloc_bytes")): v for (comm, source, _),
                   v in self.all_of("alloc", ["comm", "source"], ["alloc_bytes"]).items() if source != "vm"})
        io_rows = [dict(r, io_bytes=r["bytes"], name=r["comm"])
                   for r in report(self.path, "io", "--by", "comm,device,op", "--with-recorder")[0]]
        self.same("bins and io", added(bins, ["name", "device", "op"], ["ios", "io_bytes", "^lat_max_ns"]),
                  added(io_rows, ["name", "device", "op"], ["ios", "io_bytes", "^lat_max_ns"]))
        self.bins = bins

    # ---- headings ----

    def check_headings(self):
        """The page's tables call a figure what the terminal calls it."""
        script = open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "cmd", "page",
                                   "tables.js")).read()
        of_page = {a or b for a, b in re.findall(r"id: '\w+', name: '([^']+)'|columns\.sum\('\w+', '([^']+)'", script)}
        known = {h for view in ("cpu", "sched", "states", "alloc", "io")
                 for line in run("report", "-i", self.path, view, "--wide")[0].decode("utf-8", "replace").splitlines()
                 for h in re.split(r"  +", line.strip()) if line.lstrip().startswith("PID")}
        if len(of_page) < 10 or of_page - known:
            self.failed.append("headings of the page that no table has: %s" % sorted(of_page - known))

    # ---- histograms ----

    def check_histograms(self):
        """Every step from the first to the last has a row, in tables as well."""
        rows = report(self.path, "latency", "--histogram", "--by", "device,op")[0]
        keys = ["device", "op", "phase"]
        for a, b in zip(rows, rows[1:]):
            if [a[k] for k in keys] == [b[k] for k in keys] and a["high_ns"] != b["low_ns"]:
                self.failed.append("latency --histogram: no step between %s and %s" % (a, b))
        lines = run("report", "-i", self.path, "latency", "--histogram", "--by", "device,op")[0].decode().splitlines()
        if len(rows) <= 20 or len([x for x in lines if x.startswith("dev")]) != len(rows) or any(" more: " in x
            for x in lines):
            self.failed.append("latency --histogram: %d steps, and the table has %s" % (len(rows), lines[-3:]))

    # ---- metrics ----

    def metrics(self):
        text = run("export", "-q", "-i", self.path, "--to", "openmetrics", "--every", "1s", "--top", 1000, "-o",
                   "-")[0].decode()
        last, most = {}, {}
        for name, labels, v in re.findall(r"^ebpfrec_(\w+?)(?:_total)?(?:\{(.*)\})? ([\d.e+]+) [\d.]+$", text, re.M):
            label = dict(re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', labels))
            if "le" in label:
                continue
            v = round(float(v) * 1e9) if "seconds" in name and not name.endswith("_count") else int(float(v))
            at = (name,) + tuple(sorted(label.items()))
            last[at], most[at] = v, max(v, most.get(at, 0))
        return last, most

    def check_metrics(self):
        last, most = self.metrics()

        def of(found, name, **labels):
            """{(comm or other label, ...): value} of a metric with these labels, added up over all others but
            "comm\""""
            sums = collections.Counter()
            for k, v in found.items():
                if k[0] == name and labels.items() <= dict(k[1:]).items():
                    sums[dict(k[1:]).get("comm", "")] += v
            return {k: v for k, v in sums.items() if v}

        def column(view, keys, name, **where):
            rows = [r for r in report(self.path, view, *(["--by", "comm,op" if view == "io" else "comm"] if keys
                                                         else []))[0] if all(r[k] == v for k, v in where.items())]
            return {(k[0] if keys else ""): v for k, v in added(rows, keys, [name]).items()}

        for metric, view, name in [("cpu_seconds", "cpu", "oncpu_ns"), ("context_switches", "cpu", "switches"),
                                   ("preemptions", "cpu", "preempted"), ("cpu_wait_seconds", "sched", "wait_ns"),
                                   ("cpu_waits", "sched", "waits"), ("io_bytes", "io", "bytes"),
                                   ("io_requests", "io", "ios")]:
            self.same("metric %s" % metric, of(last, metric), column(view, ["comm"], name))
        for state in STATES:
            self.same("metric of state %s" % state, of(last, "thread_state_seconds", state=state),
                      column("states", ["comm"], state + "_ns"))
        for kind in sorted({r["kind"] for r in report(self.path, "waits")[0]}):
            self.same("metric of waits for %s" % kind, of(last, "wait_seconds", kind=kind),
                      column("waits", ["comm"], "wait_ns", kind=kind))
        self.same("metrics of waits and of states", of(last, "wait_seconds"),
                  {k: v - of(last, "thread_state_seconds", state="running").get(k, 0) for k,
                   v in of(last, "thread_state_seconds").items()
                   if v != of(last, "thread_state_seconds", state="running").get(k, 0)})
        for metric, name in [("allocated_bytes", "alloc_bytes"), ("freed_bytes", "free_bytes"),
                             ("exit_bytes", "exit_bytes")]:
            for source in ("rss", "slab", "page", "heap"):
                self.same("metric %s of %s" % (metric, source), of(last, metric, source=source),
                          column("alloc", ["comm"], name, source=source))
        self.same("metric of peaks", of(most, "resident_peak_bytes"), column("memory", ["comm"], "^rss_peak_bytes"))
        self.same("metric of devices", of(last, "device_bytes"), column("totals", [], "io_bytes"))
        self.same("metric of device requests", of(last, "device_requests"), column("totals", [], "ios"))
        self.same("metric of losses", of(last, "lost_events"), column("loss", [], "lost_events"))
        return last

    # ---- exports ----

    def check_exports(self):
        out = os.path.join(os.path.dirname(self.path), self.kind)
        run("export", "-q", "-i", self.path, "--to", "sqlite", "-o", out + ".db")
        run("export", "-q", "-i", self.path, "--to", "csv", "-o", out + "-csv")
        db = sqlite3.connect(out + ".db")

        def ask(sql):
            return {k: v for *k, v in map(list, db.execute(sql)) for k in [tuple(k)] if v}

        def table(name):
            path = os.path.join(out + "-csv", name + ".csv")
            return [{k: number(v) for k, v in r.items()} for r in csv.DictReader(open(path, encoding="utf-8",
                errors="replace"))]

        def plain(view, keys, name):
            return {k[:-1]: v for k, v in self.all_of(view, keys, [name]).items()}

        self.same("cpu and a database", plain("cpu", ["comm"], "oncpu_ns"),
                  ask("SELECT comm, sum(oncpu_ns) FROM cpu_by_process GROUP BY comm"))
        for name in ("ios", "bytes"):
            self.same("io and a database", plain("io", ["comm", "device", "op"], name),
                      ask("SELECT comm, device, op, sum(%s) FROM io_by_process GROUP BY comm, device, op" % name))
        self.same("io and csv", {"bytes": sum(plain("io", [], "bytes").values())},
                  {"bytes": sum(r["bytes"] for r in table("block_requests") if r["end_ns"] != "")})
        for name in ("allocs", "alloc_bytes"):
            # parts of a block of pages that are freed one by one are allocations of their own in the table
            left_out = ("rss", "vm", "page") if name == "allocs" else ("rss", "vm")
            want = {k: v for k, v in plain("alloc", ["comm", "source"], name).items() if k[1] not in left_out}
            self.same("alloc and a database", want, ask("SELECT comm, source, sum(%s) FROM alloc_by_process WHERE "
                                                        "source NOT IN %r GROUP BY comm, source" % (name, left_out)))
        self.same("lifetimes and a database", {k: v for k, v in plain("lifetimes", ["source"], "bytes").items()},
                  ask("SELECT source, sum(alloc_bytes) FROM alloc_by_process GROUP BY source"))
        # a request whose beginning was lost has no latency
        known = ask("SELECT 'ios', count(latency_ns) FROM block_requests WHERE end_ns IS NOT NULL")
        self.same("steps of latencies and a database", known,
                  {("ios",): sum(added(self.bins, [], ["lat_ios"]).values())})
        self.same("latencies and a database", ask("SELECT 'ns', sum(latency_ns) FROM block_requests WHERE end_ns IS "
                                                  "NOT NULL"),
                  {("ns",): sum(added(self.bins, [], ["lat_sum_ns"]).values())})
        lost = sum(plain("loss", [], "lost_events").values())
        self.same("losses and a database", {"lost": lost}, {"lost": ask("SELECT sum(lost_cnt) FROM losses").get((), 0)})
        self.same("losses and csv", {"lost": lost}, {"lost": sum(r["lost_cnt"] for r in table("losses"))})
        self.same("losses and totals", {"lost": lost}, {"lost": report(self.path, "totals")[0][0]["lost_events"]})
        info = csv.DictReader(io.StringIO(run("info", "-i", self.path, "--format", "csv")[0].decode()))
        self.same("losses and info", {"lost": lost}, {"lost": sum(int(r["value"]) for r in info
            if r["section"] == "lost")})
        bins = report(self.path, "bins", "--every", "100ms")[0]
        self.same("losses and bins", {"lost": lost}, {"lost": sum(r["lost_events"] or 0 for r in bins
            if r["name"] == "")})
        self.same("losses and the page", {"lost": lost}, {"lost": sum(r["lost_events"] for r in self.losses
            if r["what"] == "report page")})

    # ---- complete or not ----

    def check_diff(self):
        out, err = run("diff", self.path, self.path, "--format", "csv", "--limit", 0)
        marks = {r["complete"] for r in csv.DictReader(io.StringIO(out.decode()))}
        if ("0" in marks) != ("the window is incomplete" in err):
            self.failed.append("diff: its rows say complete=%s, its note %r" % (marks, err))

    def check_complete(self, last_metrics):
        listed = [x["view"] for x in json.loads(run("report", "--list", "--format", "json")[0])]
        every = {v for v, _, _ in SUMS}
        for view in listed:
            more = ["--during", "1s..2s"] if view == "why" else []
            heading = run("report", "-i", self.path, view, *(["--from", "0s", "--to", "2s", "--tid", 1001]
                if view == "why" else []))[0].decode()
            titled = "INCOMPLETE" not in heading
            rows, said = ([], titled) if view == "why" else report(self.path, view)
            if said != titled:
                self.failed.append("%s: its heading says complete=%s, the note with csv does not" % (view, titled))
            marks = [r["complete"] for r in rows if r.get("complete") in (0, 1)]
            # a row about a source of a class may be complete where another source is not, and so may one about a part
            # of the window
            of_parts = view in ("timeline", "spikes", "loss", "bins") or (rows and "source" in rows[0])
            if marks and (titled and not min(marks) or not of_parts and min(marks) != titled):
                self.failed.append("%s: its heading says complete=%s, its rows %s" % (view, titled, sorted(set(marks))))
            if view in every and view != "loss":
                marks = [r["complete"] for r in report(self.path, view, "--every", "300ms")[0]]
                if titled != all(marks) and (titled or "source" not in rows[0]):
                    self.failed.append("%s: its heading says complete=%s, its bins %s" %
                                       (view, titled, sorted(set(marks))))
            if view in ("cpu", "sched", "states", "alloc", "io", "summary"):
                name = "report " + {"summary": "page"}.get(view, view)
                if titled != all(r["what"] != name for r in self.losses):
                    self.failed.append("%s: its heading says complete=%s, the page does not" % (view, titled))
            if view == "summary" and titled != self.page_state:
                self.failed.append("the summary's heading says complete=%s, the page's does not" % titled)
            if view == "summary" and titled != any(r["section"] == "Recording" and r["value"] == "yes" for r in rows):
                self.failed.append("the summary's heading says complete=%s, its section Recording does not" % titled)
            if view == "bins" and titled != all(r["complete"] for r in report(self.path, view, "--every", "1s")[0]
                                                if r["name"] == ""):
                self.failed.append("bins: its heading says complete=%s, its rows do not" % titled)
        incomplete = last_metrics.get(("incomplete_seconds",), 0)
        noted = "the window is incomplete" not in run("export", "-i", self.path, "--to", "openmetrics", "-o", "-")[1]
        recorded = [r for r in self.losses if r["what"] == "all"]
        if noted != (not incomplete) or (incomplete == 0) != (not recorded):
            self.failed.append("metrics: %d ns are incomplete, the note says complete=%s, the page has %d bins" %
                               (incomplete, noted, len(recorded)))
        self.figures += 3 * len(listed)


differ = False
with tempfile.TemporaryDirectory(prefix="ebpfrec-answers.") as place:
    for kind in sys.argv[1:] or ("chaotic", "damaged", "lossy", "partial"):
        t = Trace(kind, place)
        t.check_page()
        t.check_machine()
        t.check_histograms()
        if kind == "chaotic":
            t.check_headings()
        last = t.check_metrics()
        if kind != "partial":    # whose figures are those of the lossy one
            t.check_bins()
            t.check_comm_bins()
            t.check_exports()
        t.check_diff()
        t.check_complete(last)
        for saw in t.failed:
            print("not ok one_answer %s: %s" % (kind, saw))
        if not t.failed:
            print("ok one_answer: %s trace, %d figures" % (kind, t.figures))
        differ = differ or bool(t.failed)
sys.exit(differ)

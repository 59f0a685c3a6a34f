# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
"""bench_targets: what the project promises about cost, loss and speed, held against a run.

A target is met or not by its median. When the limit lies inside the 90 % interval it is undecided:
the run was too noisy or too short to say.
"""
import math

import bench_stats

HEAD = ["target", "limit", "measured", "90 % interval", "n", ""]
SIZES = {"k": 1e3, "M": 1e6, "G": 1e9}


class Target:
    def __init__(self, what, limit, unit, measured, at_least=False, note="", ratio=False):
        """measured: (point, low, high, n) or None. note: why a value that meets the limit shows nothing yet.
        ratio: of two costs, of which none can be less than nothing."""
        self.what, self.limit, self.unit, self.measured = what, limit, unit, measured
        self.at_least, self.note, self.ratio = at_least, note, ratio

    def verdict(self):
        if self.measured is None:
            return "not measured"
        point, low, high, _ = self.measured
        if math.isinf(point):
            return "undecided: noise (what is compared with added nothing)"
        if self.ratio and point <= 0:
            return "undecided: noise (nothing was added, by the median)"
        met = point >= self.limit if self.at_least else point <= self.limit
        if low <= self.limit <= high and not low == high:
            # The end of the interval that meets the limit may be equal to it.
            if (low if self.at_least else high) != self.limit:
                return "undecided: noise (" + ("met" if met else "not met") + " by the median)"
        if met and self.note:
            return self.note
        return "met" if met else "NOT MET"

    def row(self):
        def text(v):
            return "0" if v == 0 else "inf" if math.isinf(v) else f"{v:,.0f}" if abs(v) >= 1000 else f"{v:.3f}"

        unit = self.unit and " " + self.unit
        sign = ">=" if self.at_least else "<=" if self.limit else "="
        limit = f"{self.limit:,.0f}" if self.limit >= 1000 else f"{self.limit:.3g}"
        row = [self.what, f"{sign} {limit}{unit}"]
        if self.measured is None:
            return row + ["-", "-", "-", self.verdict()]
        point, low, high, n = self.measured
        return row + [text(point) + unit, f"{text(low)} .. {text(high)}" if n > 1 else "-", str(n), self.verdict()]


def cost_targets(run):
    def added(case, metric, other):
        return bench_stats.ratio_of_added(run, case, metric, "ebpfrec", other)

    def ours(case, metric):
        return bench_stats.interval(run.values(case, metric, "ebpfrec"))

    yield Target("record -- true: start to end", .15, "s", ours("startstop", "whole_s"))
    yield Target("record -e light -- true: start to end", .08, "s",
                 bench_stats.interval(run.values("startstop", "whole_s", "ebpfrec-light")))
    yield Target("ping-pong: added per switch / ftrace's", .45, "", added("pingpong", "ns_per_switch", "ftrace"),
                 ratio=True)
    yield Target("ping-pong: added CPU time per switch / ftrace's", .45, "",
                 added("pingpong", "cpu_ns_per_switch", "ftrace"), ratio=True)
    yield Target("ping-pong: added per switch / bare counting's (bpftrace)", .9, "",
                 added("pingpong", "ns_per_switch", "bpf-count"), ratio=True)
    yield Target("ping-pong: added per switch / perf's", .25, "", added("pingpong", "ns_per_switch", "perf"),
                 ratio=True)
    yield Target("ping-pong: added CPU time per switch / perf's", .25, "",
                 added("pingpong", "cpu_ns_per_switch", "perf"), ratio=True)
    yield Target("dd bs=1, default sources: wall added", 3, "%",
                 bench_stats.percent_added(run, "dd_null", "wall_s", "ebpfrec"))
    yield Target("mixed: added CPU / perf's", .3, "", added("mixed", "cpu_busy_s", "perf"), ratio=True)
    yield Target("mixed: the same, workload and tool only", .3, "", added("mixed", "cpu_own_s", "perf"), ratio=True)
    yield Target("mixed: added CPU / bare counting's (bpftrace)", 1, "", added("mixed", "cpu_own_s", "bpf-count"),
                 ratio=True)
    yield Target("mixed: added wall time / bare counting's (bpftrace)", 1, "", added("mixed", "wall_s", "bpf-count"),
                 ratio=True)
    yield Target("mixed, -e light: wall added", 1.5, "%", bench_stats.percent_added(run, "mixed", "wall_s",
        "ebpfrec-light"))
    yield Target("mixed: longest wait for a CPU that recording caused", 8, "ms", ours("mixed", "longest_wait_ms"))
    yield Target("mixed: recorder's user CPU per event", 35, "ns", ours("mixed", "user_ns_per_event"))
    yield Target("mixed: bytes per event", 2.3, "bytes", ours("mixed", "bytes_per_event"))


def loss_target(run):
    lost, skipped, rate, seconds, cpus = (run.median("loss", m, "ebpfrec") for m in
                                          ("lost_events", "skipped_events", "attempted_per_s", "seconds", "cpus"))
    if lost is None:
        return Target("lost at 1,000,000 events/s for 30 s", 0, "", None)
    what = f"lost at {rate:,.0f} events/s for {seconds:.0f} s on {cpus:.0f} CPUs"
    note = ""
    if rate < 1e6:
        note = f"not shown: the load reached {rate:,.0f} events/s"
    elif seconds < 29:
        note = f"met for {seconds:.0f} s"
    target = Target(what, 0, "", (lost, lost, lost, 1), note=note)
    if lost and skipped is not None:
        plain = target.verdict
        target.verdict = lambda: f"{plain()}: no room for {lost - skipped:,.0f}, program skipped for {skipped:,.0f}"
    return target


def size_of(side):
    text = side.partition("-")[2]
    return float(text[:-1]) * SIZES.get(text[-1], math.nan) if text[:-1].isdigit() else math.nan


def reading_targets(run):
    sides = sorted((s for s in run.sides("reading", "window_s") if s.startswith("ebpfrec-")), key=size_of)
    # The promise is about 100 M events; a quick run can only show less.
    large = next((s for s in sides if size_of(s) >= 1e8), sides[-1] if sides else None)
    name = large.partition("-")[2] if large else "100M"
    note = "" if large and size_of(large) >= 1e8 else f"met for {name}, not shown for 100M"

    def of(metric):
        return bench_stats.interval(run.values("reading", metric, large)) if large else None

    yield Target(f"window of 1 s of {name} events: summary", .25, "s", of("window_s"), note=note)
    yield Target(f"window of 1 s of {name} events: memory", 128, "MiB", of("window_mib"), note=note)
    yield Target(f"window of 1 s of {name} events: report cpu", .1, "s", of("window_cpu_s"), note=note)
    pair = next(((a, b) for a in reversed(sides) for b in sides if size_of(b) == 10 * size_of(a)), None)
    for what, metric, limit in ("summary", "window_s", .25), ("report cpu", "window_cpu_s", .1):
        measured = None
        if pair:
            below, above = (run.values("reading", metric, s) for s in pair)
            measured = bench_stats.interval_of_ratio(above, below)
        names = " / ".join(s.partition("-")[2] for s in reversed(pair)) if pair else "10 x longer trace"
        yield Target(f"window of 1 s, {names}: {what}", 1.5, "", measured)
        # The other interpretation of the promise: 1.5 times the time of a window of the shorter trace.
        if pair and pair[1] != large:
            yield Target(f"window of 1 s of {pair[1].partition('-')[2]} events: {what}, 1.5 x the limit", 1.5 * limit,
                         "s", bench_stats.interval(run.values("reading", metric, pair[1])))
    yield Target(f"summary of all {name} events", 2, "s", of("summary_s"), note=note)
    yield Target("loading into SQLite, with indexes", 3e6, "rows/s",
                 bench_stats.interval(run.values("reading", "load_rows_per_s", "ebpfrec")), at_least=True)
    yield Target("CPU time of a thread, off the scheduler's", .1, "%",
                 bench_stats.interval(run.values("cpu_time", "off_pct", "ebpfrec")))


def heap_targets(run):
    def added(metric, side="ebpfrec"):
        values = run.added("heap", metric, side)
        return bench_stats.interval(values) if values else None

    yield Target("heap: added CPU time per pair of malloc and free", 60, "ns", added("cpu_ns_per_pair"))
    yield Target("heap: the same with all stacks / heaptrack's", 1, "",
                 bench_stats.ratio_of_added(run, "heap", "cpu_ns_per_pair", "ebpfrec-stacks", "heaptrack"), ratio=True)
    for name, program in ("gcc", "gcc"), ("Python", "python"), ("sqlite3", "sqlite3"), ("C++, 8 threads", "cxx"):
        yield Target(f"heap: {name}: wall added, all stacks / heaptrack's", 1, "",
                     bench_stats.ratio_of_added(run, "heap", program + "_wall_s", "ebpfrec-stacks", "heaptrack"),
                     ratio=True)
    yield Target("heap: gcc: CPU time added (3 % or less: it would be the default)", 3, "%",
                 bench_stats.percent_added(run, "heap", "gcc_work_s", "ebpfrec"))
    yield Target("heap: the recorder's CPU time per event", 60, "ns",
                 bench_stats.interval(run.values("heap", "recorder_ns_per_event", "ebpfrec")))
    rate = run.median("heap", "pairs_per_s", "ebpfrec")
    yield Target(f"heap: lost at {rate or 2e6:,.0f} pairs/s of two threads", 0, "",
                 bench_stats.interval(run.values("heap", "rate_lost", "ebpfrec")), note="" if rate is None
                 or rate >= 1.9e6 else f"not shown: the load reached {rate:,.0f} pairs/s")


def metrics_targets(run):
    def of(metric, side="ebpfrec"):
        return bench_stats.interval(run.values("metrics", metric, side))

    yield Target("metrics: CPU time for an event, a scrape each second", 120, "ns", of("ns_per_event"))
    yield Target("metrics: of a CPU where nothing happens", .3, "%", of("cpu_pct", "ebpfrec-idle"))
    yield Target("metrics: slowest scrape", 50, "ms", of("scrape_max_ms"))
    yield Target("metrics: memory", 64, "MiB", of("mib"))


def parquet_targets(run):
    yield Target("Parquet: rows written", 4e6, "rows/s", bench_stats.interval(run.values("parquet", "rows_per_s",
        "ebpfrec")), at_least=True)
    ratios = {m: run.median("parquet", m, "ebpfrec") for c, m, _ in run.series if c == "parquet"
              and m.startswith("ratio_")}
    worst = max(ratios, key=ratios.get, default=None)
    yield Target(f"Parquet: bytes / the trace's, largest class{worst and ' (' + worst[6:] + ')' or ''}", 1.3, "",
                 bench_stats.interval([ratios[worst]]) if worst else None)


def scale_targets(run):
    """Of 100 M events, in seconds of CPU time."""
    def of(metric, side="ebpfrec"):
        return bench_stats.interval(run.values("scale", metric, side))

    events = run.median("scale", "events", "ebpfrec")
    note = "" if events is None or events >= 9e7 else "met, not shown for 100M"
    yield Target("scale: first question, derived file made", 7, "s", of("first_busy_s"), note=note)
    windows = [of(m) for c, m, _ in run.series if c == "scale" and m.startswith("window_") and m.endswith("_busy_s")]
    yield Target("scale: window of 1 s, slowest view and place", .25, "s", max((w for w in windows if w), default=None),
                 note=note)
    yield Target("scale: cut of 1 s at the end", 2, "s", of("cut_busy_s"), note=note)
    yield Target("scale: bundle of 1 s at the end", 2, "s", of("bundle_busy_s"), note=note)
    yield Target("scale: HTML page of all of it", 3, "s", of("page_busy_s"), note=note)
    yield Target("scale: memory for that", 256, "MiB", of("page_mib"), note=note)
    yield Target("scale: size of the page", 5, "MB", of("page_mb"), note=note)
    yield Target("scale: first charts in Chromium", 1, "s", of("page_paint_s"), note=note)
    yield Target("scale: to zoom or to move", .05, "s", of("page_redraw_s"), note=note)
    for name in "slices", "waits", "latency", "slab":
        duckdb = run.values("scale", f"sql_{name}_busy_s", "duckdb")
        for side, how in (("ebpfrec", "SQL"), ("ebpfrec-totals", "totals()"), ("ebpfrec-index", "derived file")):
            ours = run.values("scale", f"sql_{name}_busy_s", side)
            if side == "ebpfrec" or ours:
                measured = bench_stats.interval_of_ratio(ours, duckdb) if ours and duckdb else None
                yield Target(f"scale: {name} by {how} / DuckDB on CSV", 2 if side == "ebpfrec" else 1, "", measured,
                             note=note)


def rows(run):
    return [t.row() for t in (*cost_targets(run), loss_target(run), *reading_targets(run), *parquet_targets(run),
                              *metrics_targets(run), *heap_targets(run), *scale_targets(run))]


# What others cost, from the least: name by side.
PEERS = {"floor-empty": "an empty program at each hook", "floor-clock": "one that reads the clock",
         "bpf-count": "bare counting (bpftrace)", "ftrace": "ftrace", "perf-z": "perf record -z", "perf": "perf record",
         "heaptrack": "heaptrack", "decode": "decoding all blocks once", "duckdb": "DuckDB on CSV",
         "ebpfrec-old": "the other build"}
# (case, metric): what it is, does it count on top of none?, and the limit by side.
RATIOS = {("startstop", "whole_s"): ("record -- true, start to end", False, {"ftrace": 1}),
          ("pingpong", "ns_per_switch"): ("time added to a switch", True, {"bpf-count": .9, "ftrace": .4, "perf": .25}),
          ("pingpong", "cpu_ns_per_switch"): ("CPU time added to a switch", True, {"ftrace": .4, "perf": .25}),
          ("mixed", "cpu_own_s"): ("CPU time added, mixed load", True, {"bpf-count": 1, "perf": .3}),
          ("mixed", "wall_s"): ("wall time added, mixed load", True, {"bpf-count": 1}),
          ("mixed", "user_ns_per_event"): ("recorder's user time an event", False, {"perf-z": .4}),
          ("mixed", "bytes_per_event"): ("bytes an event", False, {}),
          ("scale", "first_busy_s"): ("first question, CPU time", False, {"decode": 2}),
          ("scale", "first_s"): ("first question", False, {"decode": 2})}
RATIO_HEAD = ["peer", "ebpfrec's", "limit", "ratio", "90 % interval", "n", "verdict"]


def ratio_of(run, case, metric, side):
    """(ratio, low, high, n) of ebpfrec's cost to a side's, or None."""
    if RATIOS[case, metric][1]:
        return bench_stats.ratio_of_added(run, case, metric, "ebpfrec", side)
    return bench_stats.interval_of_ratio(run.values(case, metric, "ebpfrec"), run.values(case, metric, side))


def multiples(run):
    """[(case, metric, side, (ratio, low, high, n))]: what ebpfrec adds, in that of others."""
    found = [(case, metric, side, ratio_of(run, case, metric, side))
             for (case, metric), (_, is_added, _) in RATIOS.items() if is_added for side in PEERS]
    return [row for row in found if row[3]]


def window_ratio(run):
    """The slowest view of a second, in `cpu` and decoding its blocks: ((ratio, low, high, n), view and place)."""
    found = []
    for case, metric, side in run.series:
        if case == "scale" and side == "ebpfrec" and metric.startswith("window_") and metric.endswith("_busy_s"):
            where = metric.split("_")[-3]
            cpu, decode = (run.per_round(case, f"window_cpu_{where}_busy_s", s) for s in ("ebpfrec", "decode"))
            below = [cpu[r] + decode[r] for r in cpu if r in decode]
            ratio = bench_stats.interval_of_ratio(run.values(case, metric, side), below)
            if ratio:
                found.append((ratio, metric[len("window_"):-len("_busy_s")]))
    return max(found, default=None)


def ratio_targets(run):
    """[(peer, what, limit or None, (ratio, low, high, n))]"""
    found = [(PEERS[side], what, limits.get(side), ratio_of(run, case, metric, side))
             for side in PEERS for (case, metric), (what, _, limits) in RATIOS.items()]
    found.append((PEERS["heaptrack"], "CPU time added to malloc and free, all stacks", 1, bench_stats.ratio_of_added(
        run, "heap", "cpu_ns_per_pair", "ebpfrec-stacks", "heaptrack")))
    for name in "slices", "waits", "latency", "slab":
        metric = f"sql_{name}_busy_s"
        found.append((PEERS["duckdb"], f"{name} of the whole trace by SQL", 2, bench_stats.interval_of_ratio(
            run.values("scale", metric, "ebpfrec"), run.values("scale", metric, "duckdb"))))
    window = window_ratio(run)
    if window:
        found.append(("`cpu` and decoding", f"a second of {window[1]}, the slowest view", 1.5, window[0]))
    found.append(("ebpfrec's cut", "bundle of a second", 1.5, bench_stats.interval_of_ratio(
        run.values("scale", "bundle_busy_s", "ebpfrec"), run.values("scale", "cut_busy_s", "ebpfrec"))))
    return [row for row in found if row[3]]


def ratio_rows(run):
    def text(v):
        return "inf" if math.isinf(v) else f"{v:.2f}"

    result = []
    for peer, what, limit, measured in ratio_targets(run):
        verdict = limit and Target(what, limit, "", measured, ratio=True).verdict()
        point, low, high, n = measured
        verdict = {None: "-", "met": "met", "NOT MET": "not met"}.get(verdict, "noise")
        verdict = "noise" if limit and n < 3 else verdict
        result.append([peer, what, "-" if limit is None else f"<= {limit:.3g}", text(point),
                       f"{text(low)} .. {text(high)}" if n > 1 else "-", str(n), verdict])
    return result


def readme_lines(run):
    """README's sentences about cost, as far as this run has them."""
    def percent(ratio):
        return f"{100 * ratio[0]:.0f} %"

    def added(side):
        return bench_stats.percent_added(run, "mixed", "wall_s", side)

    switch = [ratio_of(run, "pingpong", "ns_per_switch", s) for s in ("ftrace", "perf")]
    cpu = ratio_of(run, "mixed", "cpu_own_s", "perf")
    wall = [added(s) for s in ("ebpfrec", "perf", "ftrace")]
    size = run.median("mixed", "bytes_per_event", "ebpfrec")
    if all(switch):
        yield (f"Recording a context switch takes {percent(switch[0])} of the time that ftrace takes, and "
               f"{percent(switch[1])} of that of `perf record`.")
    if cpu and all(wall):
        yield ("Recording everything adds to a compile-and-copy workload "
               f"{percent(cpu)} of the CPU time that perf adds; it takes {wall[0][0]:.0f} % longer "
               f"(perf {wall[1][0]:.0f} %, ftrace {wall[2][0]:.0f} %).")
    if size is not None:
        lost = run.median("loss", "lost_events", "ebpfrec")
        yield (f"An event takes {size:.2f} bytes on disk" +
               ("." if lost is None or loss_target(run).verdict() != "met" else
                "; nothing is lost at a million events a second on two CPUs."))


def markdown_table(rows):
    def line(cells):
        return "| " + " | ".join(c.replace("|", "\\|").strip() or " " for c in cells) + " |\n"

    return line(rows[0]) + "|---" * len(rows[0]) + "|\n" + "".join(line(r) for r in rows[1:])


def side_rows(run):
    """What each side costs, next to each other."""
    columns = (("ping-pong: ns added per switch", "pingpong", "ns_per_switch", False),
               ("mixed: wall added", "mixed", "wall_s", True), ("mixed: CPU added", "mixed", "cpu_own_s", True),
               ("bytes per event", "mixed", "bytes_per_event", None),
               ("user ns per event", "mixed", "user_ns_per_event", None), ("lost events", "mixed", "lost_events", None),
               ("events/s without loss", "ladder", "lossless_per_s", None))
    found = []
    for _, case, metric, _ in columns:
        found += [s for s in run.sides(case, metric) if s not in found and s != "none"]
    result = [["side"] + [c[0] for c in columns]]
    for side in found:
        row = [side]
        for _, case, metric, relative in columns:
            if relative is None:
                value = run.median(case, metric, side)
                row.append(bench_stats.number(value))
            elif relative:
                value = bench_stats.percent_added(run, case, metric, side)
                row.append(f"{value[0]:+.1f} %" if value else "-")
            else:
                added = run.added(case, metric, side)
                row.append(bench_stats.number(bench_stats.median(added)) if added else "-")
        result.append(row)
    return result


def markdown(run, target_rows, environment):
    about = dict(line.partition(": ")[::2] for line in environment.splitlines())
    return (f"`{about.get('command', '-')}`, {about.get('ebpfrec', '-')}, {about.get('kernel', '-')}, "
            f"{about.get('cpu', '-')}, {about.get('memory', '-')}; {about.get('before', '-').partition(',')[0]}\n\n" +
            markdown_table([HEAD[:-1] + ["verdict"]] + target_rows) + "\n" + markdown_table(side_rows(run)) + "\n" +
            markdown_table([RATIO_HEAD] + ratio_rows(run)) + "\nAdded: to the same load unrecorded, median "
            "over rounds. bpf-print keeps an event's time, CPU and thread, "
            "bpf-count nothing, the others all fields.\n")

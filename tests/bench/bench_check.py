#!/usr/bin/env python3
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
"""bench_check.py: does the benchmark itself tell the truth? One line "ok", "not ok" or "SKIP" per claim.

Statistics are checked against closed forms, targets and tables against samples whose answers are known,
compare against pairs of results, perf_count (BENCH_BIN, as root, with perf) against perf's own report.
"""
import contextlib
import csv
import io
import json
import math
import os
import subprocess
import sys
import tempfile

here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, here)
sys.dont_write_bytecode = True
import bench_report  # noqa: E402
import bench_stats  # noqa: E402
import bench_targets  # noqa: E402

failed = False


def check(name, condition, saw):
    global failed
    failed |= not condition
    print(f"ok {name}" if condition else f"not ok {name}: {saw}".replace("\n", " / "))


def near(name, got, want, error=1e-9):
    check(name, got is not None and abs(got - want) <= error, f"{got}, not {want}")


def check_statistics():
    near("median of an even number", bench_stats.median([4, 1, 3, 2]), 2.5)
    near("quartile between two values", bench_stats.quantile([1, 2, 3, 4], .25), 1.75)
    near("spread is scaled to a standard deviation", bench_stats.spread([1, 1, 2, 3, 3]), 1.4826)
    for t in (0.3, 2.0, 12.7):
        # Student's t has closed forms for 1, 2 and 4 degrees of freedom.
        near(f"p for t = {t}, 1 degree", bench_stats.beta_incomplete(.5, .5, 1 / (1 + t * t)),
             1 - 2 / math.pi * math.atan(t))
        near(f"p for t = {t}, 2 degrees", bench_stats.beta_incomplete(1, .5, 2 / (2 + t * t)),
             1 - t / math.sqrt(2 + t * t))
        u = t / math.sqrt(4 + t * t)
        near(f"p for t = {t}, 4 degrees", bench_stats.beta_incomplete(2, .5, 4 / (4 + t * t)), 1 - (3 * u - u ** 3) / 2)
    # Equal sizes and variances: Welch is Student. Means 2 and 5, variance 1, n = 3: t = -3 / sqrt(2/3), 4 degrees.
    t, freedom, p = bench_stats.welch([1, 2, 3], [4, 5, 6])
    near("Welch's t", t, -3 / math.sqrt(2 / 3))
    near("its degrees of freedom", freedom, 4)
    u = abs(t) / math.sqrt(4 + t * t)
    near("its p", p, 1 - (3 * u - u ** 3) / 2)
    check("no test without spread", bench_stats.welch([1, 1], [2, 2]) is None, "a result")
    check("no test of one sample", bench_stats.welch([1], [2, 3]) is None, "a result")


def write_run(path, rows):
    with open(os.path.join(path, "samples.csv"), "w", newline="") as f:
        out = csv.writer(f)
        out.writerow(["case", "side", "metric", "round", "warm_up", "value", "unit", "better"])
        out.writerows(rows)
    with open(os.path.join(path, "environment.txt"), "w") as f:
        f.write("kernel: test\n")


def report_of(path):
    text = io.StringIO()
    sys.argv = ["bench_report.py", path]
    with contextlib.redirect_stdout(text):
        bench_report.main()
    return text.getvalue()


def known_rows(per_switch, bytes_per_event, lost, rate):
    rows = []
    for round_ in range(6):
        drift = 50 * round_  # all sides alike: must not show up in what is added
        # The warm-up is far off and must not count.
        off = 1e6 if round_ == 0 else 0
        for side, ns in (("none", 1000), ("ebpfrec", 1000 + per_switch), ("ftrace", 1200), ("bpf-count", 1050),
                         ("perf", 1400)):
            rows.append(["pingpong", side, "ns_per_switch", round_, int(round_ == 0), ns + drift + off, "ns", "lower"])
    rows.append(["mixed", "ebpfrec", "bytes_per_event", 1, 0, bytes_per_event, "bytes", "lower"])
    for metric, value in (("lost_events", lost), ("skipped_events", 0), ("attempted_per_s", rate), ("seconds", 30),
                          ("cpus", 2)):
        rows.append(["loss", "ebpfrec", metric, 1, 0, value, "events", "lower" if metric == "lost_events" else "-"])
    return rows


def target_lines(text):
    return [line for line in text[text.index("\nTargets"):].splitlines() if line.strip()]


def verdict_of(text, start):
    lines = [line for line in target_lines(text) if line.strip().startswith(start)]
    return lines[0] if len(lines) == 1 else f"{len(lines)} lines '{start}'"


def check_report(tmp):
    write_run(tmp, known_rows(80, 2.2, 0, 1.01e6))
    text = report_of(tmp)
    line = verdict_of(text, "ping-pong: added per switch / ftrace's")
    check("four tenths of ftrace's cost meet 0.45", "0.400" in line and line.endswith("  met"), line)
    line = verdict_of(text, "ping-pong: added per switch / perf's")
    check("a fifth of perf's cost meets 0.25", "0.200" in line and line.endswith("  met"), line)
    line = verdict_of(text, "ping-pong: added per switch / bare counting's")
    check("1.6 times the cost of counting do not", "1.600" in line and line.endswith("NOT MET"), line)
    line = verdict_of(text, "mixed: bytes per event")
    check("2.2 bytes meet 2.3", "2.200" in line and line.endswith("  met"), line)
    line = verdict_of(text, "lost at 1,010,000")
    check("no loss at the full rate is met", "  met" in line, line)
    line = verdict_of(text, "mixed: added wall time")
    check("what was not measured is said to be so", line.endswith("not measured"), line)
    with open(os.path.join(tmp, "results.json")) as f:
        data = json.load(f)
    value = data["pingpong/ebpfrec/ns_per_switch/added"]["latency"]
    multiple = data["pingpong/bpf-count/ns_per_switch/ebpfrec_in_it"]["ratio"]["value"]
    near("ebpfrec's cost in that of counting is kept", multiple, 1.6)
    lines = text[text.index("ebpfrec's cost as a ratio to that of others"):].splitlines()
    for peer, ratio, verdict in (("bare counting", "1.60", "not met"), ("ftrace", "0.40", "met"),
                                 ("perf record", "0.20", "met")):
        check(f"the ratio to {peer} is printed and judged", any(
            line.strip().startswith(peer) and ratio in line and line.endswith("  " + verdict) for line in lines), lines)
    check("the README's line comes from it", "Recording a context switch takes 40 % of the time that ftrace takes, and "
          "20 % of that of `perf record`." in text
          and "An event takes 2.20 bytes on disk; nothing is lost" in text, lines)
    check("what is added is free of drift and warm-up", value == {"value": 80, "lower_value": 80, "upper_value": 80},
          value)
    value = data["pingpong/none/ns_per_switch"]["latency"]["value"]
    near("the median leaves out the warm-up", value, 1150)

    write_run(tmp, known_rows(300, 3.5, 7, 1.01e6))
    text = report_of(tmp)
    for start in ("ping-pong: added per switch / ftrace's", "ping-pong: added per switch / perf's",
                  "mixed: bytes per event"):
        line = verdict_of(text, start)
        check(f"{start}: too much is not met", line.endswith("NOT MET"), line)
    line = verdict_of(text, "lost at 1,010,000")
    check("seven lost events are not met", "NOT MET: no room for 7, program skipped for 0" in line, line)
    write_run(tmp, known_rows(100, 2.5, 0, 0.5e6))
    line = verdict_of(report_of(tmp), "lost at 500,000")
    check("no loss at half the rate shows nothing", "not shown" in line, line)


def check_verdicts():
    def verdict(measured, limit=2, **options):
        return bench_targets.Target("x", limit, "", measured, **options).verdict()

    for what, got, want in (("below the limit, all of the interval", verdict((1, .9, 1.1, 5)), "met"),
                            ("above it, all of the interval", verdict((3, 2.9, 3.1, 5)), "NOT MET"),
                            ("the limit inside the interval", verdict((1.9, 1.5, 2.5, 5)),
                             "undecided: noise (met by the median)"),
                            ("an interval that ends at the limit", verdict((1.9, 1.5, 2, 5)), "met"),
                            ("at least, above", verdict((3, 2.9, 3.1, 5), at_least=True), "met"),
                            ("at least, below", verdict((1, .9, 1.1, 5), at_least=True), "NOT MET"),
                            ("at least, the limit inside", verdict((1.9, 1.5, 2.5, 5), at_least=True),
                             "undecided: noise (not met by the median)"),
                            ("against nothing", verdict((math.inf, 1, math.inf, 5)),
                             "undecided: noise (what is compared with added nothing)"),
                            ("a cost below nothing", verdict((-1, -2, 1, 5), ratio=True),
                             "undecided: noise (nothing was added, by the median)"),
                            ("met under lesser conditions", verdict((1, .9, 1.1, 5), note="for less"), "for less"),
                            ("not met, whatever the conditions", verdict((3, 2.9, 3.1, 5), note="for less"), "NOT MET"),
                            ("zero where zero is asked", verdict((0, 0, 0, 1), limit=0), "met"),
                            ("one where zero is asked", verdict((1, 1, 1, 1), limit=0), "NOT MET")):
        check(f"verdict: {what}", got == want, got)
    near("ratio of medians", bench_stats.interval_of_ratio([2, 4, 6], [1, 2, 3])[0], 2)
    same = bench_stats.interval_of_ratio([4, 4], [2, 2])
    check("its interval without spread is a point", same == (2, 2, 2, 2), same)
    text = bench_targets.markdown_table([["a", "b"], ["x | y", ""]])
    check("a bar in a cell is no column", text == "| a | b |\n|---|---|\n| x \\| y |   |\n", text)


def check_sizes(tmp):
    def run_with(sides):
        rows = [["reading", side, metric, r, 0, value, "s", "lower"]
                for side, value in sides for metric in ("window_s", "summary_s") for r in (1, 2, 3)]
        write_run(tmp, rows)
        return report_of(tmp)

    text = run_with((("ebpfrec-10M", .12), ("ebpfrec-100M", .2)))
    line = verdict_of(text, "window of 1 s of 100M events: summary")
    check("a window of 100 M events is judged", line.endswith("  met"), line)
    line = verdict_of(text, "window of 1 s, 100M / 10M: summary")
    check("and what ten times more costs", "1.667" in line and line.endswith("NOT MET"), line)
    text = run_with((("ebpfrec-1M", .2), ("ebpfrec-10M", .2)))
    line = verdict_of(text, "window of 1 s of 10M events: summary")
    check("10 M events show nothing about 100 M", line.endswith("met for 10M, not shown for 100M"), line)
    text = run_with((("ebpfrec-100M", .2), ("ebpfrec-1G", .205)))
    line = verdict_of(text, "window of 1 s of 100M events: summary")
    check("with 1 G beside them 100 M events are judged", "0.200" in line, line)
    line = verdict_of(text, "window of 1 s, 1G / 100M: summary")
    check("and a thousand million against them", "1.025" in line and line.endswith("  met"), line)
    line = verdict_of(text, "window of 1 s of 1G events: summary, 1.5 x the limit")
    check("and for themselves", "0.205" in line and line.endswith("  met"), line)


def check_scale(tmp):
    values = (("events", "ebpfrec", 1e8), ("window_cpu_start_busy_s", "ebpfrec", .1),
              ("window_io_end_busy_s", "ebpfrec", .3), ("sql_slab_busy_s", "ebpfrec", 9),
              ("sql_slab_busy_s", "ebpfrec-totals", 2), ("sql_slab_busy_s", "duckdb", 4))
    write_run(tmp, [["scale", side, metric, r, 0, value, "s", "lower"] for metric, side, value in values
                    for r in (1, 2, 3)])
    text = report_of(tmp)
    line = verdict_of(text, "scale: window of 1 s, slowest view and place")
    check("the slowest window is judged", "0.300" in line and line.endswith("NOT MET"), line)
    line = verdict_of(text, "scale: slab by SQL / DuckDB on CSV")
    check("SQL is held against DuckDB", "2.250" in line and line.endswith("NOT MET"), line)
    line = verdict_of(text, "scale: slab by totals() / DuckDB on CSV")
    check("and so is totals()", "0.500" in line and line.endswith("  met"), line)
    values += (("first_busy_s", "ebpfrec", 5), ("first_busy_s", "decode", 2), ("window_cpu_end_busy_s", "ebpfrec", .1),
               ("window_cpu_end_busy_s", "decode", .1), ("window_cpu_start_busy_s", "decode", .1),
               ("bundle_busy_s", "ebpfrec", 1.2), ("cut_busy_s", "ebpfrec", 1))
    write_run(tmp, [["scale", side, metric, r, 0, value, "s", "lower"] for metric, side, value in values
                    for r in (1, 2, 3)])
    lines = report_of(tmp).partition("ebpfrec's cost as a ratio")[2].splitlines()
    for start, ratio, verdict in (("decoding all blocks once  first question, CPU time", "2.50", "not met"),
                                  ("`cpu` and decoding        a second of io_end", "1.50", "met"),
                                  ("ebpfrec's cut             bundle of a second", "1.20", "met")):
        check(f"ratio: {start}", any(line.strip().startswith(start) and f" {ratio} " in line and
                                     line.endswith("  " + verdict) for line in lines), lines)


def check_compare(tmp):
    def compare(old, new, *options):
        paths = []
        for name, content in (("old.json", old), ("new.json", new)):
            paths.append(os.path.join(tmp, name))
            with open(paths[-1], "w") as f:
                f.write(content if isinstance(content, str) else json.dumps(content))
        done = subprocess.run([sys.executable, os.path.join(here, "compare"), *options, *paths], capture_output=True,
                              text=True)
        return done.returncode, done.stdout + done.stderr

    def one(value, width, measure="latency", name="a/ebpfrec/m"):
        return {name: {measure: {"value": value, "lower_value": value - width, "upper_value": value + width}}}

    for what, old, new, status, options in (("the same twice is no regression", one(100, 1), one(100, 1), 0, ()),
                                            ("20 % slower is one", one(100, 1), one(120, 1), 1, ()),
                                            ("20 % faster is none", one(100, 1), one(80, 1), 0, ()),
                                            ("20 % slower within the spread is none", one(100, 8), one(120, 8), 0, ()),
                                            ("1 % slower without spread is none", one(100, 0), one(101, 0), 0, ()),
                                            ("1 % slower is one with --min 0.5", one(100, 0), one(101, 0), 1,
                                             ("--min", "0.5")),
                                            ("less throughput is one", one(100, 1, "throughput"),
                                             one(80, 1, "throughput"), 1, ()),
                                            ("more throughput is none", one(100, 1, "throughput"),
                                             one(120, 1, "throughput"), 0, ()),
                                            ("the first lost event is one",
                                             one(0, 0, "lost-events", "a/ebpfrec/lost_events"),
                                             one(1, 0, "lost-events", "a/ebpfrec/lost_events"), 1, ()),
                                            ("another side's is none", one(100, 1, name="a/perf/m"),
                                             one(200, 1, name="a/perf/m"), 0, ()),
                                            ("another side's is one with --all", one(100, 1, name="a/perf/m"),
                                             one(200, 1, name="a/perf/m"), 1, ("--all",)),
                                            ("a program of ours that got slower is one",
                                             one(100, 1, name="programs/SWITCH/m"),
                                             one(200, 1, name="programs/SWITCH/m"), 1, ()),
                                            ("a machine whose floor got higher is none",
                                             one(100, 1, name="programs/floor/m"), one(200, 1, name="programs/floor/m"),
                                             0, ()), ("reading a large trace slower is one",
                                                      one(100, 1, name="reading/ebpfrec-100M/m"),
                                                      one(200, 1, name="reading/ebpfrec-100M/m"), 1, ()),
                                            ("a case that is gone is one",
                                             {**one(100, 1), **one(5, 1, name="b/ebpfrec/m")}, one(100, 1), 1, ()),
                                            ("a case that is gone with --partial is none",
                                             {**one(100, 1), **one(5, 1, name="b/ebpfrec/m")}, one(100, 1), 0,
                                             ("--partial",)),
                                            ("a measurement that is gone from its case is one",
                                             {**one(100, 1), **one(5, 1, name="a/ebpfrec/n")}, one(100, 1), 1,
                                             ("--partial",)),
                                            ("nothing in common is an error", one(100, 1),
                                             one(100, 1, name="b/ebpfrec/m"), 2, ()),
                                            ("not a result is an error", one(100, 1), "[1]", 2, ()),
                                            ("not even JSON is an error", one(100, 1), "{", 2, ())):
        got, text = compare(old, new, *options)
        check(f"compare: {what}", got == status, f"status {got}: {text}")


def check_tool_times(tmp):
    """awk's %d ends at 2^31 - 1 in mawk: 2.1 s in ns."""
    for name, used in ("work", 0), ("tool", 7000000000):
        with open(os.path.join(tmp, name + ".kv"), "w") as f:
            f.write("".join(f"{key}={used}\n" for key in ("user_ns", "sys_ns", "parent_user_ns", "parent_sys_ns")))
    done = subprocess.run(["bash", "-c", '. "$0/cases.bash"; run=$1; tool_ns user', here, tmp], capture_output=True,
                          text=True)
    check("a tool that used 7 s of CPU time used 7 s", done.stdout == "7000000000\n", done.stdout + done.stderr)


METER_CALLER = """
import subprocess, sys, time
while time.process_time_ns() < 27_000_000:
    pass
before = time.process_time_ns()
subprocess.run([sys.argv[1], sys.argv[2], "true"], check=True)
print(before, time.process_time_ns())
"""


def check_meter(tmp):
    """What the caller had used before, to the nanosecond: /proc cuts it down to whole ticks of 10 ms."""
    meter = os.path.join(os.environ.get("BENCH_BIN", os.path.join(here, "../../build/bench/bin")), "run_meter")
    name = "what the caller of run_meter had used is what its own clock says"
    if not os.access(meter, os.X_OK):
        print(f"SKIP {name}: {meter} is not built")
        return
    out = os.path.join(tmp, "meter.kv")
    done = subprocess.run([sys.executable, "-c", METER_CALLER, meter, out], check=True, capture_output=True, text=True)
    before, after = map(int, done.stdout.split())
    with open(out) as f:
        said = dict(line.strip().split("=") for line in f)
    used = int(said["parent_user_ns"]) + int(said["parent_sys_ns"])
    check(name, before <= used <= after, f"{before} ns before it, {after} after it, said {used}")


def check_perf_count(tmp):
    counter = os.path.join(os.environ.get("BENCH_BIN", os.path.join(here, "../../build/bench/bin")), "perf_count")
    name = "perf_count agrees with perf"
    if not os.access(counter, os.X_OK):
        print(f"SKIP {name}: {counter} is not built")
        return
    if os.geteuid() != 0 or subprocess.run(["perf", "version"], capture_output=True).returncode:
        print(f"SKIP {name}: needs root and perf")
        return
    path = os.path.join(tmp, "perf.data")
    for options in ([], ["-z"], ["-m", "4K"]):
        subprocess.run(["perf", "record", "-q", "-a", "-B", "-c", "1", *options, "-e",
                        "sched:sched_switch,kmem:kmalloc", "-o", path, "--", "sh", "-c",
                        "for i in 1 2 3 4 5 6 7 8 9; do /bin/true; done"], check=True, capture_output=True)
        ours = dict(line.split("=") for line in subprocess.run([counter, path], capture_output=True, text=True,
                                                              check=True).stdout.split())
        stats = subprocess.run(["perf", "report", "--stats", "-i", path], capture_output=True, text=True).stdout
        samples = [int(line.split()[2]) for line in stats.splitlines() if line.split()[:2] == ["SAMPLE", "events:"]]
        check(f"{name}: {' '.join(options) or 'plain'}", samples and int(ours["events"]) == samples[0] > 0,
              f"{ours}, perf says {samples[:1]}")


def main():
    check_statistics()
    check_verdicts()
    with tempfile.TemporaryDirectory(prefix="ebpfrec-bench-check.") as tmp:
        check_report(tmp)
        check_sizes(tmp)
        check_scale(tmp)
        check_compare(tmp)
        check_tool_times(tmp)
        check_meter(tmp)
        check_perf_count(tmp)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
"""bench_report.py DIR: from DIR/samples.csv to tables on stdout, DIR/results.csv, DIR/results.json, DIR/targets.md.

How medians, spreads, intervals and p come about is said in bench_stats.py, the targets in bench_targets.py.

results.json is Bencher Metric Format: { "case/side/metric": { MEASURE: { "value", "lower_value",
"upper_value" } } } with MEASURE latency (ns, from ns and s), throughput (1/s), or the metric's own name;
the interval is the median -/+ the spread. Names ending in /added are differences to none.
"""
import csv
import json
import math
import os
import sys

import bench_stats
import bench_targets


def relative(added, none):
    if not none:
        return "-"
    return f"{100 * added / none:+.1f} %" if added < 10 * none else f"{1 + added / none:,.0f} x"


def table(rows, left):
    """left: the columns that are words."""
    widths = [max(len(r[i]) for r in rows) for i in range(len(rows[0]))]
    for row in rows:
        print("  " + "  ".join(c.ljust(w) if i in left else c.rjust(w)
                               for i, (c, w) in enumerate(zip(row, widths))).rstrip())


def print_metric(run, case, metric, out_rows):
    unit, better = run.about[case, metric]
    sides = run.sides(case, metric)
    if unit == "events" and metric != "events" and not any(any(run.values(case, metric, s)) for s in sides):
        print(f"\n{case}: {metric}: none, on any side that counts them ({', '.join(sides)})")
        out_rows += [dict(case=case, metric=metric, side=s, unit=unit, n=len(run.values(case, metric, s)), median=0,
                          spread=0, q1=0, q3=0) for s in sides]
        return
    has_none = "none" in sides and better != "-"
    head = ["side", "n", "median", "spread"]
    rows = [head + (["added", "90 % interval", "vs none", "p"] if has_none else [])]
    for side in sides:
        values = run.values(case, metric, side)
        middle = bench_stats.median(values)
        row = [side, str(len(values)), bench_stats.number(middle), bench_stats.number(bench_stats.spread(values))]
        record = dict(case=case, metric=metric, side=side, unit=unit, n=len(values), median=middle,
                      spread=bench_stats.spread(values), q1=bench_stats.quantile(values, .25),
                      q3=bench_stats.quantile(values, .75))
        added = run.added(case, metric, side) if has_none and side != "none" else []
        if added:
            none = run.median(case, metric, "none")
            test = bench_stats.welch(values, run.values(case, metric, "none"))
            _, low, high, _ = bench_stats.interval(added)
            record.update(added=bench_stats.median(added), added_low=low, added_high=high, p=test[2] if test else "")
            row += [bench_stats.number(bench_stats.median(added)),
                    f"{bench_stats.number(low)} .. {bench_stats.number(high)}",
                    relative(bench_stats.median(added), none), ("<0.0001" if test[2] < 1e-4 else f"{test[2]:.4f}")
                    if test else "-"]
        elif has_none:
            row += [""] * 4
        rows.append(row)
        out_rows.append(record)
    direction = {"lower": ", lower is better", "higher": ", higher is better"}.get(better, "")
    print(f"\n{case}: {metric} [{unit}]{direction}")
    table(rows, {0})
    if metric == "events":
        print_same_events(run, case)
    if (case, metric) == ("ladder", "lossless_per_s"):
        for side in sides:
            if not run.values(case, "first_loss_per_s", side):
                print(f"  {side}: no loss for lack of room at any rate the load could reach")


def print_same_events(run, case):
    """The sides record the same places in the kernel; each of them adds its own activity."""
    def all_of(side):
        return run.median(case, "events", side) + (run.median(case, "lost_events", side) or 0)

    sides = [s for s in run.sides(case, "events") if s != "ebpfrec"]
    if sides and run.values(case, "events", "ebpfrec"):
        ours = all_of("ebpfrec")
        print("  with those lost, against ebpfrec's: " +
              ", ".join(f"{side} {100 * (all_of(side) / ours - 1):+.1f} %" for side in sides))


def metric_format(run):
    """Bencher Metric Format of everything that has a better and a worse."""
    result = {}

    def put(name, unit, better, metric, values):
        scale = 1e9 if unit == "s" else 1
        measure = "throughput" if better == "higher" else "latency" if unit in ("ns", "s") else metric.replace("_", "-")
        middle, width = bench_stats.median(values) * scale, bench_stats.spread(values) * scale
        result[name] = {measure: {"value": middle, "lower_value": middle - width, "upper_value": middle + width}}

    for case, metric, side in run.series:
        unit, better = run.about[case, metric]
        if better == "-":
            continue
        put(f"{case}/{side}/{metric}", unit, better, metric, run.values(case, metric, side))
        added = run.added(case, metric, side) if side != "none" and unit in ("ns", "s") else []
        if added:
            put(f"{case}/{side}/{metric}/added", unit, better, metric, added)
    for case, metric, side, (ratio, low, high, _) in bench_targets.multiples(run):
        if not math.isinf(high):
            result[f"{case}/{side}/{metric}/ebpfrec_in_it"] = {
                "ratio": {"value": ratio, "lower_value": low, "upper_value": high}}
    return result


def print_invalid(path):
    if not os.path.exists(path):
        return
    with open(path, newline="") as f:
        rows = list(csv.reader(f))
    print(f"\nRuns that were no sample: {len(rows)}")
    for row in rows[:20]:
        print("  " + ", ".join(row[:2]) + f", round {row[2]}: {row[3][:200]}")


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__.split("\n", 1)[0])
    path = sys.argv[1]
    run = bench_stats.Run(os.path.join(path, "samples.csv"))
    if not run.series:
        sys.exit("bench_report.py: no samples")
    with open(os.path.join(path, "environment.txt")) as f:
        environment = f.read()
    print(environment, end="")
    rows = []
    for case, metric in run.about:
        print_metric(run, case, metric, rows)
    targets = bench_targets.rows(run)
    print("\nTargets")
    table([bench_targets.HEAD] + targets, {0, 5})
    print_invalid(os.path.join(path, "invalid.csv"))
    ratios = bench_targets.ratio_rows(run)
    if ratios:
        print("\nebpfrec's cost as a ratio to that of others, in the same run")
        table([bench_targets.RATIO_HEAD] + ratios, {0, 1, 6})
    lines = list(bench_targets.readme_lines(run))
    if lines:
        print("\nFor the README\n  " + "\n  ".join(lines))
    columns = ["case", "metric", "side", "unit", "n", "median", "spread", "q1", "q3", "added", "added_low",
               "added_high", "p"]
    with open(os.path.join(path, "results.csv"), "w", newline="") as f:
        out = csv.DictWriter(f, columns, restval="")
        out.writeheader()
        out.writerows(rows)
    with open(os.path.join(path, "targets.md"), "w") as f:
        f.write(bench_targets.markdown(run, targets, environment))
    with open(os.path.join(path, "results.json"), "w") as f:
        json.dump(metric_format(run), f, indent=1, sort_keys=True)
        f.write("\n")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# diff_groups.py EBPFREC PLANTED DIR [RUNS [SPLITS]]: does `diff A... --with B...` find what was planted, and nothing
# else? Run by hand, as root: it records for about five minutes.
#
#   null     RUNS (40) recordings of one workload, divided into random halves SPLITS (20) times: how many figures of all
#            are called better or worse
#   planted  8 recordings with 5 % more of one function, one more sync of each request, 10 % more heap, each against 8
#            of the others; recordings of all four take turns
import csv, io, os, random, subprocess, sys

ebpfrec, planted, where = sys.argv[1:4]
runs, splits = (int(a) for a in sys.argv[4:6] + ["40", "20"][len(sys.argv[4:6]):])
KINDS = {"plain": ("0", "0", "0"), "parse": ("5", "0", "0"), "sync": ("0", "1", "0"), "heap": ("0", "0", "10")}


def record(name, args):
    out = os.path.join(where, name)
    subprocess.run([ebpfrec, "record", "-q", "-f", "--only", "--heap", "--profile=1999", "-o", out, "--", planted,
                    *args, os.path.join(where, "file")], check=True)
    return out


def differ(a, b):
    out = subprocess.run([ebpfrec, "diff", "--workload", "--format", "csv", *a, "--with", *b], capture_output=True,
                         text=True, check=True)
    return list(csv.DictReader(io.StringIO(out.stdout)))


def changed(rows):
    return [r for r in rows if r["verdict"] in ("better", "worse")]


random.seed(1)
groups = {kind: [] for kind in KINDS}
for i in range(runs):
    for kind in KINDS if i < 8 else ["plain"]:
        groups[kind].append(record(f"{kind}.{i}", KINDS[kind]))
for kind in list(KINDS)[1:]:
    rows = differ(groups["plain"][:8], groups[kind])
    print(f"planted in {kind}: {len(changed(rows))} of {len(rows)} figures")
    for r in changed(rows):
        print(f"    {r['role']} {r['metric']}: {r['verdict']}, {float(r['change_pct'] or 0):+.1f} %"
              f" ({float(r['low_pct'] or 0):+.1f} .. {float(r['high_pct'] or 0):+.1f}), p {float(r['p_value']):.4f}")
wrong, figures = 0, 0
for _ in range(splits):
    half = random.sample(groups["plain"], runs)
    rows = differ(half[:runs // 2], half[runs // 2:])
    figures += len(rows)
    wrong += len(changed(rows))
    for r in changed(rows):
        print(f"    null: {r['role']} {r['metric']} {r['verdict']} {r['change_pct']} p {r['p_value']}")
print(
    f"null: {wrong} of {figures} figures of {splits} random halves of {runs} runs, "
    f"{100 * wrong / max(figures, 1):.2f} %")

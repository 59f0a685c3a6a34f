# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
"""quick_results.py DIR: the results of the benchmark in DIR are complete. Called by run.sh."""
import csv, json, os, sys
out, bad = sys.argv[1], 0

def check(name, condition, saw):
    global bad
    bad |= not condition
    print("ok " + name if condition else f"not ok {name}: {saw}".replace("\n", " / "))

samples = list(csv.DictReader(open(os.path.join(out, "samples.csv"))))
per_switch = [(s["side"], s["round"], s["warm_up"]) for s in samples if s["metric"] == "ns_per_switch"]
wanted = sorted((side, str(r), str(int(r == 0))) for side in ("none", "ebpfrec", "ftrace") for r in (0, 1, 2))
check("one sample per side and round, the first a warm-up", sorted(per_switch) == wanted, per_switch)
orders = [[s for s, r, _ in per_switch if r == str(n)] for n in (0, 1, 2)]
check("each round has another order", len(set(map(tuple, orders))) == 3, orders)
for side in ("ebpfrec", "ftrace"):
    seen = [float(s["value"]) for s in samples if s["metric"] == "events" and s["side"] == side]
    # 220,000 switches of the load with its own warm-up.
    check(f"{side} saw every switch", len(seen) == 3 and min(seen) >= 200000, seen)
results = list(csv.DictReader(open(os.path.join(out, "results.csv"))))
check("results.csv has n of each", [r["n"] for r in results if r["metric"] == "ns_per_switch"] == ["2"] * 3, results)
data = json.load(open(os.path.join(out, "results.json")))
shape = [n for n, m in data.items() for v in m.values() if set(v) != {"value", "lower_value", "upper_value"} or
         not v["lower_value"] <= v["value"] <= v["upper_value"]]
check("results.json is Bencher Metric Format", data and not shape, shape or data)
check("and has what is added", "pingpong/ebpfrec/ns_per_switch/added" in data, sorted(data))
lines = [l.rstrip("\n") for l in open(os.path.join(out, "targets.md")) if l.startswith("|")]
widths = {l.count("|") for l in lines}
check("targets.md holds three tables", len(lines) > 10 and len(widths) == 3, widths)
check("what was not run is not called met", sum("| not measured |" in l for l in lines) >= 10, lines)
sys.exit(bad)

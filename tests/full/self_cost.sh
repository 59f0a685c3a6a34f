#!/bin/bash
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# What recording cost, for any window: run time and runs of the programs, extrapolated from samples, against the
# kernel's own full count; recorder CPU and bytes add up over neighbouring windows and to what is on disk; the
# summary says the same. Then memory: in an overload whose events wait in the recorder, its resident memory stays below
# the bound that the manual states, and what did not fit is declared lost.
. "$(dirname "$0")/../kernel/harness.bash"
export -f programs_of bpftool_run

# The kernel's full count is on from before the programs are loaded, and off when the recorder ends, however that is.
# shellcheck disable=SC2016
"$WORK/with_stats" "$EBPFREC" record -o "$tmp/steady" -e sched.switch,alloc.slab -- bash -c \
	'"$WORK/alloc_storm" 4000 0; "$WORK/stamp" before
	for id in $(programs_of $PPID | sed "s/ .*//"); do bpftool_run -j prog show id $id; echo; done; "$WORK/stamp" \
		after' sh \
	>"$tmp/steady.out" 2>"$tmp/steady.err" </dev/null || { not_ok "recording steady" \
		"status $?: $(tail -n 5 "$tmp/steady.err")"; exit 1; }
recorded mixed -- sh -c "'$WORK/alloc_storm' 1500 500; '$WORK/short_lived' storm 200 >/dev/null"

checker <<'EOF_PY'
import json
from trace_query import *
tmp = os.environ["tmp"]
t = Trace(tmp + "/steady")
w = truth(tmp + "/steady.out")
progs = {}
for line in open(tmp + "/steady.out"):
    if line.startswith("{"):
        p = json.loads(line)
        progs[p["name"]] = p
# the kernel's counts were read one after the other, while the programs went on
rows, rows_after = ({r["name"]: r for r in t.report("cost", *t.window(0, t.at(w[when]))) if r["part"] == "kernel"}
                    for when in ("before", "after"))
# the programs ran before the recording's start, too, while the others were attached: little
for name, hook in (("cache_alloc", "cache_alloc"), ("cache_free", "cache_free")):
    if "run_time_ns" not in progs.get(name, {}):
        print("SKIP self_cost: run time of %s: this bpftool shows none" % name)
        continue
    check("self_cost: %s: the extrapolated number of runs is the kernel's" % name,
          0.9 * rows[hook]["runs"] <= progs[name]["run_cnt"] <= 1.1 * rows_after[hook]["runs"],
          (rows[hook]["runs"], progs[name]["run_cnt"], rows_after[hook]["runs"]))
    # A run takes up to twice as long while other processes use the caches: the samples, one tick per slice, may be
    # unlucky. A hook's time is that of both its programs: the second one runs when the first was interrupted.
    ratio = rows[hook]["cpu_ns"] / (progs[name]["run_time_ns"] + progs.get(name + "_2", {}).get("run_time_ns", 0))
    check("self_cost: %s: the extrapolated run time is the kernel's, within a factor of 2" % name, 0.5 <= ratio <= 2,
          ratio)
    check("self_cost: %s: only a part was measured" % name, 0 < rows[hook]["measured"] < 0.5 * rows[hook]["runs"],
          rows[hook])

t = Trace(tmp + "/mixed")
end = t.one("SELECT max(to_ns) FROM blocks")
def recorder(lo, hi):
    rows = t.report("cost", *t.window(lo, hi))
    get = lambda part, name: next((r for r in rows if r["part"] == part and r["name"] == name), {})
    return {"user": get("recorder", "user")["cpu_ns"], "sys": get("recorder", "system")["cpu_ns"],
            "bytes": get("all", "")["bytes_written"],
            "kernel": sum(r["cpu_ns"] for r in rows if r["part"] == "kernel"), "all": get("all", "")["cpu_ns"]}
cuts = [0, 12_345_678, 700_000_001, 700_000_002, 1_500_000_000, end]
parts = [recorder(a, b) for a, b in zip(cuts, cuts[1:])]
whole = recorder(0, end)
for key in ("user", "sys", "bytes", "kernel", "all"):
    check("self_cost: %s of neighbouring windows add up" % key, sum(p[key] for p in parts) == whole[key],
          (parts, whole))
check("self_cost: the parts are the whole", whole["all"] == whole["user"] + whole["sys"] + whole["kernel"]
      and whole["kernel"] > 0, whole)
sums = t.sql("SELECT sum(user_ns) AS user, sum(sys_ns) AS sys, sum(bytes_written) AS bytes FROM cost")[0]
check("self_cost: and what the samples say", (whole["user"], whole["sys"], whole["bytes"]) ==
      (sums["user"], sums["sys"], sums["bytes"]), (whole, sums))
blocks = t.one("SELECT sum(bytes) FROM blocks")
check("self_cost: bytes written are the blocks of just these times", whole["bytes"] == blocks, (whole, blocks))
check("self_cost: a window inside a slice has its share", 0 < parts[1]["bytes"] < whole["bytes"]
      and parts[2]["bytes"] <= 100, parts)
bins = t.report("cost", "--every", "100ms")
check("self_cost: bins add up", sum(b["bytes_written"] for b in bins) == blocks
      and sum(b["kernel_ns"] for b in bins) == whole["kernel"], (len(bins), whole))
out = run("report", "-i", t.path, "--format", "csv", *t.window(0, 700_000_001)).strip().split("\n")
lo = recorder(0, 700_000_001)
last = {r.split(",")[2]: r.split(",")[3] for r in out if r.startswith("Recording cost,")}
check("self_cost: the summary's end says it for its window", out[-1].startswith("Recording cost,")
      and int(last.get("kernel_ns", -1)) == lo["kernel"] and int(last["bytes_written"]) == lo["bytes"], (last, lo))
high = t.sql("SELECT max(queue_max_bytes) AS q, max(queue_size_bytes) AS size, min(cpu_cnt) AS cpus FROM cost")[0]
check("self_cost: the queue's high-water mark is there, below its limit", 0 < high["q"] <= high["size"]
      and high["cpus"] == os.cpu_count(), high)
EOF_PY

# The slowest compression and two storms: records arrive faster than they can be encoded, on any machine. The readers,
# which need little time, keep their share of the CPUs, so that the queue fills. The storms last until it is full: the
# recorder's memory then has grown by more than the rest of it ever takes, and has not grown for 2 s, during which the
# rings fill. (That is checked below.)
touch "$tmp/storm"
# shellcheck disable=SC2016
"$EBPFREC" record -o "$tmp/flood" --level 19 -- bash -c \
	'for i in 1 2; do "$WORK/alloc_storm" 5000 0 "$tmp/storm" none >/dev/null & done
	of_recorder() { sed -n "s/^$1:[[:space:]]*\([0-9]*\) kB/\1/p" /proc/$PPID/status; }
	last=0 same=0
	for i in {1..600}; do
		now=$(of_recorder VmRSS)
		[ "$now" -gt $((last + 500)) ] && last=$now same=0 || same=$((same + 1))
		[ "$last" -gt 225000 ] && [ $same -ge 20 ] && break
		sleep 0.1
	done
	rm "$tmp/storm"; wait; echo "hwm_kib=$(of_recorder VmHWM)"' sh >"$tmp/flood.out" 2>"$tmp/flood.err" </dev/null
check "self_cost: a flood is recorded" "[ $? -eq 0 ]" "$(cat "$tmp/flood.err")"

checker <"$top/tests/full/self_cost.py"

#!/bin/bash
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# Bins of a live recording as JSON lines: each is written once, while it is recorded, and is equal to the later
# report. A fleet's table in ClickHouse accepts them. Bins that a flight recorder removes before they are read are
# reported.
. "$(dirname "$0")/../kernel/harness.bash"

# Its name is known before the recording begins: a name that changes later would change rows of the past.
hold load
"$WORK/busy_threads" until "$tmp/hold.load" >/dev/null &
start_recorder live -a -e light --keep 10m -- sh -c "while [ -e '$tmp/hold.load' ]; do
	dd if=/dev/zero of='$tmp/data' bs=64k count=20 oflag=direct 2>/dev/null; '$WORK/touch_memory' 20 1 >/dev/null; sleep \
		0.1; done"
follow()
{
	local name=$1

	shift
	timeout 300 "$EBPFREC" report -i "$tmp/live" "$@" --format jsonl --follow=300ms >"$tmp/$name.jsonl" \
		2>"$tmp/$name.err" &
	followers+=($!)
}
bins=(bins --every 1s --align) cpu=(cpu --by cpu --with-idle --every 300ms) io=(io --by device,op --every 1s) \
	until=(cpu --by cpu --every 1s --until 2500ms)
followers=()
follow bins "${bins[@]}"
follow cpu "${cpu[@]}"
follow io "${io[@]}"
# (this one reaches its end before the recording ends)
wait_for "2.5 s of the trace" 60 "[ \$(grep -c '\"name\":\"\"' '$tmp/bins.jsonl') -ge 4 ]"
follow until "${until[@]}"
wait "${followers[3]}"
check "bins: --until ends the report, not the recording" "[ $? -eq 0 ] && kill -0 $recorder" "$(cat "$tmp/until.err")"
wait_for "bins" 60 "[ \$(grep -c '\"name\":\"\"' '$tmp/bins.jsonl') -ge 7 ]"
cp "$tmp/bins.jsonl" "$tmp/before_the_end"
release load
wait $recorder
check "bins: the recording ends as if nobody had asked" "[ $? -eq 0 ]" "$(cat "$tmp/live.err")"
for i in 0 1 2; do
	wait "${followers[i]}"
	check "bins: what follows ends with it, $i" "[ $? -eq 0 ]" "$(tail -n 2 "$tmp"/{bins,cpu,io}.err)"
done
for view in bins cpu io until; do
	declare -n args=$view
	"$EBPFREC" report -i "$tmp/live" "${args[@]}" --format jsonl >"$tmp/$view.after" 2>/dev/null
done

checker <<'EOF_PY'
from trace_query import *
import json
import re
tmp = os.environ["tmp"]
t = Trace(tmp + "/live")


def lines(name):
    return [json.loads(line) for line in open(tmp + "/" + name)]


# only later events may show that an event must have been lost
LATER = "|^complete$|^lost_events$" if t.one("SELECT sum(inferred_cnt) FROM losses") else ""


def sure(row):
    """without what becomes known later, or depends on how much is asked for at once"""
    return {k: v for k, v in row.items() if not re.search(r"_p\d+_ns$|^spike|^wall_uncertainty" + LATER, k)}


def differ(got, want):
    return [(g, w) for g, w in zip(got + [None] * len(want), want + [None] * len(got)) if g != w][:2]


for view in ("cpu", "io", "until"):
    got, want = [[sure(r) for r in lines(view + end)] for end in (".jsonl", ".after")]
    # the clocks read later move the wall clock by some ns
    off = [g["unix_ns"] - w["unix_ns"] for g, w in zip(got, want)]
    for r in got + want:
        r.pop("unix_ns")
    check("bins: %s, %d lines are those of the report afterwards" % (view, len(got)), len(got) >= 4
          and not differ(got, want), differ(got, want))
    check("bins: %s, the wall clock too" % view, max(map(abs, off), default=1e9) < 1_000_000, off[:9])
ends = [r["t_ns"] for r in lines("until.jsonl")]
check("bins: --until cuts the last bin", max(ends) == 2_000_000_000, ends)

got, want = lines("bins.jsonl"), lines("bins.after")
machine = [r for r in got if r["name"] == ""]
stamps = [r["unix_ns"] for r in machine]
check("bins: whole seconds of UTC, each once, none missing", stamps == list(range(stamps[0], stamps[-1] + 1, 10**9))
      and not stamps[0] % 10**9 and
      [r["unix_ns"] for r in got] == sorted(r["unix_ns"] for r in got), stamps)
check("bins: they name host and trace", {(r["host"], r["trace_id"]) for r in got} ==
      {tuple(t.one("SELECT value FROM info WHERE key = '%s'" % k) for k in
      ("host", "trace.uuid"))}, got[:1])
early = lines("before_the_end")
check("bins: they come while it is recorded", len({r["unix_ns"] for r in early}) >= 7 and got[:len(early)] == early,
      len(early))
steady = [[sure(r) for r in rows if r["name"] in ("", "busy_threads")] for rows in (got, want)]
check("bins: %d lines of a name and of the machine are those of the report" % len(steady[0]), len(steady[0]) > 14
      and not differ(*steady), differ(*steady))


def sums(rows):
    found = {}
    for r in rows:
        bin = found.setdefault(r["unix_ns"], {})
        for k, v in r.items():
            if k in ("running_ns", "preempted_ns", "disk_ns", "rss_grown_bytes", "ios", "io_bytes", "lat_sum_ns",
                     "lat_ios"):
                bin[k] = bin.get(k, 0) + v
    return found


lost = [[sum(r.get("lost_events", 0) for r in rows) for rows in (got, want)]
        for got, want in ((got, want), (lines("cpu.jsonl"), lines("cpu.after")))]
check("bins: losses too, or they are those that came to light later",
      all(a == b if not LATER else a <= b for a, b in lost), lost)
check("bins: so are the sums of each bin", sums(got) == sums(want),
      [(k, v, sums(want).get(k)) for k, v in sums(got).items() if v != sums(want).get(k)][:2])
all_ios = t.one("SELECT sum(ios) FROM io_usage(NULL, NULL, 0, 'device')")
# a request that was in flight when the recording began has no latency
timed = t.one("SELECT count(latency_ns) FROM block_requests WHERE end_ns NOT NULL")
steps, ios = [sum(r.get(k, 0) for r in got) for k in ("lat_ios", "ios")]
check("bins: steps of the latency add up to all requests that have one", steps == timed and ios == all_ios > 100
      and ios - timed <= 4, (steps, timed, ios, all_ios))
near("bins: the parts that were recorded are the recording", sum(r["bin_ns"] for r in machine),
     t.one("SELECT max(to_ns) FROM blocks"))
EOF_PY

# ---- a reader that sleeps while a flight recorder removes unread bins ----

hold kept
start_recorder kept -a -e sched --keep 1s -- sh -c "$(until_released kept)"
timeout 300 "$EBPFREC" report -i "$tmp/kept" cpu --by cpu --every 100ms --follow=100ms --format jsonl \
	>"$tmp/kept.jsonl" 2>"$tmp/follow.err" &
reader=$!
wait_for "lines" 60 "[ -s '$tmp/kept.jsonl' ]"
# (timeout has the reader as its child)
reader_pid=$(pgrep -P $reader)
kill -STOP "$reader_pid"
files=$(ls "$tmp"/kept/*.ebr)
wait_for "all files are others" 60 "! ls $(tr '\n' ' ' <<<"$files") 2>/dev/null | grep -q ." ||
	not_ok "bins: the recorder removes files" "$(ls "$tmp/kept")"
sleep 1
kill -CONT "$reader_pid"
lines=$(wc -l <"$tmp/kept.jsonl")
wait_for "more lines" 60 "[ \$(wc -l <'$tmp/kept.jsonl') -gt $lines ]"
release kept
wait $recorder $reader
check "bins: what was removed before it was read is counted" \
	"[ $? -eq 0 ] && grep -q 'kept: [0-9]* bins were removed before they could be read' '$tmp/follow.err'" \
	"$(cat "$tmp/follow.err")"
checker <<'EOF_PY'
from trace_query import *
import json
import re
tmp = os.environ["tmp"]
stamps = sorted({json.loads(line)["unix_ns"] // 1_000_000 for line in open(tmp + "/kept.jsonl")})
said = sum(int(n) for n in re.findall(r"(\d+) bins were removed", open(tmp + "/follow.err").read()))
gaps = sum(round((b - a) / 100) - 1 for a, b in zip(stamps, stamps[1:]))
check("bins: as many as are missing", said == gaps > 0, (said, gaps, stamps))
EOF_PY

# ---- into the table of a fleet, as the manual page does ----

. "$here/clickhouse.bash"
command -v clickhouse-client >/dev/null || { skip clickhouse "clickhouse-client is not installed"; exit; }
start_server 0
export http_0 tcp_0
checker <"$top/tests/full/metrics_bins.py"

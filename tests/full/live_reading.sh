#!/bin/bash
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# A trace is asked again and again while it is recorded: every answer is one of a consistent prefix, what
# was once answered stays so, and the recorder does not notice. Then the same of a recorder that keeps
# only the last second, and removes files while they are being read.
. "$(dirname "$0")/../kernel/harness.bash"

# It lasts as long as it is read: five rounds take as long as they take on this machine.
load=(sh -c "$(until_released start); '$WORK/pingpong' 20000 0 process >/dev/null & '$WORK/short_lived' storm 300 >/dev/null; wait; $(until_released reading)")

for kind in growing kept; do
	limit=()
	hold reading
	hold start
	[ $kind = growing ] || limit=(--keep 1s)
	start_recorder $kind "${limit[@]}" -- "${load[@]}"
	# it has to get its CPU where there is only one: what is asked here is whether readers hold it up
	for task in /proc/$recorder/task/*; do
		renice -n -20 -p "${task##*/}" >/dev/null
	done
	release start
	kind=$kind checker <<'EOF_PY'
from trace_query import *
import shutil
import time

kind, tmp = os.environ["kind"], os.environ["tmp"]
path = tmp + "/" + kind
bad, last, rounds, starts = [], None, 0, set()
first = None
at_least, at_most = time.monotonic() + 6, time.monotonic() + 90

def enough():
    """rounds, and what is to be seen in them: answers about the first second, or a beginning that moves"""
    return rounds >= 5 and (first is not None if kind == "growing" else len(starts) >= 3)

def ask(*args):
    p = subprocess.run([EBPFREC, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    out, err = p.stdout.decode(errors="replace"), p.stderr.decode(errors="replace")
    if p.returncode or "damage" in err:
        bad.append("%s: status %d: %s" % (" ".join(args), p.returncode, err))
        return None
    return rows_of(out) if "csv" in args else out

while not bad and time.monotonic() < at_most and (time.monotonic() < at_least or not enough()):
    rounds += 1
    info = ask("info", "-i", path, "--format", "csv")
    # one answer of one moment: the account of every CPU, and what it is measured against
    acct = ask("sql", "-i", path, "--format", "csv",
               "SELECT cpu, sum(oncpu_ns) AS ns, (SELECT max(to_ns) FROM blocks) AS span, "
               "(SELECT value FROM info WHERE key = 'state') AS state FROM cpu_usage(0, 1 << 62, 0) GROUP BY cpu")
    report = ask("report", "-i", path, "cpu", "--with-idle", "--by", "cpu", "--format", "csv")
    if bad:
        break
    facts = {(r["section"], r["name"]): r["value"] for r in info}
    if len(acct) != os.cpu_count() or any(r["ns"] != r["span"] for r in acct):
        bad.append("tasks and idle are not the window: %s" % acct)
    if facts["trace", "state"] != "recording":
        bad.append("state: %s" % facts["trace", "state"])
    begin, end = facts["trace", "start_mono_ns"], facts["trace", "start_mono_ns"] + facts["trace", "duration_ns"]
    starts.add(begin)
    if last and (begin < last[0] or end < last[1]):
        bad.append("went back: from %s to %s" % (last, (begin, end)))
    last = begin, end
    if kind == "growing":
        # what is past does not change
        n = ask("sql", "-i", path, "--format", "csv",
                "SELECT count(*) AS n, sum(ts_ns) AS s FROM switches WHERE ts_ns < 1000000000") if end - begin > 2e9 else None
        if n and first is None:
            first = n
        if n and n != first:
            bad.append("the first second changed: %s, then %s" % (first, n))
        if rounds == 3:
            ask("export", "-i", path, "--to", "csv", "-o", tmp + "/export")
            shutil.rmtree(tmp + "/export", ignore_errors=True)
check("live, %s: %d rounds of answers, all consistent" % (kind, rounds), rounds >= 5 and not bad, bad or rounds)
if kind == "growing":
    check("live, growing: the first second was asked for, too", first and first[0]["n"] > 0, first)
    open(tmp + "/first", "w").write("%s,%s" % (first[0]["n"], first[0]["s"]) if first else "none")
else:
    check("live, kept: the beginning moved while it was read", len(starts) >= 3, starts)
EOF_PY
	kill -INT $recorder
	wait $recorder
	rc=$?
	release reading
	check "live, $kind: the recorder ends as if nobody had read" "[ $rc -eq 0 -o $rc -eq 130 ]" \
		"status $rc: $(cat "$tmp/$kind.err")"
	full=$("$EBPFREC" sql -i "$tmp/$kind" --format csv 'SELECT coalesce(sum(full_cnt), 0) FROM losses' | tail -n 1)
	check "live, $kind: no ring was ever full" "[ '$full' = 0 ]" "$full"
	"$EBPFREC" check -i "$tmp/$kind" 2>"$tmp/check.err" >&2
	check "live, $kind: the trace is whole" "[ $? -eq 0 ]" "$(cat "$tmp/check.err")"
	check "live, $kind: the socket is gone" "[ ! -e '$tmp/$kind/control' ]" "$(ls "$tmp/$kind")"
	if [ $kind = growing ]; then
		n=$("$EBPFREC" sql -i "$tmp/$kind" --format csv 'SELECT count(*), sum(ts_ns) FROM switches WHERE ts_ns < 1000000000' | tail -n 1 | tr -d '\r')
		check "live, growing: what was said of the first second is what it holds in the end" \
			"[ '$n' = '$(cat "$tmp/first")' ]" "$n, while recording $(cat "$tmp/first")"
		rm -rf "${tmp:?}/$kind"
	fi
done

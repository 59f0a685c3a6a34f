#!/bin/bash
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# What Prometheus gets to know is what reports say. Hostile names make valid text; a backfilled recording has every bin;
# a flight recorder that removes its beginning is scraped while it runs, by a real Prometheus and by clients that
# misbehave; the dashboard's queries have data.
. "$(dirname "$0")/../kernel/harness.bash"

promtool=$(command -v promtool) prometheus=$(PATH=$PATH:/usr/sbin command -v prometheus)

# ---- a finished recording ----

cat >"$tmp/load" <<END
'$WORK/odd_names' 20 >/dev/null
'$WORK/touch_memory' 40 1 >/dev/null
dd if=/dev/zero of='$tmp/data' bs=64k count=200 oflag=direct 2>/dev/null
'$WORK/busy_threads' one 600 >/dev/null
dd if='$tmp/data' of=/dev/null bs=16k iflag=direct 2>/dev/null
END
recorded a --only -- sh "$tmp/load"
mkdir "$tmp/textfiles"
"$EBPFREC" metrics -i "$tmp/a" --once >"$tmp/once.txt" 2>"$tmp/once.err" ||
	not_ok "metrics --once" "$(cat "$tmp/once.err")"
"$EBPFREC" metrics -i "$tmp/a" --once --textfile "$tmp/textfiles" || not_ok "metrics --textfile" "status $?"
"$EBPFREC" metrics -i "$tmp/a" --once --top 1 >"$tmp/few.txt"
"$EBPFREC" metrics -i "$tmp/a" --once --by user >"$tmp/user.txt"
"$EBPFREC" export -q -i "$tmp/a" --to openmetrics --every 250ms -o "$tmp/bins.txt" 2>"$tmp/export.err"
checker <<'EOF_PY'
from metrics_text import *
tmp = os.environ["tmp"]
t = Trace(tmp + "/a")
once = parse(open(tmp + "/once.txt", "rb").read())
bad = compare(once, expected(t))
check("metrics, once: all %d figures are those of reports" % len(once), len(once) > 100 and not bad, bad[:3])
users = parse(open(tmp + "/user.txt", "rb").read())
check("metrics, --by user: the sum is the same", total(users, "ebpfrec_cpu_seconds_total") ==
      total(once, "ebpfrec_cpu_seconds_total") and
      ("ebpfrec_cpu_seconds_total", (("user", "root"),)) in users, total(users, "ebpfrec_cpu_seconds_total"))
few = parse(open(tmp + "/few.txt", "rb").read())
names = {dict(labels).get("comm") for name, labels in few} - {None}
check("metrics, --top 1: few labels, and the sums are the same", 2 <= len(names) <= 6 and "[other]" in names and
      all(total(few, n) == total(once, n) for n, labels in once if n.endswith("_total")), names)
names = {dict(labels).get("comm") for name, labels in once}
check("metrics: hostile names are shown, escaped", {"\\x1b[31mred\\x1b[0m", "new\\x0aline", "a\"b,c",
                                                    "\\x9b31mC1\\xff"} <= names, names)
text = open(tmp + "/textfiles/ebpfrec.prom", "rb").read()
check("metrics, text file: the same, without times", parse(text) == once
      and os.stat(tmp + "/textfiles/ebpfrec.prom").st_mode & 0o777 == 0o644
      and os.listdir(tmp + "/textfiles") == ["ebpfrec.prom"], text[:300])
EOF_PY

# ---- a live one, scraped ----

"$EBPFREC" metrics -i "$tmp/a" --listen nonsense 2>"$tmp/http.err"
! grep -q libmicrohttpd "$tmp/http.err" || { skip metrics_endpoint "this program was built without libmicrohttpd"; \
	exit; }
[ -n "$promtool" ] && [ -n "$prometheus" ] || { skip metrics_prometheus "prometheus is not installed"; exit; }

promtool check metrics <"$tmp/textfiles/ebpfrec.prom" >"$tmp/promtool.out" 2>&1
check "metrics: promtool finds nothing wrong" "[ $? -eq 0 -a ! -s '$tmp/promtool.out' ]" \
	"$(head -n 3 "$tmp/promtool.out")"
promtool tsdb create-blocks-from openmetrics "$tmp/bins.txt" "$tmp/db" >"$tmp/promtool.out" 2>&1
check "metrics: promtool takes the bins" "[ $? -eq 0 ]" "$(tail -n 3 "$tmp/promtool.out")"

cat >"$tmp/live_load" <<END
'$WORK/busy_threads' until '$tmp/hold.load' >/dev/null &
while [ -e '$tmp/hold.load' ]; do
	'$WORK/touch_memory' 40 1 >/dev/null
	dd if=/dev/zero of='$tmp/data' bs=64k count=20 oflag=direct 2>/dev/null
	dd if='$tmp/data' of=/dev/null bs=16k iflag=direct 2>/dev/null
	sleep 0.1
done
wait
END
hold load
start_recorder live -a -e light --keep 10m -- sh "$tmp/live_load"
"$EBPFREC" metrics -i "$tmp/live" --listen 127.0.0.1:0 --interval 1s 2>"$tmp/metrics.err" &
metrics=$!
wait_for "the endpoint listens" 60 "grep -q listening '$tmp/metrics.err'" ||
	{ not_ok "metrics: the endpoint listens" "$(cat "$tmp/metrics.err")"; exit 1; }
url=$(sed -n 's/.*listening on //p' "$tmp/metrics.err")
target=${url#http://}
start_prometheus 1 "${target%/metrics}"
export port url metrics recorder top
checker <"$top/tests/full/metrics.py"
release load
kill -TERM $metrics 2>/dev/null
wait $metrics
check "metrics: the endpoint ends when it is told to" "[ $? -eq 0 ]" "$(tail -n 2 "$tmp/metrics.err")"
wait $recorder
check "metrics: the recorder ends as if nobody had asked" "[ $? -eq 0 ]" "$(cat "$tmp/live.err")"

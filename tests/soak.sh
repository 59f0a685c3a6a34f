#!/bin/bash
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# soak.sh DURATION_S [KEEP [OPTION...]]: a flight recorder under a mixed load for that long. After a warm-up its own
# memory, its descriptors and its disk have to stay flat; prints the figures, then "ok" or "not ok" lines.
#
# Flat: memory's median in the last third is at most a quarter plus 8 MiB above that of the third before. Its own:
# without pages of the rings, which are touched when a ring is as full for the first time; the median, since a queue
# that was longer for a moment is no leak, and 8 MiB, since buffers that became larger for it shrink in the course of
# ten seconds. At most four descriptors more (files on their way to being closed); disk at most half as much again and
# two chunk files: what --keep DUR takes follows the load.
set -u

top=$(cd "$(dirname "$0")/.." && pwd)
EBPFREC=${EBPFREC:-$top/build/ebpfrec}
WORK=${WORK:-$top/build/work}
seconds=${1:-3600}
keep=${2:-60s,256MiB}
tmp=$(mktemp -d "${EBPFREC_TEST_DIR:-/var/tmp}/ebpfrec-soak.XXXXXX") || exit 1
trap 'rm -f "$tmp/run"; kill $recorder 2>/dev/null; wait; wait_load; rm -rf "$tmp"' EXIT
status=0

# The recorder leaves its command alone, which goes on until it looks for the file.
wait_load()
{
	local pid i

	pid=$(sed -n 's/^command.pid=//p' "$tmp/t/manifest" 2>/dev/null)
	for ((i = 0; i < 40; i++)); do
		kill -0 "${pid:-none}" 2>/dev/null || break
		sleep 0.05
	done
}

verdict()
{
	if eval "$2"; then
		echo "ok $1"
	else
		echo "not ok $1: $3"
		status=1
	fi
}

# Something of everything; processes, files and cgroup-less names come and go all the time. A round begins every 0.1 s,
# so that the recording's slices, of 0.8 s, have about as much: buffers are as large as what was wanted lately.
load='while [ -e "$DIR/run" ]; do
	"$WORK/short_lived" storm 6 >/dev/null 2>&1
	"$WORK/pingpong" 300 1 process >/dev/null 2>&1
	"$WORK/touch_memory" 3 0 2 0 >/dev/null 2>&1
	dd if=/dev/zero of="$DIR/file" bs=64k count=3 conv=fsync 2>/dev/null
	now=${EPOCHREALTIME#*.}
	sleep 0.$(printf %06d $((100000 - 10#$now % 100000)))
done'
export WORK DIR=$tmp
touch "$tmp/run"
"$EBPFREC" record -q -o "$tmp/t" --keep "$keep" -d "$seconds" "${@:3}" -- bash -c "$load" 2>"$tmp/err" &
recorder=$!
step=$((seconds / 100))
[ $step -ge 1 ] || step=0.25
: >"$tmp/samples"
while kill -0 $recorder 2>/dev/null; do
	sleep $step
	rss=$(awk '$1 == "RssAnon:" { print $2 }' /proc/$recorder/status 2>/dev/null)
	fds=$(ls /proc/$recorder/fd 2>/dev/null | wc -l)
	# one look at the directory: a file may go between two
	disk=$(find "$tmp/t" -name '*.ebr' -printf '%s\n' 2>/dev/null |
		awk '{ s += $1; if ($1 > m) m = $1 } END { print s + 0, m + 0 }')
	files=$(find "$tmp/t" -name '*.ebr' 2>/dev/null | wc -l)
	[ -n "$rss" ] && [ "$fds" -gt 0 ] && echo "$rss $fds $disk $files" >>"$tmp/samples"
done
wait $recorder
rc=$?
rm -f "$tmp/run"	# the recorder leaves its command alone
verdict "soak: the recording ends well" "[ $rc -eq 0 ]" "status $rc: $(cat "$tmp/err")"
eval "$(awk 'function median(from, to, n, i, j, v) {
		n = 0
		for (i = from; i <= to; i++) {
			for (j = ++n; j > 1 && v[j - 1] > r[i]; j--)
				v[j] = v[j - 1]
			v[j] = r[i]
		}
		return v[int((n + 1) / 2)]
	}
	{ r[NR] = $1; f[NR] = $2; d[NR] = $3; m[NR] = $4; n[NR] = $5 }
	END {
		a = int(NR / 3); b = int(2 * NR / 3)
		for (i = a + 1; i <= NR; i++) {
			if (i <= b && f[i] > f1) f1 = f[i]
			if (i > b && f[i] > f2) f2 = f[i]
			if (i <= b && d[i] > d1) d1 = d[i]
			if (i > b && d[i] > d2) d2 = d[i]
			if (m[i] > top) top = m[i]
			if (n[i] > files) files = n[i]
		}
		r1 = median(a + 1, b)
		r2 = median(b + 1, NR)
		printf "cnt=%d r1=%d r2=%d f1=%d f2=%d d1=%d d2=%d largest=%d files=%d", NR, r1, r2, f1, f2, d1, d2, top, files
	}' "$tmp/samples")"
dropped=$(sed -n 's/^dropped.files=//p' "$tmp/t/manifest")
echo "# $seconds s, --keep $keep, $cnt samples; middle third and last third:" \
	"RssAnon $r1 and $r2 KiB, descriptors $f1 and $f2, disk $d1 and $d2 bytes," \
	"at most $files files; ${dropped:-0} files dropped"
verdict "soak: enough samples, and files went" "[ $cnt -ge 20 ] && [ ${dropped:-0} -ge 5 ]" \
	"$cnt samples, ${dropped:-0} files dropped"
verdict "soak: memory is flat" "[ $r2 -le $((r1 + r1 / 4 + 8192)) ]" "RssAnon $r1 KiB, then $r2 KiB"
verdict "soak: descriptors are flat" "[ $f2 -le $((f1 + 4)) ]" "$f1, then $f2"
verdict "soak: disk is flat" "[ $d2 -le $((d1 + d1 / 2 + 2 * largest)) ] && [ $files -le 40 ]" \
	"$d1 bytes, then $d2, $files files"
"$EBPFREC" check -i "$tmp/t" >"$tmp/check" 2>&1
verdict "soak: what is left is whole" "[ $? -eq 0 ]" "$(cat "$tmp/check")"
exit $status

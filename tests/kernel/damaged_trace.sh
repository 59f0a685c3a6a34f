#!/bin/bash
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# Reports on a damaged trace use its intact part and list the skipped parts: a chunk file cut short, a
# garbled block, a missing or garbled manifest, empty chunk files. Flipped bits: tests/damage.
. "$(dirname "$0")/harness.bash"

recorded good -- sh -c \
	"'$WORK/short_lived' storm 300 >/dev/null; '$WORK/busy_threads' one 1200
	'$WORK/short_lived' storm 700 >/dev/null; '$WORK/busy_threads' one 1000"
# Its chunk files, largest first.
mapfile -t chunks < <(find "$tmp/good" -name '*.ebr' -printf '%s %f\n' | sort -rn | cut -d' ' -f2)
chunk=${chunks[0]}
size=$(stat -c %s "$tmp/good/$chunk")
check "damage: there is something to damage" "[ $size -gt 100000 ]" "$size bytes"
"$EBPFREC" check -i "$tmp/good" >"$tmp/good.check" 2>&1
check "damage: check is content with the whole one" "[ $? -eq 0 ]" "$(cat "$tmp/good.check")"
whole=$(sql_value good 'SELECT count(*) FROM switches')

# look DIR: reads everything; prints "status rows-of-switches"; stderr in DIR.err
look()
{
	local rows rc

	timeout 60 "$EBPFREC" report -i "$1" >/dev/null 2>"$1.err"
	rc=$?
	rows=$(timeout 60 "$EBPFREC" sql -i "$1" --format csv 'SELECT count(*) FROM switches' 2>>"$1.err" | tail -1 |
		tr -d '\r')
	echo "$rc ${rows:-none}"
}

# Cut short in the middle: the part before is reported.
cp -r "$tmp/good" "$tmp/cut"
truncate -s $((size / 2)) "$tmp/cut/$chunk"
read -r rc rows < <(look "$tmp/cut")
check "damage: cut short: report works" "[ '$rc' -eq 0 ]" "status $rc: $(cat "$tmp/cut.err")"
check "damage: cut short: what is intact is there, no more" "[ '$rows' -gt 0 ] && [ '$rows' -lt $whole ]" \
	"$rows of $whole switches"
check "damage: cut short: says so" "grep -qi 'skip\|damage\|cut' '$tmp/cut.err'" "$(cat "$tmp/cut.err")"
"$EBPFREC" check -i "$tmp/cut" >"$tmp/cut.check" 2>&1
check "damage: cut short: check finds it" "[ $? -eq 1 ] && grep -q '$chunk' '$tmp/cut.check'" "$(cat "$tmp/cut.check")"

# A block in the middle is garbled all over: those before and after it survive.
cp -r "$tmp/good" "$tmp/hole"
read -r at bytes < \
	<(sql_value good "SELECT offset_bytes, bytes FROM blocks
	WHERE file = '$chunk' AND block = (SELECT max(block) / 2 FROM blocks WHERE file = '$chunk')" | tr , ' ')
head -c $((bytes - 64)) /dev/urandom | dd of="$tmp/hole/$chunk" bs=1 seek=$((at + 32)) conv=notrunc 2>/dev/null
read -r rc rows < <(look "$tmp/hole")
check "damage: a hole: report works and says so" "[ '$rc' -eq 0 ] && grep -qi 'skip\|damage' '$tmp/hole.err'" \
	"status $rc: $(cat "$tmp/hole.err")"
last=$(sql_value good 'SELECT max(to_ns) FROM blocks')
last_hole=$(sql_value hole 'SELECT max(to_ns) FROM blocks' 2>/dev/null)
check "damage: a hole: what comes after it is there" \
	"[ '$last' = '$last_hole' ] && [ '$rows' -gt 0 ] && [ '$rows' -lt $whole ]" \
	"ends at $last_hole, not $last; $rows of $whole switches"
check "damage: a hole: rows over it say incomplete" \
	"\"$EBPFREC\" report -i '$tmp/hole' cpu --format csv 2>/dev/null |
	python3 -c 'import csv, sys
r = list(csv.DictReader(sys.stdin)); sys.exit(not r or any(x[\"complete\"] != \"0\" for x in r))'" "some say complete"

cp -r "$tmp/good" "$tmp/headless"
rm "$tmp/headless/manifest"
read -r rc rows < <(look "$tmp/headless")
check "damage: without a manifest: an answer or a clear refusal" "[ '$rc' -le 1 ] && [ -s '$tmp/headless.err' ]" \
	"status $rc: $(cat "$tmp/headless.err")"
cp -r "$tmp/good" "$tmp/garbled"
head -c 3000 /dev/urandom >"$tmp/garbled/manifest"
read -r rc rows < <(look "$tmp/garbled")
check "damage: a garbled manifest: an answer or a clear refusal" \
	"[ '$rc' -le 1 ] && [ -s '$tmp/garbled.err' ] && ! LC_ALL=C grep -q '[^[:print:][:space:]]' '$tmp/garbled.err'" \
	"status $rc: $(tr -c '[:print:]\n' '?' <"$tmp/garbled.err" | head -3)"
cp -r "$tmp/good" "$tmp/emptied"
for c in "${chunks[@]}"; do : >"$tmp/emptied/$c"; done
read -r rc rows < <(look "$tmp/emptied")
check "damage: empty chunk files: no rows, no crash, said so" "[ '$rc' -le 1 ] && [ -s '$tmp/emptied.err' ]" \
	"status $rc: $(cat "$tmp/emptied.err")"

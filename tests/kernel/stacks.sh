#!/bin/bash
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# record --stacks: functions of known names call each other, allocate, leak, keep pipes and burst. The stacks name them,
# their bytes add up to the allocations', reports of leaks and spikes say where from. Then the same stacks in what other
# commands make of a trace: cuts, redacted traces, bundles, repaired traces, exports, several traces, diff.
. "$(dirname "$0")/harness.bash"

cd "$tmp" || exit 1
prog=$WORK/heap_sites
sources=alloc.heap,alloc.slab,alloc.page,alloc.rss,task
# Blocks are at most a second: each leak has one to itself.
run="'$prog' here 10; '$prog' leak; sleep 1.3; '$prog' leak; sleep 1.3; '$prog' leak"
recorded all --only -e $sources --ring-size 16MiB --stacks 1/1 -- sh -c "$run"
recorded some --only -e $sources --ring-size 16MiB --stacks 4321 -- sh -c "'$prog' here 10; '$prog' leak"
recorded none --only -e $sources --ring-size 16MiB -- sh -c "$run"
build_id=$(readelf -n "$prog" | sed -n 's/.*Build ID: //p')

# ---- reports ----

"$EBPFREC" report -i all stacks --format folded >bytes.stacks
"$EBPFREC" report -i all stacks --format folded --sort samples >samples.stacks
# the instant after the last free: the burst is over, and the last program is there, with its heap and its pipes
last=$(kv all.out pid)
to=$("$EBPFREC" sql -i all --format csv "SELECT max(ts_ns) + 1 FROM heap_frees JOIN threads USING (utid)
	JOIN processes USING (upid) WHERE pid = $last" | tail -n 1)ns
leaks=(report -i all leaks --pid "$last" --to "$to")
"$EBPFREC" "${leaks[@]}" >leaks.txt
"$EBPFREC" "${leaks[@]}" --format folded >bytes.leaks
"$EBPFREC" "${leaks[@]}" --format folded --sort objects >objects.leaks
"$EBPFREC" report -i all spikes --pid "$last" --spike-min 8MiB --spike-window 10s >spikes.txt
"$EBPFREC" report -i none leaks >none.txt
"$EBPFREC" report -i all cpu --format folded >/dev/null 2>refused
check "stacks: folded is of no other view" "[ $? -eq 2 ] && grep -q 'views .*stacks' refused" "$(cat refused)"
"$EBPFREC" report -i all spikes --format folded >/dev/null 2>refused
check "stacks: spikes are not folded, and it says what to ask instead" \
	"[ $? -eq 2 ] && grep -q 'report stacks --from' refused" "$(cat refused)"
checker <"$here/stacks_reports.py"

# ---- copies ----

"$EBPFREC" redact -i all -o gone 2>err && "$EBPFREC" cut -i all -o part --from 0s 2>>err
check "stacks: redact and cut keep them" "[ $? -eq 0 ]" "$(cat err)"
"$EBPFREC" bundle -i all -o all.zip --show-strings >strings 2>said
check "stacks: a bundle" "[ $? -eq 0 ]" "$(cat said)"
for line in 'functions: burst_outer' 'functions: touch_gamma' "paths: $(readlink -f "$prog")" "build ids: $build_id"; do
	check "stacks: a bundle lists ${line%%:*} of stacks" "grep -qxF '$line' strings" \
		"$line: $(grep "^${line%%:*}" strings | head -n 3)"
done
check "stacks: and counts them" "grep -q 'functions  *[1-9]' said && grep -q 'build ids  *[1-9]' said" "$(cat said)"
"$EBPFREC" bundle -i all -o gone.zip --redact --show-strings >strings 2>said
check "stacks: a redacted bundle has pseudonyms for them" "[ $? -eq 0 ] && grep -q 'functions  *0$' said &&
	! grep -q ': fn-\|burst_outer\|heap_sites' strings" "$(cat said)"
mkdir gone_zip && unzip -q -j -d gone_zip gone.zip
"$EBPFREC" sql -i gone_zip --format csv "SELECT DISTINCT stack_text(stack, ts_ns) FROM stack_samples" >texts
"$EBPFREC" export -i gone_zip --to csv -o gone.csv >/dev/null 2>&1
for word in burst_outer touch_gamma heap_sites "$build_id"; do
	check "stacks: $word is in no text of a redacted trace" "[ -s texts ] && ! grep -rqF '$word' texts gone.csv" \
		"$(grep -rF "$word" texts gone.csv | head -n 2)"
done
check "stacks: kernel functions stay" "grep -q do_syscall_64 texts || grep -q el0 texts" "$(head -n 2 texts)"
for view in stacks leaks "spikes --spike-min 8MiB"; do
	# shellcheck disable=SC2086
	"$EBPFREC" report -i all $view --format csv >a 2>/dev/null
	# shellcheck disable=SC2086
	"$EBPFREC" report -i all.zip $view --format csv >b 2>/dev/null
	check "stacks: ${view%% *} of a bundle is the trace's" "[ \$(wc -l <a) -gt 1 ] && cmp -s a b" \
		"$(diff a b | head -n 3)"
done

# The block of the second leak is overwritten.
cp -r all hole
read -r file at bytes from to < <("$EBPFREC" sql -i all --format csv \
	"SELECT b.file, b.offset_bytes, b.bytes, b.from_ns, b.to_ns FROM blocks AS b, (SELECT ts_ns FROM heap_allocs
	  WHERE bytes = 7001 ORDER BY ts_ns LIMIT 1 OFFSET 75) AS x WHERE x.ts_ns >= b.from_ns AND x.ts_ns < b.to_ns" |
	tail -n 1 | tr -d '\r' | tr , ' ')
head -c $((bytes - 64)) /dev/urandom | dd of="hole/$file" bs=1 seek=$((at + 32)) conv=notrunc 2>/dev/null
"$EBPFREC" repair -i hole -o mended >out 2>&1
check "stacks: repair" "[ $? -le 1 ] && '$EBPFREC' check -i mended >>out 2>&1" "$(cat out)"

"$EBPFREC" export -i all --to sqlite -o all.db >out 2>&1 && "$EBPFREC" export -i all --to csv -o csv >>out 2>&1
check "stacks: export" "[ $? -eq 0 ]" "$(cat out)"
for table in stack_samples stack_frames user_sites allocations; do
	"$EBPFREC" sql -i all --format csv "SELECT * FROM $table" | tail -n +2 | tr -d '\r' | sort >a
	tail -n +2 csv/$table.csv | tr -d '\r' | sort >b
	check "stacks: $table as CSV has every row" "[ \$(wc -l <a) -gt 10 ] && cmp -s a b" "$(diff a b | head -n 3)"
done

"$EBPFREC" report stacks -i all -i none -i all.zip --format csv >several 2>out
check "stacks: several traces" "[ $? -eq 0 ]" "$(cat out)"
"$EBPFREC" report stacks -i all -i none --format folded >/dev/null 2>out
check "stacks: several are not folded" "[ $? -eq 2 ] && grep -q 'of one trace' out" "$(cat out)"
"$EBPFREC" diff all all.zip --format csv >a 2>out
check "stacks: diff with its bundle is no change" "[ $? -eq 0 ] && ! grep -qv ',same,\|verdict' a" \
	"$(cat out; grep -v ',same,' a | head -n 3)"
"$EBPFREC" diff none all >a 2>out
check "stacks: diff of a trace without and one with" "[ $? -le 1 ] && [ -s a ]" "$(cat out)"
export from to
checker <"$here/stacks_copies.py"

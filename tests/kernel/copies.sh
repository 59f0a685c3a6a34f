#!/bin/bash
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# What is made of a recording: redacted copies, bundles and cuts have its answers, and no more than they should.
#
# Redacting a recording full of identifying names: none of them is left, in no byte, compressed or not;
# every number is unchanged; so are the parents of processes, and equal names stay equal.
. "$(dirname "$0")/harness.bash"

secret=$tmp/quarterly-figures/zebrafinch
mkdir -p "$secret"
cp "$WORK/stamp" "$secret/nightingale"
cp "$WORK/busy_threads" "$secret/libkestrel.so.4"
cp "$WORK/heap_sites" "$secret/whimbrel"
v2=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/self/mounts)
export group=/nowhere
if [ -n "$v2" ] && mkdir -p "$v2/oystercatcher.slice/merlin.service" 2>/dev/null; then
	undo+=("rmdir '$v2/oystercatcher.slice/merlin.service' '$v2/oystercatcher.slice'")
	group=$v2/oystercatcher.slice/merlin.service
fi
mounted=
make_loop disk 16 && quiet_ext4 "$tmp/brambling" && mounted=brambling
export mounted
(exec -a wagtail sleep 30) &
export secret
# it runs until the mark is in the trace
hold mark
start_recorder plain -e sched,alloc,block,alloc.heap --stacks 7000 --cmdlines --note customer=goldcrest-industries \
	--mark-fd 9 -- sh -c '
	echo $$ >"$group/cgroup.procs"
	"$secret/nightingale" --password=chiffchaff "$secret/ledger.yaml" >/dev/null
	"$secret/libkestrel.so.4" one 300 >/dev/null
	"$secret/whimbrel" leak >/dev/null
	dd if=/dev/zero of="$secret/redstart.db" bs=64k count=64 conv=fsync 2>/dev/null
	'"$(until_released mark)" 9< <(sleep 0.2; echo firecrest)
wait_for "the mark" 60 "[ \"\$(sql_value plain 'SELECT count(*) FROM marks' 2>/dev/null)\" = 1 ]"
release mark
wait $recorder
check "redact: there is something to redact" "[ $? -eq 0 ]" "$(cat "$tmp/plain.err")"

"$EBPFREC" redact -i "$tmp/plain" -o "$tmp/gone" 2>"$tmp/gone.err"
check "redact: works" "[ $? -eq 0 ]" "$(cat "$tmp/gone.err")"
check "redact: for its owner only" \
	"[ -z \"\$(find '$tmp/gone' \\( -type d ! -perm 700 -o -type f ! -perm 600 \\) 2>&1)\" ]" "$(ls -la "$tmp/gone")"
"$EBPFREC" check -i "$tmp/gone" >"$tmp/gone.check" 2>&1
check "redact: the new trace is whole" "[ $? -eq 0 ]" "$(cat "$tmp/gone.check")"
"$EBPFREC" redact -i "$tmp/plain" -o "$tmp/kept" --keep-workload --keep ledger.yaml --salt one 2>"$tmp/kept.err" &&
	"$EBPFREC" redact -i "$tmp/plain" -o "$tmp/again" --keep-workload --keep ledger.yaml --salt one 2>>"$tmp/kept.err"
check "redact: with --keep-workload, --keep and --salt" "[ $? -eq 0 ]" "$(cat "$tmp/kept.err")"
check "redact: the same salt gives the same trace" \
	"(cd '$tmp/kept' && find . -name '*.ebr' -exec tail -c +65 {} +; cat manifest) | cmp - <(cd '$tmp/again' &&
	find . -name '*.ebr' -exec tail -c +65 {} +; cat manifest)" "they differ"

"$EBPFREC" bundle -i "$tmp/plain" --redact --from 100ms --to -100ms --max-size 24MB -o "$tmp/gone.zip" --show-strings \
	>"$tmp/shown" 2>"$tmp/bundle.err"
check "redact: as a bundle" "[ $? -eq 0 ] && unzip -q -j -d '$tmp/unzipped' '$tmp/gone.zip'" "$(cat "$tmp/bundle.err")"
check "redact: a bundle lists what is left" "grep -q '^process names: ebpfrec$' '$tmp/shown' &&
	! grep -q ': proc-\|nightingale\|zebrafinch\|goldcrest' '$tmp/shown'" "$(head -n 5 "$tmp/shown")"

PYTHONPATH=$top/tests/format:$PYTHONPATH checker <"$here/redact.py"

# Keys in the manifests of other recordings: a trigger's text, processes of a cut, and future keys.
cp -r "$tmp/plain" "$tmp/keys"
rm -f "$tmp"/keys/*.idx
sed -i '/^crc32c=/d' "$tmp/keys/manifest"	# it would not match
printf '%s\n' 'note.trigger=cpu>90% of whinchat' 'cut.processes=2, comm whinchat' 'cgroup=/whinchat.slice' \
	'serial.sda=whinchat' \
	'keep.bytes=whinchat' 'ring.bytes.more=whinchat' 'user=whinchat' >>"$tmp/keys/manifest"
"$EBPFREC" redact -i "$tmp/keys" -o "$tmp/keys-gone" 2>"$tmp/keys.err" &&
	"$EBPFREC" check -i "$tmp/keys-gone" 2>>"$tmp/keys.err"
check "redact: no entry of a manifest goes over as it is but those known to be no name" \
	"[ $? -eq 0 ] && ! grep -q -r whinchat '$tmp/keys-gone' && grep -q ^note.trigger= '$tmp/keys-gone/manifest'" \
	"$(cat "$tmp/keys.err"; grep -r whinchat "$tmp/keys-gone")"
if [ "$group" != /nowhere ]; then
	grep -q -r oystercatcher "$tmp/gone" && not_ok "redact: cgroup's name" "in the bytes"
fi
python3 -c 'import sys
f = open(sys.argv[1], "r+b"); f.seek(5000); b = f.read(1)[0] ^ 1; f.seek(5000); f.write(bytes([b]))' \
	"$(find "$tmp/plain" -name '*.ebr')"
"$EBPFREC" redact -i "$tmp/plain" -o "$tmp/bad" 2>"$tmp/bad.err"
rc=$?
check "redact: a damaged trace is refused, with what to do" \
	"[ $rc -eq 1 ] && grep -q 'ebpfrec repair' '$tmp/bad.err' && [ ! -e '$tmp/bad' ]" \
		"status $rc: $(cat "$tmp/bad.err")"

# ---- bundles and cuts ----

# A recording as one zip file: the bundle has the same answers as the trace, other programs can read the
# file, and parts left out because of a size limit are declared.
fresh

cd "$tmp" || exit 1
# Cuts and trimmed parts need requests all the time: on a disk with other users a request may take seconds.
make_loop disk 64 memory || { skip "bundles and cuts" "no loop device"; exit 0; }
dd="dd if=/dev/zero of=$loop bs=64k oflag=direct"
SECRET_IN_ENV=x3f9a "$EBPFREC" record -q -o run.ebpfrec -- sh -c \
	"for i in 1 2 3; do $dd count=64 2>/dev/null; /bin/true; done" >out 2>&1 </dev/null
check "bundle: recording" "[ $? -eq 0 ]" "$(tail -n 3 out)"

mkdir scratch
SECRET_IN_ENV=x3f9a TMPDIR=$tmp/scratch "$EBPFREC" bundle -i run.ebpfrec --show-strings >strings 2>said
check "bundle: written, by its default name" "[ $? -eq 0 ] && [ -f run.zip ]" "$(cat said)"
check "bundle: other programs take it" "unzip -t run.zip >out 2>&1" "$(cat out)"
check "bundle: members are stored as they are" "[ -z \"\$(unzip -v run.zip | grep Defl)\" ]" "$(unzip -v run.zip)"
check "bundle: for its owner only" "[ \$(stat -c %a run.zip) = 600 ]" "$(stat -c %a run.zip)"
check "bundle: lists what it discloses" "grep -qx 'process names: dd' strings && grep -q '^host names: ' strings" \
	"$(head -n 3 strings)"
check "bundle: and counts it" "grep -q 'host names  *1$' said" "$(cat said)"
for view in cpu sched alloc io latency spikes devices loss; do
	"$EBPFREC" report -i run.ebpfrec "$view" --format csv >a 2>/dev/null
	"$EBPFREC" report -i run.zip "$view" --format csv >b 2>/dev/null
	check "bundle: $view is the trace's" "[ -s a ] && cmp a b >out 2>&1" "$(cat out)"
done
for command in "check" "info --columns" "sql 'SELECT count(*) FROM switches'" "export --to csv -o exported" \
	"repair -o repaired" \
	"redact -o redacted" "cut -e sched -o switches" "bundle -o again.zip" "report --phases"; do
	check "bundle: ${command%% *} reads it" "TMPDIR=$tmp/scratch $EBPFREC $command -i run.zip >out 2>&1" \
		"$(tail -n 2 out)"
done
cp -r run.ebpfrec judged && "$EBPFREC" assert -i judged --keep --rule 'cpu comm=dd oncpu_ns < 9s' >out 2>&1 &&
	"$EBPFREC" bundle -i judged -o judged.zip >out 2>&1
check "bundle: kept verdicts are in it" "$EBPFREC info -i judged.zip | grep -q assert" "$(cat out)"
check "bundle: and in its summary" "unzip -p judged.zip '*summary.txt' | grep -q '^PASS .*cpu comm=dd oncpu_ns < 9s'" \
	"$(unzip -l judged.zip; unzip -p judged.zip '*summary.txt')"
"$EBPFREC" assert -i judged.zip --keep --rule 'cpu comm=dd oncpu_ns < 9s' >out 2>&1
check "bundle: it takes no verdicts" "grep -q 'a bundle cannot be changed' out" "$(cat out)"
"$EBPFREC" diff run.zip run.ebpfrec --format csv >a 2>out
check "bundle: diff reads it, and sees no change" "[ $? -eq 0 ] && [ $(wc -l <a) -gt 1 ] &&
	! grep -qv ',same,\|verdict' a" "$(cat out) $(grep -v ',same,' a | head -n 3)"
for trace in repaired redacted switches again.zip; do
	"$EBPFREC" check -i $trace >out 2>&1
	check "bundle: what is made of it is whole: $trace" "[ $? -eq 0 ]" "$(tail -n 1 out)"
done
"$EBPFREC" mark -i run.zip hello 2>out
check "bundle: takes no mark" "[ $? -eq 1 ] &&
	grep -qx 'ebpfrec: run.zip: a bundle: its recording is over; a mark can only be made meanwhile' out" "$(cat out)"
"$EBPFREC" snapshot -i run.zip -o copy 2>out
check "bundle: is no recorder's that could be asked for a snapshot" "[ $? -eq 1 ] && [ ! -e copy ] &&
	grep -q '^ebpfrec: run.zip: a bundle: it is whole and nobody writes to it; copy the file, or' out" "$(cat out)"
# the next bundle removes the leftovers of a killed one, not the files of a running one
mkdir .ebpfrec-new.killed .ebpfrec-new.in_use
cp -r run.ebpfrec .ebpfrec-new.killed/trace
: >.ebpfrec-new.killed/zip
exec 8<.ebpfrec-new.in_use
flock 8
"$EBPFREC" bundle -i run.ebpfrec -f 2>out
check "bundle: clears away what a killed one left" \
	"[ $? -eq 0 ] && [ ! -e .ebpfrec-new.killed ] && [ -d .ebpfrec-new.in_use ]" "$(cat out; ls -A)"
exec 8<&-
rmdir .ebpfrec-new.in_use
"$EBPFREC" bundle -i run.ebpfrec --redact -o hidden.zip --show-strings >strings 2>said
check "bundle: redacted, no pseudonym counts as disclosed" \
	"[ $? -eq 0 ] && grep -q 'besides pseudonyms' said && grep -q 'host names  *0$' said &&
	! grep -q ': proc-\|: /p' strings" "$(cat said; head -n 3 strings)"
check "bundle: redacted, what stays does" "grep -q '^process names: ksoftirqd' strings" "$(head -n 9 strings)"
"$EBPFREC" bundle -i run.ebpfrec --salt x -o none.zip >out 2>&1
check "bundle: --salt without --redact" "[ $? -eq 2 ] && grep -q 'go with --redact' out" "$(cat out)"
mkdir unzipped
(umask 022; unzip -q -d unzipped run.zip)
check "bundle: unpacks into one private folder" "[ \"\$(ls unzipped)\" = run ] &&
	[ \$(stat -c %a unzipped/run) = 700 ]" "$(ls -l unzipped)"
mv unzipped/run unpacked
check "bundle: README.txt says how to open it, and that works" \
	"grep -q 'summary.txt' unpacked/README.txt && sed -n 's/^    \(ebpfrec .*\)/\1/p' unpacked/README.txt |
	sed \"s|FOLDER|unpacked|; s|^ebpfrec|'$EBPFREC'|; s|trace.db|unpacked.db|\" | bash -e >out 2>&1 &&
		[ -s unpacked.db ]" "$(cat unpacked/README.txt out)"
check "bundle: tells of the machine" "grep -q ^kernel.release= unpacked/environment.txt &&
	grep -q '^mounts=.* / ' unpacked/environment.txt" "$(cat unpacked/environment.txt)"
check "bundle: quotes no environment" "! grep -rq 'SECRET_IN_ENV\|x3f9a' unpacked" \
	"$(grep -r 'SECRET_IN_ENV\|x3f9a' unpacked)"
"$EBPFREC" report -i unpacked cpu --format csv >b 2>/dev/null
"$EBPFREC" report -i run.ebpfrec cpu --format csv >a 2>/dev/null
check "bundle: unpacked, it is the trace" "cmp a b >out 2>&1" "$(cat out)"

# a window: blocks are at most about a second
"$EBPFREC" record -q -d 5s -o long.ebpfrec -- sh -c \
	"for i in 1 2 3 4 5 6 7 8; do $dd count=32 2>/dev/null; sleep 0.4; done" >out 2>&1 </dev/null
# A cut lacks the effects of an event after the window on a thread inside it, and the beginnings of some waits before
# it: the window begins and ends where no such thread exists.
read -r begin until < \
	<(python3 -c 'from trace_query import *
t = Trace("long.ebpfrec"); print(t.begin_from(1_900_000_000), t.end_from(2_100_000_000))')
"$EBPFREC" cut -i long.ebpfrec --from "${begin}ns" --to "${until}ns" -o part >out 2>&1
check "cut: written" "[ $? -eq 0 ]" "$(cat out)"
check "cut: for its owner only" "[ -z \"\$(find part \\( -type d ! -perm 700 -o -type f ! -perm 600 \\) 2>&1)\" ]" \
	"$(ls -la part)"
"$EBPFREC" check -i part >out 2>&1
check "cut: whole" "[ $? -eq 0 ]" "$(cat out)"
value() { "$EBPFREC" info -i part --format csv | sed -n "s/.*,$1,//p"; }
from=$(value cut.offset_ns) length=$(value duration_ns)
check "cut: just the window" "[ $from = $begin ] && [ $length = $((until - begin)) ]" "$from $length"
for view in cpu sched io latency pattern devices preempts sizes leaks loss cost; do
	"$EBPFREC" report -i long.ebpfrec "$view" --from "${from}ns" --to "$((from + length))ns" --format csv >a 2>/dev/null
	"$EBPFREC" report -i part "$view" --format csv >b 2>/dev/null
	check "cut: $view is the old trace's of that window" "[ -s a ] && cmp a b >out 2>&1" "$(diff a b | head -n 3)"
done
# levels and peaks of allocations, and windows inside: peaks are instants, which count from each trace's start. Names
# with a comma are quoted, and in the way of counting columns.
plain() { sed 's/"[^"]*"/quoted/g'; }
# A cut does not know which bytes a process inherited that had not called exec yet (schema/LIMITS.md).
forked=$("$EBPFREC" sql -i long.ebpfrec --format csv "SELECT pid FROM processes AS p WHERE start_ns > 0 AND
	start_ns < $from AND NOT EXISTS (SELECT 1 FROM task_events AS e WHERE e.upid = p.upid AND e.type = 'exec' AND
	e.ts_ns < $from)" | tr -d '\r' | tr '\n' ' ')
known() {
	awk -F, -v pids=" $forked" -v view="$view" 'view != "alloc" || !index(pids, " " $1 " ") || NR == 1'
}
for window in 0:$length \
	$(for i in 1 2 3; do a=$((RANDOM * length / 40000)); echo "$a:$((a + 1 + RANDOM * (length - a) / 32768))"; done); do
	window=${window/:/ } at=${window% *} to=${window#* }
	for view in cpu sched alloc io latency; do
		"$EBPFREC" report -i long.ebpfrec "$view" --from "$((from + at))ns" --to "$((from + to))ns" --format csv \
			2>/dev/null | plain |
			awk -F, -v OFS=, -v from="$from" -v alloc="$view" \
				'NR > 1 && alloc == "alloc" && $10 != "" { $10 = sprintf("%.0f", $10 - from) } 1' | known >a
		"$EBPFREC" report -i part "$view" --from "${at}ns" --to "${to}ns" --format csv 2>/dev/null | plain | known >b
		check "cut: $view of a window inside is the old trace's" "[ -s a ] && cmp a b >out 2>&1" \
			"$at $to $(diff a b | head -n 4)"
	done
done
check "cut: what is carried over is no event of its own" \
	"[ $("$EBPFREC" sql -i part --format csv 'SELECT count(*) FROM slab_allocs WHERE ts_ns < 0' | tail -n 1) = 0 ]" \
	"rows before its start"
for trace in long.ebpfrec part; do
	"$EBPFREC" sql -i $trace --format csv \
		"SELECT pid, comm, cmdline, exit_code FROM processes WHERE comm = 'dd' OR pid < 50 ORDER BY pid" |
			sort >"who.$trace"
done
comm -13 who.long.ebpfrec who.part >out
check "cut: knows tasks as the old trace does" "[ -s who.part ] && [ ! -s out ]" "$(cat out)"
"$EBPFREC" bundle -i long.ebpfrec --from "${begin}ns" --to "${until}ns" -o part.zip 2>out
"$EBPFREC" report -i part cpu --format csv >a 2>/dev/null
"$EBPFREC" report -i part.zip cpu --format csv >b 2>/dev/null
check "bundle: of a window is the cut" "[ -s a ] && cmp a b" "$(cat out)"
"$EBPFREC" cut -i part -o again >out 2>&1
"$EBPFREC" report -i part alloc --format csv >a 2>/dev/null
"$EBPFREC" report -i again alloc --format csv >b 2>/dev/null
check "cut: of a cut, what was carried is carried on" \
	"[ -s a ] && cmp a b && [ $from = $("$EBPFREC" info -i again --format csv | sed -n 's/.*,cut.offset_ns,//p') ]" \
	"$(cat out)"
"$EBPFREC" report -i part cpu --format csv >a 2>/dev/null
"$EBPFREC" cut -i part.zip -e sched -o sched >out 2>&1
"$EBPFREC" report -i sched cpu --format csv >b 2>/dev/null
check "cut: sources of a bundle" "cmp a b" "$(cat out)"
"$EBPFREC" check -i sched >out 2>&1
check "cut: sources left, whole" "[ $? -eq 0 ]" "$(cat out)"
"$EBPFREC" cut -i part -e block -o no_sched >out 2>&1 && "$EBPFREC" check -i no_sched >>out 2>&1
check "cut: without switches, whole" "[ $? -eq 0 ]" "$(cat out)"

# some processes only, from the start of the first one: on a busy machine the next one may start seconds later
from=$("$EBPFREC" sql -i long.ebpfrec --format csv "SELECT min(start_ns) + 1000 FROM processes WHERE comm = 'dd'" |
	tail -n 1 | tr -d '\r')
dds=(--from "${from}ns" --to -0.5s)
"$EBPFREC" cut -i long.ebpfrec "${dds[@]}" --comm 'd[d]' -o dd >out 2>&1 && "$EBPFREC" check -i dd >>out 2>&1
check "cut: of processes, whole" "[ $? -eq 0 ]" "$(cat out)"
for view in cpu sched io latency sizes leaks; do
	"$EBPFREC" report -i long.ebpfrec "$view" "${dds[@]}" --comm dd --format csv >a 2>/dev/null
	"$EBPFREC" report -i dd "$view" --comm dd --format csv >b 2>/dev/null
	check "cut: of processes, $view of theirs is as it was" \
		"[ $(wc -l <a) -ge $([ $view = leaks ] && echo 1 || echo 2) ] && cmp a b >out 2>&1" \
		"$(diff a b | head -n 3)"
done
"$EBPFREC" report -i dd devices >out 2>&1
check "cut: of processes, reports say so" "grep -q 'events of some processes only' out" "$(cat out)"
"$EBPFREC" sql -i dd --format csv \
	"SELECT count(*) FROM switches JOIN threads t USING (utid) JOIN processes p ON p.upid = t.upid
	 WHERE p.upid >= 16 AND p.comm != 'dd'" >out
check "cut: of processes, others' switches are gone" "[ $(tail -n 1 out) = 0 ]" "$(cat out)"
"$EBPFREC" cut -i dd -o dd_again >out 2>&1 && "$EBPFREC" check -i dd_again >>out 2>&1
check "cut: of such a cut" "[ $? -eq 0 ]" "$(cat out)"
"$EBPFREC" cut -i long.ebpfrec --comm nobody -o none >out 2>&1
check "cut: of no process" "[ $? -eq 1 ] && grep -q 'there is no process' out && [ ! -e none ]" "$(cat out)"
"$EBPFREC" cut -i long.ebpfrec --pid 12,x -o none >out 2>&1
check "cut: --pid takes numbers" "[ $? -eq 2 ]" "$(cat out)"

# so far below its size that one source has to go
slab=$("$EBPFREC" info -i run.zip --columns --format csv | awk -F, '$2 ~ /^slab_/ { n += $7 } END { print int(n / 2) }')
page=$(unzip -l run.zip | awk '$4 ~ /\/report.html$/ { print $1 }')
limit=$(($(stat -c %s run.zip) - ${page:-0} - slab))
"$EBPFREC" bundle -i run.zip -o small.zip --max-size $limit 2>said
check "bundle: of a bundle, below a limit" "[ $? -eq 0 ] && [ \$(stat -c %s small.zip) -le $limit ]" "$(cat said)"
check "bundle: says what went" "grep -q 'left out.*alloc.slab' said && ! grep -q 'alloc.page' said" "$(cat said)"
"$EBPFREC" check -i small.zip >out 2>&1
check "bundle: trimmed, it is whole" "[ $? -eq 0 ]" "$(tail -n 2 out)"
"$EBPFREC" report -i small.zip alloc >b 2>/dev/null
check "bundle: trimmed, alloc says it is incomplete" "grep -q 'INCOMPLETE.*alloc.slab was off.*bundle' b" \
	"$(head -n 2 b)"
"$EBPFREC" report -i run.ebpfrec cpu --format csv >a 2>/dev/null
"$EBPFREC" report -i small.zip cpu --format csv >b 2>/dev/null
check "bundle: trimmed, cpu is the trace's" "cmp a b >out 2>&1" "$(cat out)"
# and so far that only the window's middle is left
"$EBPFREC" cut -i long.ebpfrec -e sched.switch,alloc.rss,alloc.vm,block -o few 2>said
limit=$(($(cat few/chunk-* | wc -c) * 8 / 10))
"$EBPFREC" bundle -i long.ebpfrec -o middle.zip --max-size $limit 2>said
check "bundle: trims the window's ends" "[ $? -eq 0 ] && grep -q 'at the window.s ends' said &&
	$EBPFREC check -i middle.zip >out 2>&1" "$(cat said)"
"$EBPFREC" bundle -i run.ebpfrec -o none.zip --max-size 1000 2>said
check "bundle: what cannot fit is refused" "[ $? -eq 1 ] && [ ! -e none.zip ] && grep -q 'the least it takes' said" \
	"$(cat said)"
check "bundle: nothing is left behind" "[ -z \"\$(ls -A scratch)\" ] &&
	[ -z \"\$(find . -maxdepth 1 -name '.ebpfrec*' -o -maxdepth 1 -name '*bundle.*')\" ]" "$(ls -A . scratch)"

#!/bin/bash
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# The first day of a new user, who records three times under the default name, reads every view in
# terminals of two sizes, and pastes every command that the program names. first_day.py looks at the terminals.
#
# The second day: a user who looks closer. One recording, read in terminals of two sizes: figures and words
# that occur in several places, notes that apply, mistakes, files that commands write. second_day.py looks.
#
# Then all commands of the README. Other tests have what is not seen in a terminal: exporters in full/metrics,
# ClickHouse in full/fleet and package, the page in page.
#
# Port 19435, which metrics listens on by default, is one script's at a time.
[ "${HAS_PORT:-}" ] || HAS_PORT=1 exec flock -o /var/tmp bash "$0"
. "$(dirname "$0")/../kernel/harness.bash"

mkdir "$tmp/day"
cd "$tmp/day" || exit 1
said=
for ((i = 0; i < 3; i++)); do
	"$EBPFREC" record -- sh -c \
		"'$WORK/touch_memory' 64 50 50 50; '$WORK/busy_threads' one 200; head -c 4M /dev/zero >file; sync file" >out 2>err \
		|| said="$said $(cat err)"
done
check "first day: three recordings under the default name" \
	"[ -z '$said' ] && [ '$(ls -d trace* | tr '\n' ' ')' = 'trace.ebpfrec trace.ebpfrec.old ' ]" "$said $(ls)"
"$EBPFREC" record --stacks -e +alloc.heap -- python3 -c 'import os
x = [bytearray(3000) for _ in range(20000)]
with open("file", "wb") as f:
	f.write(bytes(4000000))
	os.fsync(f.fileno())' >out 2>err
check "first day: --stacks alone takes allocations of the heap, too" \
	"'$EBPFREC' report stacks --format csv 2>/dev/null | grep -q ',python3,heap,'" \
	"$(cat err) $("$EBPFREC" report stacks --limit 5 2>&1)"
checker <"$here/first_day.py"

# ---- the second day ----

mkdir "$tmp/second" "$tmp/small"
cd "$tmp/second" || exit 1
cat >locks.py <<'END'
import threading, time
lock = threading.Lock()
def work():
    for i in range(10):
        with lock:
            time.sleep(0.003)
threads = [threading.Thread(target=work) for i in range(4)]
[t.start() for t in threads]
[t.join() for t in threads]
END
"$EBPFREC" record --offcpu 1ms -o day -- sh -c \
	"'$WORK/touch_memory' 64 50 50 50; '$WORK/busy_threads' one 200; python3 locks.py
		ln -s '$(type -P sleep)' Xorg; ./Xorg 0.05
	head -c 4M /dev/zero >file; sync file; rm file; sync ." >out 2>said
check "second day: a recording" "[ $? -eq 0 ]" "$(cat said)"
! mount_at "$tmp/small" -t tmpfs -o size=64k none || export small=$tmp/small
checker <"$here/second_day.py"

# ---- the README's commands ----

# The README's blocks as somebody pastes them, one line after the other in one directory: what it shows first, and its
# jobs. Programs that this machine need not have are stood in for, times are shorter, and what never ends is interrupted
# when it is under way.
fresh

mkdir "$tmp/bin" "$tmp/readme"
cd "$tmp/readme" || exit 1
ln -s "$EBPFREC" "$tmp/bin/ebpfrec"
printf '#!/bin/sh\nexec "$@"\n' >"$tmp/bin/sudo"
printf '#!/bin/sh\ncat >/dev/null\n' >"$tmp/bin/clickhouse-client"
printf '#!/bin/sh\n%s 64 50 50 50\nhead -c 4M /dev/zero >file; sync file; cc1 $(cat %s)\n' "$WORK/touch_memory" \
	"$tmp/seconds" >"$tmp/bin/make"
printf '#include <unistd.h>\nint handle_order(int n) { return usleep(1000 * n); }\n%s\n' \
	'int main(void) { for (int i = 0; i < 20; i++) handle_order(i); return 0; }' | cc -x c -O1 -fno-inline -o server -
cp /bin/sleep "$tmp/bin/cc1"
printf '#!/bin/sh\nshift 3\nexec "$@"\n' >"$tmp/bin/ssh"
chmod +x "$tmp"/bin/*
command -v gnuplot >/dev/null || ln -s /bin/true "$tmp/bin/gnuplot"
PATH=$tmp/bin:$PATH
export GNUTERM=dumb
sleep 300 &
awk '/^## /{ shown = 0 } NR == 1 || /^## Six commands/ { shown = 1 } shown && /^    [a-z]/' "$top/README.md" |
	sed "s/^ *//; s/-d 10s/-d 2s/; s/-d 1m/-d 1s/; s/--repeat 9/--repeat 3/; s/-p 1234/-p $!/; s/12s/1s/; s/14s/2s/" \
		>../lines
failed='' silent=''
# under_way: there is a block, or an address
under_way()
{
	grep -q '//127.0.0.1:' ../out || [ -n "$(find . -name '*.ebr' -size +1k -newer ../began)" ]
}
# A kernel that hides tasks may lose a switch: then a rule is INDETERMINATE.
indeterminate()
{
	[[ $line == *"ebpfrec assert"* ]] && grep -q '0 fail, 1 indeterminate' ../out && ebpfrec report cpu |
		grep -q INCOMPLETE
}
echo 0.2 >../seconds
while read -r line; do
	# the trace for the questions: some are about its third second
	[[ $line != *"report --list"* ]] || { echo 3 >../seconds && ebpfrec record -f -q -o trace.ebpfrec -- make; }
	[[ $line != *"diff --workload"* ]] || cp -r trace.ebpfrec before
	[[ $line != *"diff --workload"* ]] || cp -r trace.ebpfrec after
	[[ $line != *"--with new"* ]] || for run in 2 3; do [ -e new.$run ] || cp -r base.$run new.$run; done
	[[ $line != *"-i build."* ]] || cp -r trace.ebpfrec build.ebpfrec
	[[ $line != *flight* ]] || cp -r trace.ebpfrec flight.ebpfrec
	: >../out
	touch ../began
	timeout -s INT --preserve-status 200 env --default-signal=INT bash -c "$line" >../out 2>&1 </dev/null &
	if [[ $line == *" -a"* || $line == *--listen* || $line == *"ebpfrec view"* ]]; then
		wait_for "it is under way" 30 under_way
		kill -INT $!
	fi
	wait $! || indeterminate || failed="$failed $line: $(tail -n 2 ../out);"
	if [[ $line =~ \ -o\ ([a-z][a-z.-]*) ]]; then
		{ grep -qF "${BASH_REMATCH[1]}" ../out && grep -Eq '[0-9] [kMG]?B' ../out; } ||
			silent="$silent $line: $(tail -n 2 ../out);"
	fi
done <../lines
check "README: every command of its blocks runs as it stands ($(wc -l <../lines))" \
	"[ -z \"\$failed\" ] && [ \$(wc -l <../lines) -ge 24 ]" "$failed"
check "README: what writes a file says its name and size" "[ -z \"\$silent\" ]" "$silent"
check "README: and makes what it says" "[ -s report.html -a -s cpu.csv -a -s trace.db -a -s public.zip ]" "$(ls)"

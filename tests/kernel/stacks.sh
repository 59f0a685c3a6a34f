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

# ---- samples ----

# record --profile: samples are counted, have stacks of the program's functions, and each thread's rows add up to its
# time on the CPU in any window. How samples are spread over functions: full/cpu_time.
fresh

HZ=997
recorded burn -e sched --profile=$HZ -- "$WORK/profile" 10
recorded default -e cpu.sample -- "$WORK/profile" 1
recorded none -e sched -- true
recorded only -e sched --only --profile=$HZ -- "$WORK/profile" 2
"$EBPFREC" redact -i "$tmp/burn" -o "$tmp/gone" 2>"$tmp/gone.err" &&
	"$EBPFREC" cut -i "$tmp/burn" -o "$tmp/part" --from 0s 2>"$tmp/part.err" &&
	"$EBPFREC" cut -i "$tmp/burn" -o "$tmp/one" --pid "$(kv "$tmp/burn.out" pid)" 2>>"$tmp/part.err"
check "profile: redact and cut take it" "[ $? -eq 0 ]" "$(cat "$tmp/gone.err" "$tmp/part.err")"
for bad in 0 10001 x; do
	"$EBPFREC" record -o "$tmp/bad" --profile=$bad -- true 2>"$tmp/bad.err"
	check "profile: $bad times a second is refused" "[ $? -eq 2 ] && [ ! -e '$tmp/bad' ]" "$(cat "$tmp/bad.err")"
done

"$EBPFREC" record -o "$tmp/bad" --unwind dwarf -- true 2>"$tmp/bad.err"
check "profile: --unwind without samples is refused" "[ $? -eq 2 ] && [ ! -e '$tmp/bad' ]" "$(cat "$tmp/bad.err")"

HZ=$HZ checker <"$here/profile_rows.py"

# ---- code that is made at run time ----

# Names of code that is made at run time, from the map file of its process: every sample has the name of the code that
# was there then, also where other code took its place. A jitdump has the instants itself. Redaction covers them. A map
# file behind a link is not read. A register that holds no frame pointer makes no caller.
fresh

# The recorder answers a mark before it looks at map files: after two, it has looked.
marks()
{
	echo "'$EBPFREC' mark -i '$tmp/$1' a && '$EBPFREC' mark -i '$tmp/$1' b"
}
recorded file -e sched --profile=997 -- "$WORK/jit_map" file "$(marks file) >'$tmp/marks' 2>&1"
recorded dump -e sched --profile=997 -- "$WORK/jit_map" dump true
recorded link -e sched --profile=997 --unwind fp -- "$WORK/jit_map" link "$(marks link) >'$tmp/marks' 2>&1"
cd "$tmp" || exit 1
"$EBPFREC" redact -i file -o gone 2>err && "$EBPFREC" cut -i file -o part --from 0s 2>>err &&
	"$EBPFREC" bundle -i file -o file.zip --show-strings >strings 2>>err
check "jit: redact, cut and bundle" "[ $? -eq 0 ]" "$(cat err)"
check "jit: a bundle lists the names" "grep -qx 'functions: jit_new' strings" "$(grep functions strings | head -n 5)"
checker <"$here/jit.py"

# ---- source lines ----

# --symbols: names of a stripped program, from its debug file. --lines: calls at known lines of source code, in
# functions with names of C, C++ and Rust; in a program with debugging information, with it in a file beside, without
# it, and changed since. Only files with the recorded build id have lines.
fresh

mkdir -p "$tmp/src" "$tmp/elsewhere"
# The linker's names are given, so that no compiler of these languages is needed.
cat >"$tmp/src/lines.c" <<'EOF_C'
#include <stdlib.h>
#define CALLED __attribute__((noinline))
static volatile int after;
static void *volatile kept;
void CALLED leaf(void) __asm__("plain_leaf");
void CALLED v0(void) __asm__("_RNvNtC4tree4leaf4grow");
void CALLED legacy(void) __asm__("_ZN4tree4leaf5shade17h0123456789abcdefE");
void CALLED cpp(void) __asm__("_ZN4tree5Maker4makeIiEEvT_");
static inline __attribute__((always_inline)) void inlined(void)
{
#line 77 "folder/inlined.h"
	kept = malloc(4321);
}
#line 100 "folder/leaf.c"
void leaf(void)
{
	inlined(); after++; }
#line 200
void v0(void)
{

	leaf(); after++; }
#line 300
void legacy(void)
{
	v0(); after++; }
#line 400 "folder/maker.cpp"
void cpp(void) { legacy(); after++; }
int main(void)
{
	cpp(); after++;
	return 0;
}
EOF_C
read -ra cc <<<"${CC:-cc}"
build=("${cc[@]}" -O1 -fno-omit-frame-pointer -fno-optimize-sibling-calls -Wl,--build-id)
(cd "$tmp/src" && "${build[@]}" -g -o ../with lines.c && "${build[@]}" -o ../without lines.c &&
	"${build[@]}" -g -DOTHER -o ../changed lines.c) ||
	{ not_ok "lines: the program is built" "$CC"; exit 1; }
objcopy --only-keep-debug "$tmp/with" "$tmp/beside.debug"
strip -o "$tmp/beside" "$tmp/with"
cp "$tmp/beside" "$tmp/stripped"
cp "$tmp/beside" "$tmp/twice"
objcopy --add-gnu-debuglink="$tmp/beside.debug" "$tmp/beside"
for p in moved gone1 gone2 gone3 gone4 gone5; do
	cp "$tmp/with" "$tmp/$p"
done
recorded all --only -e alloc.heap,task --stacks 1/1 -- sh -c \
	'for p in with beside stripped twice twice without changed moved gone1 gone2 gone3 gone4 gone5; do "$1/$p"; done' \
	sh "$tmp"
"$EBPFREC" redact -i "$tmp/all" -o "$tmp/gone" 2>"$tmp/gone.err" || not_ok "lines: redact" "$(cat "$tmp/gone.err")"

# from here on, changed is another program, moved is to be found below a directory, and the others are gone
rm "$tmp"/gone[1-5] "$tmp/stripped"
(cd "$tmp/src" && sed 's/#line 77/#line 78/' lines.c >other.c && "${build[@]}" -g -o ../changed other.c)
mkdir -p "$tmp/elsewhere$tmp" && mv "$tmp/moved" "$tmp/elsewhere$tmp/"

frames()
{
	"$EBPFREC" report -i "$tmp/all" stacks --comm "$1" --format folded "${@:2}" 2>"$tmp/err" |
		sed -n 's/^.*;\(main[ ;].* \)4321$/\1/p'
}
names='main;tree::Maker::make<int>;tree::leaf::shade;tree::leaf::grow;plain_leaf '
if "$EBPFREC" --version | grep -q 'libiberty (without)'; then
	names='main;_ZN4tree5Maker4makeIiEEvT_;_ZN4tree4leaf5shade17h0123456789abcdefE;_RNvNtC4tree4leaf4grow;plain_leaf '
fi
mkdir -p "$tmp/debug/of any depth" && cp "$tmp/beside.debug" "$tmp/debug/of any depth/and name"
got=$(frames stripped)
check "symbols: a stripped program has none" "[ -z '$got' ]" "$got"
got=$(frames stripped --symbols "$tmp/debug")
check "symbols: a file with the build id has them, also after the program is gone" "[ '$got' = '$names' ]" \
	"$got / $(cat "$tmp/err")"
got=$("$EBPFREC" export -i "$tmp/all" --to csv -t user_sites --symbols "$tmp/debug" -o - 2>"$tmp/err")
check "symbols: an export has them" "grep -q '/stripped.*plain_leaf\|plain_leaf.*/stripped' <<<'$got'" \
	"$(grep plain_leaf <<<"$got") / $(cat "$tmp/err")"
# a debuginfod-find that has only the debug file
mkdir "$tmp/bin" "$tmp/cache" && cp "$tmp/beside.debug" "$tmp/cache/debuginfo"
id=$(readelf -n "$tmp/beside.debug" | sed -n 's/.*Build ID: //p')
cat >"$tmp/bin/debuginfod-find" <<EOF_FIND
#!/bin/sh
echo "\$*" >>"$tmp/asked"
[ "\$*" = "debuginfo $id" ] && echo "$tmp/cache/debuginfo"
EOF_FIND
chmod +x "$tmp/bin/debuginfod-find"
ask()
{
	env -u DEBUGINFOD_URLS PATH="$tmp/bin:$PATH" "${@:2}" "$EBPFREC" report -i "$tmp/all" symbols $1 --format csv \
		2>"$tmp/err"
}
got=$(ask "" DEBUGINFOD_URLS=http://127.0.0.1:1)
check "symbols: the view has the program's build id, and asks nobody" \
	"grep -q '/stripped,$id,' <<<'$got' && [ ! -e '$tmp/asked' ]" "$got"
check "symbols: an address of a file counts once, wherever processes have the file" \
	"[ \"\$(grep '/twice,$id,' <<<'$got' | cut -d, -f3)\" = \"\$(grep '/stripped,$id,' <<<'$got' | cut -d, -f3)\" ] &&
	[ \$(grep -c '/twice,$id,' <<<'$got') = 1 ]" "$got"
got=$(ask --fetch)
check "symbols: --fetch asks nobody unless a server is named" \
	"[ -z '$got' ] && [ ! -e '$tmp/asked' ] && grep -q 'DEBUGINFOD_URLS names no server' '$tmp/err'" "$(cat "$tmp/err")"
got=$(ask --fetch DEBUGINFOD_URLS=http://127.0.0.1:1)
check "symbols: --fetch names code by what debuginfod-find has" \
	"grep -qx 'debuginfo $id' '$tmp/asked' && grep -q 'found 1 of' '$tmp/err' && ! grep -q '$id' <<<'$got'" \
	"$got / $(cat "$tmp/err" "$tmp/asked")"
got=$("$EBPFREC" report -i "$tmp/gone" stacks --symbols "$tmp/debug" --format folded 2>"$tmp/err")
check "symbols: none for a redacted trace" "[ -n '$got' ] && ! grep -q plain_leaf <<<'$got'" "$got"
got=$("$EBPFREC" report -i "$tmp/all" stacks --symbols "$tmp/debug,$tmp/nowhere" 2>&1)
check "symbols: a missing directory is an error" "[[ '$got' == *'$tmp/nowhere: No such file'* ]]" "$got"
if ! "$EBPFREC" report -i "$tmp/all" stacks --lines >/dev/null 2>"$tmp/err"; then
	check "lines: a program that cannot says why" "grep -q 'built without libdw' '$tmp/err'" "$(cat "$tmp/err")"
	exit
fi
"$EBPFREC" report -i "$tmp/all" cpu --lines >/dev/null 2>"$tmp/err"
check "lines: only views of code take the option" "[ $? -eq 2 ] && grep -q 'leaks.*not for .cpu' '$tmp/err'" \
	"$(cat "$tmp/err")"
got=$(frames with)
check "lines: names are demangled, and there are none unless asked for" "[ '$got' = '$names' ]" "$got"
# inlined code has the line of its source
lines=$(IFS=';' &&
	set -- folder/maker.cpp:403 folder/maker.cpp:400 folder/leaf.c:302 folder/leaf.c:203 folder/inlined.h:77 &&
	for name in ${names% }; do printf '%s (%s);' "$name" "$1"; shift; done)
lines="${lines%;} "
for p in with beside; do
	got=$(frames $p --lines)
	check "lines: every frame has its own ($p)" "[ '$got' = '$lines' ]" "$got / $(cat "$tmp/err")"
	check "lines: no note where nothing is missing ($p)" "! grep '$tmp/$p' '$tmp/err'" "$(cat "$tmp/err")"
done
got=$(frames changed --lines)
check "lines: none of a changed file" "[ '$got' = '$names' ] &&
	grep -q '$tmp/changed: another file is there' '$tmp/err'" "$got / $(cat "$tmp/err")"
got=$(frames moved --lines)
check "lines: none of a file that is not there" "[ '$got' = '$names' ] &&
	grep -q '$tmp/moved: the file is not there' '$tmp/err'" "$got / $(cat "$tmp/err")"
got=$(frames moved --lines="$tmp/elsewhere")
check "lines: of a file below a directory" "[ '$got' = '$lines' ]" "$got / $(cat "$tmp/err")"
cp "$tmp/elsewhere$tmp/moved" "$tmp/debug/not called moved"
got=$(frames moved --lines --symbols "$tmp/debug")
check "lines: of a file in a directory of --symbols" "[ '$got' = '$lines' ]" "$got / $(cat "$tmp/err")"
got=$(frames without --lines)
check "lines: none without debugging information" "[ '$got' = '$names' ] &&
	grep -q '$tmp/without: no debugging information' '$tmp/err'" "$got / $(cat "$tmp/err")"
"$EBPFREC" report -i "$tmp/all" stacks --lines --format folded >"$tmp/out" 2>"$tmp/err"
for note in changed:another without:'no debugging' gone1:'the file is not' gone5:'the file is not'; do
	check "lines: one answer says all reasons, ${note%:*}" \
		"grep -q 'no lines of $tmp/${note%:*}: ${note#*:}' '$tmp/err'" "$(cat "$tmp/err")"
done
check "lines: and five files of each, with the number of the others" \
	"[ \$(grep -c 'the file is not there' '$tmp/err') -eq 6 ] &&
		grep -q 'no lines of 2 more files: the file is not there' '$tmp/err' &&
		! grep -q '/moved:' '$tmp/err'" "$(cat "$tmp/err")"

got=$("$EBPFREC" report -i "$tmp/all" leaks --comm with --lines 2>"$tmp/err" | grep -A1 ' 4.22 KiB ')
check "lines: a table has the name of the source file" \
	"grep -q 'plain_leaf+0x.* \[with\] (inlined.h:77)' <<<'$got' &&
	grep -q 'user: plain_leaf (inlined.h:77) < .* (leaf.c:203) < ' <<<'$got'" "$got"
got=$("$EBPFREC" report -i "$tmp/all" stacks --comm with --lines --format pprof 2>"$tmp/err" |
	"$top/tests/cli/pprof_text.py" | grep ' 4321 ')
check "lines: pprof has path and line in their fields" \
	"[[ '$got' == *';main at folder/maker.cpp:403;'* ]] &&
		[[ '$got' == *' at folder/leaf.c:203;plain_leaf at folder/inlined.h:77 1 4321 '* ]]" \
	"$got"
got=$("$EBPFREC" sql -i "$tmp/all" --lines --format csv "SELECT user_symbol(upid, addr, from_ns)
	FROM user_sites WHERE symbol = 'plain_leaf' AND module = '$tmp/with'" 2>"$tmp/err")
check "lines: sql has them" "[[ '$got' == *'plain_leaf+0x'*' [with] (inlined.h:77)' ]]" "$got / $(cat "$tmp/err")"
got=$("$EBPFREC" report -i "$tmp/gone" stacks --lines --format folded 2>"$tmp/err")
check "lines: none in a redacted trace" "[ -n '$got' ] && ! grep -E '\.(c|h|cpp):[0-9]' <<<'$got'" "$got"
check "lines: a trace has no source paths" "! grep -raq 'inlined\.h' '$tmp/all' '$tmp/gone'" \
	"$(grep -ral 'inlined\.h' "$tmp/all")"

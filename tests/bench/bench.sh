#!/bin/bash
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# bench.sh [--quick] [--rounds N] [--only CASE,...] [--sides SIDE,...] [--out DIR] [--compare OLD] [--continue] [--list]
#
# Compares ebpfrec with the tracers people have, in one run, on this machine:
#
#     cases*.bash --run_side--> sides.bash --> samples.csv --bench_report.py--> text, CSV, JSON
#
# One sample is one run of a load under one side. The sides of a case take turns, each round in another
# order (so that no side always follows the same one), and the first round is a warm-up and does not
# count. A run is not a sample if the load failed, if the tool failed or did not end in time, or if the tool
# missed events that must exist: the run is reported and the number of samples is lower. A case begins no
# round that would not end within its share of time, but at least two rounds (one if two
# would take three times its share), unless --rounds sets the number of rounds. Written to build/bench (or
# DIR):
#
#     report.txt       what is printed: medians, spread, Welch's t-test against "none", targets
#     targets.md       the targets as a table in Markdown, with machine and command
#     results.csv      one row per case, metric and side
#     samples.csv      every single run, in the order they were made, warm-up included
#     results.json     Bencher Metric Format, for tests/bench/compare and for CI services
#     plots/           a box plot and a lag plot per measurement, where gnuplot is installed
#     environment.txt  machine, kernel, versions, load before and after
#
# Environment: EBPFREC_BENCH_DIR, a directory on the disk to be used (/var/tmp); EBPFREC_BENCH_LIMIT_S, after which
# a run is ended (90 s, full 240 s); EBPFREC_BENCH_SIZES="100M 1G", the traces of the case "reading"; EBPFREC_OLD,
# another build, as one more side of pingpong and mixed. --compare OLD names the results.json (or its directory) of an
# earlier run and prints what got worse.
#
# Interrupted (Ctrl-C), it ends the current run, keeps all samples and prints the report of them. --continue, with the
# options of that run, goes on with the first round that is not complete.
#
# Exit status: 0 when everything ran, whether targets are met or not; 1 when a side that is installed
# gave no sample for a case; 3 when all ran and --compare found something worse; 130 when
# it was interrupted.
set -u

bench=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$bench/../.." && pwd)
BUILD=${BUILD:-$top/build}
EBPFREC=${EBPFREC:-$BUILD/ebpfrec}
bin=$BUILD/bench/bin
meter=$bin/run_meter
out=$BUILD/bench
quick='' rounds='' only='' only_sides='' old='' go_on='' child=''
export LC_ALL=C BENCH_BIN=$bin

usage()
{
	sed -n '4p' "$0" | sed 's/^# /usage: /' >&2
	exit 2
}

args=("$@")
command="tests/bench/bench.sh${*:+ $*}"
while [ $# -gt 0 ]; do
	case $1 in
	--quick) quick=1 ;;
	--continue) go_on=1 ;;
	--rounds | --only | --sides | --out | --compare)
		[ $# -ge 2 ] || usage
		case $1 in
		--rounds) rounds=$2 ;;
		--only) only=$2 ;;
		--sides) only_sides=$2 ;;
		--out) out=$2 ;;
		--compare) old=$2 ;;
		esac
		shift
		;;
	--list)
		sed -nE 's/^# case ([a-z_]+) [0-9]+ [0-9]+: /\1\t/p' "$bench"/cases*.bash
		exit 0
		;;
	*) usage ;;
	esac
	shift
done
[[ ${rounds:-1} =~ ^[1-9][0-9]*$ ]] || usage
if [ -n "$old" ] && [ ! -e "$old" ]; then
	echo "bench.sh: --compare $old: there is nothing of that name" >&2
	exit 2
fi

if [ "$(id -u)" -ne 0 ]; then
	command -v sudo >/dev/null || { echo "bench.sh: recording needs root" >&2; exit 1; }
	exec sudo env "PATH=$PATH" "BUILD=$BUILD" "EBPFREC=$EBPFREC" "EBPFREC_OLD=${EBPFREC_OLD:-}" \
		"EBPFREC_BENCH_DIR=${EBPFREC_BENCH_DIR:-}" \
		"EBPFREC_BENCH_LIMIT_S=${EBPFREC_BENCH_LIMIT_S:-}" "EBPFREC_BENCH_SIZES=${EBPFREC_BENCH_SIZES:-}" \
		"$bench/bench.sh" ${args[@]+"${args[@]}"}
fi

# On a disk, so that the tools really write their data.
scratch=$(mktemp -d "${EBPFREC_BENCH_DIR:-/var/tmp}/ebpfrec-bench.XXXXXX") || exit 1
case $scratch in *[[:space:]]*) echo "bench.sh: $scratch: no blanks, please" >&2; exit 1 ;; esac
run=$scratch/run
loop='' mounted='' stats_were_on=''
cleanup()
{
	local status=$?
	[ -z "$mounted" ] || umount "$mounted"
	[ -z "$loop" ] || losetup -d "$loop" 2>/dev/null
	[ -z "$stats_were_on" ] || echo 1 >/proc/sys/kernel/bpf_stats_enabled
	rm -rf "$scratch"
	exit $status
}
trap cleanup EXIT

# Ends the current run. Its measurements are not samples; those of earlier runs are.
interrupted()
{
	trap '' INT TERM HUP
	if [ -n "$child" ]; then
		kill "$child" 2>/dev/null
		wait "$child"
	fi
	note "interrupted; with --continue it goes on"
	print_report
	exit 130
}
trap 'exit 130' INT TERM HUP

mkdir -p "$out"
samples=$out/samples.csv
status=0
# The CPU single-threaded loads are bound to: the last one, as interrupts like the first.
cpu=$(($(nproc) - 1))
# A single run that takes longer than this is ended and does not count as a sample.
run_limit_s=${EBPFREC_BENCH_LIMIT_S:-$([ -n "$quick" ] && echo 90 || echo 240)}

. "$bench/sides.bash"
. "$bench/cases.bash"
. "$bench/cases_own.bash"
. "$bench/cases_heap.bash"
. "$bench/cases_scale.bash"
for name in ${only//,/ }; do
	[[ " $case_list " == *" $name "* ]] || { echo "bench.sh: no case '$name'; there are: $case_list" >&2; exit 2; }
done

# kv FILE KEY: the value of KEY=value
kv()
{
	sed -n "s/^$2=//p" "$1" 2>/dev/null | tail -n 1
}

note()
{
	echo "bench: $*" >&2
}

wanted()
{
	[ -z "$2" ] || [[ ,$2, == *,"$1",* ]]
}

# sample SIDE METRIC VALUE UNIT BETTER: adds one value of the current case and round. BETTER: lower, higher, -.
sample()
{
	[[ $3 =~ ^-?[0-9]+(\.[0-9]+)?$ ]] || { invalid "$1" "$2 is '$3', not a number"; return; }
	printf '%s,%s,%s,%d,%d,%s,%s,%s\n' "$case_name" "$1" "$2" "$round" "$((round == 0 && warm_up))" \
		"$3" "$4" "$5" >>"$samples"
}

# drop_samples REGEX: removes samples of the current case, by what follows its name
drop_samples()
{
	sed -i -E "/^$case_name,($1)/d" "$samples"
}

# invalid SIDE WHY: the current run is not a sample
invalid()
{
	local why=$2

	[ ! -s "$run/tool.err" ] || why+=": $(tail -n 3 "$run/tool.err" | tr -c '[:print:]' ' ')"
	note "$case_name, $1, round $round: no sample: $why"
	printf '%s,%s,%d,"%s"\n' "$case_name" "$1" "$round" "${why//\"/\'}" >>"$out/invalid.csv"
}

# The sides of this case that can be run here, as SIDE or SIDE/K.
present_sides()
{
	local side why list=

	for side in $1; do
		wanted "${side%/*}" "$only_sides" || continue
		why=$(side_missing "${side%/*}")
		if [ -n "$why" ]; then
			note "$case_name: without ${side%/*}: $why"
		else
			list+=" $side"
		fi
	done
	echo "$list"
}

# has_sample SIDE: or the whole run has failed
has_sample()
{
	grep -q "^$case_name,$1,[^,]*,[0-9]*,0," "$samples" || { note "$case_name: $1 gave no sample"; status=1; }
}

# in_turn ROUND SIDES: the sides of this round, in its order. Each round begins with another side and every second one
# goes backwards: over the rounds every side follows every other one. SIDE/K runs in the 1st, the K+1st, ... round only:
# it is a reference, or slow.
in_turn()
{
	local round=$1 side every i list=() order=()

	for side in $2; do
		every=${side#*/}
		[ "$every" != "$side" ] || every=1
		[ "$every" -eq 1 ] || [ $((round % every)) -eq 1 ] || continue
		list+=("${side%/*}")
	done
	for ((i = 0; i < ${#list[@]}; i++)); do
		order+=("${list[(i + round) % ${#list[@]}]}")
	done
	if [ $((round % 2)) -eq 1 ]; then
		for ((i = ${#order[@]} - 1; i >= 0; i--)); do
			echo "${order[i]}"
		done
	else
		printf '%s\n' "${order[@]}"
	fi
}

# time_is_up DONE LEAST START_S SHARE_S: true if, after DONE rounds since START_S, another one would exceed the share.
# Fewer than LEAST rounds run only if LEAST rounds would take three times the share.
time_is_up()
{
	local took=$((SECONDS - $3))

	[ -z "$rounds" ] || return 1
	[ $((took + took / $1)) -gt $((($1 < $2 ? 3 : 1) * $4)) ]
}

# take_turns ROUNDS SIDES FUNCTION: FUNCTION SIDE for each side in every round; round 0 is the warm-up. A run that goes
# on begins with the round after the last complete one.
take_turns()
{
	local sides side first last=${rounds:-$1} start=$SECONDS

	sides=$(present_sides "$2")
	[ -n "$sides" ] || return
	warm_up=1
	first=$(grep -c "^$case_name," "$out/rounds")
	[ "$first" -gt "$last" ] || drop_samples "[^,]*,[^,]*,$first,"
	for ((round = first; round <= last; round++)); do
		for side in $(in_turn "$round" "$sides"); do
			"$3" "$side"
		done
		echo "$case_name,$round" >>"$out/rounds"
		if [ "$round" -ge 1 ] && [ "$round" -lt "$last" ] &&
			time_is_up $((round - first + 1)) 3 "$start" "$(share_s "$case_name")"; then
			note "$case_name: $round rounds instead of $last: its share of time is used up"
			break
		fi
	done
	for side in $sides; do
		has_sample "${side%/*}"
	done
}

# busy_pct: how busy all CPUs are, over one second (quick: a fifth of it), without the benchmark
busy_pct()
{
	local s=${quick:+0.2}

	awk -v cpus="$(nproc)" '/^cpu / { idle = $5 + $6 } END { print idle }' /proc/stat >"$scratch/idle"
	sleep "${s:-1}"
	awk -v cpus="$(nproc)" -v before="$(cat "$scratch/idle")" -v hz="$(getconf CLK_TCK)" -v s="${s:-1}" '
		/^cpu / { idle = $5 + $6 - before }
		END { busy = 100 * (1 - idle / hz / s / cpus); printf "%d\n", busy < 0 ? 0 : busy }' /proc/stat
}

# machine_state: properties that may change from run to run
machine_state()
{
	local busy memory steal
	busy=$(busy_pct)
	[ "$busy" -lt 10 ] ||
		note "warning: without the benchmark the CPUs are $busy % busy: expect noise, and little from totals"
	memory=$(awk '/^MemAvailable/ { printf "%d MiB free", $2 / 1024 }' /proc/meminfo)
	steal=$(awk '/^cpu / { print $9 }' /proc/stat)
	echo "$1: $(date -u +%Y-%m-%dT%H:%M:%SZ), CPUs $busy % busy with other things," \
		"load $(cut -d' ' -f1-3 /proc/loadavg), $memory, steal $steal ticks since boot"
}

environment_mode()
{
	local mode=full

	[ -z "$quick" ] || mode=quick
	echo "$mode${rounds:+, $rounds rounds}${only:+, only $only}${only_sides:+, sides $only_sides}"
}

environment()
{
	local cpus sys=/sys/devices/system

	cpus=$(sed -n 's/^model name[[:space:]]*: //p' /proc/cpuinfo | sort | uniq -c | sed 's/^ *//' | paste -sd';')
	echo "ebpfrec: $("$EBPFREC" --version 2>&1 | head -n 1)" \
		"$(git -C "$top" describe --always --dirty 2>/dev/null | sed 's/^/commit /')"
	echo "kernel: $(uname -srvm)"
	echo "cpu: ${cpus:-$(uname -m)}, $(nproc) online," \
		"governor $(cat $sys/cpu/cpu0/cpufreq/scaling_governor 2>/dev/null || echo none)," \
		"clock source $(cat $sys/clocksource/clocksource0/current_clocksource)"
	echo "virtual machine: $(systemd-detect-virt --vm 2>/dev/null ||
		(grep -qw hypervisor /proc/cpuinfo && echo yes || echo no))"
	echo "memory: $(awk '/^MemTotal/ { printf "%d MiB", $2 / 1024 }' /proc/meminfo)"
	echo "scratch: $(df --output=source,fstype "$scratch" | tail -n 1 | tr -s ' ')"
	echo "perf: $(perf version 2>/dev/null || echo missing)"
	echo "bpftrace: $(bpftrace --version 2>/dev/null || echo missing)"
	echo "fio: $(fio --version 2>/dev/null || echo missing)"
	echo "compiler: $(gcc --version | head -n 1)"
	echo "kernel.bpf_stats_enabled: $(cat /proc/sys/kernel/bpf_stats_enabled)"
	echo "net.core.bpf_jit_enable: $(cat /proc/sys/net/core/bpf_jit_enable 2>/dev/null)"
	echo "limits: locked memory $(ulimit -l) KiB, open files $(ulimit -n)"
	echo "buffer of every tool: $buffer_kib KiB per CPU"
	echo "mode: $mode"
	echo "command: $command"
	machine_state before
}

# print_report: of the samples that there are
print_report()
{
	machine_state after >>"$out/environment.txt"
	echo "duration: $((SECONDS - began_all)) s" >>"$out/environment.txt"
	python3 "$bench/bench_report.py" "$out" | tee "$out/report.txt"
	[ "${PIPESTATUS[0]}" -eq 0 ] || status=1
}

mode=$(environment_mode)
if [ -n "$go_on" ] && ! grep -qxF "mode: $mode" "$out/environment.txt" 2>/dev/null; then
	echo "bench.sh: --continue: $out has no run with these options" >&2
	exit 2
fi
total_s=0
for case_name in $case_list; do
	wanted "$case_name" "$only" && total_s=$((total_s + $(share_s "$case_name")))
done
note "about $(((total_s + 59) / 60)) minutes with every tool installed," \
	"up to $((total_s * 5 / 4 / 60 + 1)) on a slow or" \
	"busy machine${rounds:+, more if $rounds rounds do not fit into that}; the machine should do nothing else"
if [ "$(cat /proc/sys/kernel/bpf_stats_enabled)" != 0 ]; then
	# With it every program costs some 60 ns more a run, more than many do without.
	note "kernel.bpf_stats_enabled is on: turned off until the end"
	stats_were_on=1
	echo 0 >/proc/sys/kernel/bpf_stats_enabled
fi
if [ -n "$go_on" ]; then
	machine_state continued >>"$out/environment.txt"
else
	rm -f "$out/invalid.csv"
	: >"$out/rounds"
	: >"$out/finished"
	echo "case,side,metric,round,warm_up,value,unit,better" >"$samples"
	environment >"$out/environment.txt"
fi
began_all=$SECONDS
trap interrupted INT TERM HUP
for case_name in $case_list; do
	wanted "$case_name" "$only" || continue
	! grep -qx "$case_name" "$out/finished" || continue
	began=$SECONDS
	note "$case_name: $(case_about "$case_name"), about $(share_s "$case_name") s"
	# cases other than those of take_turns start again
	grep -q "^$case_name," "$out/rounds" || drop_samples '[^,]*,'
	"case_$case_name"
	echo "$case_name" >>"$out/finished"
	rm -rf "$run"
	note "$case_name: $((SECONDS - began)) s"
done
trap 'exit 130' INT TERM HUP
print_report
if [ -n "$old" ]; then
	echo
	echo "Compared with $old"
	"$bench/compare" ${only:+--partial} "$old" "$out" || [ "$status" -ne 0 ] || status=3
fi
"$bench/bench_plots.sh" "$out"
# Run as root for someone else: the results are theirs.
[ -z "${SUDO_UID:-}" ] || chown -R "$SUDO_UID:${SUDO_GID:-0}" "$out"
exit $status

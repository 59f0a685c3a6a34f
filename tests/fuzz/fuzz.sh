#!/bin/bash
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# fuzz.sh [TARGET...]: runs libFuzzer targets of build-san/fuzz/fuzz/ for FUZZ_TIME seconds each,
# FUZZ_JOBS at a time, at the lowest priority. They begin with fresh seeds, with the corpus that the build has unpacked
# (tests/fuzz/corpus/TARGET.tar.xz) and with inputs gathered by earlier runs (build-san/fuzz/gathered/). Inputs that
# crash go to build-san/fuzz/found/.
# Prints a line per target; fails if a target found something. An input that takes FUZZ_TIMEOUT seconds hangs. These
# are seconds of the clock: a target at the lowest priority beside other work needs many (300).
#
# fuzz.sh --keep [TARGET...]: rebuilds the archives instead. From the old corpus and the gathered inputs, an archive
# keeps the fewest inputs that reach code which no seed reaches, none larger than FUZZ_KEEP_BYTES. Inputs of an older
# trace format reach no code and are dropped. Inputs named found-* (added by hand, they crashed once) always stay.
set -u

here=$(cd "$(dirname "$0")" && pwd)
build=${BUILD:-$here/../../build-san/fuzz}
seconds=${FUZZ_TIME:-60} jobs=${FUZZ_JOBS:-2} keep=${FUZZ_KEEP_BYTES:-8192}
usual=allocator_may_return_null=1:detect_leaks=1:malloc_context_size=8:quarantine_size_mb=16
export ASAN_OPTIONS=${ASAN_OPTIONS:-$usual}
export UBSAN_OPTIONS=${UBSAN_OPTIONS:-print_stacktrace=1}

# Limits of a target's memory, in total and per allocation, in MiB: a small input must not allocate much. A section may
# unpack to 32 times its size, and a column has 8 events of 8 bytes for each byte of its block.
limits()
{
	case $1 in
	fuzz_manifest | fuzz_rows | fuzz_words | fuzz_names | fuzz_trigger | fuzz_perf_map) echo 256 8 4096 ;;
	fuzz_column) echo 512 16 8192 ;;
	fuzz_elf_symbols) echo 512 80 16384 ;;
	# short ones: the cost of a question depends on the size of its trace
	fuzz_analysis) echo 1024 8 16384 ;;
	*) echo 1024 8 32768 ;;
	esac
}

keeping=
[ "${1:-}" = --keep ] && keeping=1 && shift
targets=()
for bin in "$build"/fuzz/fuzz_*; do
	name=${bin##*/}
	case $name in *.*) continue ;; esac
	if [ $# -eq 0 ] || [[ " $* " == *" $name "* || " $* " == *" ${name#fuzz_} "* ]]; then
		targets+=("$name")
	fi
done
[ ${#targets[@]} -gt 0 ] || { echo "fuzz.sh: no such target: $*" >&2; exit 2; }

mkdir -p "$build/gathered" "$build/found" "$build/log"
rm -rf "$build/seeds"
"$build/fuzz/make_seeds" "$build/seeds" "$here"/real/* || exit 1

run_one()
{
	local name=$1 rss one longest cpu dirs=()

	read -r rss one longest < <(limits "$name")
	mkdir -p "$build/gathered/$name"
	for dir in "$build/fuzz/corpus/$name" "$build/seeds/$name"; do
		[ -d "$dir" ] && dirs+=("$dir")
	done
	nice -n 19 "$build/fuzz/$name" -max_total_time="$seconds" -rss_limit_mb="$rss" -malloc_limit_mb="$one" \
		-max_len="$longest" -timeout="${FUZZ_TIMEOUT:-300}" -print_final_stats=1 -artifact_prefix="$build/found/$name-" \
		"$build/gathered/$name" "${dirs[@]}" >"$build/log/$name" 2>&1
	rc=$?
	# of this shell, which has had no other children that took any
	times >"$build/log/$name.times"
	cpu=$(tail -n 1 "$build/log/$name.times")
	awk -v name="$name" -v rc=$rc -v cpu="${cpu%% *}" \
		'/number_of_executed_units/ { n = $2 } /average_exec_per_sec/ { r = $2 }
		/cov:/ { for (i = 1; i < NF; i++) if ($i == "cov:") c = $(i + 1) }
		END { printf "%s %s: %d runs, %d a second, %s user CPU, %d edges\n",
			rc ? "FOUND" : "ok", name, n, r, cpu, c }' "$build/log/$name"
	[ $rc -eq 0 ] || { grep -a -m 3 'ERROR\|SUMMARY\|runtime error\|not true' "$build/log/$name" |
		sed 's/^/    /'; false; }
}

# Merging adds inputs that reach code which no input of the directory reaches: it begins with the seeds.
keep_one()
{
	local name=$1 rss one longest merged=$build/keep/merged candidates=$build/keep/candidates packed=$build/keep/$1
	local corpus=$build/fuzz/corpus/$1

	read -r rss one longest < <(limits "$name")
	rm -rf "$merged" "$candidates" "$packed"
	mkdir -p "$merged" "$candidates" "$packed" "$build/gathered/$name" "$corpus"
	[ ! -d "$build/seeds/$name" ] || cp -r "$build/seeds/$name/." "$merged"
	# replay.sh adds the corpus of fuzz_trace to these, too; its archive was made first
	case $name in fuzz_analysis | fuzz_repair) tar -xJf "$here/corpus/fuzz_trace.tar.xz" \
		--strip-components=1 -C "$merged" ;; esac
	find "$corpus" -type f -name 'found-*' -exec cp -t "$packed" {} + -exec cp -t "$merged" {} +
	find "$corpus" "$build/gathered/$name" -type f ! -name 'found-*' -size -"$((keep + 1))"c -exec cp -t "$candidates" \
		{} +
	ls "$merged" >"$build/keep/before"
	if ! nice -n 19 "$build/fuzz/$name" -merge=1 -max_len="$longest" -rss_limit_mb="$rss" "$merged" "$candidates" \
		>"$build/log/$name.merge" 2>&1; then
		echo "not ok $name: merging failed: $(tail -n 1 "$build/log/$name.merge")"
		return 1
	fi
	(cd "$merged" && ls | comm -13 "$build/keep/before" - | xargs -r cp -t "$packed")
	if [ -n "$(ls "$packed")" ]; then
		"$here/pack.sh" "$packed" "$here/corpus/$name.tar.xz"
	else
		rm -f "$here/corpus/$name.tar.xz"
	fi
	echo "ok $name: $(find "$packed" -type f | wc -l) inputs"
}

# The others use the corpus of fuzz_trace: it is the first.
[ -z "$keeping" ] || mapfile -t targets < <(printf '%s\n' "${targets[@]}" |
	awk '{ print $1 == "fuzz_trace" ? 0 : 1, $1 }' | sort | cut -d ' ' -f 2)

status=0
running=0
for name in "${targets[@]}"; do
	if [ -n "$keeping" ]; then
		keep_one "$name" || status=1
		continue
	fi
	run_one "$name" &
	running=$((running + 1))
	if [ $running -ge "$jobs" ]; then
		wait -n || status=1
		running=$((running - 1))
	fi
done
while [ $running -gt 0 ]; do
	wait -n || status=1
	running=$((running - 1))
done
exit $status

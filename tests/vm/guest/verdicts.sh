# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# verdicts.sh: sourced by the checks inside a test machine, which has busybox only. Verdicts as in
# tests/kernel/harness.bash: "ok NAME", "not ok NAME: what it saw", "SKIP NAME: why", one line each;
# lines that start with "# " are for people.

tmp=/tmp
export tmp

ok()
{
	echo "ok $1"
}

not_ok()
{
	echo "not ok $1: $(echo "$2" | tr '\n' '/')"
}

skip()
{
	echo "SKIP $1: $2"
}

# check NAME CONDITION SAW: CONDITION is evaluated by the shell, SAW is printed when it is false.
check()
{
	if eval "$2"; then
		ok "$1"
	else
		not_ok "$1" "$3"
	fi
}

# near NAME GOT WANT ALLOWED: whole numbers; GOT may be empty, which is wrong
near()
{
	if [ -n "$2" ] && [ -n "$3" ] && [ $(($2 - $3)) -le "$4" ] && [ $(($3 - $2)) -le "$4" ]; then
		ok "$1"
	else
		not_ok "$1" "got '$2', expected '$3' within $4"
	fi
}

# for_people NAME: stdin as lines that are no verdicts, and cannot be taken for some
for_people()
{
	sed "s/[^ -~]/?/g; s/^/# $1: /"
}

# kv NAME KEY: the value of KEY=value in what the workload of recording NAME printed
kv()
{
	sed -n "s/^$2=//p" "$tmp/$1.out" | tail -n 1
}

# where_they_are: what each thread of a user's process, and each one in uninterruptible sleep, waits for
where_they_are()
{
	local task state

	for task in /proc/[0-9]*/task/[0-9]*; do
		state=$(sed -n 's/^State:[[:space:]]*//p' "$task/status" 2>/dev/null)
		case $state in D*) ;; *) [ -n "$(head -c 1 "$task/cmdline" 2>/dev/null)" ] || continue ;; esac
		echo "$task $(cat "$task/comm") $state, system call $(cat "$task/syscall"):" \
			"$(sed 's/^.*\] //' "$task/stack" | head -n 8 | tr '\n' ' ')"
	done 2>/dev/null
}

# recorded NAME ARGS...: records, for 40 s at most, into $tmp/NAME, and says so when that fails; what the recorder had
# to say is shown (it names hooks that this kernel lacks). An emulated machine that stands still for so long gets a
# second try. Of a recording that hangs, the threads' places are shown.
recorded()
{
	local name=$1 rc try watchdog

	shift
	for try in 1 2; do
		rm -rf "$tmp/$name"
		(sleep 37 && where_they_are | for_people "$name") &
		watchdog=$!
		timeout -s KILL 40 ebpfrec record -o "$tmp/$name" "$@" >"$tmp/$name.out" 2>"$tmp/$name.err" </dev/null
		rc=$?
		kill "$watchdog" 2>/dev/null
		for_people "$name" <"$tmp/$name.err"
		[ $rc -eq 137 ] || break
		echo "recording was not done after 40 s" | for_people "$name"
	done
	[ $rc -ne 0 ] || grep -q 'costs more than it should' "$tmp/$name.err" || return 0
	not_ok "$name: recording" "status $rc: $(tail -n 3 "$tmp/$name.err")"
	return 1
}

# forget NAME: a trace is in memory here
forget()
{
	rm -rf "$tmp/$1" "$tmp/$1.out" "$tmp/$1.err"
}

# sql NAME QUERY: rows without the header, columns split by commas
sql()
{
	ebpfrec sql -i "$tmp/$1" --format csv "$2" | tr -d '\r' | sed 1d
}

# report NAME VIEW ARGS...: CSV with its header
report()
{
	local name=$1 view=$2

	shift 2
	ebpfrec report -i "$tmp/$name" "$view" --format csv "$@" | tr -d '\r'
}

# column_sum COLUMN [COLUMN=VALUE]...: of the CSV on stdin, the sum over the rows that match; nothing when no row
# does, or when there is no such column. No field may hold a comma or a quote.
column_sum()
{
	awk -F, -v want="$1" -v filters="$*" '
	NR == 1 {
		for (i = 1; i <= NF; i++)
			at[$i] = i
		cnt = split(filters, filter, " ")
		for (f = 2; f <= cnt; f++) {
			key[f] = substr(filter[f], 1, index(filter[f], "=") - 1)
			value[f] = substr(filter[f], index(filter[f], "=") + 1)
			if (!(key[f] in at))
				exit
		}
		if (!(want in at))
			exit
		next
	}
	{
		for (f = 2; f <= cnt; f++)
			if ($at[key[f]] != value[f])
				next
		sum += $at[want]
		rows++
	}
	END { if (rows) printf "%.0f\n", sum }'
}

# start_of NAME: CLOCK_MONOTONIC of the trace's time 0, for the instants that workloads print
start_of()
{
	sql "$1" "SELECT mono_ns - ts_ns FROM clocks LIMIT 1"
}

# balanced NAME CLASS...: attempted = read + lost for each class, and there was something
balanced()
{
	local name=$1 class sums attempted read lost

	shift
	for class; do
		sums=$(sql "$name" "SELECT sum(attempted) || ' ' || sum(read) || ' ' || sum(lost) FROM (
			SELECT attempted_cnt AS attempted, read_cnt AS read, 0 AS lost FROM hook_stats WHERE class = '$class'
			UNION ALL SELECT 0, 0, full_cnt + other_cnt FROM losses WHERE class = '$class')")
		attempted=${sums%% *} lost=${sums##* } read=${sums#* } read=${read% *}
		if [ -n "$sums" ] && [ "$attempted" -gt 0 ] && [ "$attempted" -eq $((read + lost)) ]; then
			ok "$name: read + lost = attempted, class $class"
		else
			not_ok "$name: read + lost = attempted, class $class" "attempted, read, lost = '$sums'"
		fi
	done
}

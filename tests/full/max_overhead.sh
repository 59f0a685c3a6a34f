#!/bin/bash
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# record --max-overhead: a storm of allocations costs more than is allowed, so alloc.slab goes off, and is turned on
# again when all is quiet. The workload allocates at least once a millisecond all the time: outside the intervals of
# source_gaps there is no hole, inside there is no event; reports, counts and pairing take them into account. With a
# budget that is never reached no source is touched.
. "$(dirname "$0")/../kernel/harness.bash"

# The storm lasts until the recorder has reported that the source is off, the quiet time until it is on again. A
# recorder that does not get its CPU is still busy with the rest of the storm when it checks again, and turns the other
# source off, too: that is part of the cost. So it gets its CPU, and the test is repeated if other processes had it.
gaps()
{
	"$EBPFREC" sql -i "$tmp/tight" --format csv "SELECT count(*) FROM source_gaps WHERE $1" 2>/dev/null | tail -n 1 |
		tr -d '\r'
}
storm_and_quiet()
{
	rm -rf "$tmp/tight"
	hold storm
	hold quiet
	"${undisturbed[@]}" "$EBPFREC" record -o "$tmp/tight" --max-overhead 4 --only -e sched.switch,alloc.slab -- \
		"$WORK/alloc_storm" 2500 7000 "$tmp/hold.storm" "$tmp/hold.quiet" >"$tmp/tight.out" 2>"$tmp/tight.err" \
			</dev/null &
	recorder=$!
	wait_for "it is off" 60 "grep -q 'is off until' '$tmp/tight.err'"
	sleep 0.3
	release storm
	# on again: events after a gap were written, at least half a second ago
	wait_for "it is on again" 60 \
		"[ \"\$(gaps \"source = 'alloc.slab' AND to_ns < (SELECT max(to_ns)
			FROM blocks) - 1000000000\")\" -gt 0 ] 2>/dev/null &&
		[ \"\$(gaps \"to_ns > (SELECT max(to_ns)
			FROM blocks) - 1000000000\")\" = 0 ]"
	release quiet
	wait $recorder || { not_ok "recording tight" "$(cat "$tmp/tight.err")"; exit 1; }
	[ "$(gaps "source <> 'alloc.slab'")" = 0 ]
}
best_of 4 storm_and_quiet
# Programs are started all the time, so that task hooks have events while sources are off.
hold starts
start_recorder starts --max-overhead 0.001 -e alloc.rss,alloc.vm -- sh -c \
	"while [ -e '$tmp/hold.starts' ]; do /bin/true; done"
wait_for "both are off for a while" 100 \
	"[ \"\$('$EBPFREC' sql -i '$tmp/starts' --format csv 'SELECT count(DISTINCT source) FROM source_gaps
	WHERE from_ns < (SELECT max(to_ns) FROM blocks) - 3000000000' | tail -n 1 | tr -d '\\r')\" = 2 ]"
release starts
wait $recorder || not_ok "recording starts" "$(cat "$tmp/starts.err")"
recorded wide --max-overhead 100 -e alloc.slab -- "$WORK/alloc_storm" 1500 200

checker <"$top/tests/full/max_overhead.py"

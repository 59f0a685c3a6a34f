#!/bin/bash
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# The recorder among what it records: left out by default, there with --with-recorder, its CPU time is what
# the kernel says; it does not feed itself; its cost is in the trace.
#
# It does not feed itself: in a recording without workload the events that the recorder's own threads cause in a second
# stay below 2,000 (two CPUs writing a block a second cause some hundred), or below a quarter of what all others cause,
# since what it reads and writes for these takes memory; and below 30,000 at any rate. A recorder that records its own
# writes causes an event for each that it reads, in every second; so one of three may have more, such as the first on a
# busy machine, where the recorder still reads the kernel's symbols.
. "$(dirname "$0")/../kernel/harness.bash"

recorded busy -- sh -c "'$WORK/give_away' 40000 500 >/dev/null; '$WORK/short_lived' storm 800 >/dev/null"
recorded idle -a -d 4s

checker <"$top/tests/full/recorder_self.py"

#!/bin/bash
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# record --heap=512KiB, ten times, beside a full recording of the same program (gcc, Python, sqlite3). Totals are within
# their error in at least 85 % of the runs (the reports state nine of ten), and large call sites are among the
# largest of the samples. A pair of malloc and free that is not a sample takes at most 5 ns more. Samples are random
# and times vary, hence the tolerances.
. "$(dirname "$0")/../kernel/harness.bash"

cc -O2 -D_GNU_SOURCE -I "$here/../bench/load" -o "$tmp/pairs" "$here/../bench/load/load_heap.c" ||
	{ not_ok "heap_sampled: the program is built" "$?"; exit 1; }
checker <"$here/../full/heap_sampled.py"

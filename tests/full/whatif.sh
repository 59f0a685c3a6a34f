#!/bin/bash
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# Causes of delay that can be switched off: `report whatif` on one recording against the time that the program then
# takes without the cause. Five kinds in four shapes: one thread, beside a shorter one, beside a longer one, and beside
# one that another cause delays as much.
. "$(dirname "$0")/../kernel/harness.bash"

for kind in lock timeout sleep peer cpu; do
	for shape in serial parallel off masking; do
		recorded "$kind-$shape" -e sched -- "$WORK/delayed" "$kind" "$shape"
	done
done

checker <"$top/tests/full/whatif.py"

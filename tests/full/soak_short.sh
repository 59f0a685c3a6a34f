#!/bin/bash
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# tests/soak.sh, scaled down: many rotations in a quarter of a minute. With --only, activities of other processes take
# no memory.
. "$(dirname "$0")/../kernel/harness.bash"

EBPFREC_TEST_DIR=$tmp "$top/tests/soak.sh" 16 2s,2MiB --only || test_status=1

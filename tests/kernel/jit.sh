#!/bin/bash
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# Names of code that is made at run time, from the map file of its process: every sample has the name of the code that
# was there then, also where other code took its place. A jitdump has the instants itself. Redaction covers them. A map
# file behind a link is not read. A register that holds no frame pointer makes no caller.
. "$(dirname "$0")/harness.bash"

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

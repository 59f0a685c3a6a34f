#!/bin/bash
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# demo.sh: records about five seconds of real work and shows what can be asked afterwards.
#
# The workload: two threads that burn CPU, one that moves between CPUs, 200 MiB touched and freed,
# 1,000 direct writes and buffered ones with a sync at their end, a few hundred short-lived processes.
# The trace stays in build/demo.ebpfrec; what the workload wrote is removed.
set -eu

top=$(cd "$(dirname "$0")/.." && pwd)
build=${BUILD:-$top/build}
rec=$build/ebpfrec
work=$build/work
trace=demo.ebpfrec

as_root=
if [ "$(id -u)" -ne 0 ]; then
	as_root=sudo
	command -v sudo >/dev/null || { echo "demo.sh: recording needs root: run it as root" >&2; exit 1; }
fi
# On a disk, not in memory: direct writes are to be real ones.
scratch=$(mktemp -d "${EBPFREC_TEST_DIR:-/var/tmp}/ebpfrec-demo.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
export work scratch

cd "$build"

# Shown as typed, with "ebpfrec" for build/ebpfrec.
show()
{
	printf '\n$ ebpfrec %s\n' "$*"
	"$rec" "$@"
}

cat >"$scratch/workload" <<'END'
#!/bin/sh
"$work/busy_threads" two 2000 >/dev/null &
(sleep 1; "$work/touch_memory" 200 100 1000 500 >/dev/null) &
(sleep 1.5; "$work/direct_io" "$scratch/direct" write 1000 65536 2 >/dev/null) &
(sleep 2; dd if=/dev/zero of="$scratch/buffered" bs=64k count=1600 conv=fsync 2>/dev/null) &
(sleep 2.5; "$work/busy_threads" hop 1500 >/dev/null) &
(sleep 3; "$work/short_lived" rename 300 1500 >/dev/null) &
(sleep 3; "$work/direct_io" "$scratch/direct" read 1000 65536 >/dev/null) &
wait
END
chmod +x "$scratch/workload"

rm -rf "$trace.old"
printf '$ sudo ebpfrec record -o demo.ebpfrec -- workload\n'
$as_root env work="$work" scratch="$scratch" "$rec" record -f -o "$trace" -- "$scratch/workload"

show report -i "$trace"
show report -i "$trace" cpu --from 1s --until 2s
show report -i "$trace" alloc --limit 12
show report -i "$trace" spikes
show report -i "$trace" io --every 1s --by device
show report -i "$trace" io --by process
show report -i "$trace" loss

if "$rec" export -q -f --to html -i "$trace" -o demo.html; then
	printf '\nLook at it in a browser: build/demo.html\n'
fi
printf '\nThe trace is build/%s (%s). Ask it anything: build/ebpfrec report -i build/%s --help\n' "$trace" \
	"$(du -sh "$trace" | cut -f1)" "$trace"

#!/bin/bash
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# assess.sh [--quick] [--only WORKLOAD,...] [--out DIR]
#
# Are the figures right? Records stress, fio and a fork storm while the kernel's own accounting and
# the tools people use (iostat, pidstat, htop's way, node-exporter) are read, and prints both, the difference, what
# difference is to be expected, and why. See assess.py; results also go to build/assess (or DIR).
set -u

here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
BUILD=${BUILD:-$top/build}
export EBPFREC=${EBPFREC:-$BUILD/ebpfrec} PYTHONPATH=$here:$top/tests/kernel PYTHONDONTWRITEBYTECODE=1 LC_ALL=C
out=$BUILD/assess args=()
while [ $# -gt 0 ]; do
	case $1 in
	--quick) args+=("$1") ;;
	--only) args+=("$1" "${2-}"); shift ;;
	--out) out=${2-}; shift ;;
	*) sed -n '4s/^# /usage: /p' "$0" >&2; exit 2 ;;
	esac
	shift
done
if [ "$(id -u)" -ne 0 ]; then
	command -v sudo >/dev/null || { echo "assess.sh: recording needs root" >&2; exit 1; }
	exec sudo env "PATH=$PATH" "BUILD=$BUILD" "EBPFREC=$EBPFREC" "$here/assess.sh" ${args[@]+"${args[@]}"} --out "$out"
fi
export PATH=$PATH:/usr/sbin:/sbin
# On a disk: a loop device with direct I/O does not work over memory.
scratch=$(mktemp -d /var/tmp/ebpfrec-assess.XXXXXX) || exit 1
trap 'rm -rf "$scratch"' EXIT
python3 "$here/assess.py" ${args[@]+"${args[@]}"} --out "$out" --scratch "$scratch"

#!/bin/sh
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# bench_deps.sh: installs the tools the benchmark compares with and its load generators, only what is
# missing. One that cannot be had is left out of the comparison, never an error: the benchmark says
# which sides are missing.
set -u

missing=

need()
{
	PATH="$PATH:/usr/sbin:/sbin" command -v "$2" >/dev/null 2>&1 || missing="$missing $1"
}

# perf on Ubuntu belongs to a kernel: there /usr/bin/perf is a script that looks for the running kernel's.
if ! perf version >/dev/null 2>&1; then
	if [ "$(. /etc/os-release 2>/dev/null && echo "${ID:-}")" = ubuntu ]; then
		missing="$missing linux-tools-common linux-tools-generic"
	else
		missing="$missing linux-perf"
	fi
fi
need bpftrace bpftrace
need fio fio
need heaptrack heaptrack
need libbpf-tools offcputime
need python3 python3

[ -n "$missing" ] || exit 0
if ! command -v apt-get >/dev/null 2>&1; then
	echo "bench_deps.sh: not installed (names of Debian packages), left out of the comparison:$missing" >&2
	exit 0
fi
as_root=
if [ "$(id -u)" -ne 0 ]; then
	command -v sudo >/dev/null 2>&1 || {
		echo "bench_deps.sh: neither root nor sudo, left out of the comparison:$missing" >&2
		exit 0
	}
	as_root=sudo
fi
export DEBIAN_FRONTEND=noninteractive
updated=
for package in $missing; do
	echo "bench_deps.sh: installing $package" >&2
	$as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "$package" >&2 && continue
	# Package lists may be old or absent on a fresh machine: fetch them, then once more.
	[ -n "$updated" ] || $as_root apt-get update >&2
	updated=1
	$as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "$package" >&2 ||
		echo "bench_deps.sh: $package cannot be installed; left out of the comparison" >&2
done
exit 0

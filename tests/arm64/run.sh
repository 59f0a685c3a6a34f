#!/bin/bash
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# run.sh: builds the static program, its BPF programs and the workloads for arm64 with a cross compiler, warnings are
# errors, and runs the command line tests of reports and traces with that program in user emulation. Then it boots
# Debian's arm64 kernel in an emulated machine and records there: tests/vm/run.sh, with the short list of checks.
#
# ARM64_SYSROOT keeps headers and libraries; default: build/arm64-sysroot. Without network (or with another
# distribution) there is one SKIP. The last line is "N passed, N failed[, N skipped]".
set -u

here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
cd "$top" || exit 1
sysroot=${ARM64_SYSROOT:-$top/build/arm64-sysroot}
log=$(mktemp "${TMPDIR:-/var/tmp}/ebpfrec-arm64.XXXXXX") || exit 1
# shellcheck disable=SC2046
trap 'kill $(jobs -p) 2>/dev/null; wait; rm -f "$log" "$log".*' EXIT

skip()
{
	if [ "${CI:-}" = true ] && ! grep -q '^arm64[[:space:]]' tests/ci_allowed_skips; then
		echo "not ok arm64: skipped in CI: $1"
		echo "0 passed, 1 failed"
		exit 1
	fi
	echo "SKIP arm64: $1"
	echo "0 passed, 0 failed, 1 skipped"
	exit 0
}

tests/deps.sh arm64 2>"$log" || skip "no cross compiler: $(tail -n 1 "$log")"
"$here/sysroot.sh" "$sysroot" 2>"$log" || skip "no libraries for arm64: $(tail -n 1 "$log")"
if ! PKG_CONFIG_LIBDIR=$sysroot/usr/lib/aarch64-linux-gnu/pkgconfig PKG_CONFIG_SYSROOT_DIR=$sysroot \
	make -j"$(nproc)" STATIC=1 WERROR=1 ARCH=arm64 B=build/arm64 CC="aarch64-linux-gnu-gcc --sysroot=$sysroot" \
	AR=aarch64-linux-gnu-ar all work >"$log" 2>&1 || grep 'warning:' "$log"; then
	echo "not ok arm64/build: $(grep -E 'error|warning' "$log" | head -n 3 | tr '\n' ' ')"
	echo "0 passed, 1 failed"
	exit 1
fi
echo "ok arm64/build"
# The machine takes one CPU for a minute: beside the other tests. The heap's functions are found in a C library that
# programs share, so one program is not static.
(aarch64-linux-gnu-gcc --sysroot="$sysroot" -std=gnu11 -O2 -g -D_GNU_SOURCE -o build/arm64/heap_user_dynamic \
	tests/kernel/work/heap_user.c && VM_ARCH=arm64 BUILD=$top/build/arm64 HEAP_USER=$top/build/arm64/heap_user_dynamic \
	SYSROOT=$sysroot CROSS=aarch64-linux-gnu- tests/vm/run.sh) >"$log.vm" 2>&1 &
vm=$!
# the golden trace is made on this machine: traces do not depend on who wrote them
make build/tests/cli/gen_golden build/tests/cli/gen_doubtful >"$log" 2>&1
# The newest CPU that is emulated, the default, takes a quarter longer.
rm -rf build/arm64/emulated && mkdir build/arm64/emulated
printf '#!/bin/sh\nexec qemu-aarch64-static -cpu cortex-a57 "%s" "$@"\n' \
	"$top/build/arm64/ebpfrec" >build/arm64/emulated/ebpfrec
chmod +x build/arm64/emulated/ebpfrec
# what reads, computes and writes traces; the other files test scripts and options
EBPFREC=$top/build/arm64/emulated/ebpfrec tests/cli/run.sh \
	tests/cli/{report,trace,stacks,threads,who,sql,cut,redact,perfetto}.t >"$log" 2>&1
grep '^not ok' "$log" | sed 's|^not ok|not ok arm64/cli:|'
cli_passed=$(grep -c '^ok' "$log")
cli_failed=$(grep -c '^not ok' "$log")
[ "$cli_passed" -gt 0 ] && echo "ok arm64/cli ($cli_passed tests)"
# add LINE: of the form "N passed, N failed[, N skipped]"
passed=1 failed=0 skipped=0
add()
{
	local line=$1

	case $line in
	*' passed, '*' failed'*) ;;
	*) line='0 passed, 1 failed' ;;
	esac
	passed=$((passed + ${line%% passed*}))
	line=${line#*, }
	failed=$((failed + ${line%% failed*}))
	case $line in *skipped) line=${line#*, } && skipped=$((skipped + ${line%% skipped*})) ;; esac
}
add "$cli_passed passed, $cli_failed failed"

# vm ended while the other tests ran, or goes on a little
wait "$vm"
grep -v '^[0-9]* passed, ' "$log.vm"
add "$(tail -n 1 "$log.vm")"
line="$passed passed, $failed failed"
[ $skipped -gt 0 ] && line="$line, $skipped skipped"
echo "$line"
[ $failed -eq 0 ]

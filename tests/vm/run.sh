#!/bin/bash
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# run.sh [KERNEL...]: the recorder on other kernels than this machine's. Fetches Debian's cloud
# kernels, boots each in an emulated machine (qemu, software emulation: works without KVM, without root
# and inside other virtual machines), runs guest/checks.sh in it and collects the verdicts:
#
#     ok vm/6.1/NAME
#     not ok vm/6.1/NAME: what it saw
#     SKIP vm/6.1/NAME: why
#
# A kernel of which a check fails boots once more, alone, and that run counts; what failed at first is listed. More than
# one such kernel that then passes is a failure. The last line is "N passed, N failed[, N skipped]"; the exit status is
# 0 only without failures. KERNEL picks rows of the table below. From the environment:
#
#     VM_ARCH            arm64: Debian's kernels for it, with a build for it, SYSROOT and CROSS as for initramfs.sh
#     BUILD, HEAP_USER   the static build; the dynamic program for the heap probes
#     VM_CACHE, VM_LOGS  where kernels are kept; where consoles and results go
#     VM_TIMEOUT         seconds a machine may take: for what hangs
#     VM_LIST            all: the whole list of checks on arm64, too
#     VM_JOBS            machines at a time; each uses one CPU and 512 MiB. Default: this machine's CPUs
#     VM_CHECKS          a script to run instead of guest/checks.sh, to look into something
#     CI=true            a SKIP is a failure, unless tests/ci_allowed_skips names it
set -u

here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
build=${BUILD:-$top/build/static}
heap_user=${HEAP_USER:-$top/build/work/heap_user}
cache=${VM_CACHE:-$top/build/vm-cache}
logs=${VM_LOGS:-$top/build/vm-logs}
timeout_s=${VM_TIMEOUT:-900}
at_a_time=${VM_JOBS:-$(nproc)}
passed=0 failed=0 skipped=0 unsteady=0 unsteady_max=1

# Name, and the suites to take it from: the first that can be had.
case ${VM_ARCH:=$(uname -m)} in
amd64 | x86_64)
	VM_ARCH=amd64
	kernels=(
		"5.10 bullseye"
		"6.1 bookworm"
		"6.12 trixie"
		"newest sid forky trixie-backports"
	)
	# Both CPUs in one host thread: with a thread each, qemu 7.2 now and then runs code that the kernel has
	# just patched (static keys), or leaves cmpxchg16b with garbage flags, and the kernel crashes.
	machine=(qemu-system-x86_64 -accel "tcg,thread=single" -cpu "qemu64,-cx16")
	console=ttyS0 results=ttyS1 checks=all
	# At boot the kernel counts ticks of the timer for some 10 ms, and panics when there are too few: on a host that
	# gives the emulator no CPU for that long.
	boot_args=no_timer_check
	;;
arm64)
	kernels=("6.12 trixie")
	machine=(qemu-system-aarch64 -accel "tcg,thread=single" -machine virt -cpu cortex-a57)
	# slower than the others: what depends on the architecture is in the short list
	console=ttyAMA0 results=ttyS0 checks=${VM_LIST:-short} boot_args=
	;;
*)
	kernels=()
	;;
esac
export VM_ARCH

# boot DIR KERNEL LOG: LOG.console is what the kernel says, LOG.results what the checks say
boot()
{
	local dir=$1 kernel=$2 log=$3 second

	"$here/initramfs.sh" modules "$dir/modules.cpio" "$kernel" || return 1
	cat "$dir/../base.cpio" "$dir/modules.cpio" >"$dir/initramfs"
	[ ! -e "$dir/../checks.cpio" ] || cat "$dir/../checks.cpio" >>"$dir/initramfs"
	truncate -s 128M "$dir/virtio.img" "$dir/nvme.img"
	second=(-serial "file:$log.results")
	# qemu's arm64 machine has one serial port
	[ "$VM_ARCH" = amd64 ] || second=(-chardev "file,id=results,path=$log.results" -device "pci-serial,chardev=results")
	exec timeout -k 5 "$timeout_s" "${machine[@]}" \
		-m 512 -smp 2 -no-reboot -display none -monitor none -nic none -nodefaults \
		-serial "file:$log.console" "${second[@]}" \
		-drive "if=none,id=virtio,file=$dir/virtio.img,format=raw,cache=unsafe,discard=unmap" \
		-device virtio-blk-pci,drive=virtio \
		-drive "if=none,id=nvme,file=$dir/nvme.img,format=raw,cache=unsafe,discard=unmap" \
		-device nvme,drive=nvme,serial=1 \
		-kernel "$kernel/vmlinuz" -initrd "$dir/initramfs" \
		-append "console=$console results=$results checks=$checks loglevel=5 panic=-1 oops=panic $boot_args" \
			</dev/null >"$log.qemu" 2>&1
}

# collect NAME LOG QEMU_STATUS: the verdicts of a machine that has ended
collect()
{
	local name=$1 log=$2 status=$3 why

	# The serial port may have dropped or mangled what the kernel wrote to it; the checks' lines are ASCII.
	LC_ALL=C tr -cd '\t\n -~' <"$log.results" |
		sed -n "s,^\(ok \|not ok \|SKIP \),&vm/$name/,p; s,^# ,&vm/$name/,p"
	grep -aq '^done 0' "$log.results" && return
	if [ "$status" -eq 124 ] || [ "$status" -eq 137 ]; then
		why="not done after $timeout_s s"
	else
		why="the machine ended (qemu status $status) before its checks did"
	fi
	echo "not ok vm/$name/machine: $why; see $log.console"
	tail -n 15 "$log.console" "$log.qemu" | LC_ALL=C tr -cd '\n -~' | sed 's/^/    | /'
}

# run_kernel DIR SUITE...: one kernel from fetching to verdicts
run_kernel()
{
	local dir=$1 kernel name start=$SECONDS

	shift
	if ! kernel=$("$here/fetch.sh" "$cache" "$@"); then
		echo "SKIP vm/fetch: cannot fetch a kernel of $*"
		return
	fi
	# all are called by their version, the newest too
	name=$(sed 's/^\([0-9]*\.[0-9]*\).*/\1/' "$kernel/release")
	[ "$VM_ARCH" = amd64 ] || name=$name-$VM_ARCH
	rm -f "$logs/$name".*
	touch "$logs/$name.results" "$logs/$name.console" "$logs/$name.qemu"
	(boot "$dir" "$kernel" "$logs/$name")
	collect "$name" "$logs/$name" $?
	echo "# vm/$name: $(cat "$kernel/release"), $((SECONDS - start)) s"
}

# count FILE: prints verdicts and counts them
count()
{
	local line name

	while IFS= read -r line; do
		case $line in
		'ok '*) passed=$((passed + 1)) ;;
		'not ok '*) failed=$((failed + 1)) ;;
		'SKIP '*)
			skipped=$((skipped + 1))
			name=${line#SKIP } name=${name%%:*}
			if [ "${CI:-}" = true ] && ! grep -q "^$name[[:space:]]" "$top/tests/ci_allowed_skips"; then
				skipped=$((skipped - 1)) failed=$((failed + 1))
				line="not ok ${line#SKIP } (skipped, in CI)"
			fi
			;;
		esac
		printf '%s\n' "$line"
	done <"$1"
}

# run_again I ROW: a kernel of which a check failed boots once more, alone, and that run is the one that counts.
run_again()
{
	local verdicts=$dir/$1.verdicts

	mv "$verdicts" "$verdicts.first"
	rm -rf "${dir:?}/$1" && mkdir "$dir/$1"
	# shellcheck disable=SC2086
	run_kernel "$dir/$1" ${2#* } >"$verdicts"
	grep -q '^not ok' "$verdicts" || unsteady=$((unsteady + 1))
	grep '^not ok' "$verdicts.first" | sed 's/^/# ran once more, since there was: /'
}

# run_all KERNEL...: all, or these
run_all()
{
	local row i cnt=0 pids=() rows=()

	for row in "${kernels[@]}"; do
		case " ${*:-${row%% *}} " in
		*" ${row%% *} "*) ;;
		*) continue ;;
		esac
		mkdir "$dir/$cnt"
		[ $cnt -lt "$at_a_time" ] || wait -n
		# shellcheck disable=SC2086
		run_kernel "$dir/$cnt" ${row#* } >"$dir/$cnt.verdicts" &
		pids+=($!)
		rows+=("$row")
		cnt=$((cnt + 1))
	done
	[ $cnt -gt 0 ] || { echo "run.sh: no such kernel: $*; there are: ${kernels[*]%% *}" >&2; exit 2; }
	for ((i = 0; i < cnt; i++)); do
		# one that `wait -n` has seen end is no job any more
		wait "${pids[i]}" 2>/dev/null
	done
	for ((i = 0; i < cnt; i++)); do
		! grep -q '^not ok' "$dir/$i.verdicts" || run_again "$i" "${rows[i]}"
		count "$dir/$i.verdicts"
	done
	if [ $unsteady -gt $unsteady_max ]; then
		echo "not ok vm/unsteady: $unsteady kernels passed only when run again; more than $unsteady_max are a failure"
		failed=$((failed + 1))
	fi
}

for file in "$build/ebpfrec" "$build/work/pingpong" "$heap_user"; do
	[ -x "$file" ] || { echo "not ok vm: $file is not built; run make test-vm"; exit 1; }
done
dir=$(mktemp -d "${TMPDIR:-/var/tmp}/ebpfrec-vm.XXXXXX") || exit 1
# shellcheck disable=SC2046
trap 'kill $(jobs -p) 2>/dev/null; wait; rm -rf "$dir"' EXIT
trap 'exit 1' INT TERM HUP
if [ ${#kernels[@]} -eq 0 ]; then
	echo "SKIP vm: the kernels of the matrix are for amd64 and arm64" >"$dir/none.verdicts"
	count "$dir/none.verdicts"
else
	mkdir -p "$logs"
	"$here/initramfs.sh" base "$dir/base.cpio" "$build" "$heap_user" || exit 1
	[ -z "${VM_CHECKS:-}" ] || "$here/initramfs.sh" checks "$dir/checks.cpio" "$VM_CHECKS" || exit 1
	run_all "$@"
fi
line="$passed passed, $failed failed"
[ $skipped -gt 0 ] && line="$line, $skipped skipped"
echo "$line"
[ $failed -eq 0 ] && [ $((passed + skipped)) -gt 0 ]

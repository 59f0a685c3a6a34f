#!/bin/bash
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# initramfs.sh base OUT BUILD DYNAMIC_HEAP_USER: what all kernels share (busybox, a static recorder, static workloads,
#     the checks, and one C library with a dynamic program for the heap probes).
#     For another architecture SYSROOT has its busybox, shell and C library, CROSS is the prefix of its tools.
# initramfs.sh modules OUT KERNEL_DIR: what fetch.sh unpacked, under /lib/modules/RELEASE.
# initramfs.sh checks OUT SCRIPT: SCRIPT in place of guest/checks.sh.
#
# These are cpio archives, which the kernel unpacks one after the other when they are concatenated, later
# files over earlier ones. Not compressed: an emulated processor takes longer to unpack than to copy.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
what=$1 out=$2
root=$(mktemp -d "${TMPDIR:-/var/tmp}/ebpfrec-initramfs.XXXXXX")
trap 'rm -rf "$root"' EXIT

# with_libraries PROGRAM TARGET: a dynamic program and all it is linked with, where it looks for it. Of a sysroot: the C
# library, which is all that ours need.
with_libraries()
{
	local lib

	install -D "$1" "$root/$2"
	if [ -n "${SYSROOT:-}" ]; then
		install -D "$SYSROOT"/lib/ld-linux-*.so.* -t "$root/lib"
		for lib in "$SYSROOT"/usr/lib/*/libc.so.6; do
			install -D "$lib" "$root${lib#"$SYSROOT/usr"}"
		done
		return
	fi
	for lib in $(ldd "$1" | grep -o '/[^ ]*'); do
		install -D "$lib" "$root/$lib"
	done
}

case $what in
base)
	build=$3
	mkdir -p "$root"/bin "$root"/work "$root"/tests "$root"/proc "$root"/sys "$root"/dev "$root"/tmp "$root"/mnt
	strip=${CROSS:-}strip
	if [ -n "${SYSROOT:-}" ]; then
		busybox=$SYSROOT/bin/busybox shell=$SYSROOT/bin/dash
	else
		busybox=$(command -v busybox) shell=$(readlink -f /bin/sh)
	fi
	install "$busybox" "$root/bin/busybox"
	# the checks call it by path: without debug information it is a fifth
	"$strip" -o "$root/bin/ebpfrec" "$build/ebpfrec"
	for program in "$build"/work/*; do
		case $program in
		*.d | *.o) ;;
		*) "$strip" --strip-debug -o "$root/work/${program##*/}" "$program" ;;
		esac
	done
	with_libraries "$4" work/heap_user_dynamic
	install "$build/ebpfrec_heap.so" "$root/work/"
	# busybox looks at the name it was called by; this one may be called anything
	with_libraries "$shell" work/shell
	install "$here"/guest/*.sh "$root/tests/"
	install -m 755 "$here/guest/init" "$root/init"
	;;
modules)
	dest=$root/lib/modules/$(cat "$3/release")
	mkdir -p "$dest"
	cp "$3"/modules/*.ko "$dest/"
	;;
checks)
	install -D "$3" "$root/tests/checks.sh"
	;;
*)
	echo "initramfs.sh: what is '$what'?" >&2
	exit 2
	;;
esac
(cd "$root" && find . -mindepth 1 | LC_ALL=C sort | cpio --quiet -o -H newc -R 0:0) >"$out"

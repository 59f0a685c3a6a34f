#!/bin/sh
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# deps.sh [build|test|fuzz|lint|vm|arm64|assess]: installs what building needs, and testing, fuzzing, static analysis,
# testing on other kernels, testing for arm64, or the comparison with other tools. It installs only what is missing.
#
# Debian and Ubuntu: through apt-get, as root or through sudo. Elsewhere it says what is missing and
# what it is called there, and ends with 1. What counts is whether the thing works (a command is
# found, pkg-config knows the library), not which package it came from.
set -u

what=${1:-build}
missing=

# need PACKAGE KIND NAME: KIND is cmd (a command) or lib (a pkg-config module)
need()
{
	case $2 in
	cmd) PATH="$PATH:/usr/sbin:/sbin" command -v "$3" >/dev/null 2>&1 && return ;;
	lib) pkg-config --exists "$3" 2>/dev/null && return ;;
	esac
	case " $missing " in
	*" $1 "*) ;;
	*) missing="$missing $1" ;;
	esac
}

# Ubuntu ships bpftool inside its kernel tools, and /usr/sbin/bpftool there is only a script that
# looks for the tools of the running kernel: look for a program that answers.
need_bpftool()
{
	for tool in /usr/lib/linux-tools/*/bpftool /usr/sbin/bpftool /sbin/bpftool bpftool; do
		"$tool" version >/dev/null 2>&1 && return
	done
	if [ "$(. /etc/os-release 2>/dev/null && echo "${ID:-}")" = ubuntu ]; then
		missing="$missing linux-tools-common linux-tools-generic"
	else
		missing="$missing bpftool"
	fi
}

need gcc cmd gcc
need libc6-dev cmd ldd
need make cmd make
need clang cmd clang
need pkg-config cmd pkg-config
need_bpftool
need libbpf-dev lib libbpf
need libelf-dev lib libelf
need zlib1g-dev lib zlib
need libzstd-dev lib libzstd
need libsqlite3-dev lib sqlite3
need libzip-dev lib libzip
need libedit-dev lib libedit
# lines of source code and demangled names; the program can be built without
need libdw-dev lib libdw
[ -e /usr/include/libiberty/demangle.h ] || missing="$missing libiberty-dev"
# the charts of export --to html; not every release has them, and the program can be built without
[ -e /usr/share/javascript/dygraphs/dygraph.min.js ] || ! apt-cache show libjs-dygraphs >/dev/null 2>&1 ||
	missing="$missing libjs-dygraphs"
# the endpoint of `ebpfrec metrics --listen`; the program can be built without
! apt-cache show libjansson-dev >/dev/null 2>&1 || need libjansson-dev lib jansson
! apt-cache show libmicrohttpd-dev >/dev/null 2>&1 || need libmicrohttpd-dev lib libmicrohttpd
[ -e /usr/include/stdio.h ] || missing="$missing libc6-dev"
[ -e /usr/include/linux/types.h ] || missing="$missing linux-libc-dev"

if [ "$what" = test ]; then
	need libcmocka-dev lib cmocka
	need python3 cmd python3
	# for tests/full/action.sh
	python3 -c 'import yaml' 2>/dev/null || missing="$missing python3-yaml"
	need zsh cmd zsh
	need sqlite3 cmd sqlite3
	# tests/full/heap_programs.sh and tests/kernel/heap_outside.sh can do without
	! apt-cache show libjemalloc-dev >/dev/null 2>&1 || need libjemalloc-dev lib jemalloc
	! apt-cache show libgoogle-perftools-dev >/dev/null 2>&1 || need libgoogle-perftools-dev lib libtcmalloc
	[ -e /usr/include/mimalloc.h ] || ! apt-cache show libmimalloc-dev >/dev/null 2>&1 ||
		missing="$missing libmimalloc-dev"
	! apt-cache show musl-tools >/dev/null 2>&1 || need musl-tools cmd musl-gcc
	need gnuplot-nox cmd gnuplot
	need stress cmd stress
	need sysstat cmd iostat
	need util-linux cmd losetup
	need util-linux cmd setpriv
	need libcap2-bin cmd setcap
	need mount cmd mount
	need e2fsprogs cmd mkfs.ext4
	need procps cmd pgrep
	need coreutils cmd timeout
	# a column store for tests/full/fleet.sh (10 MB); not every release has it, and the tests can do without
	! apt-cache show clickhouse-server >/dev/null 2>&1 || need clickhouse-server cmd clickhouse-server
	! apt-cache show clickhouse-client >/dev/null 2>&1 || need clickhouse-client cmd clickhouse-client
	need curl cmd curl
	# for tests/full/metrics.sh, with promtool; not every release has it, and the test can do without
	! apt-cache show prometheus >/dev/null 2>&1 || need prometheus cmd prometheus
	# for tests/full/languages.sh, which can do without
	! apt-cache show golang-go >/dev/null 2>&1 || need golang-go cmd go
	# for tests/full/request_causes.sh, which can do without
	ls /usr/lib/postgresql/*/bin/pgbench >/dev/null 2>&1 || ! apt-cache show postgresql >/dev/null 2>&1 ||
		missing="$missing postgresql"
	need unzip cmd unzip
	need systemd cmd systemd-analyze
	# browsers for tests/page; Ubuntu has none as a package, and the test can do without
	for browser in chromium firefox-esr; do
		command -v "$browser" >/dev/null 2>&1 || ! apt-cache show "$browser" 2>/dev/null | grep -q '^Architecture' ||
			need "$browser" cmd "$browser"
	done
fi

# the corpora of the fuzz targets are .tar.xz
if [ "$what" = test ] || [ "$what" = fuzz ]; then
	need tar cmd tar
	need xz-utils cmd xz
fi

if [ "$what" = assess ]; then
	need python3 cmd python3
	need stress cmd stress
	need sysstat cmd pidstat
	need fio cmd fio
	need prometheus-node-exporter cmd prometheus-node-exporter
	need util-linux cmd losetup
	need e2fsprogs cmd mkfs.ext4
fi

if [ "$what" = lint ]; then
	need clang-tidy cmd clang-tidy
	need cppcheck cmd cppcheck
fi

if [ "$what" = arm64 ]; then
	need gcc-aarch64-linux-gnu cmd aarch64-linux-gnu-gcc
	need libc6-dev-arm64-cross cmd aarch64-linux-gnu-gcc
	need qemu-user-static cmd qemu-aarch64-static
	need apt cmd apt-get
	need dpkg cmd dpkg-deb
	[ -e /usr/share/keyrings/debian-archive-keyring.gpg ] || missing="$missing debian-archive-keyring"
fi

if [ "$what" = arm64 ]; then
	need qemu-system-arm cmd qemu-system-aarch64
fi

if [ "$what" = vm ]; then
	need qemu-system-x86 cmd qemu-system-x86_64
fi

# what machines are booted with
if [ "$what" = vm ] || [ "$what" = arm64 ]; then
	# it has to run where there is no C library
	busybox=$(command -v busybox) && ! ldd "$busybox" >/dev/null 2>&1 || missing="$missing busybox-static"
	need cpio cmd cpio
	need xz-utils cmd xz
	need zstd cmd zstd
	need binutils cmd strip
	need apt cmd apt-get
	need dpkg cmd dpkg-deb
	[ -e /usr/share/keyrings/debian-archive-keyring.gpg ] || missing="$missing debian-archive-keyring"
fi

[ -n "$missing" ] || exit 0

if ! command -v apt-get >/dev/null 2>&1; then
	cat >&2 <<-END
	deps.sh: missing (names of Debian packages):$missing
	deps.sh: this is not a Debian or Ubuntu machine; install the same things with its own package
	deps.sh: manager, then run make again. Fedora: gcc make clang bpftool pkgconf libbpf-devel
	deps.sh: elfutils-libelf-devel zlib-devel libzstd-devel sqlite-devel libzip-devel libedit-devel
	deps.sh: elfutils-devel libcmocka-devel
	deps.sh: sqlite gnuplot stress sysstat.
	deps.sh: Arch: base-devel clang bpf libbpf libelf zstd sqlite libzip libedit cmocka gnuplot
	deps.sh: stress sysstat.
	END
	exit 1
fi

as_root=
if [ "$(id -u)" -ne 0 ]; then
	as_root=sudo
	if ! command -v sudo >/dev/null 2>&1; then
		echo "deps.sh: missing:$missing" >&2
		echo "deps.sh: neither root nor sudo; as root run: apt-get install$missing" >&2
		exit 1
	fi
fi

echo "deps.sh: installing$missing" >&2
export DEBIAN_FRONTEND=noninteractive
# shellcheck disable=SC2086
if ! $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends $missing >&2; then
	# Package lists may be old or absent on a fresh machine: fetch them, then once more.
	$as_root apt-get update >&2 || exit 1
	# shellcheck disable=SC2086
	$as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends $missing >&2 || {
		echo "deps.sh: apt-get could not install:$missing" >&2
		exit 1
	}
fi

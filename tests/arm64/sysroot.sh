#!/bin/bash
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# sysroot.sh DIR: headers and static libraries of Debian arm64 under DIR, for a cross build, and what to boot a machine
# with. From the mirror and suite of this machine's own apt, by an apt with configuration of its own: nothing is
# installed, root is not needed, signatures are checked. A DIR that is complete is left as it is.
set -u

dir=$1
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
packages='libc6-dev libc6 linux-libc-dev libcrypt-dev libbpf-dev libelf-dev zlib1g-dev libzstd-dev
	libsqlite3-dev libdw-dev liblzma-dev busybox-static dash'

[ "$(cat "$dir/complete" 2>/dev/null)" = "$packages" ] && exit 0
mirror=${ARM64_MIRROR:-$(apt-get indextargets --format '$(SITE)' 'Created-By: Packages' 2>/dev/null |
	grep '/debian/*$' | sort -u | head -n 1)}
suite=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
[ -n "$mirror" ] && [ -n "$suite" ] || { echo \
	"sysroot.sh: no Debian mirror in this machine's apt sources; name one with ARM64_MIRROR" >&2; exit 1; }
rm -rf "$dir" && mkdir -p "$dir/apt/lists/partial" "$dir/apt/cache/archives/partial" "$dir/apt/none.d" "$dir/debs" ||
	exit 1
dir=$(cd "$dir" && pwd)
echo "deb [arch=arm64 signed-by=$keyring] $mirror $suite main" >"$dir/apt/sources.list"
cat >"$dir/apt/apt.conf" <<-END
	Dir::Etc::sourcelist "$dir/apt/sources.list";
	Dir::Etc::sourceparts "$dir/apt/none.d";
	Dir::Etc::preferencesparts "$dir/apt/none.d";
	Dir::State "$dir/apt";
	Dir::State::lists "$dir/apt/lists";
	Dir::State::status "/dev/null";
	Dir::Cache "$dir/apt/cache";
	APT::Architecture "arm64";
	APT::Architectures { "arm64"; };
	APT::Sandbox::User "";
	Acquire::Languages "none";
	Acquire::Retries "2";
END
export APT_CONFIG=$dir/apt/apt.conf
apt-get -qq -o APT::Update::Error-Mode=any update >&2 || exit 1
# shellcheck disable=SC2086
(cd "$dir/debs" && apt-get -qq download $packages >&2) || exit 1
for deb in "$dir"/debs/*.deb; do
	dpkg-deb -x "$deb" "$dir" || exit 1
done
# linker scripts name absolute places, which --sysroot puts under DIR; here /lib is not yet /usr/lib
[ -e "$dir/usr/lib/aarch64-linux-gnu/libc.so.6" ] || [ ! -d "$dir/lib/aarch64-linux-gnu" ] ||
	cp -a "$dir/lib/aarch64-linux-gnu/." "$dir/usr/lib/aarch64-linux-gnu/"
rm -rf "$dir/debs" "$dir/apt"
echo "$packages" >"$dir/complete"

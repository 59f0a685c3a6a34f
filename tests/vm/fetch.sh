#!/bin/bash
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# fetch.sh CACHE SUITE...: Debian's cloud kernel of the first SUITE that can be had, into
# CACHE/SUITE/. Prints that directory on stdout; diagnostics go to stderr. VM_ARCH=arm64: the one for that, in
# CACHE/SUITE-arm64/.
#
#     vmlinuz     what qemu boots
#     release     uname -r, and so the name of the module directory
#     modules/    the few drivers that the tests need, decompressed
#
# A suite that is there already is not asked for again (VM_REFRESH=1: it is). apt runs with lists,
# cache and configuration of its own under CACHE, so the machine's are neither read nor changed, and root
# is not needed; the archive's signatures are checked. VM_MIRROR names another mirror.
set -u

arch=${VM_ARCH:-amd64}
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
# The mirror that this machine's own apt uses for Debian, unless VM_MIRROR (or two, for suites that have
# moved to the archive: "MIRROR MIRROR2") says otherwise.
own_mirror()
{
	apt-get indextargets --format '$(SITE)' 'Created-By: Packages' 2>/dev/null | grep '/debian/*$' | sort -u | head -n 1
}
read -ra mirrors <<<"${VM_MIRROR:-$(own_mirror)}"
if [ ${#mirrors[@]} -eq 0 ]; then
	echo "fetch.sh: no Debian mirror in this machine's apt sources: name one with VM_MIRROR" >&2
	exit 1
fi
# What the guest loads, with the modules that these need: disks, loop devices, and volumes. Others of their kind are
# built in (nvme, ext4).
modules='virtio virtio_ring virtio_pci virtio_pci_modern_dev virtio_pci_legacy_dev virtio_blk loop'
modules+=' dm-crypt dm-delay raid1 null_blk zram lzo-rle xts ecb'

say()
{
	echo "fetch.sh: $*" >&2
}

# make_apt DIR SUITE MIRROR: a private apt; apt_get and apt_cache use it
make_apt()
{
	local dir=$1 suite=$2 mirror=$3

	mkdir -p "$dir/lists/partial" "$dir/cache/archives/partial" "$dir/none.d" || return 1
	echo "deb [arch=$arch signed-by=$keyring] $mirror $suite main" >"$dir/sources.list"
	cat >"$dir/apt.conf" <<-END
		Dir::Etc::sourcelist "$dir/sources.list";
		Dir::Etc::sourceparts "$dir/none.d";
		Dir::Etc::preferencesparts "$dir/none.d";
		Dir::State "$dir";
		Dir::State::lists "$dir/lists";
		Dir::State::status "/dev/null";
		Dir::Cache "$dir/cache";
		APT::Architecture "$arch";
		APT::Architectures { "$arch"; };
		APT::Sandbox::User "";
		Acquire::Languages "none";
		Acquire::Check-Valid-Until "false";
		Acquire::Retries "2";
	END
	export APT_CONFIG=$dir/apt.conf
}

# packages_of NAME: NAME and the kernel packages it needs. Up to 6.12 one package has image
# and modules; later they are linux-binary-* and linux-modules-*, which linux-image-* depends on.
packages_of()
{
	local todo=("$1") name dep seen=

	while [ ${#todo[@]} -gt 0 ]; do
		name=${todo[0]}
		todo=("${todo[@]:1}")
		case " $seen " in *" $name "*) continue ;; esac
		seen="$seen $name"
		for dep in $(apt-cache show --no-all-versions "$name" 2>/dev/null |
			sed -n 's/^Depends: //p' | tr ',|' '\n' | sed 's/^ *//; s/ .*//'); do
			case $dep in
			linux-image-[0-9]*-cloud-"$arch" | linux-binary-[0-9]*-cloud-"$arch" | linux-modules-[0-9]*-cloud-"$arch")
				todo+=("$dep") ;;
			esac
		done
	done
	echo "$seen" | tr ' ' '\n' | grep .
}

# unpack ROOT DEST: what is needed of the unpacked packages
unpack()
{
	local root=$1 dest=$2 image name file todo needed

	image=$(find "$root" -name 'vmlinuz-*' -type f | head -n 1)
	[ -n "$image" ] || image=$(find "$root" -path '*/modules/*/vmlinuz' -type f | head -n 1)
	[ -n "$image" ] || { say "no vmlinuz in the packages"; return 1; }
	mkdir -p "$dest/modules" || return 1
	cp "$image" "$dest/vmlinuz" || return 1
	find "$root" -path '*/lib/modules/*/kernel' -type d | head -n 1 | sed 's|/kernel$||; s|.*/||' >"$dest/release"
	[ -s "$dest/release" ] || { say "no modules in the packages"; return 1; }
	read -ra todo <<<"$modules"
	while [ ${#todo[@]} -gt 0 ]; do
		name=${todo[0]}
		todo=("${todo[@]:1}")
		[ ! -e "$dest/modules/$name.ko" ] || continue
		file=$(find "$root" -name "${name//[-_]/[-_]}.ko*" -type f | head -n 1)
		case $file in
		'') ;;	# built in, or not in this version
		*.ko) cp "$file" "$dest/modules/" || return 1 ;;
		*.ko.xz) xz -dc "$file" >"$dest/modules/$name.ko" || return 1 ;;
		*.ko.zst) zstd -qdc "$file" >"$dest/modules/$name.ko" || return 1 ;;
		*) say "$file: unknown compression"; return 1 ;;
		esac
		[ -z "$file" ] || IFS=', ' read -ra needed \
			<<<"$(grep -az '^depends=' "$dest/modules/$name.ko" | tr -d '\0' | cut -d= -f2)"
		[ -z "$file" ] || todo+=("${needed[@]}")
	done
	echo "$modules" >"$dest/wanted"
}

# fetch_suite SUITE MIRROR DEST
fetch_suite()
{
	local suite=$1 mirror=$2 dest=$3 work=$3.work package

	rm -rf "$work" && mkdir -p "$work/debs" "$work/root" || return 1
	work=$(cd "$work" && pwd)
	make_apt "$work/apt" "$suite" "$mirror" || return 1
	if ! apt-get -qq -o APT::Update::Error-Mode=any update >&2; then
		say "$mirror has no $suite, or cannot be reached"
		return 1
	fi
	package=$(apt-cache show --no-all-versions "linux-image-cloud-$arch" 2>/dev/null |
		sed -n 's/^Depends: //p' | tr ',' '\n' | sed -n 's/^ *\(linux-image-[0-9][^ ]*\).*/\1/p' | head -n 1)
	[ -n "$package" ] || { say "$suite has no linux-image-cloud-$arch"; return 1; }
	say "$suite: $(packages_of "$package" | tr '\n' ' ')"
	# shellcheck disable=SC2046
	(cd "$work/debs" && apt-get -qq download $(packages_of "$package") >&2) || return 1
	for package in "$work"/debs/*.deb; do
		dpkg-deb -x "$package" "$work/root" || return 1
	done
	unpack "$work/root" "$work/done" || return 1
	rm -rf "$dest" && mv "$work/done" "$dest"
}

[ $# -ge 2 ] || { say "usage: fetch.sh CACHE SUITE..."; exit 2; }
[ -e "$keyring" ] || { say "no $keyring: install debian-archive-keyring"; exit 1; }
cache=$1
shift
mkdir -p "$cache" || exit 1
for suite; do
	dest=$cache/$suite
	[ "$arch" = amd64 ] || dest=$dest-$arch
	# one that was unpacked for other modules is not up to date
	if [ -s "$dest/vmlinuz" ] && [ -z "${VM_REFRESH:-}" ] && [ "$(cat "$dest/wanted" 2>/dev/null)" = "$modules" ]; then
		echo "$dest"
		exit 0
	fi
	for mirror in "${mirrors[@]}"; do
		if fetch_suite "$suite" "$mirror" "$dest"; then
			rm -rf "$dest.work"
			echo "$dest"
			exit 0
		fi
		rm -rf "$dest.work"
	done
	# Better an old one than none.
	[ -s "$dest/vmlinuz" ] && echo "$dest" && exit 0
done
exit 1

#!/bin/sh
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# deb.sh VERSION STAGE OUT: a Debian package of what `make install DESTDIR=STAGE PREFIX=/usr` put there.
#
# It depends on the packages of the shared libraries the binary is linked with, found by file; a static
# binary depends on none. There are no scripts to run at installation: nothing is started, nobody is added.
set -eu

version=$1 stage=$2 out=$3
binary=$stage/usr/bin/ebpfrec
arch=$(dpkg --print-architecture)

# The package of each library that the binary names itself, in at least the version it was built against.
list=''
for soname in $(objdump -p "$binary" | sed -n 's/^ *NEEDED *//p'); do
	path=$(ldd "$binary" | sed -n "s,.*$soname => \([^ ]*\) .*,\1,p")
	package=''
	# where /usr is merged, the package may have registered either name
	for name in "$path" "${path#/usr}" "/usr$path" "$(readlink -f "$path")"; do
		package=$(dpkg -S "$name" 2>/dev/null | sed -n '1s/^\([^:,]*\)[:,].*/\1/p')
		[ -z "$package" ] || break
	done
	[ -n "$package" ] || { echo "deb.sh: no package has $soname ($path)" >&2; exit 1; }
	# the first row is enough where several architectures are installed
	upstream=$(dpkg-query -W -f '${source:Upstream-Version}\n' "$package" | head -n 1)
	upstream=${upstream%%+dfsg*}
	case ", $list" in
	*", $package ("*) ;;
	*) list="$list${list:+, }$package (>= $upstream)" ;;
	esac
done

mkdir -p "$stage/DEBIAN" "$stage/usr/share/doc/ebpfrec"
find "$stage/usr/share/man" -type f -name '*.[0-9]' -exec gzip -9nf {} +
cat >"$stage/usr/share/doc/ebpfrec/copyright" <<-END
	Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
	Upstream-Name: ebpfrec

	Files: *
	Copyright: the ebpfrec authors
	License: GPL-2.0-only or BSD-2-Clause
	 See LICENSE, beside this file.
END
size=$(du -sk --exclude=DEBIAN "$stage" | cut -f 1)
cat >"$stage/DEBIAN/control" <<-END
	Package: ebpfrec
	Version: $version
	Architecture: $arch
	Maintainer: ebpfrec authors <ebpfrec@localhost>
	Installed-Size: $size
	${list:+Depends: $list}
	Section: utils
	Priority: optional
	Description: record every context switch, allocation and block request
	 ebpfrec records what a Linux machine really did, through BPF, into compressed
	 trace files, and answers questions about any window of it afterwards: CPU time,
	 run-queue latency, memory, allocation spikes and block I/O per process.
END
sed -i '/^$/d' "$stage/DEBIAN/control"
(cd "$stage" && find usr -type f -print0 | LC_ALL=C sort -z | xargs -0 md5sum) >"$stage/DEBIAN/md5sums"
mkdir -p "$out"
dpkg-deb --root-owner-group --build "$stage" "$out/ebpfrec_${version}_$arch.deb"

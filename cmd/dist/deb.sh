#!/bin/sh
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# deb.sh VERSION STAGE OUT: a Debian package of what `make install DESTDIR=STAGE PREFIX=/usr` put there.
#
# It depends on the packages of the shared libraries the binary is linked with, found by file; a static
# binary depends on none. It has no installation scripts: no service is started, no user is added.
# The maintainer is the builder of the package, named as for Debian's own tools: DEBFULLNAME, DEBEMAIL.
set -eu

upstream_version=$1 stage=$2 out=$3
here=$(dirname "$0")
top=$here/../..
version=$upstream_version-1
maintainer="${DEBFULLNAME:-ebpfrec authors} <${DEBEMAIL:-ebpfrec@localhost}>"
doc=$stage/usr/share/doc/ebpfrec
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

# As Debian's policy wants documents: changelogs compressed, under fixed names; the licenses in one file.
mkdir -p "$stage/DEBIAN"
find "$stage/usr/share/man" -type f -name '*.[0-9]' -exec gzip -9nf {} +
gzip -9nc "$doc/CHANGELOG.md" >"$doc/changelog.gz"
"$here/debian_changelog.sh" "$version" "$maintainer" "$top/CHANGELOG.md" | gzip -9nc >"$doc/changelog.Debian.gz"
rm "$doc/CHANGELOG.md" "$doc/LICENSE"
notice=$(sed -n 's/^Copyright (c) //p' "$top/LICENSE")
[ -n "$notice" ] || { echo "deb.sh: LICENSE has no copyright notice" >&2; exit 1; }
# its text from the first condition on, in the form of a field: indented, empty lines as a dot
bsd=$(sed -n '/^Redistribution and use/,$p' "$top/LICENSE" | sed 's/^$/./; s/^/ /')
# the library of charts that the program puts into pages, if it was built with it
charts=''
notes=/usr/share/doc/libjs-dygraphs/copyright
if grep -aq 'dygraphs' "$binary" && [ -r "$notes" ]; then
	charts=$(printf '\n\nFiles: dygraph.min.js, dygraph.min.css, as parts of /usr/bin/ebpfrec\n'
		printf 'Copyright: see the license\nLicense: MIT\n'
		sed 's/^$/./; s/^/ /' "$notes")
fi
cat >"$doc/copyright" <<-END
	Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
	Upstream-Name: ebpfrec

	Files: *
	Copyright: $notice
	License: GPL-2 or BSD-2-clause$charts

	License: GPL-2
	 Version 2 of the GNU General Public License, and no other.
	 .
	 On Debian systems its text is in /usr/share/common-licenses/GPL-2.

	License: BSD-2-clause
	$bsd
END
chmod 644 "$doc"/*
size=$(du -sk --exclude=DEBIAN "$stage" | cut -f 1)
cat >"$stage/DEBIAN/control" <<-END
	Package: ebpfrec
	Version: $version
	Architecture: $arch
	Maintainer: $maintainer
	Installed-Size: $size
	${list:+Depends: $list}
	Suggests: curl
	Section: utils
	Priority: optional
	Description: record every context switch, allocation and block request
	 ebpfrec records what a Linux machine really did, through BPF, into compressed
	 trace files, and answers questions about any window of it afterwards: CPU time,
	 run-queue latency, memory, allocation spikes and block I/O per process.
END
sed -i '/^$/d' "$stage/DEBIAN/control"
echo /etc/default/ebpfrec >"$stage/DEBIAN/conffiles"
(cd "$stage" && find usr -type f -print0 | LC_ALL=C sort -z | xargs -0 md5sum) >"$stage/DEBIAN/md5sums"
mkdir -p "$out"
dpkg-deb --root-owner-group --build "$stage" "$out/ebpfrec_${version}_$arch.deb"

#!/bin/bash
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# pack.sh DIR ARCHIVE: packs the files of DIR into ARCHIVE (a .tar.xz), under DIR's last name. The same files always
# give the same archive: they are sorted, and neither owners, modes nor times of this machine are in it.
set -eu

[ $# -eq 2 ] || { echo "usage: pack.sh DIR ARCHIVE" >&2; exit 2; }
trap 'rm -f "$2.new"' EXIT
tar --format=ustar --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX \
	-C "$(dirname "$1")" -cf - "$(basename "$1")" | xz -9e -T1 >"$2.new"
mv "$2.new" "$2"

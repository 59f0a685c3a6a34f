#!/bin/sh
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# debian_changelog.sh VERSION MAINTAINER CHANGELOG.md: Debian's changelog of this version, which has what the first
# section of CHANGELOG.md says. Older versions are in that file, which is in the package, too.
set -eu

version=$1 maintainer=$2 file=$3

# The same package of the same tree: not the time at which it is built.
when=${SOURCE_DATE_EPOCH:-$(git -C "$(dirname "$file")" log -1 --format=%ct -- "$(basename "$file")" 2>/dev/null || :)}
[ -n "$when" ] || when=$(stat -c %Y "$file")

echo "ebpfrec ($version) unstable; urgency=medium"
echo
awk '
	function put(words, cnt, i, line) {
		cnt = split(item, words, " ")
		line = "  *"
		for (i = 1; i <= cnt; i++) {
			if (length(line) + 1 + length(words[i]) > 79) {
				print line
				line = "   "
			}
			line = line " " words[i]
		}
		if (cnt)
			print line
		item = ""
	}
	/^## / { if (sections++) exit; next }
	!sections { next }
	/^$/ || /^- / { put() }
	{ sub(/^- /, ""); item = item " " $0 }
	END { put() }
' "$file"
echo
echo " -- $maintainer  $(LC_ALL=C date -u -R -d "@$when")"

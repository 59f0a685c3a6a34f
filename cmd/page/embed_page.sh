#!/bin/sh
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# embed_page.sh LIBRARY LICENSE: turns the page and the library of its charts into C strings, for cmd/render/page.c, and
# the pages that need no library: of a flame graph, for cmd/render/render_stacks.c, and of two windows side by side.
# LIBRARY is the directory with dygraph.min.js and dygraph.min.css, LICENSE its license. Without them the program is
# built without the page, and says so when it is asked for one.
set -eu
here=$(dirname "$0") library=$1 license=$2
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
export LC_ALL=C

# A C string of what comes in, with a name.
string()
{
	printf 'const char page_%s[] =\n' "$1"
	sed -e 's/\\/\\\\/g' -e 's/["?]/\\&/g' -e 's/^/\t"/' -e 's/$/\\n"/'
	printf '\t"";\n'
}

# What a Content-Security-Policy calls a file.
hash()
{
	printf 'sha256-'
	# shellcheck disable=SC2059
	printf "$(sha256sum "$1" | awk '{
		for (i = 1; i < 65; i += 2) {
			n = 16 * (index("0123456789abcdef", substr($1, i, 1)) - 1) + index("0123456789abcdef", substr($1, i + 1, 1)) - 1
			printf "\\%03o", n
		}
	}')" | base64
}

# Scripts that share what they define with each other, and with nothing else.
one_script()
{
	echo '(function () {'
	echo "'use strict';"
	for name; do
		cat "$here/$name.js"
	done
	echo '})();'
}

: >"$tmp/script" >"$tmp/style" >"$tmp/license"
if [ -r "$library/dygraph.min.js" ] && [ -r "$library/dygraph.min.css" ] && [ -r "$license" ]; then
	# the comment names a file that a debugger would look for
	sed 's,^//[#@] sourceMappingURL=.*,,' "$library/dygraph.min.js" >"$tmp/script"
	one_script numbers data groups windows steer charts pictures tables flame singles overview figures explain search \
		page >>"$tmp/script"
	sed 's,/\*# sourceMappingURL=[^*]*\*/,,' "$library/dygraph.min.css" | cat - "$here/page.css" >"$tmp/style"
	sed 's/&/\&amp;/g; s/</\&lt;/g; s/>/\&gt;/g' "$license" >"$tmp/license"
	# what would end the element early must not be in it
	if grep -qiE '</(script|style)|<!--' "$tmp/script" "$tmp/style"; then
		echo "embed_page.sh: $library cannot be put into a page" >&2
		exit 1
	fi
fi

# fill_in PAGE SCRIPT...: marks become the scripts and the style; what the program fills in stays.
fill_in()
{
	page=$1
	shift
	one_script "$@" >"$tmp/own_script"
	cp "$here/page.css" "$tmp/own_style"
	awk -v script="$tmp/own_script" -v style="$tmp/own_style" -v script_hash="$(hash "$tmp/own_script")" \
		-v style_hash="$(hash "$tmp/own_style")" '
		function put_file(mark, file, line, at) {
			at = index($0, mark)
			printf "%s", substr($0, 1, at - 1)
			while ((getline line < file) > 0)
				print line
			print substr($0, at + length(mark))
		}
		/@SCRIPT@/ { put_file("@SCRIPT@", script); next }
		/@STYLE@/ { put_file("@STYLE@", style); next }
		{ sub("@SCRIPT_HASH@", script_hash); sub("@STYLE_HASH@", style_hash); print }' "$here/$page"
}

fill_in flame.html numbers flame >"$tmp/flame"
fill_in beside.html numbers beside >"$tmp/beside"

printf '/* made by cmd/page/embed_page.sh */\n#include "cmd/render/page.h"\n'
for part in script style license; do
	string "$part" <"$tmp/$part"
done
string page <"$here/page.html"
string css <"$here/page.css"
string flame <"$tmp/flame"
string beside <"$tmp/beside"
for part in script style; do
	printf 'const char page_%s_hash[] = "%s";\n' "$part" "$(hash "$tmp/$part")"
done

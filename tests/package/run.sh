#!/bin/bash
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# What a user gets besides the source tree: make install and uninstall, the Debian package (installed into a
# root of its own, run, removed), and what the shell completes.
set -u

here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
build=${BUILD:-$top/build}
tmp=$(mktemp -d /var/tmp/ebpfrec-package.XXXXXX) || exit 1
trap 'rm -rf "$tmp"' EXIT
export LC_ALL=C PATH=$PATH:/usr/sbin:/sbin

check()
{
	if eval "$2"; then
		echo "ok package: $1"
	else
		echo "not ok package: $1: $(tr '\n' ' ' <<<"$3" | cut -c 1-600)"
	fi
}

# Runs make of the build that is tested, nothing else.
make_here()
{
	make -C "$top" --no-print-directory B="$build" "$@" >"$tmp/log" 2>&1
}

make_here install DESTDIR="$tmp/inst" PREFIX=/opt/x
check "make install" "[ $? -eq 0 ]" "$(tail -n 5 "$tmp/log")"
check "every man page is installed" "[ \$(find '$tmp/inst/opt/x/share/man' -type f |
	wc -l) -eq \$(ls '$top'/cmd/*.[0-9] | wc -l) ]" "$(find "$tmp/inst" -type f)"
check "the page about traces names the documents' place" \
	"grep -q '/opt/x/share/doc/ebpfrec/FORMAT.md' '$tmp/inst/opt/x/share/man/man5/ebpfrec-trace.5'" ""
check "every command has a man page" "! '$build/ebpfrec' --help |
	sed -n '/^Commands:/,/^\$/s/^  \([a-z]*\) .*/\1/p' | grep -vxE 'help|version' |
	while read -r c; do [ -e '$tmp/inst/opt/x/share/man/man1/ebpfrec-'\$c.1 ] || echo \$c; done |
	grep ." "$("$build/ebpfrec" --help)"
units=$tmp/inst/opt/x/lib/systemd/system
check "all services are installed, with the program's place" \
	"[ \$(grep -l '=/opt/x/bin/ebpfrec\\b' '$units/'*.service | wc -l) -eq 3 ] && ! grep '@[A-Z]*DIR@' '$units'/*" \
	"$(cat "$units"/*)"
check "the timer's service runs what is installed" \
	"[ -x \"\$(sed -n 's/^ExecStart=\([^ ]*\) .*/\1/p' '$units/ebpfrec-send.service' | sed 's,^,$tmp/inst,')\" ] &&
	[ -e '$units/ebpfrec-send.timer' ]" "$(cat "$units"/ebpfrec-send.*)"
python3 "$here/send_bins.py" "$tmp/inst/opt/x/lib/ebpfrec/send_bins" "$build/ebpfrec" \
	"$build/bench/bin/gen_trace_large" 2>"$tmp/log" ||
	check "send: the script ran" false "$(tail -n 5 "$tmp/log")"
check "services are off until enabled" "[ -z \"\$(find '$tmp/inst' -path '*.wants/*' -o -name '*.preset')\" ]" \
	"$(find "$tmp/inst" -path '*systemd*')"
echo 'RECORD_ARGS=--keep 5GiB' >"$tmp/inst/etc/default/ebpfrec"
make_here install DESTDIR="$tmp/inst" PREFIX=/opt/x && make_here uninstall DESTDIR="$tmp/inst" PREFIX=/opt/x
check "a changed configuration stays" "[ \"\$(cat '$tmp/inst/etc/default/ebpfrec')\" = 'RECORD_ARGS=--keep 5GiB' ]" \
	"$(ls "$tmp/inst/etc/default")"
rm -f "$tmp/inst/etc/default/ebpfrec"
make_here install DESTDIR="$tmp/inst" PREFIX=/opt/x
make_here uninstall DESTDIR="$tmp/inst" PREFIX=/opt/x
check "make uninstall leaves no file" "[ -z \"\$(find '$tmp/inst' -type f)\" ]" "$(find "$tmp/inst" -type f)"

if command -v dpkg-deb >/dev/null; then
	make_here deb DEBFULLNAME='A Packager' DEBEMAIL=packager@example.org
	check "make deb" "[ $? -eq 0 ]" "$(tail -n 5 "$tmp/log")"
	deb=$(ls "$build"/ebpfrec_*.deb)
	root=$tmp/root
	mkdir -p "$root/var/lib/dpkg/updates" "$root/var/lib/dpkg/info"
	touch "$root/var/lib/dpkg/status"
	if [ "$(id -u)" -eq 0 ]; then
		dpkg --root="$root" --force-depends --install "$deb" >"$tmp/log" 2>&1
		check "the package installs" "[ $? -eq 0 ]" "$(tail -n 5 "$tmp/log")"
		"$root/usr/bin/ebpfrec" record -q -d 0.2 -a -o "$tmp/t" >"$tmp/log" 2>&1 &&
			"$root/usr/bin/ebpfrec" report -i "$tmp/t" cpu >>"$tmp/log" 2>&1
		check "what it installed records and reports" "[ $? -eq 0 ] && grep -q ONCPU '$tmp/log'" \
			"$(tail -n 5 "$tmp/log")"
		dpkg --root="$root" --purge ebpfrec >"$tmp/log" 2>&1
		check "the package is removed without a trace" "[ $? -eq 0 ] &&
			[ -z \"\$(find '$root' -path '$root/var' -prune -o -type f -print)\" \
			]" "$(cat "$tmp/log"; find "$root" -path "$root/var" -prune -o -type f -print)"
	else
		echo "SKIP package: installing: dpkg wants root"
	fi
	# Documents as Debian's policy wants them.
	mkdir "$tmp/deb" && dpkg-deb --extract "$deb" "$tmp/deb"
	doc=$tmp/deb/usr/share/doc/ebpfrec
	check "the package has all services and the timer, and runs nothing when it is installed" \
		"[ \$(ls '$tmp/deb/usr/lib/systemd/system' | wc -l) -eq 4 ] && ! dpkg-deb --ctrl-tarfile '$deb' | tar -t |
		grep -E 'inst|rm\$'" "$(dpkg-deb -c "$deb")"
	check "the services' configuration is the administrator's" \
		"[ \"\$(dpkg-deb --info '$deb' conffiles)\" = /etc/default/ebpfrec ]" "$(dpkg-deb --info "$deb")"
	version=$(dpkg-deb -f "$deb" Version)
	zcat "$doc/changelog.Debian.gz" >"$tmp/changelog" 2>"$tmp/log"
	check "Debian's changelog begins with the package's version" \
		"[ \"\$(head -n 1 '$tmp/changelog')\" = 'ebpfrec ($version) unstable; urgency=medium' ]" \
		"$version, $(head -n 1 "$tmp/changelog")"
	# what a line " -- " ends with is what `date -R` prints
	check "Debian's changelog ends with who and when" \
		"[ \"\$(tail -n 1 '$tmp/changelog')\" = \" -- A Packager <packager@example.org>  \$(
			date -u -R -d \"\$(sed -n '\$s/.*>  //p' '$tmp/changelog')\")\" ]" \
			"$(tail -n 1 "$tmp/changelog")"
	# shellcheck disable=SC2016
	words='{ for (i = 1; i <= NF; i++) if ($i !~ /^[-*]$/) print $i }'
	sed '/^ -- /d; 1d' "$tmp/changelog" | awk "$words" >"$tmp/words.debian"
	sed '1,/^## /d; /^## /,$d' "$top/CHANGELOG.md" | awk "$words" >"$tmp/words"
	check "Debian's changelog says what the first section of CHANGELOG.md says" \
		"[ -s '$tmp/words' ] && cmp -s '$tmp/words' '$tmp/words.debian'" \
		"$(diff "$tmp/words" "$tmp/words.debian" | head -n 5)"
	check "Debian's changelog: no line is too long" "[ \$(wc -L <'$tmp/changelog') -le 80 ]" \
		"$(wc -L <"$tmp/changelog")"
	check "the package has the whole changelog" "zcat '$doc/changelog.gz' | cmp -s - '$top/CHANGELOG.md'" \
		"$(ls -l "$doc")"
	for field in 'Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/' 'Files: *' \
		'License: GPL-2 or BSD-2-clause' 'License: GPL-2' 'License: BSD-2-clause' \
			"Copyright: $(sed -n 's/^Copyright (c) //p' "$top/LICENSE")"; do
		check "copyright: '$field'" "grep -qxF -- \"\$field\" '$doc/copyright'" "$(cat "$doc/copyright")"
	done
	sed -n '/^Redistribution/,$p' "$top/LICENSE" | awk "$words" >"$tmp/words"
	sed -n '/^ Redistribution/,$p' "$doc/copyright" | sed '/^ \.$/d' | awk "$words" >"$tmp/words.debian"
	check "copyright has all of the license's text" "[ -s '$tmp/words' ] && cmp -s '$tmp/words' '$tmp/words.debian'" \
		"$(diff "$tmp/words" "$tmp/words.debian" | head -n 5)"
	# the charts of pages, if the program has them
	! grep -aq 'dygraphs/blob' "$build/ebpfrec" ||
		check "copyright has the license of the charts' library" \
			"grep -q '^License: MIT' '$doc/copyright' && grep -q 'Permission is hereby granted' '$doc/copyright'" \
			"$(cat "$doc/copyright")"
	check "the maintainer is who builds it" \
		"[ \"\$(dpkg-deb -f '$deb' Maintainer)\" = 'A Packager <packager@example.org>' ]" \
			"$(dpkg-deb -f "$deb" Maintainer)"
	# shellcheck disable=SC2034
	depends=$(dpkg-deb -f "$deb" Depends)
	check "it depends on what the binary is linked with" \
		"ldd '$build/ebpfrec' | grep -q '=>' && grep -q libbpf <<<\"\$depends\" && grep -q sqlite <<<\"\$depends\" ||
		! ldd '$build/ebpfrec' | grep -q '=>'" "$depends"
else
	echo "SKIP package: deb: no dpkg-deb here"
fi

# complete WORD...: what bash offers for the last word
complete_words()
{
	PATH=$build:$PATH bash -c \
		'source "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _ebpfrec 2>/dev/null; printf "%s\n" "${COMPREPLY[@]}"' \
		"$top/cmd/completion/ebpfrec.bash" "$@"
}
offers()
{
	local want=$1 got

	shift
	got=$(complete_words "$@")
	check "completion of '$*'" "grep -qxF -- '$want' <<<\"\$got\"" "wanted $want, got: $got"
}
cd "$tmp" || exit 1
offers record ebpfrec re
offers report ebpfrec re
offers --spike-min ebpfrec report --sp
offers spikes ebpfrec report sp
offers alloc.slab ebpfrec record -e alloc.s
offers sched,block ebpfrec record -e sched,bl
offers json ebpfrec report --format j
offers thread ebpfrec report cpu --by th
offers sqlite ebpfrec export --to s
offers diff ebpfrec help d
mkdir -p "$tmp/my.ebpfrec"
offers my.ebpfrec ebpfrec report -i my
if command -v zsh >/dev/null; then
	zsh -n "$top/cmd/completion/_ebpfrec" 2>"$tmp/log"
	check "zsh reads its completion" "[ $? -eq 0 ]" "$(cat "$tmp/log")"
fi
exit 0

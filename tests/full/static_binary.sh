#!/bin/bash
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# The static program (make STATIC=1) where there is nothing else: an empty directory as root, with /proc and /sys as
# any container has them. And kernels' BTF that is not to be seen: --btf.
. "$(dirname "$0")/../kernel/harness.bash"

static=$top/build/static/ebpfrec
[ -x "$static" ] || { skip static_binary "not built: make STATIC=1"; exit 0; }
check "static: needs no library" "! ldd '$static' >/dev/null 2>&1" "$(ldd "$static" 2>&1)"
mkdir -p "$tmp/root/proc" "$tmp/root/sys"
cp "$static" "$tmp/root/ebpfrec"
cp /sys/kernel/btf/vmlinux "$tmp/root/btf"
# in its own mount namespace: nothing to undo
# shellcheck disable=SC2016
inside='mount -t proc proc "$root/proc" && mount --rbind /sys "$root/sys" && mount --make-rprivate "$root/sys"'
root=$tmp/root unshare -m sh -c "$inside"' && exec chroot "$root" /ebpfrec record -o /t -- /ebpfrec version' \
	>"$tmp/chroot.out" 2>"$tmp/chroot.err"
check "static: records in an empty root" "[ $? -eq 0 ] && [ -s '$tmp/chroot.out' ]" "$(cat "$tmp/chroot.err")"
# with the privileges that cmd/dist/Dockerfile names for a container
mkdir "$tmp/root/traces"
root=$tmp/root unshare -m sh -c "$inside"' &&
	exec setpriv --bounding-set=-all,+bpf,+perfmon,+sys_chroot --inh-caps=-all chroot "$root" /ebpfrec record -o \
	/traces/t -- /ebpfrec version' >"$tmp/caps.out" 2>"$tmp/caps.err"
check "static: records with CAP_BPF and CAP_PERFMON alone, as in a container" \
	"[ $? -eq 0 ] && grep -q ' 0 lost' '$tmp/caps.err'" "$(cat "$tmp/caps.err")"
# now without /proc and /sys
chroot "$tmp/root" /ebpfrec report -i /t cpu --format csv --limit 0 >"$tmp/chroot.csv" 2>"$tmp/chroot.err"
check "static: and reports there" "[ $? -eq 0 ] && grep -q ',ebpfrec,' '$tmp/chroot.csv'" \
	"$(cat "$tmp/chroot.err" "$tmp/chroot.csv")"
chroot "$tmp/root" /ebpfrec check -i /t >"$tmp/chroot.check" 2>&1
check "static: and the trace is whole" "[ $? -eq 0 ]" "$(cat "$tmp/chroot.check")"
"$static" bundle -i "$tmp/root/t" -o "$tmp/static.zip" >"$tmp/zip.out" 2>&1
check "static: makes no bundle, says why and what to do" \
	"[ $? -eq 1 ] && grep -q 'without libzip.*ebpfrec cut' '$tmp/zip.out' && [ ! -e '$tmp/static.zip' ]" \
	"$(cat "$tmp/zip.out")"
"$EBPFREC" bundle -i "$tmp/root/t" -o "$tmp/full.zip" 2>"$tmp/zip.out"
"$static" report -i "$tmp/full.zip" >"$tmp/zip.out" 2>&1
check "static: reads no bundle, says why and what to do" \
	"[ $? -eq 1 ] && grep -q 'without libzip; unpack' '$tmp/zip.out'" "$(cat "$tmp/zip.out")"
python3 "$top/tests/cli/sql_shell.py" "$static" "$tmp/root/t" >"$tmp/shell.out" 2>&1
check "static: the shell of sql works without libedit, and says so" \
	"[ \$(grep -c '^ok' '$tmp/shell.out') -ge 8 ] && ! grep '^not ok' '$tmp/shell.out'" "$(cat "$tmp/shell.out")"
mkdir "$tmp/root/etc"
echo 'someone:x:12345:54321:::/bin/none' >"$tmp/root/etc/passwd"
echo 'others:x:777:other,someone' >"$tmp/root/etc/group"
chmod 755 "$tmp" "$tmp/root"
cp "$(command -v busybox || echo /bin/false)" "$tmp/root/busybox"
if ! ldd "$tmp/root/busybox" >/dev/null 2>&1; then
	root=$tmp/root unshare -m sh -c "$inside"' &&
		exec chroot "$root" /ebpfrec record -q -e sched -o /u -u someone -- /busybox id' >"$tmp/id.out" 2>"$tmp/id.err"
	check "static: -u takes uid, gid and groups from the files there" \
		"grep -q 'uid=12345.* gid=54321 groups=.*777' '$tmp/id.out'" \
		"$(cat "$tmp/id.out" "$tmp/id.err")"
fi

# ---- BTF ----

for kind in static dynamic; do
	[ $kind = static ] && program=$static || program=$EBPFREC
	program=$program unshare -m sh -c 'mount -t tmpfs none /sys/kernel/btf &&
		exec "$program" record -o "$tmp/none" -- true' 2>"$tmp/nobtf.err"
	check "btf: $kind: without it, what and what to do is said" \
		"[ $? -eq 125 ] && grep -q 'CONFIG_DEBUG_INFO_BTF' '$tmp/nobtf.err' && grep -q -- --btf '$tmp/nobtf.err' &&
		[ ! -e '$tmp/none' ]" "$(cat "$tmp/nobtf.err")"
	program=$program unshare -m sh -c 'mount -t tmpfs none /sys/kernel/btf &&
		exec "$program" record -o "$tmp/'$kind'" --btf "$tmp/root/btf" -- true' 2>"$tmp/btf.err"
	check "btf: $kind: from a file, everything is recorded" \
		"[ $? -eq 0 ] &&
		[ \"\$(sql_value $kind 'SELECT count(DISTINCT source) FROM hook_stats
			WHERE read_cnt > 0')\" -ge 6 ]" "$(cat "$tmp/btf.err")"
done
record nofile --btf "$tmp/no-such-file" -- true
check "btf: a missing file is named" "[ $? -eq 125 ] && grep -q 'no-such-file: no such file' '$tmp/nofile.err' &&
	[ ! -e '$tmp/nofile' ]" "$(cat "$tmp/nofile.err")"
record nobtf --btf /etc/passwd -- true
check "btf: a file of something else is named" "[ $? -eq 125 ] &&
	grep -q '/etc/passwd: not a file of BTF' '$tmp/nobtf.err'" "$(cat "$tmp/nobtf.err")"
record nosection --btf /bin/true -- true
check "btf: so is a program without it" "[ $? -eq 125 ] &&
	grep -q '/bin/true: not a file of BTF' '$tmp/nosection.err'" "$(cat "$tmp/nosection.err")"
head -c 100000 "$tmp/root/btf" >"$tmp/cut"
record cutbtf --btf "$tmp/cut" -- true
check "btf: and a damaged one" "[ $? -eq 125 ] && grep -q 'not a file of BTF' '$tmp/cutbtf.err'" \
	"$(cat "$tmp/cutbtf.err")"

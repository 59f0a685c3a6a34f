#!/bin/bash
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# Redacting a recording full of identifying names: none of them is left, in no byte, compressed or not;
# every number is unchanged; so are the parents of processes, and equal names stay equal.
. "$(dirname "$0")/harness.bash"

secret=$tmp/quarterly-figures/zebrafinch
mkdir -p "$secret"
cp "$WORK/stamp" "$secret/nightingale"
cp "$WORK/busy_threads" "$secret/libkestrel.so.4"
cp "$WORK/heap_sites" "$secret/whimbrel"
v2=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/self/mounts)
export group=/nowhere
if [ -n "$v2" ] && mkdir -p "$v2/oystercatcher.slice/merlin.service" 2>/dev/null; then
	undo+=("rmdir '$v2/oystercatcher.slice/merlin.service' '$v2/oystercatcher.slice'")
	group=$v2/oystercatcher.slice/merlin.service
fi
mounted=
make_loop disk 16 && quiet_ext4 "$tmp/brambling" && mounted=brambling
export mounted
(exec -a wagtail sleep 30) &
export secret
# it runs until the mark is in the trace
hold mark
start_recorder plain -e sched,alloc,block,alloc.heap --stacks 7000 --cmdlines --note customer=goldcrest-industries \
	--mark-fd 9 -- sh -c '
	echo $$ >"$group/cgroup.procs"
	"$secret/nightingale" --password=chiffchaff "$secret/ledger.yaml" >/dev/null
	"$secret/libkestrel.so.4" one 300 >/dev/null
	"$secret/whimbrel" leak >/dev/null
	dd if=/dev/zero of="$secret/redstart.db" bs=64k count=64 conv=fsync 2>/dev/null
	'"$(until_released mark)" 9< <(sleep 0.2; echo firecrest)
wait_for "the mark" 60 "[ \"\$(sql_value plain 'SELECT count(*) FROM marks' 2>/dev/null)\" = 1 ]"
release mark
wait $recorder
check "redact: there is something to redact" "[ $? -eq 0 ]" "$(cat "$tmp/plain.err")"

"$EBPFREC" redact -i "$tmp/plain" -o "$tmp/gone" 2>"$tmp/gone.err"
check "redact: works" "[ $? -eq 0 ]" "$(cat "$tmp/gone.err")"
check "redact: for its owner only" \
	"[ -z \"\$(find '$tmp/gone' \\( -type d ! -perm 700 -o -type f ! -perm 600 \\) 2>&1)\" ]" "$(ls -la "$tmp/gone")"
"$EBPFREC" check -i "$tmp/gone" >"$tmp/gone.check" 2>&1
check "redact: the new trace is whole" "[ $? -eq 0 ]" "$(cat "$tmp/gone.check")"
"$EBPFREC" redact -i "$tmp/plain" -o "$tmp/kept" --keep-workload --keep ledger.yaml --salt one 2>"$tmp/kept.err" &&
	"$EBPFREC" redact -i "$tmp/plain" -o "$tmp/again" --keep-workload --keep ledger.yaml --salt one 2>>"$tmp/kept.err"
check "redact: with --keep-workload, --keep and --salt" "[ $? -eq 0 ]" "$(cat "$tmp/kept.err")"
check "redact: the same salt gives the same trace" \
	"(cd '$tmp/kept' && find . -name '*.ebr' -exec tail -c +65 {} +; cat manifest) | cmp - <(cd '$tmp/again' &&
	find . -name '*.ebr' -exec tail -c +65 {} +; cat manifest)" "they differ"

"$EBPFREC" bundle -i "$tmp/plain" --redact --from 100ms --to -100ms --max-size 24MB -o "$tmp/gone.zip" --show-strings \
	>"$tmp/shown" 2>"$tmp/bundle.err"
check "redact: as a bundle" "[ $? -eq 0 ] && unzip -q -j -d '$tmp/unzipped' '$tmp/gone.zip'" "$(cat "$tmp/bundle.err")"
check "redact: a bundle lists what is left" "grep -q '^process names: ebpfrec$' '$tmp/shown' &&
	! grep -q ': proc-\|nightingale\|zebrafinch\|goldcrest' '$tmp/shown'" "$(head -n 5 "$tmp/shown")"

PYTHONPATH=$top/tests/format:$PYTHONPATH checker <"$here/redact.py"

# Keys in the manifests of other recordings: a trigger's text, processes of a cut, and future keys.
cp -r "$tmp/plain" "$tmp/keys"
rm -f "$tmp"/keys/*.idx
sed -i '/^crc32c=/d' "$tmp/keys/manifest"	# it would not match
printf '%s\n' 'note.trigger=cpu>90% of whinchat' 'cut.processes=2, comm whinchat' 'cgroup=/whinchat.slice' \
	'serial.sda=whinchat' \
	'keep.bytes=whinchat' 'ring.bytes.more=whinchat' 'user=whinchat' >>"$tmp/keys/manifest"
"$EBPFREC" redact -i "$tmp/keys" -o "$tmp/keys-gone" 2>"$tmp/keys.err" &&
	"$EBPFREC" check -i "$tmp/keys-gone" 2>>"$tmp/keys.err"
check "redact: no entry of a manifest goes over as it is but those known to be no name" \
	"[ $? -eq 0 ] && ! grep -q -r whinchat '$tmp/keys-gone' && grep -q ^note.trigger= '$tmp/keys-gone/manifest'" \
	"$(cat "$tmp/keys.err"; grep -r whinchat "$tmp/keys-gone")"
if [ "$group" != /nowhere ]; then
	grep -q -r oystercatcher "$tmp/gone" && not_ok "redact: cgroup's name" "in the bytes"
fi
python3 -c 'import sys
f = open(sys.argv[1], "r+b"); f.seek(5000); b = f.read(1)[0] ^ 1; f.seek(5000); f.write(bytes([b]))' \
	"$(find "$tmp/plain" -name '*.ebr')"
"$EBPFREC" redact -i "$tmp/plain" -o "$tmp/bad" 2>"$tmp/bad.err"
rc=$?
check "redact: a damaged trace is refused, with what to do" \
	"[ $rc -eq 1 ] && grep -q 'ebpfrec repair' '$tmp/bad.err' && [ ! -e '$tmp/bad' ]" \
		"status $rc: $(cat "$tmp/bad.err")"

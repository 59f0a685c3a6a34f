#!/bin/bash
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# Which file a request moves. On an ext4 of its own: four processes read files buffered, direct and mapped, one writes
# directly, one leaves its pages to write-back. Every byte is the file's whose path it has, and the process's. Then a file
# that is renamed, a new file that gets a removed one's inode number, one below a bind mount, and one deeper than a path
# is recorded.
. "$(dirname "$0")/harness.bash"

make_loop disk 256 || { skip block_files "no loop device here"; exit 0; }
quiet_ext4 "$tmp/mnt" || { not_ok "file system on $loop" "cannot make or mount it"; exit 1; }
mkdir "$tmp/mnt/sub dir" "$tmp/mnt/inner" "$tmp/bound"
mount_at "$tmp/bound" --bind "$tmp/mnt/inner" || skip "block_files bind mount" "cannot bind here"
deep="$tmp/mnt$(printf '/d%.0s' $(seq 24))"
mkdir -p "$deep"
for f in mnt/a "mnt/sub dir/b" mnt/c mnt/old_name mnt/inner/bound; do
	dd if=/dev/zero of="$tmp/$f" bs=64k count=64 2>/dev/null
done
dd if=/dev/zero of="$deep/deep" bs=64k count=4 2>/dev/null
sync -f "$tmp/mnt"
export deep
# a recording may be made again
before_t()
{
	(cd "$tmp/mnt" && rm -f new buffered big second && { [ ! -e "sub dir/new_name" ] || mv "sub dir/new_name" old_name; })
	sync -f "$tmp/mnt"
}

cat >"$tmp/work.sh" <<-'END'
	# as KEY COMMAND...: prints its pid and becomes the command
	exec 3>&1
	as() { key=$1; shift; sh -c "echo ${key}_pid=\$\$ >&3; exec \"\$@\"" sh "$@"; }
	# cold FILE: its pages are no longer in memory
	cold() { dd "if=$1" iflag=nocache count=0 2>/dev/null; }
	cd "$tmp/mnt"
	for f in a 'sub dir/b' c old_name inner/bound "$deep/deep"; do cold "$f"; done
	as read cat a >/dev/null & as read2 cat 'sub dir/b' >/dev/null &
	wait
	cold 'sub dir/b'
	as direct dd 'if=sub dir/b' of=/dev/null bs=64k iflag=direct 2>/dev/null
	as mapped python3 -c 'import mmap, os; f = os.open("c", os.O_RDONLY); m = mmap.mmap(f, 0, prot=mmap.PROT_READ); sum(m[::4096])'
	as write dd if=/dev/zero of=new bs=64k count=64 oflag=direct 2>/dev/null
	as back dd if=/dev/zero of=buffered bs=64k count=64 conv=fsync 2>/dev/null
	as big dd if=/dev/zero of=big bs=4M count=2 oflag=direct 2>/dev/null
	cat old_name >/dev/null
	mv old_name 'sub dir/new_name' && cold 'sub dir/new_name' && cat 'sub dir/new_name' >/dev/null
	dd if=/dev/zero of=first bs=64k count=16 conv=fsync 2>/dev/null; echo first_ino=$(stat -c %i first); rm first
	dd if=/dev/zero of=second bs=64k count=32 conv=fsync 2>/dev/null; echo second_ino=$(stat -c %i second)
	cat "$tmp/bound/bound" >/dev/null
	cat "$deep/deep" >/dev/null
END
recorded_seen t -e sched,block -- bash "$tmp/work.sh"

checker <<'EOF_PY'
from trace_query import *
tmp, fs = os.environ["tmp"], os.environ["loop_name"]
t = Trace(tmp + "/t")
w = truth(tmp + "/t.out")
MIB = 1048576
rows = t.sql("SELECT r.file AS file, r.op AS op, r.pages AS pages, o.pid AS pid, sum(r.bytes) AS bytes, count(*) AS ios FROM block_requests r "
             "JOIN processes o ON o.upid = r.owner_upid WHERE device_name(r.dev) = '" + fs + "' AND r.bytes > 0 GROUP BY 1, 2, 3, 4")

def of(file, op):
    return [r for r in rows if r["file"] == tmp + file and r["op"] == op]

def whole(key, file, op, pages, size):
    got = of(file, op)
    mine = [r for r in got if r["pid"] == w[key + "_pid"]]
    check("files %s: its bytes, by their path" % key, sum(r["bytes"] for r in mine) == size, got)
    check("files %s: the kind of its pages" % key, {r["pages"] for r in mine} == {pages}, got)

# a page that read-ahead had brought before the recording began would be missing: all were dropped inside it
whole("read", "/mnt/a", "read", "file", 4 * MIB)
whole("read2", "/mnt/sub dir/b", "read", "file", 4 * MIB)
direct = [r for r in of("/mnt/sub dir/b", "read") if r["pid"] == w["direct_pid"]]
check("files direct: 64 requests of 64 KiB from its own memory", [(r["ios"], r["bytes"], r["pages"]) for r in direct] == [(64, 4 * MIB, "anon")], direct)
whole("mapped", "/mnt/c", "read", "file", 4 * MIB)
whole("write", "/mnt/new", "write", "anon", 4 * MIB)
whole("back", "/mnt/buffered", "write", "file", 4 * MIB)
whole("big", "/mnt/big", "write", "anon", 8 * MIB)
check("files renamed: before, by its old path", sum(r["bytes"] for r in of("/mnt/old_name", "read")) == 4 * MIB, of("/mnt/old_name", "read"))
check("files renamed: after, by its new one", sum(r["bytes"] for r in of("/mnt/sub dir/new_name", "read")) == 4 * MIB, of("/mnt/sub dir/new_name", "read"))
check("files: a removed file keeps its own", sum(r["bytes"] for r in of("/mnt/first", "write")) == MIB, of("/mnt/first", "write"))
check("files: the new one with its inode number, too (%s)" % ("the same" if w["first_ino"] == w["second_ino"] else "another here"),
      sum(r["bytes"] for r in of("/mnt/second", "write")) == 2 * MIB, of("/mnt/second", "write"))
check("files below a bind mount: by the file system's own mount", sum(r["bytes"] for r in of("/mnt/inner/bound", "read")) == 4 * MIB, rows)
deep = [r for r in rows if r["file"] and r["file"].endswith("/d/d/d/deep")]
check("files too deep: the last directories, and that there are more", sum(r["bytes"] for r in deep) == MIB // 4 and
      all(r["file"].startswith(".../") for r in deep), deep)
by_file = t.report("io", "--with-recorder", "--by", "file,process,device")
told = {(r["pid"], r["file"]): r["bytes"] for r in by_file if r["device"] == fs and r["file"].startswith(tmp)}
summed = {}
for r in rows:
    if r["file"] and r["file"].startswith(tmp):
        summed[r["pid"], r["file"]] = summed.get((r["pid"], r["file"]), 0) + r["bytes"]
check("files: report io --by file says the same", {k: v for k, v in told.items() if v} == summed, (told, summed))
why = t.report("why", "--comm", "dd", "--limit", "0")
files = {r["value"]: r["row"] for r in why if r["section"] == "Files" and r["name"] == "file"}
written = {r["row"]: r["value"] for r in why if r["section"] == "Files" and r["name"] == "bytes"}
check("files: report why names them", written.get(files.get(tmp + "/mnt/new")) == 4 * MIB, why)
check("files: what has none is metadata, journal or a flush", {r["pages"] for r in rows if not r["file"]} <= {"disk", "kernel", "none"},
      [r for r in rows if not r["file"]])
EOF_PY

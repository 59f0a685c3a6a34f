#!/usr/bin/env python3
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# second_reader.py TRACE OUT: a second implementation of schema/FORMAT.md, written from that document
# alone; it shares nothing with src/. Writes the events of every kind as OUT/KIND.csv, the tasks as
# OUT/processes.csv and OUT/threads.csv, and per thread what it had of CPUs, waited for them and allocated as
# OUT/sums.csv (tid, oncpu_ns, wait_ns, alloc_bytes). Says on stderr what it passed over. Slow and simple on purpose.

import bisect
import ctypes
import os
import re
import struct
import sys

M64 = (1 << 64) - 1


class Bad(Exception):
    """A block that does not exist."""


# Section 1: conventions

CRC_TABLE = []
for n in range(256):
    for _ in range(8):
        n = n >> 1 ^ (0x82F63B78 if n & 1 else 0)
    CRC_TABLE.append(n)


def crc32c(data):
    crc, table = 0xFFFFFFFF, CRC_TABLE
    for byte in data:
        crc = crc >> 8 ^ table[(crc ^ byte) & 255]
    return crc ^ 0xFFFFFFFF


assert crc32c(b"123456789") == 0xE3069283


def varint(buf, pos):
    value = 0
    for i in range(10):
        if pos >= len(buf):
            raise Bad("a varint is cut off")
        byte = buf[pos]
        pos += 1
        if i == 9 and byte > 1:
            raise Bad("a varint is too long")
        value |= (byte & 127) << 7 * i
        if byte < 128:
            return value, pos
    raise Bad("a varint is too long")


def varints(buf):
    out, pos = [], 0
    while pos < len(buf):
        value, pos = varint(buf, pos)
        out.append(value)
    return out


def unzigzag(z):
    return (z >> 1 ^ -(z & 1)) & M64


def deltas(values):
    out, last = [], 0
    for z in values:
        last = (last + unzigzag(z)) & M64
        out.append(last)
    return out


ZSTD = ctypes.CDLL("libzstd.so.1")
ZSTD.ZSTD_decompress.restype = ctypes.c_size_t
ZSTD.ZSTD_decompress.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t]


def unzstd(data, size):
    out = ctypes.create_string_buffer(max(size, 1))
    if ZSTD.ZSTD_decompress(out, size, data, len(data)) != size:
        raise Bad("a zstd frame is broken")
    return out.raw[:size]


# Section 4: blocks

MAGIC = bytes.fromhex("EB4252626C6B0D0A")
ROWS, TOKENS, BITS, INDEX, VARINTS, VARINT_DELTAS = 1, 2, 3, 4, 5, 6
COLUMN, TUPLES = 33, 34
CPU, TS, UTID, FLAGS, TUPLE = 0xF0, 0xF1, 0xF2, 0xF3, 0xF4

# Section 5: the rows of small sections; U with its width in bits
U = 64
SMALL = {
    1: [32] * 8 + ["T", "T", U, "S", "S", "S"],
    2: [32] * 5 + ["T", "T", U, U, "S", 32, 32],
    3: ["T", 8, 16, 32, 32, 32, U, "S", "S", "S"],
    4: [32, 32],
    5: ["T", 32, U, U, U, U, U, 32],
    6: ["T", 32, U, U, U, U, U, 32],
    7: [32] + [U] * 8,
    8: ["T", "T", 16, 8, 8, U, U, U],
    9: ["T", "T", U, U, U, U, U, U, U, U, U],
    10: ["T", "T", 8, U, U, U, U, U, U],
    11: ["T", U, U, U, U],
    12: [32, U, U, "S"],
    14: [U] * 6,
    15: ["T", "T", "S", "S", U, U],
    16: ["T", 8, "S"],
    17: [32, U, "T", 8, U, U, "S", "S", "S"],
    18: [32, 32, U, U],
    19: [U, 32, 32, U],
    20: ["T", "T", U, U, U, U],
}


class Section:
    def __init__(self, entry):
        (self.type, self.kind, self.column, self.part, self.encoding, self.pack, self.shift,
         self.items, self.raw, self.stored, self.crc) = struct.unpack("<HBBBBBBIIII", entry)

    def bytes(self):
        if self.pack == 0:
            if self.raw != self.stored:
                raise Bad("an unpacked section has two sizes")
            return self.data
        if self.pack != 1 or self.encoding == BITS:
            raise Bad("unknown pack")
        return unzstd(self.data, self.raw)


def parse_rows(section, from_ns):
    buf, pos, rows = section.bytes(), 0, []
    for _ in range(section.items):
        size, pos = varint(buf, pos)
        row, at, pos = buf[pos:pos + size], 0, pos + size
        if len(row) != size:
            raise Bad("a row is cut off")
        fields = []
        for field in SMALL[section.type]:
            if at == len(row):
                fields.append("" if field == "S" else 0)
                continue
            value, at = varint(row, at)
            if field == "T":
                value = (from_ns + unzigzag(value)) & M64
            elif field == "S":
                text = row[at:at + value]
                if at + value >= len(row) or row[at + value] != 0 or 0 in text:
                    raise Bad("a string is broken")
                at += value + 1
                value = text.decode("latin-1")
            elif value >> field:
                raise Bad("a value does not fit its width")
            fields.append(value)
        rows.append(fields)
    if pos != len(buf):
        raise Bad("a section is longer than its rows")
    return rows


def head_holds(buf, at):
    return (buf[at:at + 8] == MAGIC and at + 224 <= len(buf)
            and crc32c(buf[at:at + 220]) == struct.unpack_from("<I", buf, at + 220)[0])


class Block:
    """Raises Bad unless the block exists (the validity rule)."""

    def __init__(self, buf, at, before):
        (version, flags, head_bytes, size, front, section_cnt, self.from_ns, self.to_ns, self.first_ns,
         self.last_ns, self.number, cpu_cnt, _) = struct.unpack_from("<HHIQIIQQQQQII", buf, at + 8)
        self.kind_cnt = struct.unpack_from("<32I", buf, at + 80)
        self.is_carried = bool(flags & 4)
        events = sum(self.kind_cnt)
        if version != 2:
            raise Bad("unknown version")
        if (head_bytes != 224 + 24 * section_cnt or size % 8 or size > 1 << 30 or size < head_bytes
                or front > 1 << 26 or front < head_bytes or section_cnt > 512 or self.to_ns < self.from_ns
                or cpu_cnt > 8192 or events > min(1 << 23, 8 * size)
                or events and self.first_ns > self.last_ns):
            raise Bad("a limit is not kept")
        if at + size > len(buf):
            raise Bad("the file ends inside the block")
        table = buf[at + 224:at + head_bytes]
        if crc32c(table) != struct.unpack_from("<I", buf, at + 216)[0]:
            raise Bad("table_crc")
        self.sections = [Section(table[i:i + 24]) for i in range(0, len(table), 24)]
        offset, small_end, large, rows = head_bytes, head_bytes, False, 0
        for s in self.sections:
            s.data = buf[at + offset:at + offset + s.stored]
            offset += s.stored
            if s.type < 32:
                rows += s.raw
                if large or rows > 1 << 26 or s.raw > 32 * s.stored or s.items > s.stored:
                    raise Bad("small sections")
                small_end = offset
            else:
                large = True
        if small_end != front or not 0 <= size - offset < 8:
            raise Bad("sections do not end where they should")
        for s in self.sections:
            if crc32c(s.data) != s.crc:
                raise Bad("crc of section type %d kind %d" % (s.type, s.kind))
        self.small = {}
        self.utids = []
        for s in self.sections:
            if s.type == 13:
                self.utids = self.list_of(s)
            elif s.type in SMALL:
                self.small.setdefault(s.type, []).extend(parse_rows(s, self.from_ns))
        if before is not None and self.from_ns < before.to_ns:
            raise Bad("the slice overlaps the one before")
        self.cache = {}
        self.columns = {(s.type, s.kind, s.column, s.part): s for s in self.sections if s.type > 32}

    @staticmethod
    def list_of(s):
        if s.encoding != VARINT_DELTAS:
            raise Bad("unknown encoding")
        values = deltas(varints(s.bytes()))
        if len(values) != s.items:
            raise Bad("wrong number of values")
        return values

    # Section 6: event columns

    def stream(self, kind, column, part=0):
        """(values as stored, shift); (None, 0) if it is not there."""
        s = self.columns.get((COLUMN, kind, column, part))
        if s is None:
            return None, 0
        if s.encoding != TOKENS:
            raise Bad("not a stream")
        tokens = s.bytes()
        if len(tokens) != s.items:
            raise Bad("wrong number of tokens")
        b = self.columns.get((COLUMN, kind, column, part + 1))
        if b is not None and b.encoding != BITS:
            raise Bad("no bits")
        bits = b.bytes() if b else b""
        pos, held, held_cnt, out = 0, 0, 0, []
        for t in tokens:
            if t < 16:
                out.append(t)
                continue
            extra = t // 4 - 2
            if extra > 61:
                raise Bad("a token is too high")
            while held_cnt < extra:
                if pos >= len(bits):
                    raise Bad("the bits are cut off")
                held |= bits[pos] << held_cnt
                held_cnt += 8
                pos += 1
            # e = (t - 16) / 4 + 4 = extra + 2: the highest bit, two bits from the token, the extra bits
            out.append((4 | t & 3) << extra | held & (1 << extra) - 1)
            held >>= extra
            held_cnt -= extra
        if pos != len(bits) or held:
            raise Bad("bits are left over")
        return out, s.shift

    def needed(self, kind, column, part=0, cnt=None):
        values, shift = self.stream(kind, column, part)
        if values is None or cnt is not None and len(values) != cnt:
            raise Bad("kind %d has no column %d" % (kind, column))
        return values, shift

    def index(self, kind, column, cnt):
        s = self.columns.get((COLUMN, kind, column, 0))
        if s is None or s.encoding != INDEX:
            raise Bad("no index")
        more = self.columns.get((COLUMN, kind, column, 1))
        escaped = iter(varints(more.bytes()) if more else [])
        out = [i if i < 255 else 255 + next(escaped) for i in s.bytes()]
        if len(out) != cnt:
            raise Bad("wrong number of rows")
        return out

    def utid_column(self, kind, column):
        return [self.utids[i] for i in self.index(kind, column, self.kind_cnt[kind])]

    def tuples(self, kind):
        """The row's tuple of each row."""
        cnt = self.kind_cnt[kind]
        if (COLUMN, kind, TUPLE, 0) not in self.columns:
            return [0] * cnt
        return self.index(kind, TUPLE, cnt)

    def tuple_column(self, kind, column):
        s = self.columns[(TUPLES, kind, column, 0)]
        values = [v << s.shift & M64 for v in self.list_of(s)]
        return [values[t] for t in self.tuples(kind)]

    def values(self, kind, column):
        """Column of a kind by its codec; remembered, because columns refer to others."""
        key = (kind, column)
        if KINDS[kind][1][column][2] and not {(COLUMN, kind, column, 0), (TUPLES, kind, column, 0)} & set(self.columns):
            return [0] * self.kind_cnt[kind]
        if key not in self.cache:
            codec, *of = KINDS[kind][1][column][1].split()
            self.cache[key] = getattr(self, "codec_" + codec)(kind, column, *of)
        return self.cache[key]

    def codec_UTID(self, kind, column):
        return self.utid_column(kind, column)

    def codec_TUPLE(self, kind, column):
        return self.tuple_column(kind, column)

    def codec_PLAIN(self, kind, column):
        values, shift = self.needed(kind, column, 0, self.kind_cnt[kind])
        return [v << shift & M64 for v in values]

    def codec_DELTA(self, kind, column):
        values, shift = self.needed(kind, column, 0, self.kind_cnt[kind])
        return [v << shift & M64 for v in deltas(values)]

    def codec_TDELTA(self, kind, column):
        values, shift = self.needed(kind, column, 0, self.kind_cnt[kind])
        last, out = {}, []
        for t, z in zip(self.tuples(kind), values):
            last[t] = (last.get(t, 0) + unzigzag(z)) & M64
            out.append(last[t] << shift & M64)
        return out

    def new_values(self, kind, column):
        values, shift = self.stream(kind, column, 2)
        return iter([v << shift & M64 for v in deltas(values or [])])

    def codec_BACKREF(self, kind, column):
        refs, _ = self.needed(kind, column, 0, self.kind_cnt[kind])
        new, out = self.new_values(kind, column), []
        for k in refs:
            if k > len(out):
                raise Bad("a reference before the first row")
            out.append(out[-k] if k else next(new))
        return out

    def codec_XREF(self, kind, column, other):
        refs, _ = self.needed(kind, column, 0, self.kind_cnt[kind])
        new, out, row = self.new_values(kind, column), [], 0
        other = next(k for k in KINDS if KINDS[k][0] == other)
        named = self.values(other, 0) if self.kind_cnt[other] else []
        for k in refs:
            if k:
                row = (row + unzigzag(k - 1)) & M64
                out.append(named[row])
            else:
                out.append(next(new))
        return out

    def decode(self, kind):
        """[(ts_ns, cpu, flags, utid, values...)] in the order stored."""
        cnt = self.kind_cnt[kind]
        pairs = self.columns[(COLUMN, kind, CPU, 0)]
        if pairs.encoding != VARINTS:
            raise Bad("unknown encoding")
        pairs = varints(pairs.bytes())
        cpus, first = [], set()
        for cpu, rows in zip(pairs[::2], pairs[1::2]):
            first.add(len(cpus))
            cpus.extend([cpu] * rows)
        if len(cpus) != cnt or len(pairs) % 2:
            raise Bad("wrong number of rows of CPUs")
        steps, shift = self.needed(kind, TS, 0, cnt)
        times, ts = [], 0
        for i, step in enumerate(steps):
            ts = (self.first_ns if i in first else ts) + (step << shift)
            times.append(ts)
        if min(times) < self.first_ns or max(times) > self.last_ns:
            raise Bad("a time outside first_ns .. last_ns")
        columns = [self.values(kind, c) for c in range(len(KINDS[kind][1]))]
        if kind == 1:
            utids = []
            for i, n in enumerate(self.index(kind, UTID, cnt)):
                if n == 0 and i in first:
                    raise Bad("PREV in the first row of a CPU")
                utids.append(self.utids[n - 1] if n else columns[0][i - 1])
        else:
            utids = self.utid_column(kind, UTID)
        return list(zip(times, cpus, self.tuple_column(kind, FLAGS), utids, *columns))


def kinds_of(document):
    """Number, name and columns (name, codec, is later) of each kind: the table in the document."""
    found = {}
    for row in re.finditer(r"(?m)^\| (\d+) (\w+) \| (0 .*) \|$", document):
        columns = [re.fullmatch(r"\d+ (\w+) ([A-Z]+(?: \(\w+\))?)( later)?", c).groups()
                   for c in row.group(3).split(", ")]
        found[int(row.group(1))] = (row.group(2), [(c[0], c[1].replace("(", "").replace(")", ""), bool(c[2]))
                                                   for c in columns])
    return found


with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../schema/FORMAT.md"), encoding="utf-8") as f:
    KINDS = kinds_of(f.read())


# Sections 2 and 3: the directory and its files

def say(text):
    print("second_reader: " + text, file=sys.stderr)


def blocks_of(path, before):
    """Yields (block, its event rows by kind) of one chunk file, the blocks that exist."""
    with open(path, "rb") as f:
        buf = f.read()
    name, end, at = os.path.basename(path), len(buf), 64
    if (buf[:8] != b"EBRCHNK\n" or len(buf) < 64
            or crc32c(buf[:60]) != struct.unpack_from("<I", buf, 60)[0]):
        say("%s: broken file header" % name)
        at = 0
    else:
        version, _, at = struct.unpack_from("<HHI", buf, 8)
        if version != 2:
            say("%s: version %d" % (name, version))
            return
    while at < end:
        if not head_holds(buf, at):
            bad, at = at, buf.find(MAGIC, at + 1)
            while at >= 0 and not (head_holds(buf, at)
                                   and at + struct.unpack_from("<Q", buf, at + 16)[0] <= end):
                at = buf.find(MAGIC, at + 1)
            say("%s: no block at %d" % (name, bad))
            if at < 0:
                return
            continue
        size = struct.unpack_from("<Q", buf, at + 16)[0]
        try:
            block = Block(buf, at, before)
            try:
                events = {k: block.decode(k) for k in KINDS if block.kind_cnt[k]}
            except (KeyError, IndexError, StopIteration) as e:
                raise Bad("columns do not fit together: %r" % e) from e
            if block.is_carried and (before or block.from_ns != block.to_ns):
                raise Bad("carried over, but not what a trace begins with")
            before = block
            yield block, events
        except Bad as e:
            say("%s: block at %d: %s" % (name, at, e))
        # What does not lie within the file is looked for from the next byte on.
        at += size if 224 <= size <= end - at else 1


# Section 5: CPU time

UNKNOWN, FILTERED, FIRST_UTID = 1, 3, 16
IRQ, PREEMPT, NEXT_OUT = 1, 2, 8
THROTTLED = 3  # call


def stretches_of(block, switches):
    """[utid, cpu, from_ns, to_ns, place of the switch that begins it]: the slice's time, CPU by CPU."""
    last = {cpu: (block.from_ns, utid, -1) for cpu, utid in block.small.get(4, [])}
    out = []
    for place, (ts, cpu, flags, utid, next_utid, *_, stay, _, _) in enumerate(switches):
        since, runs, begun = last.get(cpu, (block.from_ns, UNKNOWN, -1))
        to = max(since, ts - stay) if stay and runs != FILTERED else ts
        out.append([runs if runs in (utid, FILTERED) and to == ts else UNKNOWN, cpu, since, to, begun])
        if to < ts:
            out.append([utid, cpu, to, ts, begun])
        last[cpu] = (ts, FILTERED if flags & NEXT_OUT else next_utid, place)
    ends = {cpu: (utid, since) for cpu, utid, since, _ in block.small.get(18, [])}
    for cpu, (since, runs, begun) in last.items():
        runs, known = ends.get(cpu, (runs, 0))
        if known > since:
            out.append([UNKNOWN, cpu, since, known, begun])
        out.append([runs, cpu, max(since, known), block.to_ns, begun])
    # A thread has one CPU at a time.
    moves = {}
    for place, (ts, cpu, flags, utid, next_utid, *_) in enumerate(switches):
        moves.setdefault(utid, []).append((ts, cpu, False, place))
        moves.setdefault(next_utid, []).append((ts, cpu, True, place))
    for piece in out:
        utid, cpu, begin, end, begun = piece
        if utid < FIRST_UTID or utid not in moves:
            continue
        mine = moves[utid]
        for ts, other, enters, place in mine[bisect.bisect_left(mine, (begin,)):
                                             bisect.bisect_left(mine, (max(end, begin + 1),))]:
            if other != cpu and (ts > begin or enters and place > begun):
                piece[0] = UNKNOWN
    return out


class Waiting:
    """A thread without a CPU, since ts if is_ready: it could have gone on, so that wake-ups are of no use to it."""

    def __init__(self, ts=None, is_ready=False, call=0):
        self.is_ready = is_ready
        # It waits since then, None: it sleeps, or it waits for the quota of its group, and not for a CPU.
        self.since = ts if is_ready and call != THROTTLED else None
        self.woken = self.again = None  # when it was woken first, and then again, which tells of a stay that nobody saw


def waits_of(switches, wakeups, off, running, starts, end_ns, ends):
    """
    Per utid the time in which it could run and had no CPU. off: who has none at the start, running: who has one;
    starts: from_ns of the blocks; ends: per utid when it exited, which may be before a stay that nobody saw, if the
    kernel's time of its arrival is late.
    """
    total, left, woken = {}, {}, set()

    def start_of_block(ts):
        return starts[bisect.bisect_right(starts, ts) - 1]

    def waited(utid, x, ts):
        # A stay that nobody saw makes the rest of its block unknown.
        if x.again is not None and x.again < ts:
            ts = start_of_block(x.again)
        if x.since is not None and x.since < ends.get(utid, 0):
            ts = min(ts, ends[utid])
        if x.since is not None and x.since < ts:
            total[utid] = total.get(utid, 0) + ts - x.since

    def enters(utid, ts):
        x = off.pop(utid, None) or Waiting()
        # It was woken before it had left, but what a block has said of it stands.
        if x.since is None and not x.is_ready and utid in woken and utid in left:
            x.since = max(left[utid], start_of_block(ts))
        waited(utid, x, ts)
        woken.discard(utid)
        if x.again is not None and x.again >= ts or x.woken is not None and x.woken >= ts:
            woken.add(utid)
        running.add(utid)

    # At one instant the order of arrival: the wake-up of a sleeper does not come before it has left.
    events = sorted([(e[0], e[1], 0, e) for e in switches] + [(e[0], e[1], 1, e) for e in wakeups], key=lambda e: e[:3])
    for ts, _, is_wakeup, e in events:
        if is_wakeup:
            utid = e[4]
            x = off.setdefault(utid, Waiting()) if utid not in running else None
            if not x:
                woken.add(utid)
            elif not x.is_ready:
                if x.since is None:
                    x.since = x.woken = ts
                elif x.again is None and ts > x.since:
                    x.again = ts
                woken.discard(utid)
            continue
        _, _, flags, utid, next_utid, prev_state, _, _, _, stay, call, _ = e
        if utid not in running and stay:
            enters(utid, max(ts - stay, start_of_block(ts)))
        elif utid in off:
            waited(utid, off[utid], start_of_block(ts))
        running.discard(utid)
        left[utid] = ts
        off[utid] = Waiting(ts, flags & PREEMPT or not prev_state, call)
        if off[utid].is_ready:
            woken.discard(utid)
        if not flags & NEXT_OUT:
            enters(next_utid, ts)
    for utid, x in off.items():
        waited(utid, x, end_ns)
    return total


def allocated_by(rows):
    total = {}
    for kind, size in (3, lambda r: r[6]), (5, lambda r: 4096 << r[5]), (10, lambda r: r[5]):
        for r in rows[kind]:
            # What an interrupt allocates is not the interrupted thread's.
            if not r[2] & IRQ:
                total[r[3]] = total.get(r[3], 0) + size(r)
    return total


def common(a, b):
    """How many bytes of b are in a, in their order."""
    if not a or not b:
        return 0
    return 1 + common(a[1:], b[1:]) if a[0] == b[0] else max(common(a[1:], b), common(a, b[1:]))


def main():
    trace, out = sys.argv[1:]
    with open(os.path.join(trace, "manifest"), "rb") as f:
        text = f.read()
    head, rest = b"ebpfrec trace 2\n", text[16:]
    matches = rest[:16] == b"crc32c=%08x\n" % crc32c(head + rest[16:])
    if not matches and (text[:16] != head if common(rest[:7], b"crc32c=") < 4
                        else re.match(rb"ebpfrec trace (?!2\n)[1-9][0-9]*\n", text)):
        sys.exit("second_reader: not a trace of version 2")
    if not (text[:16] == head and matches) and (matches or common(rest[:7], b"crc32c=") >= 4
                                                or b"\nstate=" not in text[15:]):
        say("manifest: does not match its checksum")
    files = sorted((int(m.group(1)), m.group(0)) for m in
                   (re.fullmatch(r"chunk-(\d{6,})\.ebr", n) for n in os.listdir(trace)) if m)
    start, before = None, None
    rows = {kind: [] for kind in KINDS}
    tasks = {1: {}, 2: {}}
    oncpu, off_cpu, starts = {}, {}, []
    for _, name in files:
        for block, events in blocks_of(os.path.join(trace, name), before):
            before = block
            starts.append(block.from_ns)
            if start is None:
                start, running = block.from_ns, {utid for _, utid in block.small.get(4, [])}
            # What was carried over is state, and part of no span.
            for kind in events if not block.is_carried else ():
                rows[kind].extend(events[kind])
            switches = [] if block.is_carried else sorted(events.get(1, []), key=lambda r: r[:2])
            for utid, _, begin, end, _ in stretches_of(block, switches):
                oncpu[utid] = oncpu.get(utid, 0) + end - begin
            for row in block.small.get(2, []):
                if row[10]:
                    off_cpu.setdefault(row[0], Waiting(start, row[10] == 1, row[11]))
            for table in tasks:
                for row in block.small.get(table, []):
                    tasks[table][row[0]] = row
    for kind, (name, columns) in KINDS.items():
        rows[kind].sort(key=lambda r: r[:2])  # stable: arrival
        with open(os.path.join(out, name + ".csv"), "w", encoding="ascii") as f:
            f.write(",".join(["ts_ns", "cpu", "flags", "utid"] + [c[0] for c in columns]) + "\n")
            for r in rows[kind]:
                f.write(",".join(map(str, [r[0] - start] + [v - (v >> 63 << 64) for v in r[1:]])) + "\n")
    for table, name, keep in (1, "processes", (0, 1, 3, 5, 7, 11)), (2, "threads", (0, 1, 2, 9)):
        with open(os.path.join(out, name + ".csv"), "w", encoding="latin-1") as f:
            for key in sorted(tasks[table]):
                # A name may hold what ends a line.
                f.write(",".join(str(tasks[table][key][i]).replace("\n", " ") for i in keep) + "\n")
    ends = {utid: row[6] for utid, row in tasks[2].items() if row[6]}
    sums = (oncpu, waits_of(rows[1], rows[2], off_cpu, running, starts, before.to_ns, ends), allocated_by(rows))
    with open(os.path.join(out, "sums.csv"), "w", encoding="ascii") as f:
        for utid in sorted(set().union(*sums)):
            if utid >= FIRST_UTID:
                f.write(",".join(map(str, [tasks[2][utid][2] if utid in tasks[2] else ""] +
                                     [s.get(utid, 0) for s in sums])) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())

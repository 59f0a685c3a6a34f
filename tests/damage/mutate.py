#!/usr/bin/env python3
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# mutate.py EBPFREC TRACE OTHER CASES SEED [--index]: damages copies of TRACE and asks all views about them.
#
# TRACE is whole and has several chunk files; OTHER is another trace of the same length. A case changes bits, cuts
# a file short, removes files, swaps them, or takes one from OTHER. With --index the answers come through the derived
# file; in half of the cases it was made before the damage, in the others after it. Whatever the damage:
#
#   - a row that says complete=1 is a row of the undamaged trace's answer;
#   - an answer that does not call its window incomplete is the undamaged trace's answer;
#   - in a row that is not complete, about somebody known, no column that schema/columns.decl calls a floor is above
#     that row of the undamaged trace's answer;
#   - the heading of a table says the same as csv (asked of one view in each case);
#   - the program ends with 0 or 1, and does not take long.
#
# The same seed makes the same cases. Prints "ok NAME" or "not ok NAME: what it saw" for each kind of damage.
import csv, functools, io, os, random, re, shutil, struct, subprocess, sys

ebpfrec, trace, other, cases, seed = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]), int(sys.argv[5])
index = sys.argv[6:] == ["--index"]
DERIVED = "derived.idx"
VIEWS_PER_CASE = 2 if index else 4
VIEWS = ("summary totals cpu sched states parallel why irq preempts timeline alloc memory leaks lifetimes sizes "
         "spikes io latency "
         "pattern devices loss cost").split()
WINDOWS = ([], ["--from", "1500ms", "--to", "2600ms"], ["--from", "6s"], ["--to", "900ms"], ["--every", "2s"])
copy = os.path.join(os.path.dirname(trace), "copy")
dice = random.Random(seed)
env = dict(os.environ, LC_ALL="C", TZ="UTC")


def ask(path, view, window, fmt):
    p = subprocess.run([ebpfrec, "report", "-i", path, view, "--format", fmt] + window +
                       ([] if index else ["--no-index"]),
                       capture_output=True, timeout=60, env=env)
    return p.returncode, p.stdout.decode("utf-8", "replace"), p.stderr.decode("utf-8", "replace")


def rows_of(text):
    """The sections of an answer, each as its header and its rows."""
    header, rows = None, []
    for row in csv.reader(io.StringIO(text)):
        if header is None or not row:
            header = row or None
        elif row[0] != "Recording":    # the summary says there what is damaged in the whole trace
            rows.append((tuple(header), tuple(row)))
    return rows


@functools.cache
def keys_of(header):
    """Picks of a row of this header what tells it apart."""
    at = [i for i, name in enumerate(header) if name in KEYS]
    return lambda row: tuple(row[i] for i in at)


pristine = {}


def pristine_of(view, window):
    """Rows of the undamaged answer, the set of them, and by header and keys, None: several have these."""
    key = (view, tuple(window))
    if key not in pristine:
        rc, out, err = ask(trace, view, window, "csv")
        if rc or "incomplete" in err:
            sys.exit(f"not ok pristine {view} {window}: status {rc}: {err}")
        rows, by_key = rows_of(out), {}
        for header, row in rows:
            of_header = by_key.setdefault(header, {})
            row_key = keys_of(header)(row)
            of_header[row_key] = None if row_key in of_header else row
        pristine[key] = (rows, set(rows), by_key)
    return pristine[key]


def applies(view, window):
    return "--every" not in window or view not in ("summary", "leaks", "lifetimes", "why")


KEYS = ("t_ns", "pid", "tid", "comm", "source", "cpu", "device", "op", "type", "vector", "name", "by_pid", "by_comm")


with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../schema/columns.decl")) as f:
    FLOORS = {words[0] for words in map(str.split, f) if "floor" in words[2:] and words[0] != "#"}


def too_much(rows, by_key):
    """A floor column of a row that is above the undamaged one's, of rows that their keys tell apart."""
    for header, row in rows:
        if "complete" not in header or row[header.index("complete")] == "1" or "[unknown]" in row:
            continue
        want = by_key.get(header, {}).get(keys_of(header)(row))
        for name, is_now, was in zip(header, row, want or ()):
            if name in FLOORS and is_now and was and float(is_now) > float(was) * (1 + 1e-9):
                return f"{name} is {is_now}, and was {was}: {dict(zip(header, row))}"
    return None


def is_absent(header, row, by_key):
    """A row of 0 in a bin where its group did nothing, because the group did something in another bin."""
    of_bin = "complete", "lost_events", "unowned_ios", "unowned_bytes"
    figures = [v for n, v in zip(header, row) if n not in KEYS + of_bin]
    return all(v in ("", "0") for v in figures) and keys_of(header)(row) not in by_key.get(header, {})


# ---- damage ----

def chunks(path):
    return sorted(f for f in os.listdir(path) if f.endswith(".ebr"))


def change(name, edit):
    path = os.path.join(copy, name)
    with open(path, "rb") as f:
        data = bytearray(f.read())
    what = edit(data)
    with open(path, "wb") as f:
        f.write(data)
    return f"{name}: {what}"


def flip_bit(data):
    at, bit = dice.randrange(len(data)), dice.randrange(8)
    data[at] ^= 1 << bit
    return f"bit {bit} of byte {at}"


def flip_some(data):
    return ", ".join(flip_bit(data) for _ in range(dice.randrange(2, 20)))


def zero_some(data):
    at = dice.randrange(len(data))
    n = min(len(data) - at, dice.choice((1, 16, 512, 4096)))
    data[at:at + n] = bytes(n)
    return f"{n} zeroes at {at}"


def cut_short(data):
    at = dice.randrange(len(data))
    del data[at:]
    return f"cut at {at}"


def cut_at_block(data):
    ends, at = [64], 64
    while at < len(data):
        at += struct.unpack_from("<Q", data, at + 16)[0]
        ends.append(at)
    at = dice.choice(ends[:-1])
    del data[at:]
    return f"cut after a block, at {at}"


def in_one_file(edit):
    return lambda: change(dice.choice(chunks(copy)), edit)


def remove(which):
    def run():
        name = which(chunks(copy))
        os.unlink(os.path.join(copy, name))
        return f"{name} removed"
    return run


def swap():
    a, b = dice.sample(chunks(copy), 2)
    a, b = os.path.join(copy, a), os.path.join(copy, b)
    os.rename(a, a + ".x")
    os.rename(b, a)
    os.rename(a + ".x", b)
    return f"{a} and {b} swapped"


def take_from_other():
    name = dice.choice([f for f in chunks(copy) if f in chunks(other)])
    shutil.copy(os.path.join(other, name), os.path.join(copy, name))
    return f"{name} is another trace's"


def left_over():
    name = f"chunk-{len(chunks(copy)):06d}.ebr"
    shutil.copy(os.path.join(other, chunks(other)[-1]), os.path.join(copy, name))
    return f"{name} is left over from another trace"


KINDS = {
    "a bit": in_one_file(flip_bit),
    "a bit of the manifest": lambda: change("manifest", flip_bit),
    "some bits": in_one_file(flip_some),
    "zeroes": in_one_file(zero_some),
    "a file that ends early": in_one_file(cut_short),
    "a file that ends after a block": in_one_file(cut_at_block),
    "the first file is missing": remove(lambda f: f[0]),
    "the last file is missing": remove(lambda f: f[-1]),
    "a file in the middle is missing": remove(lambda f: dice.choice(f[1:-1])),
    "two files are swapped": swap,
    "a file of another trace": take_from_other,
    "a file left over from another trace": left_over,
}


# ---- what must hold ----

def judge(view, window, with_heading):
    want, want_rows, by_key = pristine_of(view, window)
    rc, out, err = ask(copy, view, window, "csv")
    if rc not in (0, 1):
        return f"status {rc}: {err.strip()[-200:]}"
    if rc == 1:
        return None if err else "status 1 without a word"
    says_complete, rows = "the window is incomplete" not in err, rows_of(out)
    if says_complete and rows != want:
        differ = [r for r in rows if r not in want_rows][:1] or "rows are missing"
        return f"not called incomplete, and differs: {differ}"
    for header, row in rows:
        if "complete" in header and row[header.index("complete")] == "1" and (header, row) not in want_rows \
                and not is_absent(header, row, by_key):
            return f"a row says it is complete and is not the undamaged one: {dict(zip(header, row))}"
    above = too_much(rows, by_key)
    if above:
        return f"a row has more than the undamaged one: {above}"
    if not with_heading:
        return None
    rc, table, _ = ask(copy, view, window, "table")
    heading = table.split("\n")[0]
    if rc == 0 and heading.endswith(", complete") != says_complete:
        return f"csv says complete: {says_complete}, the heading: {heading}"
    return None


def main():
    if index:
        ask(trace, "totals", [], "csv")
    names, found = list(KINDS), {k: [] for k in KINDS}
    for i in range(cases):
        kind = names[i % len(names)]
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(trace, copy)
        what = KINDS[kind]()
        if index and i // len(names) % 2:
            os.unlink(os.path.join(copy, DERIVED))
            what += ", then the derived file is made"
        for nth, view in enumerate(dice.sample(VIEWS, VIEWS_PER_CASE)):
            window = dice.choice([w for w in WINDOWS if applies(view, w)])
            try:
                wrong = judge(view, window, nth == 0)
            except subprocess.TimeoutExpired:
                wrong = "not done after 60 s"
            if wrong:
                found[kind].append(f"case {i}, {what}: report {view} {' '.join(window)}: {wrong}")
    if index and not os.path.exists(os.path.join(trace, DERIVED)):
        sys.exit("not ok damage: the undamaged trace has no derived file")
    for at, (kind, wrong) in enumerate(found.items()):
        n = len(range(at, cases, len(names)))
        kind += " beside a derived file" if index else ""
        if wrong:
            print(f"not ok damage, {kind}: {len(wrong)} wrong answers in {n} cases, the first: {wrong[0]}")
            for w in wrong[1:int(os.environ.get('SHOW', '3'))]:
                print(f"# {w}")
        else:
            print(f"ok damage, {kind}: {n} cases")
    shutil.rmtree(copy, ignore_errors=True)
    return any(found.values())


sys.exit(main())

# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
"""Called by task_identity.sh."""
import glob
from trace_query import *
bad = []
for f in sorted(glob.glob(tmp + "/out.*") + glob.glob(tmp + "/odd.err")):
    data = open(f, "rb").read()
    # A newline ends a row and a CR may precede it; any other control byte is an attack or a bug.
    for m in re.finditer(rb"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]|\r(?!\n)|\t", data):
        bad.append("%s: byte 0x%02x at %d: %r" % (os.path.basename(f), m.group()[0], m.start(),
                                                  data[max(0, m.start() - 20):m.start() + 20]))
        break
    try:
        text = data.decode("utf-8")
        if re.search("[\u0080-\u009f\u202a-\u202e\u2066-\u2069]", text):
            bad.append("%s: C1 or direction control" % os.path.basename(f))
    except UnicodeDecodeError as e:
        bad.append("%s: %s" % (os.path.basename(f), e))
check("names: no control byte, all valid UTF-8, in table, csv and json", not bad, bad[:4])

formulas = []
for f in glob.glob(tmp + "/out.*.csv"):
    for row in csv.reader(open(f, newline="", encoding="utf-8", errors="replace"), strict=True):
        formulas += ["%s: %r" % (os.path.basename(f), c) for c in row if re.match(r"[=+@\t\r]|-(?![0-9.])", c)]
check("names: no CSV cell starts a formula", not formulas, formulas[:3])
parsed = 0
for f in glob.glob(tmp + "/out.*.json"):
    try:
        json.load(open(f, encoding="utf-8"))
        parsed += 1
    except ValueError as e:
        not_ok("names: JSON parses", "%s: %s" % (os.path.basename(f), e))
check("names: every JSON output parses", parsed >= 9, parsed)

t = Trace(tmp + "/odd")
children = [tuple(map(int, c.split(":"))) for c in truth(tmp + "/odd.out")["child"]]
rows = {r["pid"]: r for r in t.report("cpu", "--by", "process")}
missing = [c for c in children if c[1] not in rows]
check("names: all of them are reported, one row each", len(children) == 11 and not missing, missing)
# a row of 0 has the texts of its group, for any bytes in them
pairs = [{(r["comm"], r["user"]) for r in t.report("cpu", "--by", "comm,user", *more)}
         for more in ([], ["--every", "50ms"])]
check("names: rows of 0 have their group's", pairs[0] == pairs[1], pairs[0] ^ pairs[1])
lines = open(tmp + "/out.cpu.table", encoding="utf-8", errors="replace").read()
check("names: escapes are shown in an exported database, too",
      any("\\x1b[31mred" in x for x in open(tmp + "/out.db.processes", encoding="utf-8")), "no \\x1b[31mred")
check("names: escapes are shown, not dropped", "\\x1b[31mred" in lines and "new\\" in lines,
      [x for x in lines.split("\n") if "red" in x][:2])

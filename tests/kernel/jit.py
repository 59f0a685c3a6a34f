# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
"""Called by stacks.sh."""
from trace_query import *
NAMES_OF = {"old": "jit_old", "new": "jit_new", "odd": "odd "}


def samples(t, w, phase):
    """The texts of the stacks that have a frame in the code, while the phase lasted"""
    return [r["text"] for r in t.sql("""
        SELECT stack_text(stack, ts_ns) AS text FROM cpu_samples WHERE ts_ns >= %d AND ts_ns < %d AND stack IN (
          SELECT stack FROM stack_frames JOIN processes USING (upid) WHERE pid = %d AND addr > %d AND addr <= %d)""" %
        (t.at(w[phase + "_from"]), t.at(w[phase + "_to"]), w["pid"], w["addr"], w["addr"] + 65536))]


for name in ("file", "part", "file.zip", "dump"):
    t, w = Trace(tmp + "/" + name), truth(tmp + ("/dump.out" if name == "dump" else "/file.out"))
    seen = {}
    for phase, symbol in NAMES_OF.items():
        texts = samples(t, w, phase)
        wrong = [x for x in texts if symbol not in x or sum(s in x for s in NAMES_OF.values()) != 1]
        check("jit: %s: each sample of phase %s is in %s" % (name, phase, symbol.strip()), texts and not wrong,
              (len(texts), wrong[:3]))
        seen[phase] = len(texts)
    rows = {r["function"]: r["self_ns"] for r in t.report("profile", "--pid", str(w["pid"]))}
    check("jit: %s: rows of profile" % name, all(any(s in f for f in rows) for s in NAMES_OF.values())
          and not any("anonymous" in f for f in rows if "do_" not in f), list(rows)[:5])
t, w = Trace(tmp + "/link"), truth(tmp + "/link.out")
bare = [r["text"] for r in t.sql("""
    SELECT stack_text(stack, ts_ns) AS text FROM cpu_samples JOIN threads USING (utid)
    WHERE ts_ns >= %d AND ts_ns < %d AND tid = %d""" % (t.at(w["bare_from"]), t.at(w["bare_to"]), w["pid"]))]
bare = [x.split(";bare_code")[0] for x in bare if "bare_code" in x]
# At the function's first and last instruction the register still holds main's frame.
check("jit: data in the frame pointer's register is no caller",
      "(no frame pointer)" in bare and all(x == "(no frame pointer)" or x.endswith(";main") for x in bare), set(bare))
folded = run("report", "-i", tmp + "/file", "profile", "--format", "folded")
table = run("report", "-i", tmp + "/file", "profile", "--limit", "0")
check("jit: a name obeys no terminal, and cuts no stack", "\x1b" not in table + folded
      and any("<script>:," in x and "jit_map;" in x for x in folded.splitlines()),
      [x for x in folded.splitlines() if "script" in x][:2])

gone = "\n".join(run("sql", "-i", tmp + "/gone", "--format", "csv", q) for q in (
    "SELECT stack_text(stack, ts_ns) FROM cpu_samples", "SELECT * FROM user_sites"))
check("jit: no name is in a redacted trace", not any(x in gone for x in ("jit_old", "jit_new", "<script")), "one is")
check("jit: its module is", "[jit]" in gone, gone[-200:])

t, w = Trace(tmp + "/link"), truth(tmp + "/link.out")
texts = [x for phase in NAMES_OF for x in samples(t, w, phase)]
check("jit: a map file behind a link is not read", texts and all("(anonymous memory)" in x for x in texts), texts[:2])

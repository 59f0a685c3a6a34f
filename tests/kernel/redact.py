# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
"""redact: names and numbers of the traces of copies.sh, before and after"""
import base64
import glob
import zlib
from trace_query import *
import second_reader as reader
KTHREAD, RECORDER = 1, 2
TEXTS = {1: (11, 12, 13), 2: (9,), 3: (7, 8, 9), 12: (3,), 15: (2, 3), 16: (2,), 17: (7, 6, 8)}


def blocks(path):
    before = None
    for name in sorted(glob.glob(path + "/*.ebr")):
        for block, _ in reader.blocks_of(name, before):
            before = block
            yield block


def everything(path):
    """all bytes of a trace, and all sections unpacked"""
    out = [open(f, "rb").read() for f in glob.glob(path + "/*")]
    for block in blocks(path):
        out += [s.bytes() for s in block.sections]
    return b"\n".join(out)


def texts(path):
    """the files of a trace that are text, and its sections of rows, which have the strings"""
    out = [open(f, "rb").read() for f in glob.glob(path + "/*") if not f.endswith((".ebr", ".idx"))]
    for block in blocks(path):
        out += [s.bytes() for s in block.sections if s.type in reader.SMALL]
    return b"\n".join(out)


def left_in(everywhere, text):
    """names still there: five to seven letters occur by chance in megabytes of packed numbers, not in texts"""
    return sorted(p for p in parts if p.encode("latin-1") in (everywhere if len(p) >= 8 else text))


def manifest(path):
    return dict(line.rstrip("\n").split("=", 1) for line in open(path + "/manifest") if "=" in line)


# Every string of the original, and every part of one that is long enough not to occur by chance.
strings, stays = set(), set()
for b in blocks(tmp + "/plain"):
    for kind, columns in TEXTS.items():
        for row in b.small.get(kind, []):
            kernels = ((kind == 12 and row[0] in (1, 2, 4)) or kind == 15
                       or (kind in (1, 2) and row[6 if kind == 1 else 4] & KTHREAD)
                       or (kind in (1, 2) and row[6 if kind == 1 else 4] & RECORDER
                           and row[columns[0]].startswith("ebpfrec")))
            stays.update(row[c] for c in columns[:1] if kernels)
            strings.update(row[c] for c in columns[kernels:])
m = manifest(tmp + "/plain")
strings.update(m[k] for k in ("host", "command", "recorder.command_line", "note.customer", "mounts"))
if os.environ["mounted"]:
    check("redact: a mount point was there to be found", os.environ["mounted"] in m["mounts"], m["mounts"])
stays.update(v for k, v in m.items() if k in ("programs", "sources", "lacks", "kernel.version", "kernel.release",
                                              "cpu.model"))
# words of the format: manifest keys, which another test may look for at the same time, extensions
stays.update({k + "=" for k in m} | {"redacted ebpfrec record .service .slice [vdso]", m["machine"]})
parts = set()
for s in strings:
    parts.update({s} | set(re.split(r"[\s/]+", s)) | set(re.split(r"[\s/=.,:;'\"-]+", s)))
may_stay = "\n".join(stays)
# such letters may come out of any pseudonym Headings and names of members are not names; nor are numbers, or those of
# devices, which kernel threads have in theirs.
may_stay += open(os.environ["EBPFREC"], "rb").read().decode("latin-1") + "chunk-000000.ebr"
# Two values taking turns are common in packed columns: a part needs more than that to be told from them.
# nor do addresses of this machine itself, and ports, tell anything
LOCAL = r"(127\.0\.0\.1|0\.0\.0\.0|\[::1?\]):\d+"
parts = {p for p in parts if not re.fullmatch(r"(\w+ )?%s( > %s)?" % (LOCAL, LOCAL), p) and len(p) >= 5
         and len(set(p)) >= 4 and p not in may_stay and not re.fullmatch("-?[0-9]+([:,][0-9]*)?", p)
         and not re.fullmatch(r"[bcdfghjklmnpqrst]{1,6}(\.\w+)?", p)}
plain, gone = everything(tmp + "/plain"), everything(tmp + "/gone")
seen = set(left_in(plain, texts(tmp + "/plain")))
for word in ("nightingale", "libkestrel.so.4", "wagtail", "goldcrest", "chiffchaff", "zebrafinch", "redstart.db",
             "firecrest", "whimbrel",
             "burst_outer"):	# this one is only in stacks
    check("redact: %s was there to be found" % word, word in seen, sorted(seen)[:20])
left = left_in(gone, texts(tmp + "/gone"))
check("redact: of %d names nothing is left, packed or not" % len(seen), len(seen) > 30 and not left, left[:10])

# of the page the decoded data, not its base64
zipped, pages = re.subn(rb'(id="data"[^>]*>)([^<]+)', lambda m: m[1] + zlib.decompress(base64.b64decode(m[2])),
                        texts(tmp + "/unzipped"))
left = left_in(everything(tmp + "/unzipped") + open(tmp + "/gone.zip", "rb").read() + zipped, zipped)
left = [p for p in left if '"' not in p]  # the page is JSON
check("redact: nor in a bundle", not left and b"environment.txt" in zipped and pages, (pages, left[:10]))

functions = {r["symbol"] for r in Trace(tmp + "/plain").sql("SELECT DISTINCT symbol FROM user_sites WHERE symbol IS "
                                                            "NOT NULL")}
new = {r["symbol"] for r in Trace(tmp + "/gone").sql("SELECT DISTINCT symbol FROM user_sites WHERE symbol IS NOT NULL")}
check("redact: functions of programs have pseudonyms, one each", len(functions) == len(new) > 0
      and all(re.fullmatch("fn-[bcdfghjklmnpqrst]+", f) for f in new), (sorted(functions)[:5], sorted(new)[:5]))

# Numbers, and which rows have the same name.
a, b = Trace(tmp + "/plain"), Trace(tmp + "/gone")
NAMES = ("SELECT upid, pid, uid, comm, exe, cmdline, cgroup, is_kthread, is_workload, parent_upid "
         "FROM processes WHERE upid >= 16 ORDER BY upid")
pa, pb = a.sql(NAMES), b.sql(NAMES)
for column in ("comm", "exe", "cmdline", "cgroup"):
    pairs = {(str(x[column]), str(y[column])) for x, y in zip(pa, pb)}
    check("redact: one pseudonym for one %s" % column,
          len(pairs) == len({p for p, _ in pairs}) == len({q for _, q in pairs}), len(pairs))
check("redact: ids, parents, user ids of the system", [(r["upid"], r["pid"], r["parent_upid"], r["is_workload"])
                                                       for r in pa] == [(r["upid"], r["pid"], r["parent_upid"],
    r["is_workload"]) for r in pb], "differ")
kept = {x["comm"] for x, y in zip(pa, pb) if x["comm"] == y["comm"]}
check("redact: names that stay are the kernel's or the recorder's",
      kept <= {r["comm"] for r in pa if r["is_kthread"]} | {"ebpfrec", "ebpfrec-stats", "ebpfrec-open", ""}
      and len(kept) > 5, sorted(kept))
exe = next(r for r in pb if ".so" in str(r["exe"]))
check("redact: a path keeps its depth and what kind of file it is; the name taken from it shows",
      re.fullmatch(r"(/p[bcdfghjklmnpqrst]{6,})+\.so", exe["exe"])
      and exe["exe"].count("/") == (tmp + "/quarterly-figures/zebrafinch/x").count("/"), exe["exe"])
shell = next(r for r in pb if r["is_workload"] and str(r["cmdline"]).count(" ") > 5)
check("redact: a name and the file it is of have the same digits", shell["comm"][5:] == shell["exe"].rsplit("/p", 1)[1],
      shell)
if os.environ["group"] != "/nowhere":
    got = {r["cgroup"] for r in pb if r["is_workload"]}
    check("redact: cgroups", any(re.fullmatch(r"/p[bcdfghjklmnpqrst]{6,}\.slice/p[bcdfghjklmnpqrst]{6,}\.service",
                                              str(c)) for c in got), got)

TEXT = {"comm", "owner", "exe", "cgroup", "name", "group", "call_site", "file", "submitter",
        "stack", "user_stack", "kernel_stack"}
# the size of the new blocks is their own
TEXT.add("bytes_written")
# of a heap it names functions
TEXT.add("cause")
for args in (["cpu"], ["cpu", "--every", "100ms"], ["cpu", "--by", "comm"], ["sched"], ["alloc"],
             ["alloc", "--by", "comm"], ["io"], ["latency"], ["devices"], ["pattern"], ["spikes"], ["stacks"],
             ["leaks"], ["loss"], ["cost"]):
    both = [sorted(json.dumps([v for k, v in r.items() if k not in TEXT]) for r in t.report(*args)) for t in (a, b)]
    check("redact: report %s has the same numbers" % " ".join(args), both[0] == both[1]
          and (both[0] or args[0] == "spikes"), [x for x in both[0] if x not in both[1]][:2])
z = Trace(tmp + "/gone.zip")
# Not sched: a wait that begins before the window, or is known from after it only, is another one in a cut;
# copies.sh has windows without such waits.
# A cut does not know which bytes a process inherited that had not called exec yet (schema/LIMITS.md).
FORKED = {r["pid"] for r in a.sql(
        "SELECT pid FROM processes AS p WHERE start_ns > 0 AND start_ns < 100000000 AND NOT EXISTS "
                                  "(SELECT 1 FROM task_events AS e WHERE e.upid = p.upid AND e.type = 'exec' AND "
                                  "e.ts_ns < 100000000)")}
for args in (["cpu"], ["cpu", "--every", "100ms"], ["alloc"], ["io"], ["latency"], ["devices"], ["pattern"], ["memory"],
             ["stacks"], ["loss"]):
    window = ["--from", "100ms", "--to", "-100ms"]
    both = [sorted(json.dumps([v for k, v in r.items() if k not in TEXT | {"peak_ns", "rss_peak_at_ns", "t_ns"}])
                   for r in rows if r.get("pid") not in FORKED or args[0] not in ("alloc", "memory"))
            for rows in (a.report(*args, *window), z.report(*args))]
    check("redact: report %s of a bundle has the numbers of that window" % " ".join(args), both[0] == both[1]
          and both[0], ([x for x in both[0] if x not in both[1]], [x for x in both[1] if x not in both[0]]))
SUMS = ("SELECT count(*), sum(ts_ns), sum(utid) FROM switches UNION ALL SELECT count(*), sum(ts_ns), sum(bytes) FROM "
        "slab_allocs " "UNION ALL SELECT count(*), sum(ts_ns), sum(bytes) FROM rss_points UNION ALL SELECT count(*), "
        "sum(ts_ns), sum(sector) FROM block_events")
check("redact: the events are the same", a.sql(SUMS) == b.sql(SUMS), b.sql(SUMS))

# Names that are kept on request.
k = Trace(tmp + "/kept")
pk = k.sql(NAMES)
check("redact: --keep-workload keeps its command lines", all(x["cmdline"] == y["cmdline"] and x["exe"] == y["exe"]
    and x["comm"] == y["comm"] for x, y in zip(pa, pk) if x["is_workload"])
      and manifest(tmp + "/kept")["command"] == m["command"], [r["cmdline"] for r in pk if r["is_workload"]][:2])
others = [y for x, y in zip(pa, pk) if not x["is_workload"] and "wagtail" in str(x["cmdline"])]
check("redact: and those of nobody else", others and not any("wagtail" in str(r["cmdline"]) for r in others), others)
check("redact: --keep keeps a word", b"ledger.yaml" in everything(tmp + "/kept").replace(m["command"].encode(), b"")
      and b"firecrest" not in everything(tmp + "/kept"), "no")
check("redact: the host goes all the same", manifest(tmp + "/kept")["host"].startswith("host-"),
      manifest(tmp + "/kept")["host"])

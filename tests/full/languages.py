# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
"""Called by languages.sh."""

from trace_query import *

# of a process or a thread, and of Go's threads on their own stacks
FIRST = re.compile(r"_start|__clone3?|clone|start_thread|__libc_start_(call_)?main|_dl_.*|_?_?restore_rt|_rt0_.*|"
                   r"runtime\.(goexit|mstart|mcall|systemstack|morestack|clone|rt0).*")
UNNAMED = re.compile(r"\(.*\)$|.*\+0x[0-9a-f]+( \(.*\))?$|.*\+\[0x.*|0x[0-9a-f]+")

for name in os.environ["RAN"].split():
    options = ["--symbols", tmp + "/debug"] if name == "cpp_stripped" else []
    rows = rows_of(run("sql", "-i", "%s/%s.rec" % (tmp, name), *options, "--format", "csv", """
        SELECT stack_text(stack, ts_ns, 'user') AS text, count(*) AS cnt FROM cpu_samples JOIN threads USING (utid)
        JOIN processes USING (upid) WHERE processes.is_workload
        AND processes.comm NOT IN ('sh', 'bash', 'unshare', 'mount', 'mkdir') GROUP BY 1"""))
    stacks = [(r["text"].split(";"), int(r["cnt"])) for r in rows if r["text"] and r["text"] != "[no stack]"]
    total = sum(n for _, n in stacks)
    leaf = sum(n for s, n in stacks if not UNNAMED.fullmatch(s[-1]))
    first = sum(n for s, n in stacks if FIRST.fullmatch(s[0]))
    own = sum(n for s, n in stacks if any("leaf" in x for x in s))
    print("# %s: %d samples; %.1f %% end in a named function, %.1f %% begin with the first one, %.1f %% are in leaf" % (
        name, total, 100 * leaf / max(total, 1), 100 * first / max(total, 1), 100 * own / max(total, 1)))
    worst = sorted(((n, ";".join(s)) for s, n in stacks if UNNAMED.fullmatch(s[-1]) or not FIRST.fullmatch(s[0])),
                   reverse=True)[:4]
    check("languages: %s: 95 %% of the samples are in a named function" % name, total > 100 and leaf >= 0.95 * total,
          (total, leaf, worst))
    check("languages: %s: 95 %% of the stacks begin with the first function" % name, first >= 0.95 * total,
          (total, first, worst))
    check("languages: %s: most are in leaf" % name, own > 0.5 * total, (total, own, stacks[:3]))

for name in (n for n in os.environ["RAN"].split() if n.startswith("go")):
    texts = [r["text"] for r in Trace("%s/%s.rec" % (tmp, name)).sql("""
        SELECT stack_text(stack, ts_ns, 'user') AS text FROM cpu_samples JOIN threads USING (utid)
        JOIN processes USING (upid) WHERE processes.comm = '%s'""" % name) if r["text"]]
    leaf = [x for x in texts if x.endswith(";main.leaf")]
    wrong = [x for x in leaf if not x.startswith("runtime.goexit") or ";main.work;main.middle;main.leaf" not in x]
    check("languages: %s: leaf has its callers, up to the goroutine's first function" % name,
          len(leaf) > 100 and not wrong, (len(leaf), len(texts), wrong[:3]))
    go = [x for x in texts if ";main." in x or ";runtime.gcBgMarkWorker" in x]
    short = [x for x in go if not x.startswith("runtime.goexit")]
    check("languages: %s: no stack of a goroutine ends early" % name, not short, (len(go), short[:3]))
    # a thread that has not run since exec is at its program's first instruction
    unnamed = [x for x in texts if name + "+" in x and not x.startswith("(not unwound)")]
    check("languages: %s: no code of the program is without a name" % name, not unnamed, (len(texts), unnamed[:3]))

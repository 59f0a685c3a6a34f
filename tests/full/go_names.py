# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
"""Called by go_names.sh."""
from trace_query import *

for name in ("full", "stripped", "pie"):
    texts = [r["text"] for r in Trace("%s/%s.rec" % (os.environ["tmp"], name)).sql("""
        SELECT stack_text(stack, ts_ns, 'user') AS text FROM cpu_samples JOIN threads USING (utid)
        JOIN processes USING (upid) WHERE processes.comm = '%s'""" % name) if r["text"]]
    leaf = [x for x in texts if x.endswith(";main.leaf")]
    wrong = [x for x in leaf if not x.startswith("runtime.goexit") or ";main.work;main.middle;main.leaf" not in x]
    check("go: %s: leaf has its callers, up to the goroutine's first function" % name, len(leaf) > 100 and not wrong,
          (len(leaf), len(texts), wrong[:3]))
    go = [x for x in texts if ";main." in x or ";runtime.gcBgMarkWorker" in x]
    short = [x for x in go if not x.startswith("runtime.goexit")]
    check("go: %s: no stack of a goroutine ends early" % name, not short, (len(go), short[:3]))
    unnamed = [x for x in texts if name + "+" in x]
    check("go: %s: no code of the program is without a name" % name, not unnamed, (len(texts), unnamed[:3]))

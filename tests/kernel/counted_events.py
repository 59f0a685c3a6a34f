# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
"""Called by record_command.sh."""
from trace_query import *
t = Trace(tmp + "/counted")
said = lambda name: int(re.search(r"([0-9,]+) events", open(tmp + "/" + name).read()).group(1).replace(",", ""))
info = run("info", "-i", t.path, "--format", "csv")
facts = dict(line.split(",")[1:3] for line in info.splitlines() if line.startswith("events,"))
counts = {"record": said("counted.err"), "check": said("checked.err"), "info": int(facts["all"]), "info, added up":
          sum(int(v) for k, v in facts.items() if k not in ("all", "bytes_per_event")),
          "cost": t.report("cost")[0]["events"],
          "loss": sum(r["read"] for r in t.report("loss"))}
check("command: record, check, info, cost and loss count the same events", len(set(counts.values())) == 1, counts)
check("command: with those of tasks, and beside paths", int(facts["task"]) > 0 and
      t.one("SELECT count(*) FROM block_events WHERE path IS NOT NULL") > 0, facts)

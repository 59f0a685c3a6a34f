# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
"""Called by other_tools.sh."""
from trace_query import *
rows = json.load(open(os.environ["tmp"] + "/out/assess.json"))
check("assess: all workloads took part", len({r["workload"] for r in rows}) == 4 and len(rows) >= 20, len(rows))
for r in rows:
    if r["verdict"] != "-":
        check("assess: %s: %s, %s" % (r["workload"].split(":")[0], r["figure"], r["source"]),
              r["verdict"] in ("ok", "lost"), r)

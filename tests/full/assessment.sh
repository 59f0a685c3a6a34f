#!/bin/bash
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# The short form of `make assess`: every figure within what its source explains. Which figures, how far they may
# differ and why is in tests/assess/assess.py; node-exporter and fio only take part in the long form.
. "$(dirname "$0")/../kernel/harness.bash"

command -v stress >/dev/null || { skip assess "stress is not installed"; exit 0; }
PYTHONPATH=$top/tests/assess:$here
mkdir -p "$tmp/scratch"
python3 "$top/tests/assess/assess.py" --quick --only cpu,memory,hdd,forks --out "$tmp/out" --scratch "$tmp/scratch" \
	>"$tmp/said" 2>&1
check "assess: it runs to its end" "[ -s '$tmp/out/assess.json' ]" "$(tail -n 3 "$tmp/said")"

checker <<'EOF_PY'
import json
from trace_query import *
rows = json.load(open(os.environ["tmp"] + "/out/assess.json"))
check("assess: all workloads took part", len({r["workload"] for r in rows}) == 4 and len(rows) >= 20, len(rows))
for r in rows:
    if r["verdict"] != "-":
        check("assess: %s: %s, %s" % (r["workload"].split(":")[0], r["figure"], r["source"]),
              r["verdict"] in ("ok", "lost"), r)
EOF_PY

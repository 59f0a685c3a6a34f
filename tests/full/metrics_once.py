# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
"""Called by metrics.sh."""
from metrics_text import *
t = Trace(tmp + "/a")
once = parse(open(tmp + "/once.txt", "rb").read())
bad = compare(once, expected(t))
check("metrics, once: all %d figures are those of reports" % len(once), len(once) > 100 and not bad, bad[:3])
users = parse(open(tmp + "/user.txt", "rb").read())
check("metrics, --by user: the sum is the same", total(users, "ebpfrec_cpu_seconds_total") ==
      total(once, "ebpfrec_cpu_seconds_total") and
      ("ebpfrec_cpu_seconds_total", (("user", "root"),)) in users, total(users, "ebpfrec_cpu_seconds_total"))
few = parse(open(tmp + "/few.txt", "rb").read())
names = {dict(labels).get("comm") for name, labels in few} - {None}
check("metrics, --top 1: few labels, and the sums are the same", 2 <= len(names) <= 6 and "[other]" in names and
      all(total(few, n) == total(once, n) for n, labels in once if n.endswith("_total")), names)
names = {dict(labels).get("comm") for name, labels in once}
check("metrics: hostile names are shown, escaped", {"\\x1b[31mred\\x1b[0m", "new\\x0aline", "a\"b,c",
                                                    "\\x9b31mC1\\xff"} <= names, names)
text = open(tmp + "/textfiles/ebpfrec.prom", "rb").read()
check("metrics, text file: the same, without times", parse(text) == once
      and os.stat(tmp + "/textfiles/ebpfrec.prom").st_mode & 0o777 == 0o644
      and os.listdir(tmp + "/textfiles") == ["ebpfrec.prom"], text[:300])

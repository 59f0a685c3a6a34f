# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
"""Called by fleet.sh."""
from fleet_ask import *
for host in HOSTS[4:]:
    for name in ("bins", "tables"):
        path = "%s/%s.%s" % (tmp, host, name)
        try:
            send(open(path, "rb").read())
            os.remove(path)
        except Failed:
            pass  # refused: it goes again
here = whole_hosts(skip_unavailable_shards=1)
check("fleet: without a server, its hosts are seen to be missing", 0 < len(here) < 8, here)

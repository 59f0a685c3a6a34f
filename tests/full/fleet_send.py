# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
"""Called by fleet.sh."""
from fleet_ask import *
for server in (0, 1):
    for statement in run("export", "--to", "clickhouse", "--schema", "--cluster", "fleet").split(";\n"):
        if statement.strip():
            ask(statement, server=server)
for host in HOSTS[:4]:
    send(stream(host, "--every", "1s"))
    send(stream(host) if host == "host0" else stream(host, "-t", TABLES))
for host in HOSTS[4:]:
    for name, args in (("bins", ["--every", "1s"]), ("tables", ["-t", TABLES])):
        open("%s/%s.%s" % (tmp, host, name), "wb").write(stream(host, *args))

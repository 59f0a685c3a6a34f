#!/bin/bash
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# Eight recordings as eight hosts in two ClickHouse servers, the shards of one cluster. Rows for a server that is
# down are refused, and sent again when it is back. Rows that are sent twice or in part change no answer. The questions
# of schema/fleet/questions.sql have the results of `ebpfrec report` and `ebpfrec sql`, host by host.
. "$(dirname "$0")/../kernel/harness.bash"
. "$here/clickhouse.bash"

start_server 0
start_server 1

# host NUMBER ROLE COMMAND...: a recording with the name of this host
host()
{
	local name=host$1 role=$2

	shift 2
	recorded "$name" -e light --note "role=$role" -- "$@"
	sed -i "/^crc32c=/d;s/^host=.*/host=$name/" "$tmp/$name/manifest"
}

burn='for i in 1 2 3 4; do $WORK/busy_threads one 400 & done; wait'
host 0 web "$WORK/touch_memory" 64 700 50 700
host 1 web "$WORK/busy_threads" one 400
sleep 1.1 # the roll-out: no second has a part of both sides
host 2 web sh -c "$burn"
host 3 web "$WORK/busy_threads" two 400
host 4 db dd if=/dev/zero of="$tmp/file" bs=64k count=200 oflag=direct
host 5 db dd if="$tmp/file" of=/dev/null bs=4k count=500 iflag=direct
host 6 db "$WORK/touch_memory" 150 50 0 50
host 7 db sh -c "$burn"
"$EBPFREC" cut -i "$tmp/host1" --until 0.2s -o "$tmp/cut" 2>/dev/null &&
	"$EBPFREC" bundle -i "$tmp/host1" -o "$tmp/host1.zip" >/dev/null 2>&1
export http_0 http_1 schema=$top/schema/fleet

# ask.py: a server's answers
cat >"$tmp/ask.py" <<'EOF_PY'
import time
import urllib.error
import urllib.parse
import urllib.request
from fleet_questions import *
tmp = os.environ["tmp"]
HOSTS = ["host%d" % i for i in range(8)]


class Failed(Exception):
    """a server's error"""


def ask(query, data=None, server=0, **settings):
    url = "http://127.0.0.1:%s/?%s" % (os.environ["http_%d" % server],
                                       urllib.parse.urlencode({"query": query, **settings}))
    try:
        with urllib.request.urlopen(urllib.request.Request(url, data if data is not None else b""), timeout=60) as f:
            return [["" if v == "\\N" else number(v) for v in line.split("\t")]
                    for line in f.read().decode().splitlines()]
    except urllib.error.HTTPError as e:
        raise Failed("%s: %s" % (query[:300], e.read().decode()[:300]))


def stream(host, *args):
    return subprocess.run([EBPFREC, "export", "-q", "-i", tmp + "/" + host, "--to", "clickhouse", "-o", "-", *args],
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True).stdout


def send(data):
    """with the setting of the manual page: it is confirmed when all shards have it"""
    ask("INSERT INTO landing FORMAT RowBinary", data, insert_distributed_sync=1)


def whole_hosts(**settings):
    """hosts of which bins and tables have arrived whole"""
    return {r[0] for r in ask("SELECT host FROM loads WHERE whole GROUP BY host HAVING uniq(load) > 1", **settings)}


TABLES = "info,threads,processes,sched_slices,block_requests"
EOF_PY
export PYTHONPATH=$PYTHONPATH:$tmp

checker <<'EOF_PY'
from ask import *
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
EOF_PY
kill -KILL "$pid_1"
wait "$pid_1" 2>/dev/null
checker <<'EOF_PY'
from ask import *
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
EOF_PY
start_server 1
checker <"$top/tests/full/fleet.py"

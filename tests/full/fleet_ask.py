# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
"""fleet_ask: answers of the servers of fleet.sh."""
import urllib.error
import urllib.parse
import urllib.request
from fleet_questions import *
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

# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
"""
Called by request_causes.sh: the web server with its clients, which logs the length of each request in us, and the
comparison of logs with traces.
"""
import http.client
import http.server
import itertools
import os
import sys
import threading
import time


def serve(log):
    ids, lengths = itertools.count(1), []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            start, tid, nr = time.monotonic_ns(), threading.get_native_id(), next(ids)
            os.write(9, b"begin GET %d tid=%d\n" % (nr, tid))
            time.sleep(int(self.path[1:]) / 1000)
            self.send_response(200)
            self.end_headers()
            os.write(9, b"end %d tid=%d\n" % (nr, tid))
            lengths.append((time.monotonic_ns() - start) // 1000)

        def log_message(self, *args):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()

    def client(k):
        for i in range(150):
            c = http.client.HTTPConnection("127.0.0.1", server.server_port)
            c.request("GET", "/%d" % (1 + (7 * i + k) % 20))
            c.getresponse().read()
            c.close()
    clients = [threading.Thread(target=client, args=(k,)) for k in range(2)]
    for t in clients:
        t.start()
    for t in clients:
        t.join()
    server.shutdown()
    with open(log, "w") as f:
        f.writelines("%d\n" % us for us in lengths)


if sys.argv[1:2] == ["serve"]:
    serve(sys.argv[2])
    sys.exit()

from trace_query import *  # noqa: E402,F403
for name in ("web", "pg"):
    if not os.path.exists("%s/%s.log" % (tmp, name)):
        continue
    log = sorted(int(line) for line in open("%s/%s.log" % (tmp, name)))
    rows = Trace("%s/%s" % (tmp, name)).report("requests")
    check("%s: one request per line of its log, all of them ended" % name,
          [(r["requests"], r["open"]) for r in rows] == [(len(log), 0)], (rows, len(log)))
    for column, pct, most_us in (("p50_ns", 50, 1000), ("p90_ns", 90, 2000), ("p99_ns", 99, 5000)):
        want = log[-(-len(log) * pct // 100) - 1]
        got = rows[0][column] / 1000
        # the log's us are cut off
        check("%s: its %s is the log's, of the request alone" % (name, column), want - most_us <= got < want + 1,
              (got, want))
    # the server of PostgreSQL is not the workload
    said = [r["value"] for r in rows_of(run("report", "-i", "%s/%s" % (tmp, name), "why", "--requests", "*", "--format",
                                            "csv")) if r["section"] == "In short"]
    check("%s: why compares requests, whoever's they are" % name, said and said[0].startswith("The slowest "), said)

# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
"""
send_bins.py SEND_BINS PROGRAM GENERATOR: what ebpfrec-send.timer runs every minute, while a trace grows, a server
refuses it or is away, and the recorder is started anew. A made trace of five minutes grows block by block, and this
program pretends to record it, and to be the server. Prints "ok NAME", "not ok NAME: what it saw".
"""
import gzip
import http.server
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../kernel"))
SEND_BINS, PROGRAM, GENERATOR = sys.argv[1:4]
os.environ.update(EBPFREC=PROGRAM, TZ="UTC")
import landing  # noqa: E402
import trace_query  # noqa: E402


def check(name, condition, saw):
    print("ok send: " + name if condition else "not ok send: %s: %s" % (name, str(saw).replace("\n", " / ")[:1500]))


class Server(http.server.BaseHTTPRequestHandler):
    status, paths, bodies = 200, [], []

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if Server.status == 200:
            Server.paths.append(self.path)
            Server.bodies.append(gzip.decompress(body) if self.headers["Content-Encoding"] == "gzip" else body)
        self.send_response(Server.status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *args):
        pass


class Growing:
    """a trace as it is while it is recorded: the first blocks of the whole one"""
    def __init__(self, path, seed):
        self.path, self.whole = path, "%s-%d" % (tmp, seed)
        subprocess.run([GENERATOR, "-n", "3000", "-r", "10", "-s", str(seed), self.whole], check=True,
                       stdout=subprocess.DEVNULL)
        os.mkdir(path)
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(path + "/control")
        lines = open(self.whole + "/manifest").readlines()
        with open(path + "/manifest", "w") as f:
            f.writelines(line.replace("finished", "recording") for line in lines
                         if not line.startswith(("crc32c=", "span.")))
        self.blocks = trace_query.Trace(self.whole).sql("SELECT to_ns, file, offset_bytes + bytes AS upto FROM "
                                                        "blocks ORDER BY from_ns")

    def grow(self, seconds):
        for b in self.blocks:
            if b["to_ns"] <= seconds * 10**9:
                with open("%s/%s" % (self.whole, b["file"]), "rb") as f, open("%s/%s" % (self.path, b["file"]),
                    "ab") as to:
                    f.seek(to.tell())
                    to.write(f.read(max(0, b["upto"] - to.tell())))

    def finish(self):
        self.socket.close()
        shutil.rmtree(self.path)
        shutil.copytree(self.whole, self.path)


def run(url=None):
    """its status, what it said, and the rows of bins that the server got: [(load, [row])]"""
    Server.paths, Server.bodies = [], []
    p = subprocess.run([SEND_BINS, tmp + "/traces", tmp + "/outbox"], env={**os.environ, "SEND_URL": url or here},
                       stderr=subprocess.PIPE, text=True)
    loads = []
    for body in Server.bodies:
        rows = landing.rows(body)
        loads.append([r for t, r in rows if t == "comm_bins"])
        ends = [r for t, r in rows if t == "loads"]
        check("a load says first what it has, and last how many rows", rows[0][0] == rows[-1][0] == "loads" and
              [e["sent_rows"] for e in ends] == [None, len(loads[-1])], ends)
    got.extend(Server.bodies)
    return p.returncode, p.stderr, loads


def seconds(load):
    """the window of a load's bins, from the start of the trace's first minute"""
    return [(f(r["unix_ns"] for r in load) - START) / 1e9 for f in (min, max)] if load else None


START = 1_700_001_000 * 10**9
got = []
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
threading.Thread(target=server.serve_forever, daemon=True).start()
here = "http://127.0.0.1:%d/?database=x" % server.server_port
with tempfile.TemporaryDirectory() as tmp:
    for name in ("/traces", "/outbox"):
        os.mkdir(tmp + name)
    p = subprocess.run([SEND_BINS, tmp + "/traces", tmp + "/outbox"],
                       env={k: v for k, v in os.environ.items() if k != "SEND_URL"}, stderr=subprocess.PIPE, text=True)
    check("without an address it says what is missing", p.returncode == 2 and "SEND_URL" in p.stderr, p)
    check("without a trace there is nothing to send", run() == (0, "", []), "something")
    trace = Growing(tmp + "/traces/trace", 7)
    trace.grow(59)
    status, said, loads = run()
    check("no minute is over yet", status == 0 and not loads, (status, said, loads))
    trace.grow(75)
    status, said, loads = run()
    check("the first minute goes, as whole bins", status == 0 and [seconds(x) for x in loads] == [[0, 59]] and
          all(r["bin_ns"] == 10**9 for r in loads[0]), (status, said, [seconds(x) for x in loads]))
    check("the server is to confirm what its cluster has",
          "database=x&insert_distributed_sync=1&query=INSERT+INTO+landing" in "".join(Server.paths), Server.paths)
    status, said, loads = run()
    check("within a minute nothing goes twice", status == 0 and not loads, (status, said, len(loads)))
    trace.grow(130)
    Server.status = 500
    status, said, loads = run()
    check("a server that fails is a failure that is said", status != 0 and "500" in said
          and len(os.listdir(tmp + "/outbox")) >= 2, (status, said))
    kept = {f: open("%s/outbox/%s" % (tmp, f), "rb").read() for f in os.listdir(tmp + "/outbox") if f.endswith(".gz")}
    trace.grow(185)
    status, said, loads = run("http://127.0.0.1:1")
    check("so is one that is away", status != 0 and "onnect" in said, (status, said))
    Server.status = 200
    status, said, loads = run()
    check("both minutes wait for it, and go", status == 0 and sorted(map(seconds, loads)) == [[60, 119], [120, 179]],
          (status, said, list(map(seconds, loads))))
    check("what was refused goes as the very same bytes", len(kept) == 1
          and gzip.decompress(list(kept.values())[0]) in Server.bodies, len(kept))
    trace.finish()
    os.rename(trace.path, trace.path + ".old")
    second = Growing(tmp + "/traces/trace", 8)
    second.grow(70)
    status, said, loads = run()
    check("the rest of a recording that ended goes, and the first minute of the next one", status == 0 and
          sorted(map(seconds, loads)) == [[0, 59], [180, 297]], (status, said, list(map(seconds, loads))))
    status, said, loads = run()
    check("then all is sent", status == 0 and not loads and [f for f in os.listdir(tmp + "/outbox")
        if f.endswith(".gz")] == [], (status, said, len(loads)))

    # all that went, against what a report of the whole trace has; levels of memory are in the first bin of each load,
    # too
    whole = trace_query.Trace(trace.whole)
    uuid = whole.one("SELECT value FROM info WHERE key = 'trace.uuid'").replace("-", "")
    columns = ("name", "device", "op", "lat_low_ns", "bin_ns", "running_ns", "ios", "io_bytes", "slab_alloc_bytes",
               "cpus")
    sent = [(r["unix_ns"], *((r[c] if r[c] != "" else None) for c in columns)) for body in got for t,
            r in landing.rows(body) if t == "comm_bins" and "%016x%016x" % r["trace_id"] == uuid]
    want = [(START + r["t_ns"], *((r[c] if r[c] != "" else None) for c in columns))
            for r in whole.report("bins", "--every", "1s", "--align")]
    check("each bin of the recording has arrived, and once", sorted(map(str, sent)) == sorted(map(str, want))
          and len(want) > 1000, (len(sent), len(want), sorted(set(map(str, sent)) ^ set(map(str, want)))[:4]))
server.shutdown()

# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
"""Called by metrics.sh."""
from metrics_text import *
import gzip
import signal
import socket
import threading
import urllib.error
import urllib.request
tmp, url, base = os.environ["tmp"], os.environ["url"], "http://127.0.0.1:%s/api/v1/query?query=" % os.environ["port"]
host, port = re.match(r"http://(.*):(\d+)/", url).groups()
NOW = "ebpfrec_trace_end_monotonic_seconds"


def get(path=url, accept=None, method="GET"):
    with urllib.request.urlopen(urllib.request.Request(path, headers={"Accept": accept} if accept else {},
                                                       method=method), timeout=60) as f:
        return f.read(), f.headers["Content-Type"]


def status(*args, **more):
    try:
        get(*args, **more)
        return 200
    except urllib.error.HTTPError as e:
        return e.code


def ask(query):
    with urllib.request.urlopen(base + urllib.request.quote(query), timeout=60) as f:
        return json.load(f)["data"]["result"]


def samples(name, more=""):
    """{labels: {stamp: value}} of the last minutes"""
    return {tuple(sorted((k, v) for k, v in r["metric"].items()
                         if k not in ("__name__", "instance", "job"))): dict(r["values"])
            for r in ask('%s{job="ebpfrec"%s}[5m]' % (name, more))}


# ---- the endpoint, and clients that misbehave ----
plain, openmetrics = get(), get(accept="application/openmetrics-text;version=1.0.0")
check("metrics, endpoint: two formats", plain[1].startswith("text/plain; version=0.0.4") and b"# EOF" not in plain[0]
      and openmetrics[1].startswith("application/openmetrics-text; version=1.0.0")
      and openmetrics[0].endswith(b"# EOF\n"), (plain[1], openmetrics[1]))
got = status(url + "x"), status(method="POST"), status(url.replace("metrics", ""))
check("metrics, endpoint: nothing but GET /metrics", got == (404, 405, 200), got)


def status_of(host_name):
    """of a request that calls the host so, as a browser does; "": it does not say"""
    with socket.create_connection((host, int(port)), 60) as s:
        s.sendall(b"GET /metrics HTTP/1.0\r\n%s\r\n" % (b"Host: %s\r\n" % host_name if host_name else b""))
        return int(s.makefile("rb").readline().split()[1])


got = [status_of(h) for h in (b"evil.example", b"evil.example:%s" % port.encode(), b"127.0.0.1.evil.example",
                              b"localhost", b"LOCALHOST:1", b"127.0.0.1", b"[::1]:80", b"")]
check("metrics, endpoint: on loopback, no name but the machine's own", got == [403] * 3 + [200] * 5, got)
request = urllib.request.Request(url, headers={"Accept-Encoding": "deflate, gzip"})
with urllib.request.urlopen(request, timeout=60) as f:
    packed, encoding = f.read(), f.headers["Content-Encoding"]
with urllib.request.urlopen(urllib.request.Request(url, headers={"Accept-Encoding": "gzip;q=0"}), timeout=60) as f:
    unpacked = f.headers["Content-Encoding"]
check("metrics, endpoint: packed for clients that ask for it", encoding == "gzip" and unpacked is None and
      (b"ebpfrec_build_info{version=" in gzip.decompress(packed)), (encoding, unpacked, packed[:40]))
# idle connections and readers that stop are closed after 40 s
crowd = [socket.create_connection((host, int(port)), 60) for i in range(120)]
for s in crowd[:60]:
    s.sendall(b"GET /metrics HTTP/1.1\r\nX-Slow: ")
check("metrics, endpoint: answers beside 120 connections of its address", status() == 200, "another status")
ends = [s.recv(1) for s in crowd]
check("metrics, endpoint: idle connections are closed", ends == [b""] * 120, ends)
for s in crowd:
    s.close()
half = [socket.create_connection((host, int(port)), 10) for i in range(60)]
for i, s in enumerate(half):
    s.sendall([b"", b"GET /metr", b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n"][i % 3])
endless = socket.create_connection((host, int(port)), 10)
sent = 0
try:
    endless.sendall(b"GET /metrics HTTP/1.1\r\n")
    while sent < 64 << 20:
        endless.sendall(b"X-More: %s\r\n" % (b"y" * 1000))
        sent += 1000
except OSError:
    pass
check("metrics, endpoint: endless headers are cut off", sent < 32 << 20, sent)
# a live trace is counted block by block: at first there is nothing to count
deadline = time.monotonic() + 60
while len(parse(get()[0])) < 50 and time.monotonic() < deadline:
    time.sleep(0.2)
answers = []
threads = [threading.Thread(target=lambda: answers.append(get()[0])) for i in range(100)]
for t in threads:
    t.start()
for t in threads:
    t.join(60)
check("metrics, endpoint: 100 scrapes at once, beside 60 half-open connections", len(answers) == 100
      and min(len(parse(a)) for a in answers) > 50, (len(answers), min(len(parse(a)) for a in answers)))
for s in half:
    s.close()

# ---- Prometheus scrapes it ----
deadline, stamps = time.monotonic() + 90, {}
while time.monotonic() < deadline and len(set(stamps.values())) < 5:
    time.sleep(1)
    stamps = samples(NOW).get((), {})

# ---- the dashboard ----
# events from before the exporter began are not counted: waits until a burst has been counted
deadline = time.monotonic() + 120
while True:
    empty = []
    for panel in json.load(open(os.environ["top"] + "/schema/grafana.json"))["panels"]:
        for target in panel["targets"]:
            query = target["expr"].replace("$__rate_interval", "20s").replace("$instance", ".*").replace("$by", "comm")
            if not any(r["value"][1] != "NaN" for r in ask(query)):
                empty.append("%s: %s" % (panel["title"], query))
    if not empty or time.monotonic() > deadline:
        break
    time.sleep(1)
check("metrics, dashboard: every panel has data", not empty, empty)

os.unlink(tmp + "/hold.load")
for i in range(600):
    values = parse(get()[0])
    if not values["ebpfrec_recording", ()]:
        break
    time.sleep(0.1)

# ---- from each scrape to the last one: reports of that window ----
t = Trace(tmp + "/live")
start = t.one("SELECT mono_ns - ts_ns FROM clocks LIMIT 1")
backwards = [(name, labels) for name in {n for n, l in values if n.endswith("_total")} for labels,
             v in samples(name).items() for a, b in zip(sorted(v.items()), sorted(v.items())[1:])
             if float(b[1]) < float(a[1])]
check("metrics, live: no counter went back in %d scrapes" % len(stamps), not backwards, backwards[:3])
kept = sorted(stamps, key=float)
if len(kept) < 2 or stamps[kept[0]] == stamps[kept[-1]]:
    not_ok("metrics, live: Prometheus scraped twice", stamps)
else:
    at = [round(float(stamps[s]) * 1e9) - start for s in (kept[0], kept[-1])]
    window = ["--from", "%dns" % at[0], "--until", "%dns" % at[1]]
    bad, steady = [], 0
    for name, scale, want in sums(t, window):
        rows = samples(name)
        grown = {labels: round(float(v[kept[-1]]) * scale) - round(float(v.get(kept[0], 0)) * scale) for labels,
                 v in rows.items() if kept[-1] in v}
        if sum(grown.values()) != sum(want.values()):
            bad.append("%s in all: %s, report %s" % (name, sum(grown.values()), sum(want.values())))
        for labels, n in grown.items():
            # names of others may have changed since they were counted
            if dict(labels).get("comm") == "busy_threads" or "device" in dict(labels):
                steady += 1
                if kept[0] in rows[labels] and n != want.get(labels, 0):
                    bad.append("%s%s: %s, report %s" % (name, labels, n, want.get(labels, 0)))
    check("metrics, live: %.1f s between scrapes grew by what reports say, exactly" % ((at[1] - at[0]) / 1e9),
          steady > 8 and not bad, (steady, bad[:4]))
check("metrics, live: no event was lost in a ring", t.one("SELECT coalesce(sum(full_cnt), 0) FROM losses") == 0,
      t.sql("SELECT * FROM losses WHERE full_cnt > 0")[:2])

# ---- a finished one, backfilled: every bin ----
t, bad, bins = Trace(tmp + "/a"), [], 0
by_bin, stamps = {}, set()
for r in t.report("cpu", "--by", "comm", "--every", "250ms", "--align"):
    by_bin.setdefault(safe(r, ["comm"])[0][1], {})[r["unix_ns"] // 1_000_000] = r["oncpu_ns"]
for r in ask('ebpfrec_cpu_seconds_total{job=""}[1h]'):
    at = [round(s * 1000) for s, v in r["values"]]
    values = [round(float(v) * 1e9) for s, v in r["values"]]
    got = [b - a for a, b in zip(values, values[1:])]
    want = [by_bin.get(r["metric"]["comm"], {}).get(ms, 0) for ms in at[:-1]]
    bins += len(got)
    stamps.update(at)
    if r["metric"]["comm"] != "[other]" and got != want:
        bad.append((r["metric"]["comm"], got, want))
check("metrics, backfill: every one of %d bins is the report's" % bins, bins > 20 and not bad, bad[:1])
bins_at = {ms for rows in by_bin.values() for ms in rows}
check("metrics, backfill: bins are whole multiples of UTC, those of report --align", not any(ms % 250 for ms in stamps)
      and bins_at == stamps - {max(stamps)}, (sorted(stamps), sorted(bins_at)))
missing = ask('ebpfrec_missing_seconds_total{job=""}[1h]')[0]["values"]
check("metrics, backfill: what lies outside of the trace is not missing", float(missing[-1][1]) == 0, missing)

# ---- the next recording of the same name, which removes its beginning during the test ----
CPU = "ebpfrec_cpu_seconds_total", (("comm", "busy_threads"),)
os.rename(tmp + "/live", tmp + "/live.old")
before = last = parse(get()[0])
p = subprocess.Popen([EBPFREC, "record", "-q", "-a", "-e", "sched", "--keep", "3s", "-o", tmp + "/live", "--",
                      os.environ["WORK"] + "/busy_threads", "one", "7000"], stdout=subprocess.PIPE,
                     stderr=subprocess.PIPE, text=True)
backwards = []
while not backwards and (p.poll() is None or last["ebpfrec_recording", ()]):
    after = parse(get()[0])
    backwards = [k for k, v in last.items() if k[0].endswith(("_total", "_bucket", "_sum", "_count"))
                 and after.get(k, -1) < v]
    last = after
    time.sleep(0.5)
said = {k: int(v) for k, v in re.findall(r"(?m)^(own_total|steal)=(\d+)", p.communicate()[0])}
begin = Trace(tmp + "/live").one("SELECT mono_ns - ts_ns FROM clocks LIMIT 1") / 1e9
check("metrics: the next recording of the same name is added, and no counter goes back", not backwards
      and last[NOW, ()] > before[NOW, ()] + 6, (backwards, last[NOW, ()], before[NOW, ()]))
# where the process was counted before it had its name, a little is another's
# and a machine that is too busy to count in time says what was removed before
missing = total(last, "ebpfrec_missing_seconds_total")
# time whose owner is unknown because of a lost switch is counted for [unknown]
UNKNOWN = CPU[0], (("comm", "[unknown]"),)
missing += last.get(UNKNOWN, 0) - before.get(UNKNOWN, 0)
within("metrics: so is what its recorder removed (%.3f s uncounted)" % missing, round((last[CPU] - before[CPU]) * 1e9),
       said["own_total"], 0.02, 20_000_000 + round(missing * 1e9), stolen(said))
check("metrics: it removed something, most of it counted", begin > last[NOW, ()] - 6 and missing < 3,
      (begin, last[NOW, ()], missing, open(tmp + "/metrics.err").read()))
os.kill(int(os.environ["metrics"]), signal.SIGTERM)

# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
"""
scrape.py EBPFREC TRACE SECONDS: `metrics --listen` follows a trace that is being recorded, and is scraped each second.
Prints as NAME=VALUE: events that it counted, cpu_ns it took for them, cpu_pct of the time, scrape_ms (median),
scrape_max_ms, mib resident at most. The first scrapes, up to the first that has counted something, are not in it.
"""
import re
import statistics
import subprocess
import sys
import time
import urllib.request

TICK_NS = 10_000_000
ebpfrec, trace, seconds = sys.argv[1], sys.argv[2], float(sys.argv[3])
p = subprocess.Popen([ebpfrec, "metrics", "-i", trace, "--listen", "127.0.0.1:0"], stderr=subprocess.PIPE, text=True)


def scrape():
    """the sum of all events, and how long it took"""
    begin = time.monotonic()
    text = urllib.request.urlopen(url, timeout=60).read().decode()
    return sum(float(n) for n in re.findall(r"(?m)^ebpfrec_events_total\S* (\S+)",
                                            text)), (time.monotonic() - begin) * 1e3


def cpu_ns():
    fields = open("/proc/%d/stat" % p.pid).read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) * TICK_NS


try:
    line = next((line for line in p.stderr if "listening on" in line or "libmicrohttpd" in line), "the exporter ended")
    if "listening on" not in line:
        sys.exit(line)
    url = line.split()[-1]
    limit = time.monotonic() + 30
    while not scrape()[0] and time.monotonic() < limit:
        time.sleep(0.5)
    began, cpu, events, times = time.monotonic(), cpu_ns(), scrape()[0], []
    while time.monotonic() < began + seconds:
        time.sleep(max(0, began + len(times) + 1 - time.monotonic()))
        n, ms = scrape()
        times.append(ms)
    cpu, took = cpu_ns() - cpu, time.monotonic() - began
    print("events=%d\ncpu_ns=%d\ncpu_pct=%.3f\nscrape_ms=%.2f\nscrape_max_ms=%.2f" %
          (n - events, cpu, cpu / took / 1e7, statistics.median(times), max(times)))
    print("mib=%.1f" % (int(re.search(r"VmHWM:\s+(\d+)", open("/proc/%d/status" % p.pid).read())[1]) / 1024))
finally:
    p.terminate()
    p.wait()

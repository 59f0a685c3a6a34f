#!/usr/bin/env python3
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
"""`ebpfrec view`, in a browser: any window has the figures of `ebpfrec report`, whoever has no token is refused,
and nobody stops it. Called by run.sh."""
import http.client
import io
import json
import os
import random
import re
import signal
import socket
import subprocess
import sys
import time
import zipfile
import zlib

from browser import Browser
from figures import TABLES, compare, compare_names, compare_threads
import firefox

tmp, ebpfrec = os.environ["tmp"], os.environ["EBPFREC"]
ALL = bool(os.environ.get("TEST_ALL"))     # long traces, a second browser
FILES = os.path.join(tmp, "served")     # where the viewer makes the files that it serves
os.mkdir(FILES)
failed = 0


def check(name, good, saw=""):
    global failed
    failed += not good
    print("ok view: " + name if good else "not ok view: %s: %s" % (name, str(saw)[:600].replace("\n", " ")), flush=True)


class Viewer:
    def __init__(self, trace, *more):
        self.trace = trace
        self.process = subprocess.Popen([ebpfrec, "view", *(x for path in (trace, *more) for x in ("-i", path))],
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                        env=os.environ | {"TMPDIR": FILES})
        self.url = self.process.stdout.readline().strip()
        if not self.url:
            raise SystemExit("not ok view: it serves: " + self.process.stderr.read())
        self.port, self.path = re.match(r"http://127\.0\.0\.1:(\d+)(/[0-9a-f]{32}/)(?:beside)?$", self.url).groups()

    def ask(self, path, method="GET", **headers):
        c = http.client.HTTPConnection("127.0.0.1", int(self.port), timeout=60)
        c.request(method, path, headers=headers)
        r = c.getresponse()
        data = r.read()
        c.close()
        return r.status, zlib.decompress(data) if r.getheader("Content-Encoding") == "deflate" else data

    def end(self):
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(60)

    def window(self, begin, end):
        return json.loads(self.ask("%swindow?from=%d&to=%d" % (self.path, begin, end))[1])


def check_refusals(v):
    wrong = v.path[:-3] + ("0/" if v.path[-2] != "0" else "1/")
    got = [v.ask(v.path)[0], v.ask("/")[0], v.ask(wrong)[0], v.ask(wrong + "window?from=0&to=1000")[0],
           v.ask(v.path[:-1])[0],
           v.ask(v.path, Host="evil.example")[0], v.ask(v.path, method="POST")[0], v.ask(v.path + "etc")[0]]
    check("without the token, for another host and with POST it refuses",
          got == [200, 403, 403, 403, 403, 403, 405, 404], got)
    got = [v.ask(v.path + "window" + q)[0] for q in ("", "?from=1", "?from=5&to=5", "?from=9&to=5", "?from=-1&to=5",
                                                     "?from=1e3&to=5000", "?from=0&to=99999999999999999999")]
    p = subprocess.run([ebpfrec, "view", "-i", v.trace, "--listen", "nonsense"], stderr=subprocess.PIPE, text=True)
    check("an address that is none is refused", p.returncode == 1 and "is no address and port" in p.stderr, p.stderr)
    check("what is no window is refused", got == [400] * len(got), got)


def check_misuse(v):
    """Clients that never end their request, say nonsense, or come in numbers."""
    held = []
    for data in [b"GET " + v.path.encode() + b" HTT", b"", b"\x00\xff" * 500 + b"\r\n\r\n",
                 b"GET / HTTP/1.1\r\nHost: " + b"a" * 60000] + [b"GET /"] * 20:
        s = socket.create_connection(("127.0.0.1", int(v.port)), 60)
        try:
            s.sendall(data)
        except OSError:
            pass
        held.append(s)
    # one that asks for much, and goes
    s = socket.create_connection(("127.0.0.1", int(v.port)), 60)
    s.sendall(b"GET " + v.path.encode() + b"window?from=0&to=99999999999 HTTP/1.1\r\nHost: localhost\r\n\r\n")
    s.close()
    status, data = v.ask(v.path + "window?from=0&to=1000000")
    check("garbage, stalled connections and one that goes do not stop it", status == 200 and json.loads(data)["edges"]
          and v.process.poll() is None, status)
    for s in held:
        s.close()


def go(b, begin, end, more=",by=process"):
    b.evaluate("(delete document.body.dataset.drawn, location.hash = '%d-%d%s')" % (begin, end, more))
    return tuple(map(int, b.wait("document.body.dataset.drawn === '%d-%d' && document.body.dataset.drawn" %
                                 (begin, end), 30).split("-")))


def press(b, key):
    b.evaluate("(delete document.body.dataset.drawn, document.body.dispatchEvent(new KeyboardEvent('keydown', { key: "
               "'%s', bubbles: true })))" % key)
    return b.wait("document.body.dataset.drawn", 30)


def check_windows(name, b, v, trace, cnt):
    """Windows of any length, from some us to all."""
    b.open(v.url, "#all,by=process")
    whole = b.wait("document.body.dataset.drawn", 60)
    check("%s: the page is drawn" % name, whole, "it is not")
    end, wrong, figures = int(whole.split("-")[1]), [], 0
    for _ in range(cnt):
        length = int(10 ** random.uniform(4, 9.5))
        begin = random.randrange(max(1, end - length))
        a, z = go(b, begin, min(begin + length, end))
        bad, n = compare(b.evaluate(TABLES), trace, a, z)
        wrong += ["%d..%d: %s" % (a, z, x) for x in bad]
        figures += n
    check("%s: every figure of %d windows, to the nanosecond, is that of report (%d figures)" % (name, cnt, figures),
          not wrong and figures > 10 * cnt,
          "%d wrong: %s" % (len(wrong), wrong[:4]))


def check_groups(b, v, trace):
    wrong, names = [], 0
    end = v.window(0, 10**15)["end"]
    for begin, end in ((0, end), (end // 7, end // 2 + 1)):
        a, z = go(b, begin, end, ",by=name")
        bad, n = compare_names(b.evaluate(TABLES), trace, a, z)
        wrong += bad
        names += n
    check("names have what report has of their processes (%d)" % names, not wrong and names > 6, wrong[:4])
    # asked for by the choice, and by the address
    b.evaluate("(delete document.body.dataset.drawn, document.getElementById('by').value = 'thread', "
               "document.getElementById('by').dispatchEvent(new Event('change')))")
    b.wait("document.body.dataset.drawn", 30)
    chosen = compare_threads(b.evaluate(TABLES), trace, a, z)
    go(b, 0, v.window(0, 10**15)["end"], ",by=thread")
    b.evaluate("[...document.querySelectorAll('.table > button')].forEach((e) => e.textContent.endsWith(' more') && "
               "e.click())")
    named = compare_threads(b.evaluate(TABLES), trace, 0, v.window(0, 10**15)["end"])
    check("threads have what report --by thread has (%d, %d)" % (chosen[1], named[1]), not chosen[0] and not named[0]
          and chosen[1] > 9 and named[1] > 9, (chosen[0][:3], named[0][:3]))
    go(b, begin, end, ",by=name")
    name = b.evaluate("document.querySelector('#table-cpu .open').textContent")
    rows = "document.querySelectorAll('#table-cpu tbody tr').length"
    before = b.evaluate(rows)
    b.evaluate("(delete document.body.dataset.drawn, document.querySelector('#table-cpu .open').click())")
    b.wait("document.body.dataset.drawn")
    pids = b.evaluate("[...document.querySelectorAll('#table-cpu tbody tr')].filter((r) => r.cells[1].title === '%s' "
                      "&& r.cells[0].title).length" % name)
    check("a name with many processes unfolds", pids > 1 and b.evaluate(rows) > before
          and b.evaluate("location.hash").endswith(",open=" + name), (name, pids, before))


def answer(*argv):
    return json.loads(subprocess.run([ebpfrec, *argv, "--format", "json"], stdout=subprocess.PIPE,
                                     stderr=subprocess.DEVNULL, check=True).stdout)


def seconds(ns):
    return "%d.%09ds" % divmod(ns, 10**9)


def check_events(v, trace):
    """Where a window has few events, each of them is there."""
    end = v.window(0, 10**15)["end"]
    a, z = end // 3, end // 3 + 3000001
    r = v.window(a, z)["results"]
    got = [len(r["slices"]["tid"]), sum(r["slices"]["dur_ns"]), len(r["leaves"]["tid"]), len(r["requests"]["dev"])]
    asked = ["SELECT count(*) AS n, sum(dur_ns) AS s FROM sched_slices(%d, %d) WHERE utid <> 0" % (a, z),
             "SELECT count(*) AS n FROM switches WHERE ts_ns >= %d AND ts_ns < %d AND utid <> 0" % (a, z),
             "SELECT count(*) AS n FROM block_requests WHERE end_ns >= %d AND queued_ns < %d AND end_ns < %d" %
             (a, z, z + 10**9)]
    wanted = [n for q in asked for n in answer("sql", "-i", trace, q)[0].values()]
    check("each slice, switch and request of a short window is there (%s)" % wanted, got == wanted and min(got[:3]) > 0,
          (got, wanted))


def check_why(b, v, trace):
    end = v.window(0, 10**15)["end"]
    a, z = end // 4, end // 2
    pid = answer("report", "cpu", "-i", trace, "--from", seconds(a), "--until", seconds(z))[0]["pid"]
    wanted = answer("report", "why", "-i", trace, "--from", seconds(a), "--until", seconds(z), "--pid", str(pid),
                    "--limit", "100")
    got = json.loads(v.ask("%sreport?view=why&from=%d&to=%d&pid=%d" % (v.path, a, z, pid))[1])
    check("it explains a selection as report why does", got == wanted and len(got) > 2,
          (str(got)[:200], str(wanted)[:200]))
    spikes = "-i", trace, "--from", seconds(a), "--until", seconds(z)
    got = json.loads(v.ask("%sreport?view=spikes&from=%d&to=%d" % (v.path, a, z))[1])
    check("it has the spikes of report spikes", got == answer("report", "spikes", *spikes), str(got)[:300])
    got = [v.ask(v.path + "report" + q)[0] for q in ("", "?view=why", "?view=sql&from=0&to=5", "?view=why&from=0&to=0")]
    check("other reports are refused", got == [400] * 4, got)
    got = json.loads(v.ask("%sreport?view=stacks&from=%d&to=%d" % (v.path, a, z))[1])
    check("it has no stacks where none were recorded", got == [], str(got)[:300])
    go(b, a, z)
    press_plain = "document.body.dispatchEvent(new KeyboardEvent('keydown', { key: 'w', bubbles: true }))"
    b.evaluate(press_plain)
    said = b.wait("(document.querySelector('#why .answer') || {}).textContent", 30)
    all_of = answer("report", "why", "-i", trace, "--from", seconds(a), "--until", seconds(z))
    command = b.evaluate("document.getElementById('why-command').textContent")
    check("the page shows it, and the command", said == all_of["In short"][0]["answer"]
          and command.startswith("ebpfrec report -i ") and " why --from " in command, (said, command))
    for _ in range(3):  # charts that are still being drawn move the button away
        b.click("document.querySelector('#why-flames button')")
        if b.wait("document.getElementById('why-flame').textContent", 10):
            break
    said = b.wait("document.getElementById('why-flame').textContent.includes('--profile')", 30)
    check("where no samples were recorded it says what records some", said,
          b.evaluate("document.getElementById('why-flame').textContent"))


def check_search(b, v, trace):
    end = v.window(0, 10**15)["end"]
    a, z = end // 4 + 1, end // 2
    window = "-i", trace, "--from", seconds(a), "--until", seconds(z)
    wanted = {"Threads": answer("report", "states", "--by", "thread", *window),
              "Files": answer("report", "io", "--by", "file,process", *window),
              "Locks": answer("report", "locks", *window)}
    word = wanted["Threads"][0]["comm"][:3].upper()
    found = json.loads(v.ask("%ssearch?word=%s&from=%d&to=%d" % (v.path, word, a, z))[1])
    has = lambda r: any(word.lower() in str(r.get(k)).lower() for k in ("comm", "file", "object", "holder"))
    commands = found.pop("Commands")
    check("a search finds commands", [r["pid"] for r in commands] ==
          [r["pid"] for r in answer("sql", "SELECT pid FROM processes "
          "WHERE cmdline LIKE '%%%s%%' AND start_ns < %d AND coalesce(end_ns > %d, 1) ORDER BY upid LIMIT 15" %
          (word, z, a), "-i", trace)], commands)
    check("a search finds rows of report, those with most", found ==
          {k: list(filter(has, rows))[:15] for k, rows in wanted.items()} and found["Threads"],
          (word, str(found)[:400]))
    got = [v.ask(v.path + "search" + q)[0] for q in ("", "?from=0&to=1000", "?word=&from=0&to=1000",
                                                     "?word=a&from=9&to=5")]
    check("a search for nothing is refused", got == [400] * 4, got)
    go(b, a, z)
    b.key("/")
    for c in word:
        b.key(c)
    b.key("Enter")
    b.wait("!document.getElementById('found').hidden", 30)
    rows = b.evaluate("[...document.querySelectorAll('#found td:first-child')].map((e) => e.title)")
    check("the page lists what it found", len(rows) >= len(found["Threads"])
          and all(word.lower() in r.lower() for r in rows[:len(found["Threads"])]), rows)
    b.key("Enter")
    said = b.wait("(document.querySelector('#why .answer') || {}).textContent", 30)
    check("Enter there explains it",
          said and b.evaluate("document.getElementById('why-whom').textContent").startswith("Why? " + rows[0]), said)
    b.evaluate("document.getElementById('why-close').click()")
    b.evaluate("(document.getElementById('search').value = '', document.getElementById('search').dispatchEvent(new "
               "Event('input')))")
    b.key("Escape")


def check_flames(b, trace):
    """The stacks of a selection, as report's flame graph has them."""
    v = Viewer(trace)
    b.open(v.url)
    b.wait("document.body.dataset.drawn", 60)
    b.wait("!!document.querySelector('#causes .open')", 30)
    b.click("document.querySelector('#causes .open')")
    b.wait("!!document.querySelector('#why .answer')", 30)
    b.click("[...document.querySelectorAll('#why-flames button')][1]")
    b.wait("!!document.querySelector('#why-flame .frames div')", 30)
    frames = b.evaluate(
            "[...document.querySelectorAll('#why-flame .frames div')].map((e) => e.title.replace(/:.*/, ''))")
    folded = subprocess.run([ebpfrec, "report", "stacks", "-i", trace, "--format", "folded"], stdout=subprocess.PIPE,
                            stderr=subprocess.DEVNULL, text=True, check=True).stdout
    names = {f for line in folded.splitlines() for f in line.rsplit(" ", 1)[0].split(";")}
    # frames of less than a pixel are left out
    check("a flame graph of a selection has frames of report's (%d)" % len(frames), len(frames) > 4
          and set(frames) - {"all"} <= names, (sorted(names), frames))
    v.end()


def check_download(v, trace):
    status, data = v.ask(v.path + "download?as=page&from=1000000&to=90000000")
    check("a window is saved as a page", status == 200 and data.startswith(b"<!DOCTYPE html>")
          and b'data-served=""' in data and len(data) > 300000, (status, data[:300]))
    left = set(os.listdir(FILES))
    window = "download?from=1000000&to=90000000&as="
    one = lambda *argv: subprocess.run([ebpfrec, *argv, "-i", trace, "--from", "1ms", "--until", "90ms"],
                                       stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True).stdout
    if not re.search(r"libzip \d", subprocess.run([ebpfrec, "--version"], stdout=subprocess.PIPE, text=True,
                                                  check=True).stdout):
        print("SKIP view: bundles and zip files: built without libzip")
    else:
        status, data = v.ask(v.path + window + "csv")
        z = zipfile.ZipFile(io.BytesIO(data)) if status == 200 else None
        got = z and z.read("window/sched_slices.csv")
        check("its tables are saved as export writes them", got == one("export", "--to", "csv", "-t", "sched_slices",
                                                                       "-o", "-") and len(z.namelist()) > 20,
                                                                       (status, data[:300]))
        for kind in ("cut", "bundle"):
            status, data = v.ask(v.path + window + kind)
            path = os.path.join(tmp, kind + ".zip")
            with open(path, "wb") as f:
                f.write(data)
            rows = answer("report", "cpu", "-i", path)
            check("the window is saved as a trace (%s)" % kind,
                  [r["oncpu_ns"] for r in rows] == [r["oncpu_ns"]
                                                    for r in json.loads(one("report", "cpu", "--format", "json"))]
                                                    and rows,
                  (status, str(rows)[:300]))
    status, data = v.ask(v.path + window + "perfetto")
    check("the window is saved for Perfetto", status == 200 and len(data) > 1000, (status, data[:300]))
    got = [v.ask(v.path + "download" + q)[0] for q in ("?from=0&to=5", "?as=../x&from=0&to=5", "?as=csv&from=5&to=0")]
    check("other files are refused, and nothing stays behind", got == [400] * 3
          and left >= {n for n in os.listdir(FILES) if n.startswith(".ebpfrec-new")}, got)


def children(pid):
    found = []
    for thread in os.listdir("/proc/%d/task" % pid):
        try:
            with open("/proc/%d/task/%s/children" % (pid, thread), encoding="ascii") as f:
                found += map(int, f.read().split())
        except (FileNotFoundError, ProcessLookupError):
            pass	# a thread that has ended since
    return found


def wait_until(condition):
    until = time.monotonic() + 30
    while not condition() and time.monotonic() < until:
        time.sleep(0.005)


def check_meanwhile():
    """A file that takes long keeps nobody waiting: here the command that makes it stands still."""
    v = Viewer(os.path.join(tmp, "long"))
    v.window(0, 1000)
    asked = [socket.create_connection(("127.0.0.1", int(v.port)), 60) for _ in range(4)]
    for s in asked:
        known = children(v.process.pid)
        s.sendall(b"GET " + v.path.encode() +
                  b"download?as=csv&from=0&to=1500000000 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        wait_until(lambda: len(children(v.process.pid)) > len(known))
        for pid in set(children(v.process.pid)) - set(known):
            os.kill(pid, signal.SIGSTOP)
    made = children(v.process.pid)
    got = [v.ask(v.path + "window?from=0&to=1000000")[0], v.ask(v.path + "download?as=csv&from=0&to=1000000")[0]]
    asked.pop().close()
    wait_until(lambda: len(children(v.process.pid)) < 4)
    for pid in children(v.process.pid):
        os.kill(pid, signal.SIGCONT)
    data = b""
    while part := asked[0].recv(1 << 20):
        data += part
    check("while files are made others are answered; a fifth file is refused, one that nobody waits for is given up",
          got == [200, 503] and len(made) == 4 and
          data.startswith(b"HTTP/1.1 200") and b"PK" in data, (got, made, data[:200]))
    status = v.end()
    check("Ctrl-C ends it while files are made", status == 0
          and not [pid for pid in made if os.path.exists("/proc/%d" % pid)], (status, made))


def check_stay(v):
    """A step shows fewer bins than there are; who stays gets them, with the same sums."""
    step, stayed = (json.loads(v.ask(v.path + "window?from=7&to=999999999999" + more)[1]) for more in ("", "&stay=1"))
    busy = [sum(r["results"]["cpu"]["oncpu_ns"]) for r in (step, stayed)]
    check("who stays at a window gets finer bins, with the same sums", step["coarse"] and not stayed["coarse"] and
          len(stayed["edges"]) > 3 * len(step["edges"]) and busy[0] == busy[1] > 0,
          (len(step["edges"]), len(stayed["edges"]), busy))


def check_first_look(b):
    """A step to a window of many blocks shows CPU time, and nothing that is not so; all else comes to who stays."""
    v = Viewer(os.path.join(tmp, "blocks"))
    step, stayed = (json.loads(v.ask(v.path + "window?from=0&to=999999999999" + more)[1]) for more in ("", "&stay=1"))
    cnt = [[len(r["results"][name]["bin"]) for name in ("cpu", "waits", "states", "memory", "io")]
           for r in (step, stayed)]
    busy = [sum(r["results"]["cpu"]["oncpu_ns"]) for r in (step, stayed)]
    check("a step to a long window has CPU time alone, and says so", step["partial"] and not stayed["partial"]
          and cnt[0][1:] == [0] * 4 and min(cnt[0][:1] + cnt[1]) > 0 and
          busy[0] == busy[1], (cnt, busy))
    # what is drawn first is kept as it was then
    b.open(v.url)
    b.evaluate("""new Promise((done) => new MutationObserver(() => {
        if (document.body.dataset.step && !window.first)
            window.first = [document.getElementById('figures').childElementCount,
            getComputedStyle(document.getElementById('tables')).display];
        if (document.body.dataset.drawn)
            done();
    }).observe(document.body, { attributes: true }))""")
    seen = b.evaluate("[...(window.first || []), document.getElementById('figures').childElementCount, "
                      "getComputedStyle(document.getElementById('tables')).display]")
    check("its page shows the other figures when they are there", seen == [1, "none", seen[2], "block"] and seen[2] > 4,
          seen)
    v.process.send_signal(signal.SIGINT)
    v.process.wait(60)


def check_reading(b):
    """The first look at a trace says how far it is read, and goes on to the page by itself."""
    trace = os.path.join(tmp, "blocks")
    for name in os.listdir(trace):
        if name.startswith("derived"):
            os.unlink(os.path.join(trace, name))
    # so few CPU time is left to it that there is something to see
    v = Viewer(trace)
    os.sched_setaffinity(v.process.pid, {min(os.sched_getaffinity(0))})
    os.setpriority(os.PRIO_PROCESS, v.process.pid, 19)
    status, page = v.ask(v.path)
    b.open(v.url)
    kinds = answer("sql", "-i", trace,
                   "SELECT (SELECT count(*) FROM switches) AS switch, "
                   "(SELECT count(*) FROM page_frees) AS page_free")[0]
    charts = dict(re.findall(
            r'<tr><td>(\w+)</td><td align="right">([\d,]+)</td><td><svg [^>]*><path fill="#\w+" d="(?:M\d+ '
            r'24h1v-[\d.]+h-1z)+"/>', page.decode(errors="replace")))
    check("it shows events over time meanwhile, by kind", b'id="app"' in page
          or all(charts.get(k) == "{:,}".format(n) for k, n in kinds.items()), (charts, kinds))
    check("the first look says how far it is, and becomes the page", status == 200
          and (b"read for the first time" in page or b'id="app"' in page) and
          b.wait("document.body && document.body.dataset.drawn", 60), page[:300])
    v.process.send_signal(signal.SIGINT)
    check("Ctrl-C ends it with 0 then, too", v.process.wait(60) == 0, v.process.returncode)


def check_giving_up():
    """What nobody waits for any more does not hold up the next answer."""
    v = Viewer(os.path.join(tmp, "long"))
    slow = "%swindow?from=0&to=99999999999&stay=1" % v.path
    v.ask(slow)
    begin = time.monotonic()
    v.ask(slow)
    one, begin = time.monotonic() - begin, time.monotonic()
    for _ in range(10):
        with socket.create_connection(("127.0.0.1", int(v.port)), 60) as s:
            s.sendall(b"GET " + slow.encode() + b" HTTP/1.1\r\nHost: localhost\r\n\r\n")
    status, _ = v.ask(v.path + "window?from=0&to=1000000")
    took = time.monotonic() - begin
    check("ten answers that are given up take less than five", status == 200 and took < 5 * one, (status, took, one))
    v.process.send_signal(signal.SIGINT)
    check("it says nothing of what was given up", v.process.wait(60) == 0 and v.process.stderr.read() == "",
          v.process.returncode)


def check_beside(b, trace):
    """Two windows side by side, of which one follows the other, and what differs."""
    second = os.path.join(tmp, "long")
    v = Viewer(trace, second)
    windows = [json.loads(v.ask(v.path + "%swindow?from=5&to=1000000005" % nr)[1])["results"]["cpu"]
               for nr in ("", "1/", "2/")]
    got = [v.ask(v.path + path)[0] for path in ("0/window?from=0&to=9", "3/window?from=0&to=9", "2window?from=0&to=9",
                                                "diff", "diff?a=1&b=3&from=0&to=9&from_b=0&to_b=9")]
    check("each trace has its own windows, and no others", windows[0] == windows[1] != windows[2]
          and got == [404, 404, 404, 400, 400], got)
    wanted = answer("diff", trace, second, "--from", "1ms", "--until", "30ms", "--from-b", "2s", "--until-b", "4s",
                    "--limit", "0")
    got = json.loads(v.ask(v.path + "diff?a=1&from=1000000&to=30000000&b=2&from_b=2000000000&to_b=4000000000")[1])
    check("it has the rows of diff (%d)" % len(wanted), got == wanted and len(got) > 5,
          (str(got)[:200], str(wanted)[:200]))
    b.open(v.url, "#1:1000000-21000000;2:2000000000-2020000000")
    compared = "document.body.dataset.compared"
    first = b.wait(compared, 60)
    b.evaluate("document.getElementById('page-a').contentWindow.location.hash = '#6000000-11000000'")
    moved = "6000000-11000000;2005000000-2010000000"
    then = b.wait("%s === '%s' && %s" % (compared, moved, compared), 60)
    check("a zoom of one window is a zoom of the other", (first, then) ==
          ("1000000-21000000;2000000000-2020000000", moved), (first, then))
    rows, command, hash = b.evaluate(
            "[document.querySelectorAll('#rows tbody tr').length, document.getElementById('command').textContent, "
            "location.hash]")
    check("it shows what differs, the command, and the address of both",
          rows > 3 and command.endswith("--from 0.006s --until 0.011s --from-b 2.005s --until-b 2.01s") and
          hash == "#1:6000000-11000000;2:2005000000-2010000000", (rows, command, hash))
    b.open(v.url.replace("beside", "2/"), "#1000000-2000000")
    b.wait("document.body.dataset.drawn", 60)
    link = b.evaluate("document.getElementById('beside').getAttribute('href')")
    check("a page leads there with its window", link == v.path + "beside#2:1000000-2000000;2:1000000-2000000", link)
    v.process.send_signal(signal.SIGINT)
    v.process.wait(60)


def check_live(b):
    """The window of a trace that is being recorded grows with it."""
    if os.getuid():
        print("SKIP view: a live trace: recording needs root")
        return
    trace = os.path.join(tmp, "live")
    recorder = subprocess.Popen([ebpfrec, "record", "-q", "-a", "-d", "2m", "-e", "sched", "-o", trace],
                                stdin=subprocess.DEVNULL)
    while recorder.poll() is None and subprocess.run([ebpfrec, "report", "cpu", "-i", trace], stdout=subprocess.PIPE,
                                                     stderr=subprocess.DEVNULL).stdout.count(b"\n") < 5:
        pass
    v = Viewer(trace)
    b.open(v.url)
    first = b.wait("document.body.dataset.drawn", 60)
    grown = b.wait("document.body.dataset.drawn && document.body.dataset.drawn !== '%s' && "
                   "document.body.dataset.drawn" % first, 60)
    check("a trace that is being recorded is followed", grown and int(grown.split("-")[1]) > int(first.split("-")[1]),
          (first, grown))
    recorder.send_signal(signal.SIGINT)
    recorder.wait(120)
    v.process.send_signal(signal.SIGINT)
    v.process.wait(60)


def check_steps(b, v):
    b.open(v.url)
    seen = [b.wait("document.body.dataset.drawn")]
    for _ in range(3):
        seen.append(press(b, "+"))
    check("a window's address is that of its page", b.evaluate("location.hash").startswith("#" + seen[-1]),
          (b.evaluate("location.hash"), seen))
    back = []
    for _ in range(2):
        b.evaluate("(delete document.body.dataset.drawn, history.back())")
        back.append(b.wait("document.body.dataset.drawn"))
    check("Back shows the windows before", back == [seen[2], seen[1]] and len(set(seen)) == 4, (seen, back))
    cnt = 0
    while cnt < 40 and b.evaluate("document.body.dataset.drawn").split("-")[0] != "":
        begin, end = map(int, press(b, "+").split("-"))
        cnt += 1
        if end - begin < 20000000:
            break
    check("a zoom comes to %d ns in %d steps" % (end - begin, cnt), end - begin < 20000000, (begin, end))


FOCUSED = ("((e) => e.id || e.getAttribute('aria-label') || e.getAttribute('data-name') || "
           "e.textContent)(document.activeElement)")


def tab_to(b, name):
    """Whether Tab comes there, and it shows that it has come."""
    for _ in range(60):
        b.key("Tab")
        if b.evaluate(FOCUSED).startswith(name):
            return b.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    return False


def check_keyboard(name, b, v):
    """From the whole to a thread's cause, and into a name, without a mouse."""
    b.evaluate("delete document.body.dataset.drawn")
    b.open(v.url, "#all,by=name")
    whole = b.wait("document.body.dataset.drawn", 60)
    came = tab_to(b, "overview")
    for key in ("ArrowLeft", " ", "ArrowRight", " "):
        b.evaluate("delete document.body.dataset.drawn") if key == " " else None
        b.key(key)
    part = b.wait("document.body.dataset.drawn", 30)
    length = lambda text: int(text.split("-")[1]) - int(text.split("-")[0])
    check("%s: by keyboard, the strip shows a part" % name, came and part and 0 < length(part) < length(whole) / 20,
          (came, whole, part))
    came = tab_to(b, "What each thread did")
    b.key("ArrowDown")
    b.key("Enter")
    said = b.wait("(document.querySelector('#why .answer, #why-text .note:not(:empty)') || {}).textContent", 30)
    thread = b.evaluate("document.getElementById('why-whom').textContent")
    check("%s: by keyboard, a thread's line explains the thread" % name, came and said and ", thread " in thread,
          (came, said, thread))
    before = b.evaluate(FOCUSED)
    b.key("Escape")
    check("%s: Escape goes back to the page" % name, before.startswith("What each")
          and b.evaluate("document.activeElement === document.body"), before)
    b.wait("!!document.querySelector('.legend [data-name]:not([data-name=other])')", 30)
    b.evaluate("document.getElementById('by').focus()")
    is_name = "(document.activeElement.closest('.legend') !== null && document.activeElement.dataset.name !== 'other')"
    for _ in range(200):    # a chart that is drawn meanwhile may take the focus away
        b.key("Tab")
        if b.evaluate(is_name):
            break
    opened = b.evaluate("document.activeElement.dataset.name")
    b.evaluate("delete document.body.dataset.drawn")
    b.key("Enter")
    b.wait("document.body.dataset.drawn", 30)
    check("%s: by keyboard, a name unfolds" % name, ",open=" in b.evaluate("location.hash"),
          (opened, b.evaluate("location.hash")))


def check_firefox(v, trace):
    if not firefox.find():
        print("SKIP view: Firefox: there is no firefox here")
        return
    with firefox.Firefox() as f:
        check_windows("Firefox", f, v, trace, 2)
        check_keyboard("Firefox", f, v)


random.seed(25)
large = os.path.join(tmp, "large")
viewer = Viewer(large)
check_refusals(viewer)
check_misuse(viewer)
check_events(viewer, large)
check_download(viewer, large)
check_stay(viewer)
if ALL:
    check_meanwhile()
    check_giving_up()
with Browser() as browser:
    check_windows("generated trace", browser, viewer, large, 8 if ALL else 2)
    check_groups(browser, viewer, large)
    check_why(browser, viewer, large)
    if ALL:
        check_search(browser, viewer, large)
        check_steps(browser, viewer)
        check_keyboard("Chromium", browser, viewer)
        check_flames(browser, os.path.join(tmp, "stacks"))
        check_first_look(browser)
        check_reading(browser)
        check_beside(browser, large)
        check_live(browser)
if ALL:
    check_firefox(viewer, large)
viewer.process.send_signal(signal.SIGINT)
check("Ctrl-C ends it with 0", viewer.process.wait(60) == 0, viewer.process.returncode)
check("it said nothing else", viewer.process.stderr.read() == "", "it did")
sys.exit(failed > 0)

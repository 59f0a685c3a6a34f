#!/usr/bin/env python3
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
"""Compares what a browser makes of pages with what the command line says. Called by run.sh."""
import collections
import csv
import html
import html.parser
import http.server
import io
import json
import os
import random
import re
import subprocess
import threading

from browser import Browser
from figures import TABLES, compare
import firefox

tmp, ebpfrec = os.environ["tmp"], os.environ["EBPFREC"]
ALL = bool(os.environ.get("TEST_ALL"))     # a second browser, more windows
failed = 0


def check(name, good, saw=""):
    global failed
    failed += not good
    print("ok page: " + name if good else "not ok page: %s: %s" % (name, str(saw)[:600].replace("\n", " ")), flush=True)


def dump(path, fragment="", drawn="document.body.dataset.drawn"):
    """The document after the page's script has drawn it."""
    browser.open(path, fragment)
    browser.wait(drawn, 30)
    return Page(browser.document())


class Page(html.parser.HTMLParser):
    """Tables by id, as rows of (column id or "", exact value), and whatever else is asked for."""

    def __init__(self, text):
        super().__init__()
        self.tables, self.table, self.row, self.body = {}, None, None, {}
        self.tags, self.title, self.in_title, self.in_cell, self.handlers, self.images = collections.Counter(
                ), "", False, None, [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        a = dict(attrs)
        self.tags[tag] += 1
        self.handlers += [k for k in a if k.startswith("on")]
        if tag == "body":
            self.body = a
        elif tag == "title":
            self.in_title = True
        elif tag == "img":
            self.images.append(a.get("class"))
        elif tag == "table":
            self.table = self.tables.setdefault(a.get("id", ""), [])
        elif tag == "tr" and self.table is not None:
            self.row = []
            self.table.append(self.row)
        elif tag == "td" and self.row is not None:
            self.in_cell = a
            self.row.append((a.get("data-column", ""), a.get("title", "")))

    def handle_endtag(self, tag):
        if tag == "title":
            self.in_title = False
        elif tag == "table":
            self.table = None

    def handle_data(self, data):
        if self.in_title:
            self.title += data


def check_windows(name, trace, cnt):
    path = os.path.join(tmp, "page.html")
    subprocess.run([ebpfrec, "export", "-q", "-f", "--to", "html", "-i", trace, "-o", path], check=True,
                   stderr=subprocess.DEVNULL)
    whole = dump(path, "#all,by=process")
    drawn = whole.body.get("data-drawn", "")
    check("%s: the page is drawn (%s ms, again in %s)" % (name, whole.body.get("data-start-ms"),
                                                          whole.body.get("data-ms")), drawn, whole.body)
    if not drawn:
        return
    begin, end = map(int, drawn.split("-"))
    windows = [(begin, end)] + [sorted((random.uniform(begin, end), random.uniform(begin, end))) for _ in range(cnt)]
    wrong, figures = [], 0
    for a, b in windows:
        browser.evaluate("delete document.body.dataset.drawn; location.hash = '%d-%d,%d,by=process'" % (a, b, figures))
        a, b = map(int, browser.wait("document.body.dataset.drawn", 30).split("-"))
        bad, n = compare(browser.evaluate(TABLES), trace, a, b)
        wrong += ["%d..%d: %s" % (a, b, x) for x in bad]
        figures += n
    check("%s: every figure of %d windows is that of report (%d figures)" % (name, len(windows), figures),
          not wrong and figures > 10 * len(windows),
          "%d wrong: %s" % (len(wrong), wrong[:4]))


class Counting(http.server.BaseHTTPRequestHandler):
    seen = []

    def do_GET(self):
        Counting.seen.append(self.path)
        self.send_response(404)
        self.end_headers()

    def log_message(self, *a):
        pass


def check_hostile():
    trace = os.environ["hostile"]
    if not os.path.exists(trace):
        print("SKIP page: hostile names: recording needs root")
        return
    path = os.path.join(tmp, "hostile.html")
    subprocess.run([ebpfrec, "export", "-q", "-f", "--to", "html", "-i", trace, "-o", path], check=True,
                   stderr=subprocess.DEVNULL)
    page = dump(path, "#all")
    shown = {v for t in page.tables.values() for row in t for c, v in row}
    check("hostile names are shown as text", {"</script>", "<script>x()", "<img src=//x>"} <= shown, sorted(shown)[:40])
    # the range selector has two handles
    check("hostile names make no element and no handler", set(page.images) <= {"dygraph-rangesel-zoomhandle"}
          and page.tags["script"] == 2 and not page.handlers, page.tags)
    check("hostile names run nothing", page.title.startswith("ebpfrec: ") and "</script><script>" in page.title,
          page.title)
    check("hostile control characters are shown", any("\\x1b" in s for s in shown), [s for s in shown if "[1m" in s])
    # were a name markup, the policy would still stop it: the page with an attack put into it
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Counting)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    def attack(name):
        return ("<script>document.title='owned'</script><img src='%(u)s/img' "
                "onerror=\"document.title='owned'\"><script src='%(u)s/js'></script>"
                "<link rel=stylesheet href='%(u)s/css'><iframe "
                "src='%(u)s/frame'></iframe><style>body{background:url(%(u)s/bg)}</style>"
                % {"u": "http://127.0.0.1:%d/%s" % (server.server_port, name)})

    text = open(path, encoding="utf-8").read()
    plain, attacked = os.path.join(tmp, "plain.html"), os.path.join(tmp, "attacked.html")
    open(plain, "w", encoding="utf-8").write("<body>" + attack("plain"))
    dump(plain, drawn="document.title === 'owned'")
    open(attacked, "w", encoding="utf-8").write(text.replace("<header>", "<header>" + attack("attacked"), 1))
    page = dump(attacked, "#all")
    seen = collections.Counter(p.split("/")[1] for p in Counting.seen)
    check("the policy lets an attack run and fetch nothing (%d requests without it)" % seen["plain"],
          seen["plain"] and not seen["attacked"] and page.title.startswith("ebpfrec: ") and page.body.get("data-drawn"),
          (seen, page.title))
    server.shutdown()
    check_hostile_flame(trace)


FRAMES = "[...document.querySelectorAll('.frames div')].map((e) => [e.title, e.textContent, e.className.trim()])"


def write_flame(trace, path, *options):
    with open(path, "wb") as f:
        subprocess.run([ebpfrec, "report", "-i", trace, "stacks", "--format", "html", *options], check=True, stdout=f,
                       stderr=subprocess.DEVNULL)
    browser.open(path)


def check_hostile_flame(trace):
    write_flame(trace, os.path.join(tmp, "hostile_flame.html"))
    frames, page = browser.evaluate(FRAMES), Page(browser.document())
    check("hostile names are frames of a flame graph as text", any(t.startswith("</script>: ") for t, _, _ in frames)
          and
          page.tags["script"] == 1 and page.tags["img"] == 0 and not page.handlers
          and "<img src=http" in browser.evaluate("document.title"),
          (sorted(t for t, _, _ in frames)[:10], page.tags, page.handlers))


# The largest (Math.max) value that the legend of a chart gives a series, or the smallest, with the mouse near a place
# from 0 to 1 of the time shown.
EXTREME = """((title, series, at, pick) => {
	const card = [...document.querySelectorAll('.chart')].find((e) => e.querySelector('h2').textContent === title),
 plot = card.querySelectorAll('canvas')[1];
	const entry = [...card.querySelectorAll('.legend span')].find((e) => e.dataset.name === series), place =
 plot.getBoundingClientRect();
	let most;
	/* the axis takes 71 px */
	for (let x = 71 + at * (place.width - 71) - 8, end = x + 16; entry && x < end; x++) {
		plot.dispatchEvent(new MouseEvent('mousemove', { clientX: place.left + x, clientY: place.top + 20, bubbles: true }));
		const v = Number(entry.querySelector('b').textContent.replace(/,/g, ''));
		most = most === undefined ? v : pick(most, v);
	}
	return most;
})"""


def check_axes():
    """Labels of an axis differ, also where values are small: threads that have a CPU for a few ms of seconds."""
    path = os.path.join(tmp, "small.html")
    subprocess.run([ebpfrec, "export", "-q", "-f", "--to", "html", "-i", os.path.join(tmp, "who"), "-o", path],
                   check=True, stderr=subprocess.DEVNULL)
    dump(path)
    axes = json.loads(browser.evaluate(
            "JSON.stringify([...document.querySelectorAll('.chart')].map((c) => [c.querySelector('h2').textContent, "
                                       "[...c.querySelectorAll('.dygraph-axis-label-y')].map((e) => e.textContent)]))"))
    check("no axis has a label twice", any(len(labels) > 2 for _, labels in axes)
          and all(len(set(labels)) == len(labels) for _, labels in axes), axes)
    # the page's scripts are a function of their own, so these numbers come from the same source, evaluated here
    numbers = open(os.path.join(os.path.dirname(__file__), "..", "..", "cmd", "page", "numbers.js")).read()
    labels = json.loads(
            browser.evaluate("(() => {%s; return JSON.stringify([0, 0.0004, 0.02, 0.04, 0.06, 0.5, 3, "
                             "1536].map(bytes)); })()" % numbers))
    check("labels of bytes differ where values are small", labels == ["0 B", "0.00040 B", "0.020 B", "0.040 B",
                                                                      "0.060 B", "0.5 B", "3 B", "1.50 KiB"], labels)


def check_highest():
    """The whole of the generated trace has two bins of 1 ms in a point. The page is that of check_windows()."""
    path, trace = os.path.join(tmp, "page.html"), os.path.join(tmp, "large")
    dump(path, "#,by=process")
    row = sql(trace, "SELECT max(n) AS n, t_ns * 1.0 / (SELECT max(end_ns) FROM sched_slices) AS at FROM (SELECT "
                     "t_ns, sum(ios) * 1e9 / (t_end_ns - t_ns) AS n "
              "FROM io_usage(0, 10000000000, 1000000, 'none') GROUP BY t_ns)")[0]
    wanted = float(row["n"])
    shown = browser.evaluate("%s('Requests by process', 'highest bin', %s, Math.max)" % (EXTREME, row["at"]))
    check("a point of several bins shows the highest one (%.1f requests a second)" % wanted, abs(shown - wanted) < 0.1,
          (shown, wanted))
    row = sql(trace, "SELECT min(n) AS n, t_ns * 1.0 / (SELECT max(end_ns) FROM sched_slices) AS at FROM (SELECT "
                     "t_ns, sum(oncpu_ns) * 1.0 / (t_end_ns - t_ns) AS n "
              "FROM cpu_usage(0, 10000000000, 1000000) WHERE upid > 3 GROUP BY t_ns)")[0]
    shown = browser.evaluate("%s('CPUs busy', 'lowest bin', %s, Math.min)" % (EXTREME, row["at"]))
    # shown with two digits
    check("a point of several bins shows the lowest one (%s CPUs busy)" % row["n"],
          abs(shown - float(row["n"])) < 0.0051, (shown, row))


def check_places():
    """Around the longest wait and the slowest request bins are fine, and the page has single slices there."""
    path, trace = os.path.join(tmp, "page.html"), os.path.join(tmp, "large")
    end = int(sql(trace, "SELECT max(end_ns) AS n FROM sched_slices")[0]["n"])
    for what, statement in (("wait", "SELECT start_ns AS n FROM sched_slices ORDER BY wait_ns DESC LIMIT 1"),
                            ("request", "SELECT end_ns AS n FROM block_requests WHERE end_ns < %d ORDER BY end_ns - "
                                        "queued_ns DESC LIMIT 1" % end)):
        ns = int(sql(trace, statement)[0]["n"])
        begin, until = [int(n) for n in dump(path, "#%d-%d" % (ns - 100000, ns))
                        and browser.evaluate("document.body.dataset.drawn").split("-")]
        is_shown = ("[...document.querySelectorAll('.chart.single:not([hidden]) h2')].some((e) => e.textContent === "
                    "'What each thread did')")
        check("around the longest %s the page goes to slices (%d us)" % (what, (until - begin) // 1000),
              begin <= ns and until - begin <= 200000 and browser.evaluate(is_shown),
              (ns, begin, until, browser.evaluate(is_shown)))


# How many columns of pixels have the color of the series that lies on the axis, and how many have another one of the
# legend.
LOWEST_COLOR = """((title, series) => {
	const card = [...document.querySelectorAll('.chart')].find((e) => e.querySelector('h2').textContent === title),
 canvas = card.querySelector('canvas');
	const color = (name) => getComputedStyle([...card.querySelectorAll('.legend span')].find((e) => e.dataset.name ===
 name).querySelector('i')).backgroundColor;
	const names = [...card.querySelectorAll('.legend span')].map((e) => e.dataset.name).filter((name) =>
 !name.endsWith(' bin'));
	const { data, width, height } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height), found =
 [0, 0];
	for (let x = 80; x < width - 10; x++)
		for (let y = height - 1; y >= 0; y--) {
			const at = 4 * (y * width + x), rgb = [data[at], data[at + 1], data[at + 2]];
			/* the axis and the grid are grey */
			if (data[at + 3] < 150 || Math.max(...rgb) - Math.min(...rgb) < 50)
				continue;
			const far = (name) => color(name).match(/\\d+/g).reduce((sum, v, i) => sum + Math.abs(v - rgb[i]), 0);
			found[names.sort((a, b) => far(a) - far(b))[0] === series ? 0 : 1]++;
			break;
		}
	return found;
})"""


def check_colors():
    """Where a point is a bin, there is no highest bin, and the colors are still those of the legend."""
    dump(os.path.join(tmp, "page.html"), "#100000000-200000000")
    same, other = browser.evaluate("%s('What threads did', 'running')" % LOWEST_COLOR)
    check("a series has the color that its legend says (%d of %d columns)" % (same, same + other), same > 10 * other
          and same > 100, (same, other))


# How many columns of pixels are hatched, of those right of the axis.
HATCHED = """((title) => {
	const card = [...document.querySelectorAll('.chart')].find((e) => e.querySelector('h2').textContent === title),
 canvas = card.querySelector('canvas');
	const { data, width, height } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
	const is_red = (x, y) => { const at = 4 * (y * width + x); return data[at + 3] > 80 && data[at] > 120 && data[at +
 1] < 70 && data[at + 2] < 70; };
	const columns = [...Array(width).keys()].filter((x) => x > 70 && [...Array(height).keys()].some((y) => is_red(x, y)));
	return [columns.length, width - 70];
})"""


def check_hatched():
    """Switches are lost in a part of the golden trace, and no requests."""
    dump(os.path.join(tmp, "golden.html"))
    share = {title: (lambda hatched, width: hatched / width)(*browser.evaluate("%s('%s')" % (HATCHED, title)))
             for title in ("CPUs busy", "Requests by device")}
    lost = float(sql(os.path.join(tmp, "golden"), """SELECT sum(to_ns - from_ns) / (SELECT 1.0 * max(to_ns) FROM
                                                     blocks) AS share
        FROM losses WHERE class = 'sched'""")[0]["share"])
    check("a chart is hatched where events are missing that its figures need (%.2f of its width), and no other" %
          share["CPUs busy"],
          lost > 0 and abs(share["CPUs busy"] - lost) < 0.02 and share["Requests by device"] == 0, (share, lost))


def check_paper():
    fits = ("[...document.querySelectorAll('.chart:not([hidden]) .plot')].every((e) => "
            "Math.abs(e.querySelector('canvas').clientWidth - e.clientWidth) < 2)")
    dump(os.path.join(tmp, "page.html"))
    width = browser.evaluate("(dispatchEvent(new Event('beforeprint')), document.getElementById('charts').clientWidth)")
    on_paper, after = browser.evaluate(fits), browser.evaluate(
            "(dispatchEvent(new Event('afterprint')), document.getElementById('charts').clientWidth)")
    # A4 and Letter have some 720 px between their margins
    check("charts are as wide as paper when they are printed", width < 720 < after and on_paper
          and browser.evaluate(fits), (width, on_paper, after))


def check_firefox():
    if not firefox.find():
        print("SKIP page: Firefox: there is no firefox here")
        return
    path, trace = os.path.join(tmp, "page.html"), os.path.join(tmp, "large")
    charts = "[...document.querySelectorAll('.chart:not([hidden]) h2')].map((e) => e.textContent)"
    dump(path, "#,by=process")
    wanted = browser.evaluate(charts)
    with firefox.Firefox() as f:
        f.open(path, "#all,by=process")
        f.wait("document.body.dataset.drawn")
        shown = f.evaluate(charts)
        check("Firefox draws the page from disk (%s charts, %s ms)" %
              (len(shown), f.evaluate("document.body.dataset.startMs")),
              shown == wanted and len(shown) > 10 and f.evaluate("document.getElementById('fallback').hidden"),
              (shown, wanted))
        f.evaluate("(delete document.body.dataset.drawn, document.dispatchEvent(new KeyboardEvent('keydown', { key: "
                   "'+' })))")
        a, b = map(int, f.wait("document.body.dataset.drawn").split("-"))
        wrong, figures = compare(f.evaluate(TABLES), trace, a, b)
        check("Firefox: every figure of a window is that of report (%d figures)" % figures, not wrong and figures > 10,
              wrong[:4])
        same, other = f.evaluate("%s('What threads did', 'running')" % LOWEST_COLOR)
        check("Firefox: a series has the color that its legend says (%d of %d columns)" % (same, same + other),
              same > 10 * other and same > 100, (same, other))


PICTURES = "[...document.querySelectorAll('.chart.wide')].filter((e) => e.querySelector(':scope > .steered > canvas'))"
# What the picture says at a place, from 0 to 1 of its width and height.
POINT = """((title, x, y) => {
	const card = %s.find((e) => e.querySelector('h2').textContent === title), canvas = card.querySelector('canvas'),
 place = canvas.getBoundingClientRect();
	canvas.dispatchEvent(new MouseEvent('mousemove', { clientX: place.left + x * place.width, clientY: place.top + y *
 place.height }));
	return card.querySelector('.at').textContent;
})""" % PICTURES


def point(title, x, y):
    return browser.evaluate("%s('%s', %f, %f)" % (POINT, title, x, y))


def unquoted(name):
    """CSV has a quote before what a spreadsheet would take for a formula."""
    return re.sub(r"^'(?=[=+@-])", "", name)


def sql(trace, statement):
    r = subprocess.run([ebpfrec, "sql", "-i", trace, "--format", "csv", statement], stdout=subprocess.PIPE,
                       stderr=subprocess.DEVNULL, text=True, check=True)
    return list(csv.DictReader(io.StringIO(r.stdout)))


def check_pictures():
    """Lanes and the heat map of the golden trace, which is small: the page has all its slices."""
    trace = os.path.join(tmp, "golden")
    dump(os.path.join(tmp, "golden.html"))
    slices = sql(trace, "SELECT s.start_ns, s.dur_ns, s.cpu, t.tid, p.comm FROM sched_slices AS s JOIN threads AS t "
                        "ON t.utid = s.utid "
                 "JOIN processes AS p ON p.upid = t.upid WHERE s.utid <> 0 ORDER BY s.dur_ns DESC")
    cpus = sorted({int(s["cpu"]) for s in slices})
    end = int(sql(trace, "SELECT max(end_ns) AS n FROM sched_slices")[0]["n"])
    wrong = []
    for s in slices[:8]:
        # the names of the CPUs take 150 px of 1400, and the window's edges are those of the slices
        canvas = browser.evaluate(
                "%s.find((e) => e.querySelector('h2').textContent.startsWith('Who "
                "ran')).querySelector('canvas').clientWidth" % PICTURES)
        x = (150 + (canvas - 150) * (int(s["start_ns"]) + int(s["dur_ns"]) / 2) / end) / canvas
        said = point("Who ran on each CPU", x, (cpus.index(int(s["cpu"])) * 22 + 8) / (len(cpus) * 22 + 18))
        if "CPU %s: " % s["cpu"] not in said or "thread %s of %s," % (s["tid"], unquoted(s["comm"])) not in said:
            wrong.append((s, said))
    check("the lanes say who ran on each CPU (%d slices asked for)" % len(slices[:8]), slices and not wrong, wrong[:2])
    wanted = sum(int(r["ios"])
                 for r in sql(trace, "SELECT ios FROM latency_hist(0, %d, 0, 'none') WHERE phase = 'total'" % end))
    # 14 px a row, and as many columns as there are bins at most
    shown = browser.evaluate(
            "(() => { const ask = %s, rows = %s.find((e) => "
            "e.querySelector('h2').textContent.startsWith('Latency')).querySelector('canvas')"
                             ".clientHeight / 14; let most = 0; for (let y = 0.5; y < rows; y++) for (let x = 0.08; x "
                             "< 1; x += 0.005) most = Math.max(most, "
                             "Number((/: (\\d+) requests/.exec(ask('Latency of requests', x, y / rows)) || [0, "
                             "0])[1])); return most; })()" % (POINT, PICTURES))
    check("the heat map shows requests (%d of %d in one place)" % (shown, wanted), 0 < shown <= wanted, (shown, wanted))


def check_flame():
    path = os.path.join(tmp, "flame.html")
    write_flame(os.path.join(tmp, "stacks"), path, "--sort", "samples")
    titles = {t for t, _, _ in browser.evaluate(FRAMES)}
    # gen_golden's: 60 and 20 of slab, which differ from the second frame on, 32 of page, 2 of heap
    wanted = {"[slab]: 80 (100.0 % of [slab])", "cc1: 80 (100.0 % of [slab])", "ufunc_1: 80 (100.0 % of [slab])",
              "ufunc_12: 60 (75.0 % of [slab])",
              "function_ffffffff81def0: 20 (25.0 % of [slab])", "[page]: 32 (100.0 % of [page])",
              "[heap]: 2 (100.0 % of [heap])"}
    check("a flame graph adds up what stacks share", wanted <= titles, (wanted - titles, titles))
    browser.evaluate("[...document.querySelectorAll('.frames div')].find((e) => e.textContent === 'ufunc_12').click()")
    shown = {text: kind for _, text, kind in browser.evaluate(FRAMES)}
    check("a click zooms into a frame", shown == {"ufunc_12": "", "function_ffffffff81abc0": "",
                                                  "function_ffffffff810010": "", "ufunc_1": "above",
                                                 "cc1": "above", "[slab]": "above", "all": "above"}, shown)
    browser.evaluate("document.body.dispatchEvent(new KeyboardEvent('keydown', { key: '0', bubbles: true }))")
    browser.evaluate("(() => { const i = document.querySelector('input'); i.value = 'DEF0'; i.dispatchEvent(new "
                     "Event('input')); })()")
    found = [text for _, text, kind in browser.evaluate(FRAMES) if kind == "found"]
    about = browser.evaluate("document.querySelector('output').textContent")
    check("a search marks frames and says what they have", found == ["function_ffffffff81def0"]
          and "[slab]: found 20 (25.0 % of [slab])" in about, (found, about))


def check_flame_of_difference():
    """gen_golden's stacks: a window with all kinds against one with 15 of slab. What B lacks is in a second graph."""
    path, trace = os.path.join(tmp, "difference.html"), os.path.join(tmp, "stacks")
    subprocess.run([ebpfrec, "diff", trace, trace, "--flame", path, "--of", "stacks", "--per", "run", "--from",
                    "1.100015s", "--from-b", "1.1s", "--until-b", "1.100015s"], check=True, capture_output=True)
    browser.open(path)
    seen = [[text + "|" + title + " " + color for text, title, color in graph] for graph in browser.evaluate(
        "[...document.querySelectorAll('.frames')].map((g) => [...g.children].map((e) => [e.textContent, e.title, "
        "e.style.backgroundColor]))")]
    grey = "rgb(214, 214, 214)"
    roots = [[t.split("|")[0] for t in graph if t.startswith("[")] for graph in seen]
    check("a difference has the graph of B, and that of what only A has", roots == [["[slab]"], ["[page]"]], seen)
    leaves = [sorted(t.split("itself ")[1] for t in graph if "itself" in t) for graph in seen]
    check("what changed has a colour, what few samples tell has none",
          [len(x) for x in leaves] == [2, 1] and "-77.6 % rgb(" in leaves[0][0] and grey not in leaves[0][0]
          and leaves[0][1].endswith("16 and 4 samples " + grey) and "-100.0 % rgb(" in leaves[1][0]
          and grey not in leaves[1][0] and all(t.endswith(grey) for graph in seen for t in graph if "itself" not in t),
          (leaves, seen))


def check_profile():
    """The page has a flame graph of the code that ran, if samples were recorded: gen_golden's, whose cc1 ran 1.44 s
    in six of them."""
    path = os.path.join(tmp, "profile.html")
    subprocess.run([ebpfrec, "export", "-q", "--to", "html", "-i", os.path.join(tmp, "stacks"), "-o", path], check=True,
                   stderr=subprocess.DEVNULL)
    dump(path)
    frames = browser.evaluate("[...document.querySelectorAll('#flame-profile .frames div')].map((e) => e.title)")
    check("the page shows the code that ran", any(re.match(r"cc1: 1\.44 s \(", t) for t in frames)
          and any(re.match(r"ufunc_12: 1\.20 s \(", t) for t in frames) and
          any(t.startswith("[no sample]: 1.00 s") for t in frames), frames)
    dump(os.path.join(tmp, "golden.html"))
    check("and nothing of it without samples",
          browser.evaluate("document.getElementById('flame-profile').hidden") is True, "shown")


def check_without_script():
    path = os.path.join(tmp, "golden.html")
    text = open(path, encoding="utf-8").read()
    rows = Page(text.split("<script", 1)[0])
    comms = {html.unescape(v) for v in re.findall(r'<td class="text">([^<]*)</td>', text)}
    r = subprocess.run([ebpfrec, "report", "-i", os.path.join(tmp, "golden"), "cpu", "--format", "csv", "--limit", "0"],
                       stdout=subprocess.PIPE,
                       stderr=subprocess.DEVNULL, text=True, check=True)
    wanted = {unquoted(x["comm"]) for x in csv.DictReader(io.StringIO(r.stdout))}
    check("without scripts the summary is there", wanted and wanted <= comms and rows.tags["table"] >= 4,
          (wanted - comms, rows.tags))
    check("the page names no other file or host", not re.search(r'(src|href)=|url\(|@import',
                                                                text.split("<script", 1)[0]))
    check("the page has the licence of what it contains", "MIT" in text and "Permission is hereby granted" in text)
    check("the page is for its owner alone", os.stat(path).st_mode & 0o777 == 0o600, oct(os.stat(path).st_mode))


random.seed(14)
check_without_script()
with Browser() as browser:
    check_windows("generated trace", os.path.join(tmp, "large"), 10 if ALL else 2)
    check_highest()
    check_axes()
    check_colors()
    check_hatched()
    if ALL:
        check_places()
        check_paper()
        check_firefox()
    check_windows("golden trace", os.path.join(tmp, "golden"), 3)
    check_pictures()
    check_flame()
    check_flame_of_difference()
    check_profile()
    check_hostile()
raise SystemExit(failed > 0)

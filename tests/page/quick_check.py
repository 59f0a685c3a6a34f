#!/usr/bin/env python3
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
"""The gate's part of the page tests: the figures of a page and of `ebpfrec view` are those of report, and what a
person sees first. Called by run.sh."""
import collections
import json
import os
import re
import shutil
import signal
import subprocess

from browser import Browser
from figures import TABLES, compare, compare_counts

tmp, ebpfrec = os.environ["tmp"], os.environ["EBPFREC"]
failed = 0


def check(name, good, saw=""):
    global failed
    failed += not good
    print("ok page: " + name if good else "not ok page: %s: %s" % (name, str(saw)[:600].replace("\n", " ")), flush=True)


def page(trace):
    path = os.path.join(tmp, trace + "-quick.html")
    subprocess.run([ebpfrec, "export", "-q", "-f", "--to", "html", "-i", os.path.join(tmp, trace), "-o", path],
                   check=True, stderr=subprocess.DEVNULL)
    return path


def show(path, fragment=""):
    browser.open(path, fragment)
    return browser.wait("document.body.dataset.drawn", 30)


def answer(*argv):
    return json.loads(subprocess.run([ebpfrec, *argv, "--format", "json"], stdout=subprocess.PIPE,
                                     stderr=subprocess.DEVNULL, check=True).stdout)


def text(what):
    return browser.evaluate("document.querySelector('%s').innerText" % what)


def check_figures(name, trace):
    whole = tuple(map(int, browser.evaluate("document.body.dataset.drawn").split("-")))
    wrong, figures = compare(browser.evaluate(TABLES), trace, *whole)
    check("%s: every figure is that of report (%d)" % (name, figures), not wrong and figures > 30, wrong[:3])


def check_counts(name, trace):
    whole = tuple(map(int, browser.evaluate("document.body.dataset.drawn").split("-")))
    wrong, names = compare_counts(browser.evaluate(TABLES), trace, *whole)
    check("%s: a name has as many processes as report has (%d)" % (name, names), not wrong and names > 5, wrong[:3])


CAUSES = "document.querySelectorAll('#causes-text p').length && document.getElementById('causes-text').innerText"


def check_first_screen(path):
    """A recorded command: its causes, its lanes; the rest of the machine is one line."""
    show(path)
    causes = browser.wait(CAUSES, 10)
    wanted = answer("report", "why", "-i", os.path.join(tmp, "command"), "--workload")["In short"]
    check("a page opens with the causes that report why --workload names",
          all(row["answer"] in causes for row in wanted if " of memory within " not in row["answer"])
          and len(wanted) > 1, (wanted, causes))
    lanes = browser.evaluate(
            "[...document.querySelectorAll('#lanes .picture:not([hidden]) h2')].map((e) => e.textContent)")
    top = [browser.evaluate("document.querySelector('#%s').getBoundingClientRect().top" % e)
           for e in ("causes", "lanes", "charts", "tables")]
    check("causes, lanes, charts and tables come in this order", lanes == ["What each thread did"]
          and top == sorted(top), (lanes, top))
    names = "[...document.querySelectorAll('#table-cpu tbody tr')].map((r) => r.cells[1].title)"
    of_command = browser.evaluate(names)
    mine = {p["comm"] for p in answer("sql", "-i", os.path.join(tmp, "command"),
                                      "SELECT DISTINCT comm FROM processes WHERE is_workload")}
    rest = {r["comm"] for r in answer("report", "cpu", "-i", os.path.join(tmp, "command"))} - mine - {"[unknown]"}
    check("with a command the tables are of its processes, and one line",
          rest and of_command.count("rest of the machine") == 1 and not rest & set(of_command), (of_command, rest))
    browser.evaluate("[...document.querySelectorAll('#causes .open')].find((e) => e.textContent === 'show the "
                     "machine').click()")
    browser.wait("document.getElementById('scope').value === 'machine' && document.body.dataset.drawn", 20)
    shown = set(browser.evaluate(names))  # with control characters escaped
    check("the rest of the machine is a click away", "rest of the machine" not in shown
          and len(shown - mine) == len(rest), (shown, rest))
    seen = "[...document.querySelectorAll('#tables .table')].filter((e) => e.getClientRects().length).map((e) => e.id)"
    browser.evaluate("[...document.querySelectorAll('#tabs button')].find((e) => e.textContent === 'Memory').click()")
    check("one table is seen, behind its tab", browser.evaluate(seen) == ["box-memory"], browser.evaluate(seen))
    browser.evaluate("document.querySelector('#table-cpu th button').focus()")
    browser.evaluate("[...document.querySelectorAll('#tabs button')].find((e) => e.textContent === 'CPU').click()")
    browser.evaluate("document.querySelector('#table-cpu th button').focus()")
    browser.evaluate("(delete document.body.dataset.drawn, document.body.dispatchEvent(new KeyboardEvent('keydown', { "
                     "key: '+', bubbles: true })))")
    browser.wait("document.body.dataset.drawn", 20)
    check("the focus is kept when the window changes",
          browser.evaluate("document.activeElement.closest('table') !== null"),
          browser.evaluate("document.activeElement.outerHTML"))


def check_lack(path):
    show(path)
    said = text("body").upper().count("LOST")
    check("what is missing is said once, with its size and effect",
          re.match(r"3 events lost in .* of 4\.00 s, hatched: figures of CPU", text("#lack")) and said == 1 and
          "INCOMPLETE" not in text("body"), (text("#lack"), said))
    check("a window is named with the digits that matter", text("#span") == "all 4.00 s", text("#span"))
    show(path, "#1200000000-1700000000")
    check("and so is a part of it", re.match(r"1\.\d\d to 1\.\d\d s of 4\.00 s$", text("#span")), text("#span"))


def check_empty():
    """A trace of which no block is left: the page is there, and has nothing to show."""
    trace = os.path.join(tmp, "no_block")
    shutil.copytree(os.path.join(tmp, "golden"), trace)
    os.truncate(os.path.join(trace, "chunk-000000.ebr"), 64)
    show(page("no_block"))
    said = "Nothing ran or waited in this window."
    check("a trace without events has a page", said in text("#causes-text"), text("body"))
    check_viewer_says("and can be viewed", trace, said)
    check_viewer_says("the viewer opens with the spikes", os.path.join(tmp, "golden"),
                      "1 spike of memory, the largest 32.0 MiB in 48.4 ms by cc1")


def check_viewer_says(name, trace, wanted):
    view = subprocess.Popen([ebpfrec, "view", "-i", trace], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                            text=True)
    show(view.stdout.readline().strip())
    check(name, browser.wait("document.getElementById('causes-text').innerText.includes('%s')" % wanted, 20),
          text("body"))
    view.send_signal(signal.SIGINT)
    view.wait(60)


def check_rates():
    """One request in a bin of some us is no GiB per second."""
    source = open(os.path.join(os.path.dirname(__file__), "..", "..", "cmd", "page", "charts.js"),
                  encoding="utf-8").read()
    code = re.search(r"const RATE_NS.*?\n}\n", source, re.S).group(0)
    got = browser.evaluate(
            "(() => { const SERIES = 0; let edges = [0, 25e3, 50e3, 1e6, 2e6, 3e6]; %s const v = [1e5, 0, 0, 7, 8]; "
            "even_out(v); return v; })()" % code)
    check("a rate is of at least 1 ms", got == [2500, 2500, 95000, 7, 8], got)


def check_viewer(trace):
    view = subprocess.Popen([ebpfrec, "view", "-i", trace], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                            text=True)
    url = view.stdout.readline().strip()
    show(url, "#all,by=process,machine")
    check_figures("viewer", trace)
    show(url, "#all,by=name,machine")
    check_counts("viewer", trace)
    end = int(browser.evaluate("document.body.dataset.drawn").split("-")[1])
    a, z = end // 4, end // 2
    show(url, "#%d-%d" % (a, z))
    blue = ("(() => { const c = document.querySelector('#overview canvas'), d = c.getContext('2d').getImageData(0, 0, "
            "c.width, c.height).data; let n = 0; "
            "for (let i = 0; i < d.length; i += 4) n += d[i] < 60 && d[i + 2] > 120 && d[i + 3] > 200; return n; })()")
    check("a link to a window has the strip of the whole trace", browser.wait(blue + " > 100", 20),
          browser.evaluate(blue))
    check("the first lanes are there", browser.evaluate("!document.querySelector('#lanes .picture').hidden"), "hidden")
    browser.evaluate("(document.getElementById('search').value = 'c', "
                     "document.getElementById('search').dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter' })))")
    rows = "[...document.querySelectorAll('#found tr')].map((r) => r.innerText).join()"
    before = browser.wait("!document.getElementById('found').hidden && " + rows, 20)
    browser.evaluate("(delete document.body.dataset.drawn, location.hash = '%d-%d')" % (a, a + (z - a) // 3))
    after = browser.wait("(%s) !== %s && %s" % (rows, json.dumps(before), rows), 20)
    check("what was found is of the window that is shown", before and after and after != before, (before, after))
    check_waiters(trace, a, z)
    view.send_signal(signal.SIGINT)
    check("Ctrl-C ends the viewer with 0", view.wait(60) == 0, view.returncode)


def check_requests(trace):
    """Each request is a bar, the longest one on top; a click on it explains it."""
    view = subprocess.Popen([ebpfrec, "view", "-i", trace], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                            text=True)
    show(view.stdout.readline().strip(), "#all")
    slow = answer("sql", "-i", trace,
                  "SELECT id, (start_ns + end_ns) / 2.0 / (SELECT max(to_ns) FROM blocks) AS at FROM "
                  "requests WHERE end_ns NOTNULL ORDER BY dur_ns DESC, id LIMIT 1")[0]
    box = "[...document.querySelectorAll('.picture')].find((e) => e.innerText.startsWith('Requests of programs'))"
    size = browser.wait("(() => { const c = %s.querySelector('canvas'); return c.clientWidth && [150 / "
                        "c.clientWidth, 2 / c.clientHeight]; })()" % box, 20)
    browser.click("%s.querySelector('canvas')" % box, (size[0] + (1 - size[0]) * slow["at"], size[1]))
    check("a click on a request explains it", browser.wait("document.getElementById('why-text').innerText.includes("
          "'This request (24.0 ms) waited 19.0 ms for lock')", 20), text("#why-text"))
    check("and names it, with its command", text("#why-command").endswith("--request %d" % slow["id"]),
          text("#why-command"))
    view.send_signal(signal.SIGINT)
    view.wait(60)


def check_waiters(trace, a, z):
    rows = answer("sql", "-i", trace,
                  """SELECT x.tid AS ender, w.tid AS tid, sum(e.waits) AS waits, sum(e.wait_ns) AS wait_ns FROM
                     wait_ends(%d, %d) AS e
        JOIN threads AS x ON x.utid = e.ender_utid JOIN threads AS w ON w.utid = e.utid WHERE w.utid <> x.utid AND
        e.kind <> 'kernel'
        GROUP BY 1, 2 HAVING sum(e.waits) > 0 ORDER BY 4 DESC""" % (a, z))
    if not rows:
        check("who waited for a thread", False, "no waits in this trace")
        return
    # the list is cut after 50 rows
    cnt = collections.Counter(r["ender"] for r in rows)
    ender = max(cnt, key=lambda e: (cnt[e] < 20, cnt[e]))
    got = json.loads(browser.evaluate("fetch('report?view=waiters&from=%d&to=%d&tid=%d').then((r) => r.text())" %
                                      (a, z, ender)))
    total = lambda some: (sum(r["waits"] for r in some), sum(r["wait_ns"] for r in some))
    check("a thread has those who waited for it (%d)" % len(got),
          got and total(got) == total([r for r in rows if r["ender"] == ender]), (got[:3], rows[:3]))


with Browser() as browser:
    large = os.path.join(tmp, "large")
    page_of_large, golden, command = page("large"), page("golden"), page("command")
    show(page_of_large, "#all,by=process")
    check_figures("page", large)
    show(page_of_large, "#all,by=name")
    check_counts("page", large)
    check_first_screen(command)
    check_lack(golden)
    for path in (page_of_large, golden, command):
        show(path)
        check("%s has lanes" % os.path.basename(path),
              browser.evaluate("document.querySelector('#lanes .picture:not([hidden])') !== null"), text("#empty"))
    check_rates()
    check_empty()
    check_viewer(large)
    check_requests(os.path.join(tmp, "spans"))
raise SystemExit(failed > 0)

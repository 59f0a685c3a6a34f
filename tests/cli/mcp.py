# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
"""
mcp.py EBPFREC DIR: the server of `ebpfrec mcp` over the traces of DIR, message by message: what the protocol wants,
sizes, completeness, names that are data, options that cannot be given, errors that say what to do. Prints "ok NAME" or
"not ok NAME: what it saw".
"""
import json
import re
import subprocess
import sys
import urllib.error
import urllib.request

PROGRAM, DIR = sys.argv[1:3]
SANITIZED = any(word in open(PROGRAM, "rb").read() for word in (b"__asan_init", b"__tsan_init"))
SERVER = subprocess.Popen([PROGRAM, "mcp", DIR], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                          encoding="utf-8")
count = 0


def check(name, holds, saw=""):
    print("ok mcp: " + name if holds else "not ok mcp: %s: %s" % (name, str(saw).replace("\n", " / ")[:600]))


def send(text):
    SERVER.stdin.write(text + "\n")
    SERVER.stdin.flush()


def ask(method, **params):
    global count
    count += 1
    send(json.dumps({"jsonrpc": "2.0", "id": count, "method": method, "params": params}))
    line = SERVER.stdout.readline()
    reply = json.loads(line)
    assert reply["id"] == count and reply["jsonrpc"] == "2.0", line
    return reply, len(line.encode())


def tool(tool_name, **args):
    reply, size = ask("tools/call", name=tool_name, arguments=args)
    result = reply["result"]
    return result["content"][0]["text"], result["isError"], size


if SERVER.poll() is None:
    without = subprocess.run([PROGRAM, "mcp", DIR], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if without.returncode == 1 and "built without jansson" in without.stderr:
        print("ok mcp: a program without jansson says so")
        sys.exit(0)
hello, _ = ask("initialize", protocolVersion="2025-03-26", capabilities={}, clientInfo={"name": "test", "version": "1"})
check("it speaks the version that was asked for", hello["result"]["protocolVersion"] == "2025-03-26"
      and "tools" in hello["result"]["capabilities"], hello)
send(json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}))
listed, _ = ask("tools/list")
names = [t["name"] for t in listed["result"]["tools"]]
check("all tools are listed, with schemas", names == "list summary why views view schema sql diff view_link".split()
      and all(t["inputSchema"]["type"] == "object" and t["description"] for t in listed["result"]["tools"]), names)
check("ping", ask("ping")[0]["result"] == {})

text, bad, _ = tool("list")
check("list has each trace, and says whether it is complete", not bad and "golden.ebpfrec: 4.00 s" in text
      and "INCOMPLETE: sched: 3 events lost" in text, text)
answers = {"list": {}, "views": {}, "schema": {}, "summary": {"trace": "golden.ebpfrec"},
           "why": {"trace": "golden.ebpfrec", "comm": "cc1"}, "view": {"trace": "golden.ebpfrec", "view": "cpu"},
           "sql": {"trace": "golden.ebpfrec", "statement": "SELECT * FROM slab_allocs"},
           "diff": {"a": ["golden.ebpfrec"], "b": ["golden.ebpfrec"]}}
for name, args in answers.items():
    text, bad, size = tool(name, **args)
    check("an answer of %s has at most 8 KB" % name, not bad and 0 < size <= 8192, (size, text))
    if name not in ("views", "schema", "list"):
        check("%s says what is missing" % name, re.search(r"(?i)incomplete", text), text)
text, bad, _ = tool("view", trace="golden.ebpfrec", view="cpu", **{"from": "1s", "until": "2s"})
check("a view of a window that is complete says so, with units in names", "The window is complete." in text
      and "oncpu_ns" in text and "200,cc1,1000000000" in text, text)
check("a hostile name is data", "\\x1b[31m" in text and "\x1b" not in text, text)
text, bad, size = tool("sql", trace="golden.ebpfrec", statement="SELECT * FROM slab_allocs", max_bytes=2048)
check("what was left out is counted, and how to ask for it is said", size <= 2048
      and re.search(r"\d+ of 101 lines are left out; .*max_bytes", text), text)
text, bad, size = tool("sql", trace="golden.ebpfrec", statement="SELECT a.*, p.comm FROM slab_allocs AS a, processes "
                       "AS p", max_bytes=1000000)
check("more is given when it is asked for", size > 8192 and text.count("\n") > 500 and "left out" not in text, size)
text, bad, _ = tool("sql", trace="golden.ebpfrec", statement="CREATE TABLE t(a)")
check("sql writes nothing", bad, text)
text, bad, _ = tool("sql", trace="golden.ebpfrec", statement="WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + "
                    "1 FROM c) SELECT printf('%1000d', n) FROM c")
check("an answer without end is ended", bad and "2 MiB" in text, text[-200:])
text, bad, _ = tool("view", trace="golden.ebpfrec", view="cpuu")
check("an error says the next step", bad and "did you mean 'cpu'?" in text, text)
for trace in "../golden.ebpfrec", "/etc", "", "-h", ".":
    text, bad, _ = tool("summary", trace=trace)
    check("nothing outside of the directory is read: %r" % trace, bad
          and ("no name of a trace" in text or "no such trace" in text), text)
text, bad, _ = tool("view", trace="golden.ebpfrec", view="--db=x")
check("a view is no option", bad and "which view" in text, text)
text, bad, _ = tool("view", trace="golden.ebpfrec", view="cpu", comm="--db=x")
check("nor is a value", bad and "no process '--db=x'" in text, text)
text, bad, _ = tool("view", trace="golden.ebpfrec", view="cpu", limit=1)
check("rows beyond the limit are spoken of", not bad and "there may be more rows than the limit, 1" in text, text)
text, bad, _ = tool("view", trace="golden.ebpfrec", view="cpu", db="x", follow="1s")
check("an unknown argument is refused, with the known ones", bad and "'db'" in text and "trace,view,from," in text
      and "max_bytes" in text, text)
reply, _ = ask("tools/call", name="view", arguments={"trace": "golden.ebpfrec", "view": "cpu", "from": "1s",
                                                     "until": "2s"})
content = reply["result"]["structuredContent"]
row = dict(zip(content["columns"], content["rows"][0]))
check("rows come structured, too", content["isComplete"] and row["comm"] == "cc1" and row["oncpu_ns"] == 1000000000,
      content)
values = "SELECT '=1' AS a, '''=1' AS b, '' AS c, NULL AS d, 0.5 AS e, 'x,\"y' AS f, NULL AS g"
reply, _ = ask("tools/call", name="sql", arguments={"trace": "golden.ebpfrec", "statement": values})
content = reply["result"]["structuredContent"]
check("as the values they are", content["rows"] == [["=1", "'=1", "", None, 0.5, 'x,"y', None]]
      and not content["isComplete"], content)
check("a text with NUL is refused, with the id", ask("tools/call", name="sql",
                                                     arguments={"trace": "a\0b"})[0]["error"]["code"] == -32602)

# while a statement runs: a ping is answered, progress is sent, and the statement can be cancelled; what it may use is
# limited
FOREVER = "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) SELECT max(n) FROM c"


def start(statement, **args):
    global count
    count += 1
    send(json.dumps({"jsonrpc": "2.0", "id": count, "method": "tools/call",
                     "params": {"name": "sql", "_meta": {"progressToken": "p"},
                                "arguments": dict(args, trace="golden.ebpfrec", statement=statement)}}))
    return count


def receive():
    """the next message that is no progress"""
    message = {"method": ""}
    while "method" in message:
        message = json.loads(SERVER.stdout.readline())
    return message


running = start(FOREVER)
progress = json.loads(SERVER.stdout.readline())
check("progress is sent", progress.get("method") == "notifications/progress"
      and progress["params"]["progressToken"] == "p", progress)
send(json.dumps({"jsonrpc": "2.0", "id": "early", "method": "ping"}))
send(json.dumps({"jsonrpc": "2.0", "id": "queued", "method": "tools/list"}))
seen = receive()
check("a ping is answered while a statement runs", seen["id"] == "early", seen)
send(json.dumps({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": running}}))
seen = receive()
check("a cancelled statement has no answer, and what was asked meanwhile has", seen["id"] == "queued", seen)
text, bad, _ = tool("sql", trace="golden.ebpfrec", statement=FOREVER, max_seconds=1)
check("a statement that takes too long is ended", bad and "max_seconds" in text, text)
large = ("WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c LIMIT 400) SELECT "
         "length(group_concat(printf('%1000000d', n))) FROM c")
if not SANITIZED:     # a sanitizer needs more memory than the limit, which is off then
    text, bad, _ = tool("sql", trace="golden.ebpfrec", statement=large, max_seconds=120)
    check("or that takes too much memory", bad and "out of memory" in text, text)
text, bad, _ = tool("sql", trace="golden.ebpfrec", statement=large, max_memory_mib=2000, max_seconds=60)
check("unless that is asked for", not bad and "400000399" in text, text)
large = ("WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c LIMIT 50) SELECT n FROM c ORDER BY "
         "printf('%1000000d', n) LIMIT 60")
text, bad, _ = tool("sql", trace="golden.ebpfrec", statement=large, max_temp_mib=10, max_seconds=60)
check("or too much temporary space", bad, text)

text, bad, _ = tool("view", trace="golden.ebpfrec", view="cpu", workload=True)
check("a flag may be true", not bad and re.findall(r"(?m)^\d+,", text) == ["200,", "100,"], text)
text, bad, _ = tool("view", trace="golden.ebpfrec", view="cpu", workload=False)
check("or false", not bad and "300," in text, text)

text, bad, _ = tool("why", trace="spans.ebpfrec", requests="PUT*", slow="p90")
check("why compares requests", not bad and "for lock 7f33a0012000, held by audit" in text, text)
text, bad, _ = tool("why", trace="spans.ebpfrec", request="8")
check("why explains one request", not bad and "This request (24.0 ms) waited 19.0 ms for lock" in text, text)
text, bad, _ = tool("why", trace="spans.ebpfrec", requests="GET")
check("an unknown name lists the known ones", bad and "there are: GET /, PUT /cart" in text, text)

# a page in a browser: the same viewer for each window of a trace, as long as the server runs
text, bad, size = tool("view_link", trace="golden.ebpfrec", **{"from": "1s", "until": "2s"})
if bad and "built without" in text:
    link = None
    check("a program without a viewer says so", True)
else:
    browser = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    link = text.split("\n")[0]
    check("view_link is an address with a token and the window, and says what is missing", not bad and size <= 8192
          and re.fullmatch(r"http://127\.0\.0\.1:\d+/[0-9a-f]{32}/#1000000000-2000000000", link)
          and "INCOMPLETE: " in text, text)
    page = browser.open(link.split("#")[0], timeout=60).read().decode()
    check("the page is there", "golden.ebpfrec" in page and "<script" in page, page[:300])
    text, bad, _ = tool("view_link", trace="golden.ebpfrec", during="200")
    check("another window has the same viewer", text.startswith(link.split("#")[0] + "#") and not text.startswith(link),
          text)
text, bad, _ = tool("view_link", trace="golden.ebpfrec", **{"from": "mark:none"})
check("a window that there is not has no address", bad and "http:" not in text and "none" in text, text)
text, bad, _ = tool("view_link", trace="../golden.ebpfrec")
check("nor has a trace outside of the directory", bad and "no name of a trace" in text, text)
check("an unknown tool", ask("tools/call", name="nope", arguments={})[0]["error"]["code"] == -32602)
check("an unknown method", ask("nope")[0]["error"]["code"] == -32601)
send("{not json")
check("what is no JSON", json.loads(SERVER.stdout.readline())["error"]["code"] == -32700)
send("[]")
check("what is no request", json.loads(SERVER.stdout.readline())["error"]["code"] == -32600)
text, bad, _ = tool("summary", trace="golden.ebpfrec")
check("and it goes on", not bad and "CPU by name" in text, text)
SERVER.stdin.close()
check("it ends with its input", SERVER.wait(10) == 0)
if link:
    try:
        browser.open(link.split("#")[0], timeout=10)
        check("and its viewer with it", False, "it still answers")
    except urllib.error.URLError as error:
        check("and its viewer with it", isinstance(error.reason, ConnectionRefusedError), error)

# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
"""
mcp_sizes.py EBPFREC DIR: each tool of `ebpfrec mcp DIR`, and each view, about each trace of DIR: a message of at most 8
KB, without a character that a terminal obeys, and what is about a trace says whether its data is complete. Prints "ok
NAME" or "not ok NAME: what it saw".
"""
import concurrent.futures
import json
import os
import re
import subprocess
import sys

PROGRAM, DIR = sys.argv[1:3]


class Server:
    def __init__(self):
        self.process = subprocess.Popen([PROGRAM, "mcp", DIR], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        encoding="utf-8")
        self.count = 0

    def result(self, name, args):
        """The line of an answer, and its result."""
        self.count += 1
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", "id": self.count, "method": "tools/call",
                                             "params": {"name": name, "arguments": args}}) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        return line, json.loads(line)["result"]

    def ends(self):
        self.process.stdin.close()
        return self.process.wait(20) == 0


def tool(server, name, **args):
    """The text of an answer and what is wrong with its message."""
    line, result = server.result(name, args)
    text = result["content"][0]["text"]
    bad = len(line.encode()) > 8192 or not text or re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e]",
        text)
    ended = "(ended: " in text
    if name in ("summary", "why", "view", "sql", "diff", "view_link") and (ended
        or not result["isError"]) and not re.search("(?i)complete", text):
        bad = "does not say whether it is complete"
    return text, bad and (name, args, len(line.encode()), bad if isinstance(bad, str) else "", text[:300])


def look(server, trace):
    """Each tool, and each view, about a trace. Returns what to print."""
    wrong = []
    asked = [("summary", {}), ("why", {}), ("sql", {"statement": "SELECT * FROM switches CROSS JOIN processes"}),
             ("view_link", {}), ("sql", {"statement": "SELECT * FROM threads"}),
             ("view", {"view": "cpu", "by": "thread", "every": "100us", "limit": 0})] + [("view", {"view": v})
        for v in views] + [("view", {"view": v, "limit": 0}) for v in views]
    for name, args in asked:
        wrong.append(tool(server, name, trace=trace, **args)[1])
    wrong.append(tool(server, "diff", a=[trace], b=[traces[0]])[1])
    wrong = [w for w in wrong if w]
    return ("ok mcp: %d answers about %s have at most 8 KB, and say whether they are complete" % (len(asked) + 1, trace)
            if not wrong else "not ok mcp: %s: %d of %d answers: %s" %
            (trace, len(wrong), len(asked) + 1, str(wrong[:3]).replace("\n", " / ")))


def look_at(some):
    """One server for several traces. Returns what to print, and whether the server ended well."""
    server = Server()
    return [look(server, trace) for trace in some], server.ends()


first = Server()
traces = [line.split(": ")[0] for line in tool(first, "list")[0].split("\n") if "in a browser: " in line]
views = sorted(set(re.findall(r"^[A-Z][a-z]*,([a-z]+),", tool(first, "views")[0], re.M)))
print("ok mcp: %d traces, %d views" % (len(traces), len(views)) if len(traces) > 5 and len(views) > 20
      else "not ok mcp: traces and views: %s %s" % (traces, views))
ended = [first.ends()]
# as many at a time as there are CPUs
with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
    for said, end in pool.map(look_at, (traces[i::os.cpu_count()] for i in range(min(os.cpu_count(), len(traces))))):
        print("\n".join(said), flush=True)
        ended.append(end)
print("ok mcp: the servers end" if all(ended) else "not ok mcp: the servers end: they do not: %s" % ended)

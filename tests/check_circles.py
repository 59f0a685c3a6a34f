#!/usr/bin/env python3
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
"""
check_circles.py [DIR]: which folder may include which, and no circles; check_includes.sh runs it.

MAY lists, folder by folder, whose headers its files may include beside those of their own. A folder stands below all
that may include it, so the list has no circle. A permission that nothing uses any more is an offence, too.
Within a folder, no two files call each other, straight or through others: one of them would have no place of its own.

Prints one "ok" or "not ok" line per rule, with the offending places.
"""
import collections
import os
import pathlib
import re
import sys

MAY = """
src/base:
src/format: src/base
src/preload:
src/ring: bpf src/base src/preload
src/symbol: src/base
src/store: src/base src/format
src/probe: bpf src/base src/symbol
src/trace: src/base src/format src/store
src/model: src/base src/format
src/edit: src/base src/format src/store src/symbol src/trace src/model
src/record/tasks: bpf src/base src/format src/ring src/symbol src/probe
src/record/encode: bpf src/base src/format src/model src/ring src/record/tasks
src/record/flight: bpf src/base src/format src/model src/ring src/store src/probe src/record/tasks src/record/encode
src/record/guard: bpf src/base src/format src/ring src/probe src/record/encode
src/record: bpf src/base src/format src/preload src/ring src/symbol src/store src/probe src/record/tasks
    src/record/encode src/record/flight src/record/guard
analyze/context: src/base src/format src/model src/symbol src/trace
analyze: src/base src/trace analyze/context
analyze/fold: src/base src/format src/trace src/model src/edit analyze/context
analyze/engine: src/base src/symbol src/trace src/model analyze analyze/context analyze/fold
analyze/views: src/base src/model analyze/context analyze/fold analyze/engine
analyze/tables: src/base src/format src/model analyze/context analyze/fold analyze/engine analyze/views
analyze/parquet: src/base src/format analyze/context
analyze/export: src/base src/format src/model analyze analyze/context analyze/fold analyze/engine analyze/parquet
analyze/diff: src/base src/model analyze/context analyze/engine
analyze/page: src/base analyze analyze/context analyze/fold analyze/engine
cmd/render: src/base analyze analyze/engine analyze/export analyze/parquet
cmd/input: src/base src/model src/symbol src/trace src/edit analyze analyze/context analyze/engine cmd/render
cmd/metrics: src/base analyze analyze/context analyze/engine cmd/render cmd/input
cmd/serve: src/base
cmd/view: src/base src/store analyze cmd/render cmd/serve
cmd/copy: src/base src/trace src/edit cmd/render cmd/input
cmd/mcp: src/base
cmd/diff: src/base analyze/diff cmd/render cmd/input
cmd/assert: src/base src/store analyze analyze/engine cmd/render cmd/input
cmd: src/base src/format src/symbol src/store src/probe src/trace src/edit src/record analyze
    analyze/context analyze/engine analyze/diff cmd/render cmd/input cmd/metrics cmd/serve cmd/view cmd/copy cmd/diff
    cmd/assert cmd/mcp
"""
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"]+)"', re.M)
COMMENT_OR_TEXT = re.compile(r'/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.S)
# a function that is not static, from its name to the brace in the first column
FUNCTION = re.compile(r"^(?!static\b)[A-Za-z_][\w \t*]*?\b(\w+)\([^;{}]*\)\n\{", re.M)
# a table or a number that is not static
DATA = re.compile(r"^(?!static\b|extern\b|typedef\b|\t)[a-z][\w \t*]*?\b(\w+)(?:\[[^]]*\])* = ", re.M)


def circles(names, after):
    """The sets of two names or more that reach each other; after(name) yields where a name leads."""
    reach = {}
    for name in names:
        seen, todo = set(), [name]
        while todo:
            for other in after(todo.pop()):
                if other not in seen:
                    seen.add(other)
                    todo.append(other)
        reach[name] = seen
    return {frozenset(b for b in reach[a] if a in reach.get(b, ())) for a in names if a in reach[a]}


def includes(files):
    """Yields (file, line, its folder, the folder of what it includes) where the two differ."""
    for where, text in files.items():
        for m in INCLUDE.finditer(text):
            for path in (m[1], "src/" + m[1]):
                if path in files or path == "bpf/wire.h":
                    if os.path.dirname(path) != os.path.dirname(where):
                        yield where, text.count("\n", 0, m.start()) + 1, os.path.dirname(where), os.path.dirname(path)


def calls(files):
    """By file: the other files of its folder that define what it names, and the names."""
    code = {f: COMMENT_OR_TEXT.sub(" ", text) for f, text in files.items() if f.endswith(".c")}
    home = {}
    for where, text in code.items():
        for name in FUNCTION.findall(text) + DATA.findall(text):
            home[os.path.dirname(where), name] = where
    uses = collections.defaultdict(lambda: collections.defaultdict(set))
    for where, text in code.items():
        for name in set(re.findall(r"\w+", text)):
            other = home.get((os.path.dirname(where), name), where)
            if other != where:
                uses[where][other].add(name)
    return uses


def main():
    top = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent)
    files = {str(p.relative_to(top)): p.read_text(encoding="utf-8", errors="replace")
             for room in ("cmd", "analyze", "src") for p in sorted((top / room).rglob("*.[ch]"))}
    may = {line.split(":")[0]: line.split(":")[1].split() for line in MAY.replace("\n    ", " ").strip().split("\n")}
    bad, used = [], set()
    for where, line, a, b in includes(files):
        used.add((a, b))
        if b not in may.get(a, ()):
            bad.append(f"{where}:{line}: {a} may not include {b}")
    unused = [f"{a}: {b}" for a in may for b in may[a] if (a, b) not in used]
    rings = [" <-> ".join(sorted(c)) for c in circles(may, lambda a: may.get(a, ()))]
    uses, knots = calls(files), []
    for circle in circles(list(uses), lambda f: uses.get(f, ())):
        knots += [f"{a} names {', '.join(sorted(uses[a][b])[:3])} of {b}"
                  for a in sorted(circle) for b in sorted(uses[a]) if b in circle]
    for says, offending in (("folders include what they may", bad), ("every permission is used", unused),
                            ("no circle of folders", rings), ("no circle of files in a folder", knots)):
        print(f"not ok {says}: {len(offending)} offending" if offending else f"ok {says}")
        for line in offending:
            print(f"    {line}")
    return any((bad, unused, rings, knots))


sys.exit(main())

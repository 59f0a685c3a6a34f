#!/usr/bin/env python3
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
"""
check_style.py [DIR]: what CONTRIBUTING.md says about the form of source files and a program can see.

- no line of C over 100 columns, with tabs of 8; no trailing blanks
- no line of other sources and declarations over 120 characters, except words of declarations, which have no
  continuation, and what is generated
- no function of C over 100 lines, from the line with its name to its last brace
- no file of C outside tests over 1,200 lines
- scripts of guests, whose shell is busybox's, are read by sh
- the licence in the first line of C and scripts, always in the same words (after #! in the second)
- file names are unique, so that a name says which file is meant (run.sh is one per directory)

Prints one "ok" or "not ok" line per rule, with the offending places.
"""
import collections
import pathlib
import re
import subprocess
import sys

COLUMNS, SCRIPT_COLUMNS, FUNCTION_LINES, FILE_LINES = 100, 120, 100, 1200
LICENCE = "SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)"
COMMENT = {".c": "/* %s */", ".h": "/* %s */"}
ROOMS = ("bpf", "src", "analyze", "cmd", "schema", "tests", ".ci")
SOURCES = {".c", ".h", ".sh", ".bash", ".py", ".sql"}
# as narrow, without a check of the licence
NARROW = {".awk", ".cc", ".decl", ".event", ".mjs", ".xml", ".yml"}
# schema/*.awk takes a line each, sentence and all; metrics are declared like that in SQL
DECLARED = re.compile(r"(about|column|doc|field|function|names|note|record|value) |-- counter ")
# a signature in the first column, as against a label, a macro or the rest of a comment
SIGNATURE = re.compile(r"^[A-Za-z_][^;={}]*\(")


def sources(top):
    for room in ROOMS:
        for path in sorted((top / room).rglob("*")):
            if path.is_file() and (path.suffix in SOURCES | NARROW or path.suffix == "" and is_script(path)):
                yield path
    yield top / "Makefile"


def is_script(path):
    with path.open("rb") as f:
        return f.read(2) == b"#!"


def functions(lines):
    """Yields (name, first line, number of lines) of what begins with "{" and ends with "}" in the first column."""
    name = start = None
    inside = False
    for number, line in enumerate(lines, 1):
        if inside:
            if line.startswith("}"):
                if name:
                    yield name, start, number - start + 1
                name, inside = None, False
        elif line == "{":
            inside = True
        elif SIGNATURE.match(line):
            # BPF_PROG(name, ...) names the program first
            name = re.search(r"(?:BPF_K?PROG\()?(\w+)\W*[(,]", line)[1]
            start = number
        elif not line or line.startswith(("#", "}", "/*")):
            name = None


def check_c(where, lines, bad):
    for number, line in enumerate(lines, 1):
        if len(line.expandtabs(8)) > COLUMNS:
            bad["columns"].append(f"{where}:{number}: {len(line.expandtabs(8))} columns")
        if line.endswith((" ", "\t")):
            bad["blanks"].append(f"{where}:{number}: blanks at the end")
    for name, number, cnt in functions(lines):
        if cnt > FUNCTION_LINES:
            bad["functions"].append(f"{where}:{number}: {name}() has {cnt} lines")
    if len(lines) > FILE_LINES and not where.startswith("tests/"):
        bad["files"].append(f"{where}: {len(lines)} lines")


def check_script(where, lines, bad):
    if where.startswith("tests/vm/guest/"):
        sh = subprocess.run(["sh", "-n"], input="\n".join(lines), stderr=subprocess.PIPE, text=True)
        if sh.returncode:
            bad["guests"].append(f"{where}: {sh.stderr.strip()}")
    if where == "schema/tables.sql":    # generated
        return
    for number, line in enumerate(lines, 1):
        if len(line) > SCRIPT_COLUMNS and not DECLARED.match(line):
            bad["script columns"].append(f"{where}:{number}: {len(line)} characters")


def check_licence(path, where, lines, bad):
    if path.suffix == ".sql":
        return      # embedded as it is, and shown to users
    want = COMMENT.get(path.suffix, "# %s") % LICENCE
    if where == "cmd/ebpfrec.h":        # which programs include
        want = "/* SPDX-License-Identifier: CC0-1.0 */"
    script = lines and lines[0].startswith("#!")
    if (lines[1:2] if script else lines[:1]) != [want]:
        bad["licence"].append(f"{where}: line {2 if script else 1} is not {want}")


def main():
    top = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent)
    bad = collections.defaultdict(list)
    named = collections.defaultdict(list)
    for path in sources(top):
        where = str(path.relative_to(top))
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
        if path.suffix in SOURCES or path.suffix == "":
            check_licence(path, where, lines, bad)
        if path.suffix in (".c", ".h"):
            check_c(where, lines, bad)
        else:
            check_script(where, lines, bad)
        named[path.name].append(where)
    bad["names"] = [" ".join(all_) for name, all_ in sorted(named.items())
                    if len(all_) > 1 and name not in ("run.sh", "run")]
    for rule, says in (("columns", f"no line of C has more than {COLUMNS} columns"),
                       ("script columns", f"no line of a script has more than {SCRIPT_COLUMNS} characters"),
                       ("guests", "scripts of guests are for a POSIX shell"),
                       ("blanks", "no line of C ends with blanks"),
                       ("functions", f"no function has more than {FUNCTION_LINES} lines"),
                       ("files", f"no file of C has more than {FILE_LINES} lines"),
                       ("licence", "every source file begins with its licence"),
                       ("names", "file names are unique")):
        print(f"not ok {says}: {len(bad[rule])} offending" if bad[rule] else f"ok {says}")
        for line in bad[rule]:
            print(f"    {line}")
    return any(bad.values())


sys.exit(main())

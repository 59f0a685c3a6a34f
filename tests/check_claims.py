#!/usr/bin/env python3
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
"""
check_claims.py: the tests that .github/SECURITY.md names are there.

A claim is an item of a list below "## Claims". It ends with the tests that hold the program to it, in italics,
separated by semicolons: a script as tests/run.sh names it, and, after a colon, how the names of its checks begin,
or words in those of its functions ("unit/test_keep: letters").

Prints one "ok" or "not ok" line per claim.
"""
import pathlib
import re
import sys

top = pathlib.Path(__file__).resolve().parent.parent
NAMED = re.compile(r"\*([^*]+)\*$")


def source_of(name):
    if name == "vm":
        return top / "tests/vm/guest/checks.sh"
    if name == "page":
        return top / "tests/page/page_check.py"
    kind, _, rest = name.partition("/")
    if kind == "unit":
        return next(top.glob(f"tests/unit/*/{rest}.c"), top / "tests/unit" / rest)
    return {"fuzz": top / f"tests/fuzz/fuzz_{rest}.c",
            "cli": top / f"tests/cli/{rest}.t",
            "kernel": top / f"tests/kernel/{rest}.sh",
            "crash": top / f"tests/crash/{rest}.sh",
            "full": top / f"tests/full/{rest}.sh",
            "includes": top / "tests/check_includes.sh"}.get(kind)


def holds(source, words):
    """Whether a check of that name, or a function, is in the source."""
    text = source.read_text()
    if source.suffix == ".sh":    # and the Python that it runs
        text += "".join(p.read_text() for p in (source.parent / f for f in re.findall(r"[/<\"](\w+\.py)", text))
                        if p.is_file())
    if source.suffix == ".c":
        words = re.escape(words.replace(" ", "_"))
        return re.search(r"^(?:static void |UNIT_TEST\w*\()test_\w*%s\w*[(,)]" % words, text, re.M)
    return re.search(r"\b(check|says|near|verdict|within|ok)[ (]+[\"']%s" % re.escape(words), text)


def missing(test):
    """What of it there is not, or nothing."""
    name, _, checks = test.partition(":")
    source = source_of(name.strip())
    if not source or not source.is_file():
        return [name]
    return [f"{name}: {c.strip()}" for c in checks.split(",") if c.strip() and not holds(source, c.strip())]


def main():
    text = (top / ".github/SECURITY.md").read_text()
    part = text.split("\n## Claims\n")[1].split("\n## ")[0]
    claims = [" ".join(c.split()) for c in re.split(r"^- ", re.sub(r"^\*\*.*$", "", part, flags=re.M), flags=re.M)[1:]]
    failed = len(claims) < 20
    if failed:
        print(f"not ok claims: only {len(claims)} found")
    for claim in claims:
        tests = NAMED.search(claim)
        gone = [m for t in tests.group(1).split(";") for m in missing(t)] if tests else ["any test"]
        failed |= bool(gone)
        print(f"{'not ok' if gone else 'ok'} claim: {claim[:60]}{': no ' + ', '.join(gone) if gone else ''}")
    return failed


sys.exit(main())

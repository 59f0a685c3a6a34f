#!/usr/bin/env python3
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
"""
check_commits.py [RANGE]: subjects of commits are "area: imperative", one thought, at most 72 characters.

Without RANGE, it looks at the commits that the main branch of the remote does not have yet. A tree without git,
without a
remote or without its main branch has none to look at.

Prints one "ok" or "not ok" line.
"""
import re
import subprocess
import sys

MAX = 72
# the third person, the past and the gerund of a verb, or a noun phrase, where an imperative belongs
NOT_IMPERATIVE = re.compile(r"^(?:a|an|the|this|that|these|those|it|what|who|where|when|there|no|all|each|every)\b"
                            r"|^(?:adds|fixes|makes|moves|removes|renames|uses|gives|takes|says|shows|keeps)\b"
                            r"|^[a-z]+(?:ed|ing)\b")
IMPERATIVES = {"bring", "embed", "exceed", "feed", "heed", "need", "proceed", "seed", "shred", "speed", "spring",
               "string", "weed"}


def fault(subject):
    """Why a subject is wrong; None: it is right."""
    area, colon, rest = subject.partition(": ")
    if not colon or not re.fullmatch(r"[A-Za-z0-9_.,/* -]{1,40}", area):
        return "no area before a colon"
    if len(subject) > MAX:
        return f"{len(subject)} characters"
    if ";" in rest:
        return "more than one thought"
    first = rest.split()[0] if rest.split() else ""
    if not first or (NOT_IMPERATIVE.match(rest) and first not in IMPERATIVES):
        return "no imperative"
    return None


def subjects(span):
    got = subprocess.run(["git", "log", "--no-merges", "--format=%s", span, "--"], capture_output=True, text=True)
    return got.stdout.splitlines() if got.returncode == 0 else []


def main():
    bad = [(why, s) for s in subjects(sys.argv[1] if len(sys.argv) > 1 else "origin/main..HEAD") if (why := fault(s))]
    says = f"subjects of commits are 'area: imperative', one thought, at most {MAX} characters"
    print(f"not ok {says}: {len(bad)} are not" if bad else f"ok {says}")
    for why, subject in bad:
        print(f"    {why}: {subject}")
    return bool(bad)


sys.exit(main())

#!/usr/bin/env python3
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
"""pprof_text.py: a profile from stdin as text, decoded here from the definition in google/pprof's
proto/profile.proto."""
import gzip
import sys
from proto_fields import fields


def packed(data):
    return [v for _, v in fields(b"".join(b"\x08" + part for part in split_varints(data)))]


def split_varints(data):
    begin = 0
    for i, b in enumerate(data):
        if b < 128:
            yield data[begin:i + 1]
            begin = i + 1


profile = list(fields(gzip.decompress(sys.stdin.buffer.read())))
strings = [v.decode() for n, v in profile if n == 6]
functions = {f[1]: (strings[f[2]], strings[f.get(4, 0)]) for f in (dict(fields(v)) for n, v in profile if n == 5)}
locations = {}
for n, v in profile:
    if n == 4:
        line = dict(fields(dict(fields(v))[4]))
        name, file = functions[line[1]]
        locations[dict(fields(v))[1]] = name + (" at %s:%d" % (file, line.get(2, 0)) if file else "")
if strings[0] != "" or 0 in functions or 0 in locations or len(set(strings)) != len(strings):
    raise SystemExit("the first string is not empty, or an id is 0, or a string is there twice")
print("types:", ", ".join("%s in %s" % (strings[dict(fields(v))[1]], strings[dict(fields(v))[2]]) for n, v in profile
                          if n == 1))
for n, v in profile:
    if n in (13, 14):
        print({13: "comment:", 14: "default:"}[n], strings[v])
    elif n in (9, 10, 12):
        print({9: "time:", 10: "duration:", 12: "period:"}[n], v)
for n, v in profile:
    if n == 2:
        sample = dict(fields(v))
        labels = [dict(fields(x)) for m, x in fields(v) if m == 3]
        print(";".join(locations[i] for i in reversed(packed(sample[1]))), *packed(sample[2]),
              *["%s=%s" % (strings[x[1]], strings[x[2]] if 2 in x else x[3]) for x in labels])

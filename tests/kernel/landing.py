# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
"""
landing: reads what `ebpfrec export --to clickhouse` writes, without a server.

landing.py FILE TABLE prints the rows of one of its tables, as CSV: "-" is the standard input.
"""
import csv
import os
import re
import struct
import subprocess
import sys

EBPFREC = os.environ.get("EBPFREC", "ebpfrec")


def columns():
    """{table: [(column, is it a text on its way)]}, as the statements for a server declare them"""
    schema = subprocess.run([EBPFREC, "export", "--to", "clickhouse", "--schema"], stdout=subprocess.PIPE, check=True,
                            text=True).stdout
    return {table: [(c, t != "Nullable(Int64)") for c, t in re.findall(r"`(\w+)` ([\w()]+)", of)]
            for table, of in re.findall(r"TABLE IF NOT EXISTS (\w+)_here \((.*)\) ENGINE", schema)}


class Bytes:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, form):
        value, = struct.unpack_from("<" + form, self.data, self.at)
        self.at += struct.calcsize("<" + form)
        return value

    def varint(self):
        value = shift = 0
        while True:
            byte = self.take("B")
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    def text(self):
        size = self.varint()
        self.at += size
        return self.data[self.at - size:self.at].decode()


def rows(data):
    """[(table, row)]; NULL is None, and a text that is not there is empty"""
    all_columns, b, found = columns(), Bytes(data), []
    while b.at < len(data):
        row = {"host": b.text(), "trace_id": (b.take("Q"), b.take("Q")), "load": b.take("Q"),
               "unix_ns": b.take("q"), "wall_uncertainty_ns": b.take("Q"), "nr": b.take("Q")}
        table = b.text()
        b.take("I")
        numbers = [None if b.take("B") else b.take("q") for _ in range(b.varint())]
        texts = [b.text() for _ in range(b.varint())]
        for name, is_text in all_columns[table]:
            row[name] = texts.pop(0) if is_text else numbers.pop(0)
        found.append((table, row))
    return found


if __name__ == "__main__":
    wanted = [r for t, r in rows((sys.stdin.buffer if sys.argv[1] == "-" else open(sys.argv[1], "rb")).read())
              if t == sys.argv[2]]
    out = csv.writer(sys.stdout, lineterminator="\n")
    front = ("host", "trace_id", "load", "nr")
    for i, r in enumerate(wanted):
        if not i:
            out.writerow(k for k in r if k not in front)
        out.writerow(v for k, v in r.items() if k not in front)

#!/usr/bin/env python3
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
"""
perfetto_text.py FILE: a file for Perfetto as text, a packet a line, by the numbers of Perfetto's protos/perfetto/trace.
What has a length is a text if it can be one, else a message.
"""
import sys


def fields(data):
    at = 0

    def varint():
        nonlocal at
        v = shift = 0
        while True:
            b = data[at]
            at += 1
            v |= (b & 127) << shift
            shift += 7
            if b < 128:
                return v

    while at < len(data):
        tag = varint()
        kind = tag & 7
        if kind == 0:
            value = varint()
        else:
            n = {1: 8, 5: 4}[kind] if kind != 2 else varint()
            value, at = data[at:at + n], at + n
            if len(value) < n:
                raise ValueError("a field is longer than its message")
        yield tag >> 3, value


def text(value):
    if isinstance(value, int):
        return str(value - (1 << 64) if value >> 63 else value)
    try:
        if value and value.decode().isprintable():
            return '"%s"' % value.decode()
    except UnicodeDecodeError:
        pass
    try:
        return "{%s}" % " ".join("%d:%s" % (n, text(v)) for n, v in fields(value))
    except (ValueError, KeyError, IndexError):
        return value.hex()


for _, packet in fields(open(sys.argv[1], "rb").read()):
    print(text(packet))

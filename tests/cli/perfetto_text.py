#!/usr/bin/env python3
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
"""
perfetto_text.py FILE: a file for Perfetto as text, a packet a line, by the numbers of Perfetto's protos/perfetto/trace.
What has a length is a text if it can be one, else a message.
"""
import sys
from proto_fields import fields

FIXED = {1: 8, 5: 4}  # bytes by wire type


def text(value):
    if isinstance(value, int):
        return str(value - (1 << 64) if value >> 63 else value)
    try:
        if value and value.decode().isprintable():
            return '"%s"' % value.decode()
    except UnicodeDecodeError:
        pass
    try:
        return "{%s}" % " ".join("%d:%s" % (n, text(v)) for n, v in fields(value, FIXED))
    except (ValueError, IndexError):
        return value.hex()


for _, packet in fields(open(sys.argv[1], "rb").read(), FIXED):
    print(text(packet))

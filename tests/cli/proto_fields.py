# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
"""proto_fields: the fields of a message of protocol buffers."""


def fields(data, fixed=()):
    """(number, value): an int, or bytes of what has a length. Wire types of a fixed length are refused, unless
    fixed has theirs."""
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
        if kind not in (0, 2) and kind not in fixed:
            raise ValueError("wire type %d" % kind)
        if kind == 0:
            value = varint()
        else:
            n = varint() if kind == 2 else fixed[kind]
            value, at = data[at:at + n], at + n
            if len(value) < n:
                raise ValueError("a field is longer than its message")
        yield tag >> 3, value

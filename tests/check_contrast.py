#!/usr/bin/env python3
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
"""
check_contrast.py: each text of page and viewer has a contrast of at least 4.5 to what is behind it (WCAG 2,
level AA), in light, dark and print. The colours are those that cmd/page declares.
"""
import colorsys
import itertools
import os
import re

PAGE = os.path.dirname(os.path.abspath(__file__)) + "/../cmd/page/"
CSS, DATA, FLAME = (open(PAGE + name).read() for name in ("page.css", "data.js", "flame.js"))
LEAST = 4.5


def rgb(text):
    return [int(text[i:i + 2], 16) / 255 for i in (1, 3, 5)]


def luminance(c):
    r, g, b = (v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in c)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


def contrast(a, b):
    low, high = sorted((luminance(a), luminance(b)))
    return (high + 0.05) / (low + 0.05)


def mixed(a, b, share):
    return [share * x + (1 - share) * y for x, y in zip(a, b)]


def themes():
    """name: its colours, of each :root in the style sheet; later ones change the first"""
    first = {}
    for name, text in zip(("light", "dark", "print"), re.findall(r":root \{([^}]*)\}", CSS)):
        found = {**first, **{k: rgb(v) for k, v in re.findall(r"--(\w+): (#\w{6})", text)}}
        first = first or found
        yield name, found


def texts():
    """(where, colour of the text, colour behind it)"""
    odd = float(re.search(r"nth-child\(odd\).*var\(--soft\) (\d+)%", CSS)[1]) / 100
    for name, c in themes():
        for text, behind in itertools.product(("fg", "soft", "bad", "link"), ("bg", "card")):
            yield "%s: %s on %s" % (name, text, behind), c[text], c[behind]
            yield "%s: %s in an odd row on %s" % (name, text, behind), c[text], mixed(c["soft"], c[behind], odd)
    frame = rgb(re.search(r"\.frames div \{[^}]*color: (#\w{6})", CSS)[1])
    yield "a frame that was found", frame, rgb(re.search(r"\.frames \.found \{ background-color: (#\w{6})", CSS)[1])
    hues = [[int(n) for n in part] for part in re.findall(r"\((\d+) \+ Math.abs\(hash[^)]*\) % (\d+)\)", FLAME)]
    ends = [(low, low + cnt - 1) for low, cnt in hues]
    for h, s, l in itertools.product(range(ends[0][0], ends[0][1] + 1), ends[1], ends[2]):
        yield "a frame of hsl(%d %d%% %d%%)" % (h, s, l), frame, colorsys.hls_to_rgb(h / 360, l / 100, s / 100)
    edge = float(re.search(r"> ([\d.]+) \? '#000000' : '#ffffff'", DATA)[1])
    for color in re.findall(r"'(#\w{6})'", DATA.split("const OTHER")[0]):
        for to in ("#ffffff", "#000000", color):
            behind = mixed(rgb(color), rgb(to), 0.5 if to == "#ffffff" else 0.55)
            yield "a slice of %s with %s" % (color, to), rgb("#000000" if luminance(behind) > edge
                                                             else "#ffffff"), behind


bad, cnt = [], 0
for where, text, behind in texts():
    cnt += 1
    if contrast(text, behind) < LEAST:
        bad.append("%s: %.2f" % (where, contrast(text, behind)))
if re.search(r"opacity: 0", re.sub(r"::placeholder[^}]*", "", CSS)):
    bad.append("page.css: opacity changes a contrast that is not checked here")
print("\n".join("not ok contrast: " + line for line in bad) or "ok contrast: %d pairs of colours" % cnt)
raise SystemExit(bool(bad))

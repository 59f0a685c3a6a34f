#!/usr/bin/env python3
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
"""page_speed.py PAGE: seconds until a page's charts are there, and the median of zooming and moving, with painting:
two numbers. Exit status 77: no browser."""
import statistics
import sys

from browser import Browser, find

KEYS = ["+", "+", "+", "ArrowLeft", "ArrowRight", "+", "ArrowRight", "-", "-", "-", "-", "0"] * 3


def main():
    if not find():
        return 77
    with Browser() as browser:
        browser.open(sys.argv[1])
        if not browser.wait("document.body.dataset.drawn"):
            raise SystemExit("the page is not drawn")
        start_ms, redraw_ms = float(browser.evaluate("document.body.dataset.startMs")), []
        for key in KEYS:
            browser.evaluate("delete document.body.dataset.drawn; document.dispatchEvent(new KeyboardEvent('keydown', "
                             "{ key: '%s' }))" % key)
            browser.wait("document.body.dataset.drawn")
            redraw_ms.append(float(browser.evaluate("document.body.dataset.paintedMs")))
    print("%.4f %.4f" % (start_ms / 1e3, statistics.median(redraw_ms) / 1e3))
    return 0


sys.exit(main())

#!/bin/bash
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# picture.sh: makes the README's picture of the page, cmd/page/page.png, anew: of the trace of `ebpfrec demo`.
# `make picture` builds what is needed and runs this script, which needs chromium.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
work=$(mktemp -d "${TMPDIR:-/var/tmp}/ebpfrec-picture.XXXXXX")
trap 'rm -rf "$work"' EXIT
"${EBPFREC:-$top/build/ebpfrec}" export -q --to html -i "$top/cmd/demo/shop.ebpfrec" -o "$work/page.html"
PYTHONPATH=$here PYTHONDONTWRITEBYTECODE=1 python3 - "$top/cmd/page/page.png" "$work/page.html" <<'END'
import sys
from browser import Browser

with Browser(1200, 1150) as browser:
    browser.open(sys.argv[2])
    browser.wait("document.body.dataset.drawn")
    browser.screenshot(sys.argv[1], 1200, 1150)
END
ls -l "$top/cmd/page/page.png"

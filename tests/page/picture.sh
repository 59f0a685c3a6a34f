#!/bin/bash
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# picture.sh: makes the README's picture of the page, cmd/page/page.png, anew: of a trace recorded in an emulated machine.
# `make picture` builds what is needed and runs this script, which needs chromium.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
work=$(mktemp -d "${TMPDIR:-/var/tmp}/ebpfrec-picture.XXXXXX")
trap 'rm -rf "$work"' EXIT
VM_CACHE=${VM_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/ebpfrec/vm} VM_LOGS=$work/logs VM_CHECKS=$here/guest_picture.sh "$here/../vm/run.sh" 6.12
sed -n 's/^packed //p' "$work"/logs/*.results | tr -d '\r' | base64 -d | tar xz -C "$work"
cd "$work"
"${EBPFREC:-$top/build/ebpfrec}" export --to html -i picture -o page.html
PYTHONPATH=$here PYTHONDONTWRITEBYTECODE=1 python3 - "$top/cmd/page/page.png" <<'END'
import sys
from browser import Browser

with Browser(1200, 1150) as browser:
    browser.open("page.html")
    browser.wait("document.body.dataset.drawn")
    browser.screenshot(sys.argv[1], 1200, 1150)
END
ls -l "$top/cmd/page/page.png"

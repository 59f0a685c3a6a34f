#!/bin/bash
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# app.span: begins, ends, steps and hand-overs of requests, as the programs themselves saw them.
. "$(dirname "$0")/harness.bash"

recorded lines -e task --span-fd 9 -- python3 "$here/requests.py" write "$tmp/lines.json"
python3 "$here/requests.py" check-lines "$tmp/lines" "$tmp/lines.json" "$tmp/lines.err"

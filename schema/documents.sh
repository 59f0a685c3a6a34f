#!/bin/sh
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# documents.sh [--check]: regenerates the parts of documents that come from declarations; with --check
# it only lists the documents that differ, and ends with 1. A part lies between a line "made from
# schema/events/ ...: OUT", "made from schema/tables.decl ...: OUT" or "made from schema/report_ ...: OUT" and a
# line "end"; OUT is its name in events.awk, tables.awk or views.awk.
set -eu

cd "$(dirname "$0")/.."
new=$(mktemp)
trap 'rm -f "$new"' EXIT
status=0
for f in schema/FORMAT.md schema/TABLES.md schema/tables.sql cmd/ebpfrec-report.1; do
	LC_ALL=C awk '
		/^(<!--|--|\.\\") end( -->)?$/ { inside = 0 }
		!inside { print }
		/^(<!--|--|\.\\") made from schema\/(events\/|tables.decl|report_)/ {
			out = $0
			sub(/.*: /, "", out)
			sub(/ -->$/, "", out)
			from = /schema\/events/ ? "events.awk schema/events/*.event" : "tables.awk schema/tables.decl"
			if (/schema\/report_/)
				from = "views.awk schema/report_*.sql"
			fflush()
			if (system("LC_ALL=C awk -v out=" out " -f schema/" from))
				exit 1
			inside = 1
		}' "$f" >"$new"
	cmp -s "$new" "$f" && continue
	if [ "${1:-}" = --check ]; then
		echo "$f is not what the declarations make: run make documents"
		status=1
	else
		cat "$new" >"$f"
		echo "$f"
	fi
done
exit $status

#!/bin/sh
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
# Turns SQL files into a C table: schema_sql[] of { name, text }, name without directory and ".sql".
# A line "-- rows of VIEW" becomes the query of report_VIEW.sql.
set -eu
printf '/* made by schema/embed.sh */\n#include "analyze/engine/statement.h"\n'
printf 'const struct schema_sql schema_sql[] = {\n'
for f; do
	n=${f##*/}
	printf '\t{ "%s",\n' "${n%.sql}"
	while IFS= read -r line; do
		case $line in
		"-- rows of "*) grep -v '^--' "${f%/*}/report_${line#-- rows of }.sql" ;;
		*) printf '%s\n' "$line" ;;
		esac
	done <"$f" | sed -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/^/\t\t"/' -e 's/$/\\n"/'
	printf '\t},\n'
done
printf '\t{ 0, 0 },\n};\n'

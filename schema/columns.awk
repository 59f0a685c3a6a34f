# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# columns.awk: makes the C table of schema/columns.decl, which says what its words mean. POSIX awk.
#
#     awk -f schema/columns.awk schema/columns.decl > build/columns.c

function fail(text)
{
	printf "%s:%d: %s\n", FILENAME, FNR, text > "/dev/stderr"
	failed = 1
	exit 1
}

function quoted(text) { gsub(/_/, " ", text); return "\"" text "\"" }

BEGIN {
	split("id count instant duration bytes byte_rate rate ratio percent share yes_no text", words, " ")
	for (i in words)
		kinds[words[i]] = 1
	units["instant"] = units["duration"] = "ns"
	units["bytes"] = "bytes"
	units["byte_rate"] = "bytes/s"
	units["percent"] = "%"
	print "/* What columns hold. Made by schema/columns.awk from schema/columns.decl. */"
	print "#include \"analyze/engine/column.h\"\n\nconst struct column_decl column_list[] = {"
}

/^(#|$)/ { next }
{
	if (!($2 in kinds))
		fail("there is no kind '" $2 "'")
	if ($1 in seen)
		fail($1 " is declared twice")
	seen[$1] = 1
	unit = $2 in units ? units[$2] : ""
	more = $1 ~ /[*?[]/ ? ", .is_pattern = true" : ""
	for (i = 3; i <= NF; i++) {
		if ($i == "key" || $i == "single" || $i == "rare" || $i == "floor")
			more = more ", .is_" $i " = true"
		else if ($i ~ /^heading=/)
			more = more ", .heading = " quoted(substr($i, 9))
		else if ($i ~ /^unit=/)
			unit = substr($i, 6)
		else
			fail("what is '" $i "'?")
	}
	printf "\t{ .name = \"%s\", .kind = COLUMN_%s, .unit = %s%s },\n", $1,
		$2 == "text" ? "COUNT" : toupper($2), quoted(unit), more
}
END {
	if (!failed)
		print "\t{ 0 },\n};"
}

# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# sql_schema.awk: makes the text of `ebpfrec sql --examples`. POSIX awk.
#
#     awk -f schema/sql_schema.awk schema/QUERIES.md
#
# In QUERIES.md queries stand between lines of "```".

function quoted(text)
{
	gsub(/\\/, "\\\\", text)
	gsub(/"/, "\\\"", text)
	gsub(/\n/, "\\n", text)
	return "\"" text "\""
}

/^## / { has_begun = 1 }
!has_begun { next }
/^```/ {
	if (in_query)
		examples = examples ";\n"
	in_query = !in_query
	begins = 1
	next
}
in_query {
	examples = examples (begins ? "" : "\n") $0
	begins = 0
	next
}
{
	sub(/^[# ]*/, "")
	examples = examples ($0 == "" ? "" : "-- ") $0 "\n"
}

END {
	print "\nconst char sql_schema_examples[] ="
	n = split(examples, lines, "\n")
	for (i = 1; i <= n; i++)
		if (i < n || lines[i] != "")
			print "\t" quoted(lines[i] (i < n ? "\n" : ""))
	print "\t;"
}

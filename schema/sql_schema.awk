# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# sql_schema.awk: makes the C tables of `ebpfrec sql --schema` and the text of `ebpfrec sql --examples`. POSIX awk.
#
#     awk -f schema/sql_schema.awk schema/TABLES.md schema/QUERIES.md > build/sql_schema_items.c
#
# In TABLES.md a table, view or table-valued function is a heading "### name(arguments)", a text and a table of columns;
# a function is a row of the table of functions. In QUERIES.md queries stand between lines of "```".

# Takes the Markdown out of a text, and makes it a string of C.
function plain(text)
{
	gsub(/`/, "", text)
	gsub(/\\\|/, "|", text)
	return text
}

function quoted(text)
{
	gsub(/\\/, "\\\\", text)
	gsub(/"/, "\\\"", text)
	gsub(/\n/, "\\n", text)
	return "\"" text "\""
}

# Splits a row "| a | b |" into cells.
function split_row(line)
{
	sub(/^\| /, "", line)
	sub(/ \|$/, "", line)
	return split(line, cells, / \| /)
}

function name_of(call) { sub(/\(.*/, "", call); return call }

# The item that was read last.
function end_item()
{
	if (call != "" && column_cnt) {
		sub(/^\n+/, "", text)
		sub(/\n+$/, "", text)
		print "static const struct sql_schema_column columns_" ++item_cnt "[] = {\n" columns "};"
		items = items sprintf("\t{ %s, %s, %s,\n\t  %s, columns_%d, %d },\n", quoted(kind), quoted(name_of(call)), quoted(call),
			quoted(text), item_cnt, column_cnt)
	}
	call = text = columns = ""
	column_cnt = in_columns = 0
}

BEGIN {
	print "/* What `ebpfrec sql --schema` and `--examples` show. Made by schema/sql_schema.awk from TABLES.md and QUERIES.md. */"
	print "#include \"cmd/sql/sql_schema.h\"\n"
}

FNR == 1 { is_queries = FILENAME ~ /QUERIES/ }

is_queries {
	if (/^## /)
		has_begun = 1
	if (!has_begun)
		next
	if (/^```/) {
		if (in_query)
			examples = examples ";\n"
		in_query = !in_query
		begins = 1
	} else if (in_query) {
		examples = examples (begins ? "" : "\n") $0
		begins = 0
	} else {
		sub(/^[# ]*/, "")
		examples = examples ($0 == "" ? "" : "-- ") $0 "\n"
	}
	next
}

/^## / {
	end_item()
	part = substr($0, 4)
	kind = part == "Tables" ? "table" : part == "Views" ? "view" : part == "Functions" ? "function" : "table-valued function"
	next
}
kind == "function" {
	if (/^\| `/ && split_row($0) == 2) {
		call = plain(cells[1])
		items = items sprintf("\t{ \"function\", %s, %s,\n\t  %s },\n", quoted(name_of(call)), quoted(call), quoted(plain(cells[2])))
		call = ""
	}
	next
}
/^### / { end_item(); call = plain(substr($0, 5)); next }
call == "" { next }
/^\| column / && !in_columns { in_columns = 1; next }
in_columns && !/^\|/ { in_columns = 2 }	# another table may follow
in_columns == 1 && /^\| `/ {
	if (split_row($0) == 3) {
		columns = columns sprintf("\t{ %s, %s, %s },\n", quoted(plain(cells[1])), quoted(plain(cells[2])), quoted(plain(cells[3])))
		column_cnt++
	}
	next
}
!in_columns && !/^<!--/ { text = text plain($0) "\n" }

END {
	end_item()
	print "\nconst struct sql_schema_item sql_schema_items[] = {"
	printf "%s", items
	print "};"
	print "const unsigned int sql_schema_item_cnt = sizeof(sql_schema_items) / sizeof(sql_schema_items[0]);\n"
	print "const char sql_schema_examples[] ="
	n = split(examples, lines, "\n")
	for (i = 1; i <= n; i++)
		if (i < n || lines[i] != "")
			print "\t" quoted(lines[i] (i < n ? "\n" : "")) (i == n ? "" : "")
	print "\t;"
}

# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# metrics.awk: makes the table of all metrics as C from schema/report_metrics.sql, where each is declared. POSIX awk.
#
#     awk -f schema/metrics.awk schema/report_metrics.sql > build/metric_table.c
#
# A metric is declared below the name of the section of SQL that computes its value:
#
#     -- TYPE NAME COLUMN [LABEL=VALUE]: HELP
#
#     TYPE    counter, gauge, peak or histogram; see cmd/metrics/metrics.h
#     NAME    with its unit at the end, if it has one, without "ebpfrec_" and "_total"
#     COLUMN  of the section. A name in _ns is converted to seconds
#     LABEL   a label that all values from this section have
#     HELP    of the first of several columns of one name; the others have none, and follow it
#
# Metrics declared before the first section are set by the program, and come last.

function fail(text)
{
	printf "%s:%d: %s\n", FILENAME, FNR, text > "/dev/stderr"
	failed = 1
	exit 1
}

function quoted(text) { gsub(/\\/, "\\\\", text); gsub(/"/, "\\\"", text); return "\"" text "\"" }

BEGIN { section = "program" }

# All columns that the section before declares are in its SQL.
function check_columns(    i)
{
	for (i = 1; i <= column_cnt; i++)
		if (section != "program" && sql !~ ("(^|[^a-z_])" columns[i] "([^a-z_]|$)"))
			fail("the section " section " has no column " columns[i])
	column_cnt = 0
	sql = ""
}

/^-- section: / { check_columns(); section = $3; next }
/^-- (counter|gauge|peak|histogram) / {
	n = index($0, ": ")
	help = n ? substr($0, n + 2) : ""
	cnt = split(n ? substr($0, 4, n - 4) : substr($0, 4), w, " ")
	if (cnt < 3 || cnt > 4 || (cnt == 4 && w[4] !~ /^[a-z]+=[a-z]+$/))
		fail("a metric is declared as TYPE NAME COLUMN [LABEL=VALUE]")
	if ((help == "") != (w[2] == last))
		fail(w[2] " has help twice, or none")
	last = w[2]
	columns[++column_cnt] = w[3]
	if (cnt == 4)
		sub(/=/, "=\"", w[4])
	row = sprintf("\t{ \"ebpfrec_%s\", METRIC_%s, \"%s\", \"%s\", %s,\n\t  %s },\n", w[2], toupper(w[1]), section, w[3],
		      cnt == 4 ? quoted(w[4] "\"") : "NULL", help == "" ? "NULL" : quoted(help))
	if (section == "program")
		of_program = of_program row
	else
		rows = rows row
	next
}
/^--/ { next }
{ sql = sql " " $0 }
END {
	if (failed)
		exit 1
	check_columns()
	print "/* All metrics. Made by schema/metrics.awk from schema/report_metrics.sql. */"
	print "#include <stddef.h>\n\n#include \"cmd/metrics/metrics.h\"\n"
	printf "const struct metric metric_table[] = {\n%s%s\t{ 0 },\n};\n", rows, of_program
}

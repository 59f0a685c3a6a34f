# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# tables.awk: reads the declarations of schema/tables.decl and writes what is made from them. POSIX awk.
#
#     awk -f schema/tables.awk -v out=OUT schema/tables.decl
#
# OUT is one of
#     columns    build/table_columns.h: columns of tables and functions, which lists are tables, and the functions of
#                values, for analyze/tables, analyze/views and analyze/engine
#     lists, made, calls, functions, views    parts of schema/TABLES.md
#     sql_lists, sql_made    parts of schema/tables.sql
#     items_lists, items_rest    parts of build/sql_schema_items.c, what `sql --schema` shows
#
# A declaration is lines of words; `#` begins a comment line. DOC is the rest of the line, with code between backquotes.
#
#     list NAME [of=STRUCT] [rows=LIST|row=FUNCTION] [more=FUNCTION] [find=FUNCTION] [process=FUNCTION] [key]
#               [time=COLUMN] [end=COLUMN] [window=instant|interval]
#                           a table of a list that a trace keeps in memory (analyze/tables/tables_list.c, whose struct
#                           list says what the functions do). rows: trace_LIST() gives the rows, which are struct
#                           STRUCT. key: the first column is looked up; time: rows come in its order; end: rows mostly
#                           come in its order, and a query for the last ones begins there; window: which rows a window
#                           has
#     table NAME [as=WORD] [of=STRUCT]    a table that is made of events; C calls its columns COL_WORD_x, for COL_NAME_x
#     call NAME(ARGUMENTS) [of=STRUCT]    a table-valued function; C calls its columns COL_NAME_x. STRUCT: what a view
#                               adds up for a row (analyze/views/view.h)
#     view NAME                 a view of schema/views.sql
#     function NAME(ARGUMENTS): DOC
#     doc DOC                   of a list: one line for `export --list`
#     about DOC                 a line of its text; tables.sql has the first sentence, too
#     column NAME USE [by_code] [field=FIELD] [mask=FLAG] [quantile=PER_MILLE] [pk] [null] DOC
#
# USE says how a column comes from its field of STRUCT, which has its name unless field= gives another:
#     number, real, text    as it is
#     not_zero, not_empty   NULL instead of 0 and ""
#     instant, known_instant    counted from the trace's start; known_instant: NULL instead of 0
#     flag                  whether the field has the bit FLAG
#     thread, process       an id, as a row of threads or processes has it
# and of a table-valued function
#     number, text, instant as above; number of a struct quantile with quantile=
#     level                 a number; a negative one becomes 0: [unknown] may have frees only
#     window                t_ns; t_end_ns and span_ns, which follow, come with it
#     labels                upid of a group of processes or threads; utid, name, member_upid, comm and thread_name,
#                           which follow, come with it
# by_code: code of the table fills it, as it fills all columns of what has no STRUCT. null: it may be NULL, which
# not_zero, not_empty and known_instant say themselves. pk: primary key of an exported database.

function fail(text)
{
	printf "%s:%d: %s\n", FILENAME, FNR, text > "/dev/stderr"
	failed = 1
	exit 1
}

function rest(i,    text)
{
	for (; i <= NF; i++)
		text = text (text == "" ? "" : " ") $i
	return text
}

# The words of the line from the i-th on that are options, into opt; returns the rest.
function options(i, known,    w, eq)
{
	split("", opt)
	for (; i <= NF; i++) {
		w = $i
		eq = index(w, "=")
		if (eq && index(known, " " substr(w, 1, eq)))
			opt[substr(w, 1, eq - 1)] = substr(w, eq + 1)
		else if (!eq && index(known, " " w " "))
			opt[w] = 1
		else
			break
	}
	return rest(i)
}

function quoted(text)
{
	gsub(/\\/, "\\\\", text)
	gsub(/"/, "\\\"", text)
	gsub(/\n/, "\\n", text)
	return "\"" text "\""
}

function plain(text) { gsub(/`/, "", text); return text }
# Whether OUT is about this declaration.
function is_asked(n)
{
	if (out == "items_rest")
		return kind[n] != "list"
	return kind[n] == (out ~ /lists$/ ? "list" : out ~ /made$/ ? "table" : substr(out, 1, length(out) - 1))
}

BEGIN {
	split("number not_zero instant known_instant flag thread process level window labels", words, " ")
	for (i in words)
		type[words[i]] = "integer"
	type["text"] = type["not_empty"] = "text"
	type["real"] = "real"
}

/^(#|$)/ { next }

$1 ~ /^(list|table|call|view|function)$/ {
	n = ++cnt
	kind[n] = $1
	if ($1 == "function") {
		call[n] = rest(2)
		if (!match(call[n], /\): /))
			fail("a function has arguments and a text")
		about[n] = substr(call[n], RSTART + 3)
		call[n] = substr(call[n], 1, RSTART)
	} else if ($1 == "call") {
		for (i = 2; $i !~ /\)$/; i++)
			call[n] = call[n] $i " "
		call[n] = call[n] $i
		if (options(i + 1, " of= ") != "")
			fail("what is '" rest(i + 1) "'?")
		struct[n] = opt["of"]
	} else {
		call[n] = $2
		if (options(3, " as= of= rows= row= more= find= process= key time= end= window= ") != "")
			fail("what is '" rest(3) "'?")
		word_c[n] = toupper("as" in opt ? opt["as"] : $2)
		struct[n] = opt["of"]
		rows[n] = opt["rows"]
		key[n] = "key" in opt ? 0 : -1
		time[n] = opt["time"]
		end[n] = opt["end"]
		window[n] = "window" in opt ? "WINDOW_" toupper(opt["window"]) : "NULL"
		code[n] = ".row = " (rows[n] == "" ? opt["row"] : "row_of_" rows[n])
		for (i = split("more find process", words, " "); i; i--)
			if (words[i] in opt)
				code[n] = code[n] ", ." words[i] " = " opt[words[i]]
		if (end[n] != "")
			code[n] = code[n] ", .ending = trace_" rows[n] "_ending"
	}
	name[n] = call[n]
	sub(/\(.*/, "", name[n])
	if (kind[n] == "call")
		word_c[n] = toupper(name[n])
	next
}
$1 == "doc" { doc[n] = rest(2); next }
$1 == "about" { about[n] = about[n] (about[n] == "" ? "" : "\n") rest(2); next }
$1 == "column" {
	if (!($3 in type))
		fail("what is the use '" $3 "'?")
	c = column_cnt[n]++
	column[n, c] = $2
	use[n, c] = $3
	meaning[n, c] = options(4, " by_code field= mask= quantile= pk null ")
	filled = $3 == "window" ? 3 : $3 == "labels" ? 6 : filled - (filled > 0)
	by_code[n, c] = kind[n] != "call" && struct[n] == "" || "by_code" in opt
	if ($3 ~ /^(window|labels)$/ || !(struct[n] == "" || "by_code" in opt || filled))
		take[n, c] = "quantile" in opt ? "VIEW_TAKES_QUANTILE + " opt["quantile"] : "VIEW_TAKES_" toupper($3)
	field[n, c] = "field" in opt ? opt["field"] : $2
	mask[n, c] = opt["mask"]
	is_pk[n, c] = "pk" in opt
	is_null[n, c] = "null" in opt || $3 ~ /^(not_zero|not_empty|known_instant)$/
	if (meaning[n, c] == "")
		fail("column " $2 " has no meaning")
	next
}
{ fail("what is '" $1 "'?") }

# ---- C ----

function put_column_c(n, c,    use_c, from)
{
	printf " \\\n\t{ .name = %s, .type = COLUMN_%s", quoted(column[n, c]),
		type[use[n, c]] == "integer" ? "INT" : toupper(type[use[n, c]])
	if (kind[n] == "call") {
		if (take[n, c] != "")
			printf ", .take = %s", take[n, c]
		if (take[n, c] ~ /NUMBER|TEXT|INSTANT|LEVEL|QUANTILE/)
			printf ", .offset = offsetof(struct %s, %s)", struct[n], field[n, c]
	} else if (!by_code[n, c]) {
		printf ", .use = FIELD_%s, .bytes = sizeof(((struct %s *)0)->%s)", toupper(use[n, c]), struct[n], field[n, c]
		printf ", .offset = offsetof(struct %s, %s)", struct[n], field[n, c]
		if (mask[n, c] != "")
			printf ", .mask = %s", mask[n, c]
	}
	printf " },"
}

function argument_cnt(n,    text)
{
	text = call[n]
	return text ~ /\(\)/ ? 0 : gsub(/,/, "", text) + 1
}

# The arguments of a function, which are its hidden columns.
function put_arguments_c(n,    text, args, cnt, i)
{
	text = call[n]
	gsub(/.*\(|\)/, "", text)
	cnt = split(text, args, ", ")
	for (i = 1; i <= cnt; i++)
		printf " \\\n\t{ .name = %s, .type = COLUMN_%s },", quoted(args[i]), args[i] ~ /_ns$|_bytes$/ ? "INT" : "TEXT"
	printf "\n#define NAME_%s %s\n#define ARGS_%s %d", word_c[n], quoted(name[n]), word_c[n], cnt
}

function named_column(n, what, none,    c)
{
	if (what == "")
		return none
	for (c = 0; c < column_cnt[n]; c++)
		if (column[n, c] == what)
			return c
	fail(name[n] " has no column " what)
}

function put_columns(    n, c)
{
	print "/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */"
	print "/* Columns of tables, and lists that are tables. Made by schema/tables.awk from schema/tables.decl. */"
	print "#pragma once\n\n#include <stddef.h>"
	for (n = 1; n <= cnt; n++) {
		if (kind[n] !~ /^(list|table|call)$/)
			continue
		printf "\nenum {\n"
		for (c = 0; c < column_cnt[n]; c++)
			printf "\tCOL_%s_%s,\n", word_c[n], toupper(column[n, c])
		printf "\tCOL_%s_CNT\n};\n#define COLS_%s", word_c[n], word_c[n]
		for (c = 0; c < column_cnt[n]; c++)
			put_column_c(n, c)
		if (kind[n] == "call")
			put_arguments_c(n)
		printf "\n"
	}
	printf "\n/* Lists of a trace whose rows are X(list). */\n#define LIST_ROWS(X)"
	for (n = 1; n <= cnt; n++)
		if (kind[n] == "list" && rows[n] != "")
			printf " \\\n\tX(%s)", rows[n]
	printf "\n\n/* Tables of lists: X(NAME, \"name\", \"doc\", time, end, key, window, members of struct list). */\n"
	printf "#define LIST_TABLES(X)"
	for (n = 1; n <= cnt; n++)
		if (kind[n] == "list")
			printf " \\\n\tX(%s, %s, %s, %d, %d, %d, %s, %s)", word_c[n], quoted(name[n]), quoted(doc[n]),
				named_column(n, time[n], -1), named_column(n, end[n], 0), key[n], window[n], code[n]
	printf "\n\n/* Functions of SQL that are no aggregates: X(NAME, arguments). */\n#define SQL_FUNCTIONS(X)"
	for (n = 1; n <= cnt; n++)
		if (kind[n] == "function" && about[n] !~ /^aggregate:/)
			printf " \\\n\tX(%s, %d)", name[n], argument_cnt(n)
	print ""
}

# ---- documents ----

function cell(text) { gsub(/\|/, "\\|", text); return text }

function put_part(    n, c)
{
	if (out == "functions")
		print "| function | gives |\n|---|---|"
	for (n = 1; n <= cnt; n++) {
		if (!is_asked(n))
			continue
		if (kind[n] == "function") {
			printf "| `%s` | %s |\n", call[n], cell(about[n])
			continue
		}
		printf "### %s\n\n%s\n\n| column | type | meaning |\n|---|---|---|\n", call[n], about[n]
		for (c = 0; c < column_cnt[n]; c++)
			printf "| `%s` | %s | %s |\n", column[n, c], type[use[n, c]], cell(meaning[n, c])
		print ""
	}
}

function first_sentence(text)
{
	gsub(/\n/, " ", text)
	return match(text, /\. /) ? substr(text, 1, RSTART) : text
}

function put_sql(    n, c, refers)
{
	for (n = 1; n <= cnt; n++) {
		# exports have the requests as a whole
		if (!is_asked(n) || name[n] == "request_parts")
			continue
		printf "-- %s\nCREATE TABLE %s (", first_sentence(plain(about[n])), name[n]
		for (c = 0; c < column_cnt[n]; c++) {
			refers = kind[n] == "list" ? use[n, c] : column[n, c] ~ /(^|_)utid$/ ? "thread" : \
				 column[n, c] ~ /(^|_)upid$/ ? "process" : ""
			printf "%s\n\t%s %s%s%s%s", c ? "," : "", column[n, c], toupper(type[use[n, c]]), is_pk[n, c] ? " PRIMARY KEY" : "",
				is_null[n, c] || (is_pk[n, c] && type[use[n, c]] == "integer") ? "" : " NOT NULL",
				refers == "thread" ? " REFERENCES threads (utid)" : refers == "process" ? " REFERENCES processes (upid)" : ""
		}
		print "\n) STRICT;\n"
	}
}

function put_items(    n, c, word)
{
	for (n = 1; n <= cnt; n++) {
		if (!is_asked(n))
			continue
		word = kind[n] == "list" ? "table" : kind[n] == "call" ? "table-valued function" : kind[n]
		printf "\t{ %s, %s, %s, %s", quoted(word), quoted(name[n]), quoted(call[n]), quoted(plain(about[n]))
		if (column_cnt[n])
			printf ",\n\t  (const struct sql_schema_column[]){"
		for (c = 0; c < column_cnt[n]; c++)
			printf "\n\t\t{ %s, %s, %s },", quoted(column[n, c]), quoted(type[use[n, c]]), quoted(plain(meaning[n, c]))
		print column_cnt[n] ? "\n\t  }, " column_cnt[n] " }," : " },"
	}
}

END {
	if (failed)
		exit 1
	if (out == "columns")
		put_columns()
	else if (out ~ /^sql_/)
		put_sql()
	else if (out ~ /^items_/)
		put_items()
	else
		put_part()
	if (failed)
		exit 1
}

# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# views.awk: reads the words at the head of schema/report_*.sql and writes the table of views as C. POSIX awk.
#
#     awk -f schema/views.awk schema/report_*.sql > build/report_views.c
#     awk -v out=man -f schema/views.awk schema/report_*.sql, or out=tables: the list in a document (documents.sh)
#
# A view is declared at the head of report_VIEW.sql, in comment lines "-- WORD: TEXT". A line that begins with three
# spaces goes on with the text before. The first line that is not of this form ends the declaration.
#
#     view GROUP N: QUESTION    the view's place in `report --list`: the N-th of GROUP, one of those in BEGIN. The
#                          question has at most 58 characters, so that its line fits a terminal of 80 columns
#     view of VIEW N: QUESTION    the N-th further answer of VIEW: `report VIEW --show NAME`; its own name works, too
#     view 0: QUESTION     the view is not listed, other code asks for it
#     note: TEXT           approximations and their bounds. Below a table stands its first sentence
#     below: TEXT          stands below a table instead
#     without KEY ...: TEXT    stands above the rows of a trace that has none of these keys in its manifest, or sources
#     threads: TEXT        a further note for --tid and --thread: what is left out
#     nobody: TEXT         a further note if no option selects tasks
#     cut: TEXT            a further note for a trace that was cut out of a larger one
#     by: KEY ...          what --by takes, as `report --list` has it; who: process, thread and all texts of processes
#     default: KEY         how rows go without --by (process)
#     needs: SOURCE ...    sources or classes without which the view's answer is not complete; SOURCE? only matters if
#                          it was recorded. Every view needs class task, too: names are lost with its events. Rows say
#                          whether they are complete with view_complete(from, to), which knows this list
#     reach: WORD ...      before: missing parts before the window matter as well; after: those after it; state: events
#                          lost before it; levels: the time before it in which a source was off
#     index: PART ...      parts of the derived file that the view reads: states, rates, and what INDEX_* in
#                          report_view.h names
#     takes: OPTION ...    every, sort, histogram (made of a variant), lines, spikes (--spike-*), stacks (formats of
#                          stacks), requests (--requests, --slow), request, slowest, without, who (--pid, --comm and
#                          others that say which processes), threads (--tid, --thread)
#     figure: COLUMN       what a picture and --wide-by show
#     drops: COLUMN ...    what a narrow terminal goes without, the least missed first
#     rows: WORD ...       sums: rows are sums over whole blocks, which the derived file holds; machine: the recorder
#                          and idle time are in them; few: rows are not of tasks, so that a bin has few; zeros: bins
#                          without a row get one of 0
#
# Another file, report_VIEW_*.sql, begins with "-- variant of VIEW WHEN: QUESTION", where WHEN is every, histogram,
# stacks, requests, request, slowest or by KEY: it answers instead where that is asked for. "-- note: TEXT" may follow,
# which then stands for the view's note.

BEGIN { group_cnt = split("Start CPU Waiting Memory Disk Recording Export", groups, " ") }

function fail(text)
{
	printf "%s: %s\n", FILENAME, text > "/dev/stderr"
	failed = 1
	exit 1
}

function quoted(text) { gsub(/\\/, "\\\\", text); gsub(/"/, "\\\"", text); return "\"" text "\"" }

# A list of words as a mask of names in C.
function mask(text, prefix, known,    words, n, i, out)
{
	n = split(text, words, " ")
	for (i = 1; i <= n; i++) {
		if (known != "" && !index(" " known " ", " " words[i] " "))
			fail("what is '" words[i] "'?")
		out = out (i > 1 ? " | " : "") prefix toupper(words[i])
	}
	return n ? out : 0
}

function keys(text,    words, n, i, out)
{
	n = split(text, words, " ")
	for (i = 1; i <= n; i++)
		out = out (i > 1 ? " | " : "") (words[i] == "who" ? "KEYS_WHO" : "KEY(" toupper(words[i]) ")")
	return n ? out : 0
}

function member(name, text) { if (text != "") printf "\t\t.%s = %s,\n", name, text }
function text_member(name, text) { if (text != "") member(name, quoted(text)) }

function begin_variant(    w)
{
	split(word, w, " ")
	if (w[4] !~ /^(every|histogram|stacks|requests|request|slowest|by)$/)
		fail("a variant is asked for by every, histogram, stacks, requests, request, slowest or by, not '" w[4] "'")
	# those that a more special question asks for come first
	at = w[3] SUBSEP (w[4] ~ /^(histogram|stacks)$/ ? 1 : w[4] == "every" ? 4 : w[4] == "request" ? 6 : \
			  w[4] != "by" ? 5 : (w[3] SUBSEP 2) in variant ? 3 : 2)
	variant[at] = sprintf("{ .when = REPORT_WHEN_%s, .by = %s, .sql = %s", toupper(w[4]),
			      w[4] == "by" ? keys(w[5]) : 0, quoted(file))
	has_variant[w[3]] = 1
	if (w[4] == "histogram")
		has_histogram[w[3]] = 1
}

# The words before the ":" of a line, and what follows.
function begin_word(line)
{
	word = substr(line, 1, index(line, ":") - 1)
	text = substr(line, index(line, ":") + 2)
	if (word ~ /^variant of /) {
		begin_variant()
		word = "variant"
		return
	}
	if (v == "" && word == "note") {
		said[at, "note"] = text
		return
	}
	if (word ~ /^view /) {
		place = substr(word, 6)
		if (place in view_at)
			fail("place " place " is taken by " view_at[place])
		v = file
		sub(/^report_/, "", v)
		if (place == "0")
			hidden[++hidden_cnt] = v
		else
			view_at[place] = v
		if (place != "0" && length(text) > 58)
			fail("the question is longer than 58 characters")
		word = "view"
	} else if (word ~ /^without /) {
		said[v, "unless"] = substr(word, 9)
		word = "without"
	} else if (v == "" ||
		   word !~ /^(note|below|threads|nobody|cut|by|default|needs|reach|index|takes|figure|drops|rows)$/) {
		fail("what is '" word "'?")
	}
	if ((v, word) in said)
		fail("there are two of '" word "'")
	said[v, word] = text
}

FNR == 1 {
	file = FILENAME
	sub(/.*\//, "", file)
	sub(/\.sql$/, "", file)
	v = ""
	word = ""
	in_head = 1
	if ($0 !~ /^-- (view (0|([A-Z][A-Za-z]*|of [a-z]+) [1-9][0-9]*)|variant of [a-z]+ .*): /)
		fail("it does not begin with a view or a variant")
}
!in_head { next }
/^--   / && word != "" {
	if (word != "variant")
		said[v == "" ? at : v, word] = said[v == "" ? at : v, word] " " substr($0, 6)
	next
}
/^-- [a-z][A-Za-z_. 0-9]*: / && (FNR == 1 || v != "" || /^-- note: /) { begin_word(substr($0, 4)); next }
{ in_head = 0 }

function put_variants(v,    i, out)
{
	for (i = 1; i <= 6; i++)
		if ((v, i) in variant)
			out = out (out == "" ? "" : ", ") variant[v, i] \
			      ((v, i, "note") in said ? ", .notes = " quoted(said[v, i, "note"]) : "") " }"
	member("variants", out == "" ? "" : "(const struct report_variant[]){ " out ", { 0 } }")
}

function list(text) { gsub(/ +/, ",", text); return text }

function put_view(v, group, of,    nr)
{
	printf "\t{\n"
	text_member("name", v)
	text_member("group", group)
	text_member("of", of)
	text_member("question", said[v, "view"])
	printf "\t\t.notes = %s,\n", quoted(said[v, "note"])
	text_member("below", said[v, "below"])
	text_member("without_keys", list(said[v, "unless"]))
	text_member("without_note", said[v, "without"])
	text_member("threads_note", said[v, "threads"])
	text_member("nobody_note", said[v, "nobody"])
	text_member("cut_note", said[v, "cut"])
	member("by_mask", keys(said[v, "by"]))
	member("by_default", keys((v, "default") in said ? said[v, "default"] : "process"))
	member("needs", "{ " quoted("task," list(said[v, "needs"])) ", " \
		       mask(said[v, "reach"], "LOSS_", "before after levels state") " }")
	member("index", mask(said[v, "index"], "INDEX_", ""))
	member("takes", mask(said[v, "takes"], "REPORT_TAKES_",
			     "every sort histogram lines spikes stacks who threads requests request slowest without"))
	text_member("figure", said[v, "figure"])
	text_member("drops", list(said[v, "drops"]))
	member("rows", mask(said[v, "rows"], "REPORT_ROWS_", "sums machine few zeros"))
	text_member("sql", "report_" v)
	put_variants(v)
	printf "\t},\n"
	if (has_histogram[v] != (" " said[v, "takes"] " " ~ / histogram /))
		fail(v " takes --histogram, and has no variant for it, or the other way round")
	delete has_variant[v]
	view_cnt += group != ""
	for (nr = 1; ("of " v " " nr) in view_at; nr++)
		put_view(view_at["of " v " " nr], group, v)
}

# A line of a document's list. Views of another one follow it.
function put_line(v, group, of,    nr)
{
	if (out == "man")
		printf "%-10s \\fB%-11s\\fR %s\n", group, (of ? "  " : "") v, said[v, "view"]
	else
		printf "| %s | `%s` | %s |\n", group, of ? of " --show " v : v, said[v, "view"]
	for (nr = 1; ("of " v " " nr) in view_at; nr++)
		put_line(view_at["of " v " " nr], "", v)
}

END {
	if (failed)
		exit 1
	if (out == "man")
		print ".nf"
	if (out == "tables")
		print "| group | view | question |\n|---|---|---|"
	for (g = 1; g <= group_cnt && out != ""; g++)
		for (nr = 1; (groups[g] " " nr) in view_at; nr++)
			put_line(view_at[groups[g] " " nr], nr == 1 ? groups[g] : "", "")
	if (out == "man")
		print ".fi"
	if (out != "")
		exit
	print "/* The views of `report`. Made by schema/views.awk from schema/report_*.sql. */"
	print "#include \"analyze/context/keys.h\"\n#include \"analyze/engine/report_view.h\"\n"
	print "const struct report_view report_view_list[] = {"
	for (g = 1; g <= group_cnt; g++)
		for (nr = 1; (groups[g] " " nr) in view_at; nr++)
			put_view(view_at[groups[g] " " nr], groups[g], "")
	for (place in view_at)
		place_cnt++
	if (place_cnt != view_cnt)
		fail("a place is in no group, or in none of the places before it")
	for (nr = 1; nr <= hidden_cnt; nr++)
		put_view(hidden[nr], "", "")
	print "};"
	printf "const unsigned int report_view_cnt = %d, report_view_hidden_cnt = %d;\n", view_cnt, hidden_cnt
	for (v in has_variant)
		fail("there is a variant of " v ", which is no view")
}

# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# events.awk: reads the declarations in schema/events/*.event and writes what is made from them. POSIX awk.
#
#     awk -f schema/events.awk -v out=OUT schema/events/*.event
#
# OUT is one of
#     lists      build/event_lists.h: enums and X-macro lists, for C and BPF
#     wire       build/wire_records.h: hooks and records, for the two ends of the wire
#     fill       build/fill_records.h: records to columns, for src/record/encode/block_fill.c
#     format, names, hooks    tables of schema/FORMAT.md
#     tables     a part of schema/TABLES.md
#     sql        a part of schema/tables.sql
#     items      a part of build/sql_schema_items.c, what `sql --schema` shows
#     tests      a line per kind for tests/format/run.sh: KIND TABLE FLAG COLUMNS
#
# A declaration is lines of words; `#` begins a comment line. DOC is the rest of the line.
#
#     source NAME [default|option]    default: recorded without -e; option: a word of its own option, not of -e
#     about DOC                       purpose of the source, or of the kind declared before
#     note DOC                        a further sentence about the kind, for TABLES.md
#     trim N                          `bundle` leaves the source out as the N-th when it must
#     names ID NAME redact=WORD DOC   names that its events refer to; `redact` replaces them as REDACT_WORD
#     enum TAG PREFIX                 enum event_TAG ...
#     value N NAME [shown=TEXT] DOC   ... EVENT_PREFIX_NAME, in tables TEXT (- is NULL), or NAME in lower case
#     record NAME [variable] [DOC]    struct wire_NAME; variable: its length is not its hook's
#     by_hand                         its fill_NAME() is written by hand; else it is made from the columns
#     noted                           note_NAME(), written by hand, is called when its row is filled
#     field TYPE NAME [DOC]           u8 u16 u32 u64 s64 TYPE[N] char[N]; wire_RECORD only as the first, in place of
#                                     the header
#     hook ID NAME RECORD [KIND] [action=VALUE] [internal]    append only, IDs are stored in traces
#     program NAME TRACEPOINT [optional] [silent] [second|second_when_skipped] DOC
#                                     serves the hook before it; TRACEPOINT - is none, silent: sends nothing itself
#     kind ID NAME [c=NAME] table=TABLE flags=FLAG,... [whose=COLUMN|special] [repeats]
#                                     append only; flags: EVENT_F_*; repeats: a row mostly has the tuple of the row
#                                     before. whose: the thread or process that an event belongs to (cut --pid) where
#                                     that is not utid; special: code decides
#     flag NAME FLAG DOC              the SQL column that shows one of the kind's flags; irq without this line
#     column NAME CODEC [from=FIELD|hook|none] [of=KIND] [shown=ENUM] [refers=WORD] [filtered=FLAG] [later] [null] DOC
#                                     append only; from: the record's field if it has another name; hook: the
#                                     hook's action; none: 0, later code knows better. A record without the field
#                                     gives 0.
#                                     filtered: tables show [filtered] where the event has the flag
#
# A column *utid is a thread, *upid a process. Other columns say with refers= what their number stands for: STACK, a
# stack; SITE, a code address of the event's process; or a type of names. What FILE needs besides, the file system, is
# the next column. The writer, cuts and tables go by these words. The class of a source is its name up to the dot.

function fail(text)
{
	printf "%s:%d: %s\n", FILENAME, FNR, text > "/dev/stderr"
	failed = 1
	exit 1
}

# The words of the line from the i-th on that are options, into opt; returns the rest, which is DOC.
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

function rest(i,    text)
{
	for (; i <= NF; i++)
		text = text (text == "" ? "" : " ") $i
	return text
}

function taken(what, id)
{
	if (id !~ /^[0-9]+$/)
		fail("a number is wanted, not '" id "'")
	if ((what, id) in used)
		fail(what " " id " is taken by " used[what, id])
	used[what, id] = FILENAME
}

function is_utid(name) { return name ~ /(^|_)utid$/ }
function is_upid(name) { return name ~ /(^|_)upid$/ }
function quoted(text) { gsub(/\\/, "\\\\", text); gsub(/"/, "\\\"", text); return "\"" text "\"" }
function sentence(text) { return toupper(substr(text, 1, 1)) substr(text, 2) (text ~ /\.$/ ? "" : ".") }

BEGIN {
	class_cnt = split("TASK SCHED ALLOC BLOCK CPU MEM APP", classes, " ")
	for (i = 1; i <= class_cnt; i++)
		class_of[classes[i]] = i
	split("", kind_ids)
}

/^[ \t]*(#|$)/ { next }

$1 == "source" {
	s = $2
	class = toupper(s)
	sub(/\..*/, "", class)
	if (!(class in class_of))
		fail("no class " class)
	source_class[s] = class
	source_c[s] = toupper(s)
	sub(/.*\./, "", source_c[s])
	source_how[s] = $3
	sources[++source_cnt] = s
	k = ""
	r = ""
	next
}
$1 == "about" {
	if (k != "")
		kind_about[k] = rest(2)
	else
		source_about[s] = rest(2)
	next
}
$1 == "note" { kind_note[k] = kind_note[k] " " rest(2); next }
$1 == "trim" { taken("trim", $2); trim[$2] = s; if ($2 > trim_cnt) trim_cnt = $2; next }
$1 == "names" {
	taken("names", $2)
	doc = options(4, " redact= ")
	name_ids[$2] = $3
	name_redact[$2] = opt["redact"]
	name_doc[$2] = doc
	if ($2 > name_max) name_max = $2
	next
}
$1 == "enum" { enums[++enum_cnt] = e = $2; enum_prefix[e] = $3; next }
$1 == "value" {
	doc = options(4, " shown= ")
	n = ++value_cnt[e]
	value_id[e, n] = $2
	value_name[e, n] = $3
	value_shown[e, n] = "shown" in opt ? opt["shown"] : tolower($3)
	value_doc[e, n] = doc
	next
}
$1 == "record" {
	r = $2
	record_doc[r] = options(3, " variable ")
	record_variable[r] = "variable" in opt
	records[++record_cnt] = r
	next
}
$1 == "by_hand" { by_hand[r] = 1; next }
$1 == "noted" { noted[r] = 1; next }
$1 == "field" {
	n = ++field_cnt[r]
	field_type[r, n] = $2
	field_name[r, n] = $3
	field_doc[r, n] = rest(4)
	if ($2 ~ /^wire_/ && n == 1)
		base[r] = substr($2, 6)
	has_field[r, $3] = 1
	next
}
$1 == "hook" {
	taken("hook", $2)
	h = $3
	options($5 ~ /^$|=|^internal$/ ? 5 : 6, " action= internal ")
	hooks[++hook_cnt] = h
	hook_id[h] = $2 + 0
	hook_record[h] = $4
	hook_kind[h] = $5 ~ /^$|=|^internal$/ ? "" : $5
	hook_action[h] = "action" in opt ? opt["action"] : ""
	hook_internal[h] = "internal" in opt
	hook_source[h] = s
	if (hook_kind[h] != "")
		record_kind[$4] = hook_kind[h]
	next
}
$1 == "program" {
	if (length($2) > 15)
		fail("the name of program " $2 " is longer than 15 characters")
	p = ++program_cnt
	program_doc[p] = options(4, " optional silent second second_when_skipped ")
	program_name[p] = $2
	program_point[p] = $3
	program_hook[p] = "silent" in opt ? "" : h
	program_source[p] = s
	program_copy[p] = "second" in opt ? "SECOND" : "second_when_skipped" in opt ? "SECOND_WHEN_SKIPPED" : "FIRST"
	program_optional[p] = "optional" in opt || program_copy[p] != "FIRST"
	if (program_copy[p] != "FIRST")
		program_doc[p] = "the same, in an interrupt of that program"
	next
}
$1 == "kind" {
	taken("kind", $2)
	options(4, " c= table= flags= whose= repeats ")
	k = $3
	kinds[$2 + 0] = k
	if ($2 > kind_max) kind_max = $2 + 0
	kind_id[k] = $2 + 0
	kind_c[k] = "c" in opt ? opt["c"] : toupper(k)
	kind_table[k] = opt["table"]
	kind_flag[k] = "irq"
	kind_flag_bit[k] = "IRQ"
	kind_flag_doc[k] = "1: in interrupt context; the event belongs to an interrupt of utid"
	kind_flags[k] = opt["flags"]
	kind_whose[k] = "whose" in opt ? opt["whose"] : ""
	kind_repeats[k] = "repeats" in opt
	kind_source[k] = s
	next
}
$1 == "flag" {
	kind_flag[k] = $2
	kind_flag_bit[k] = $3
	kind_flag_doc[k] = rest(4)
	next
}
$1 == "column" {
	doc = options(4, " from= of= shown= refers= filtered= later null ")
	n = column_cnt[k]++
	column_name[k, n] = $2
	column_codec[k, n] = $3
	column_from[k, n] = "from" in opt ? opt["from"] : $2
	column_of[k, n] = opt["of"]
	column_shown[k, n] = opt["shown"]
	column_refers[k, n] = is_utid($2) ? "THREAD" : is_upid($2) ? "PROCESS" : "refers" in opt ? opt["refers"] : "NOTHING"
	column_filtered[k, n] = opt["filtered"]
	column_later[k, n] = "later" in opt
	column_null[k, n] = "null" in opt
	column_doc[k, n] = doc
	if ($3 == "UTID" && n)
		fail("only the first column may be UTID")
	next
}
{ fail("what is '" $1 "'?") }

# Sources by class, then by their first kind: one order for -e, doctor and cut.
function rank(name,    i, id)
{
	id = 0
	for (i = kind_max; i >= 1; i--)
		if (i in kinds && kind_source[kinds[i]] == name)
			id = i
	return class_of[source_class[name]] * 1000 + id
}

function sort_sources(    i, j, t)
{
	for (i = 2; i <= source_cnt; i++)
		for (j = i; j > 1 && rank(sources[j]) < rank(sources[j - 1]); j--) {
			t = sources[j]
			sources[j] = sources[j - 1]
			sources[j - 1] = t
		}
}

# Hooks by number.
function sort_hooks(    i, j, t)
{
	for (i = 2; i <= hook_cnt; i++)
		for (j = i; j > 1 && hook_id[hooks[j]] < hook_id[hooks[j - 1]]; j--) {
			t = hooks[j]
			hooks[j] = hooks[j - 1]
			hooks[j - 1] = t
		}
}

# Whether a record of the kind has the field, or code works the kind's values out.
function is_in_record(k, field,    r)
{
	for (r in record_kind)
		if (record_kind[r] == k && (r in by_hand || value_of(r, field) != "0"))
			return 1
	return 0
}

function is_name(word,    i)
{
	for (i in name_ids)
		if (name_ids[i] == word)
			return 1
	return 0
}

function check(    i, h, k, n, c)
{
	for (i = 1; i <= hook_cnt; i++) {
		h = hooks[i]
		if (!(hook_record[h] in field_cnt))
			return h ": there is no record " hook_record[h]
		if (hook_kind[h] != "" && !(hook_kind[h] in kind_id))
			return h ": there is no kind " hook_kind[h]
	}
	for (k in kind_id) {
		for (n = 0; n < column_cnt[k]; n++) {
			c = column_from[k, n]
			if (c != "hook" && c != "none" && !is_in_record(k, c))
				return k ": no record has the field " c
			c = column_shown[k, n]
			if (c != "" && !(c in enum_prefix))
				return k ": there is no enum " c
			c = column_refers[k, n]
			if (c !~ /^(NOTHING|THREAD|PROCESS|STACK|SITE)$/ && !is_name(c))
				return k ": there are no names " c
			if (c == "FILE" && column_name[k, n + 1] !~ /_dev$/)
				return k ": the column after a file is its file system"
			if (is_name(c) && c !~ /^(FILE|PATH|SOCKET)$/ && column_codec[k, n] != "TUPLE")
				return k ": the writer finds names " c " in tuples only"
		}
		if (kind_whose[k] !~ /^(special)?$/ && whose(k) == "")
			return k ": there is no column " kind_whose[k]
	}
	return ""
}

function head(text)
{
	print "/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */"
	print "/* " text " Made by schema/events.awk from schema/events/. */"
}

function column_c(k, n) { return "EV_" kind_c[k] "_" toupper(column_name[k, n]) }
function kind_or_none(k) { return k == "" ? "NONE" : kind_c[k] }

function begin_list(name, args, text)
{
	printf "\n/* %s X(%s). */\n#define %s(X)", text, args, name
}
function row(text) { printf " \\\n\tX(%s)", text }
function end_list() { printf "\n" }

# Which column of the kind says whose an event is: its index, or "".
function whose(k,    n)
{
	for (n = 0; n < column_cnt[k]; n++)
		if (column_name[k, n] == kind_whose[k])
			return n
	return ""
}

function put_enums(    i, n, e)
{
	for (i = 1; i <= enum_cnt; i++) {
		e = enums[i]
		printf "\nenum event_%s {\n", e
		for (n = 1; n <= value_cnt[e]; n++)
			printf "\tEVENT_%s_%s = %d,%s\n", enum_prefix[e], value_name[e, n], value_id[e, n],
				value_doc[e, n] == "" ? "" : "\t/* " value_doc[e, n] " */"
		printf "\tEVENT_%s_CNT = %d\n};\n", toupper(e), value_id[e, n - 1] + 1
		printf "#define EVENT_SHOWN_%s {", toupper(e)
		for (n = 1; n <= value_cnt[e]; n++)
			printf " [%d] = %s,", value_id[e, n], value_shown[e, n] == "-" ? "0" : quoted(value_shown[e, n])
		printf " }\n"
	}
	begin_list("EVENT_ENUMS", "ENUM", "What numbers in columns are called.")
	for (i = 1; i <= enum_cnt; i++)
		row(toupper(enums[i]))
	end_list()
}

function put_kinds(    i, k, n)
{
	printf "\nenum event_kind {\n\tEVENT_NONE = 0,\n"
	for (i = 1; i <= kind_max; i++)
		if (i in kinds)
			printf "\tEVENT_%s = %d,\n", kind_c[kinds[i]], i
	printf "\tEVENT_KIND_CNT\t/* one more than the last */\n};\n\n/* Places in event.v */\nenum {\n"
	for (i = 1; i <= kind_max; i++)
		if (i in kinds) {
			k = kinds[i]
			for (n = 0; n < column_cnt[k]; n++)
				printf "\t%s = %d,\n", column_c(k, n), n
			printf "\tEV_%s_CNT = %d,\n", kind_c[k], n
		}
	printf "};\n"
	begin_list("EVENT_KINDS", "id, KIND, \"name\", \"table\", \"flag\", FLAG, \"about\"", "Kinds of events, by number.")
	for (i = 1; i <= kind_max; i++)
		if (i in kinds) {
			k = kinds[i]
			row(i ", " kind_c[k] ", " quoted(k) ", " quoted(kind_table[k]) ", " quoted(kind_flag[k]) ", " \
			    kind_flag_bit[k] ", " quoted(kind_about[k]))
		}
	end_list()
	begin_list("EVENT_OWNED", "KIND, index",
		   "Kinds whose events belong to the thread or process in a column, not to utid.")
	for (i = 1; i <= kind_max; i++)
		if (i in kinds && whose(kinds[i]) != "")
			row(kind_c[kinds[i]] ", " whose(kinds[i]))
	end_list()
	begin_list("EVENT_FILTERED", "KIND, index, FLAG",
		   "Columns whose thread was left out of the recording where an event has the flag.")
	for (i = 1; i <= kind_max; i++) {
		k = kinds[i]
		for (n = 0; i in kinds && n < column_cnt[k]; n++)
			if (column_filtered[k, n] != "")
				row(kind_c[k] ", " n ", " column_filtered[k, n])
	}
	end_list()
	begin_list("EVENT_COLUMNS", "KIND, index, \"name\", CODEC, KIND_OF_XREF, ENUM, TYPE, later, null, REFERS", "Columns.")
	for (i = 1; i <= kind_max; i++) {
		k = kinds[i]
		for (n = 0; i in kinds && n < column_cnt[k]; n++)
			row(kind_c[k] ", " n ", " quoted(column_name[k, n]) ", " column_codec[k, n] ", " \
			    kind_or_none(column_of[k, n]) ", " (column_shown[k, n] == "" ? "NUMBER" : toupper(column_shown[k, n])) ", " \
			    (column_shown[k, n] == "" ? "INT" : "TEXT") ", " column_later[k, n] ", " column_null[k, n] ", " \
			    column_refers[k, n])
	}
	end_list()
}

# The text with one more member: "a, b".
function join(text, word) { return text (text == "" ? "" : ", ") word }

function put_texts(    i, s, all, not_default, order)
{
	for (i = 1; i <= source_cnt; i++) {
		s = sources[i]
		if (source_how[s] != "option")
			all = join(all, s)
		if (source_how[s] == "")
			not_default = join(not_default, s)
	}
	for (i = 1; i <= trim_cnt; i++)
		if (i in trim)
			order = join(order, trim[i])
	printf "\n/* For people. */\n#define EVENT_CHOICES %s\n", quoted("sched, alloc, block, " all ", light or all")
	printf "#define EVENT_NOT_DEFAULT %s\n#define EVENT_TRIM_ORDER %s\n", quoted(not_default), quoted(order)
}

function put_sources(    i, j, n, s, mask)
{
	begin_list("EVENT_SOURCES", "NAME, \"name\", is_default, \"about\"", "Sources that -e names.")
	for (i = 1; i <= source_cnt; i++) {
		s = sources[i]
		if (source_how[s] != "option")
			row(source_c[s] ", " quoted(s) ", " (source_how[s] == "default") ", " quoted(source_about[s]))
	}
	end_list()
	begin_list("EVENT_OPTION_SOURCES", "NAME, \"name\", \"about\"", "Sources of options of their own.")
	for (i = 1; i <= source_cnt; i++)
		if (source_how[sources[i]] == "option")
			row(source_c[sources[i]] ", " quoted(sources[i]) ", " quoted(source_about[sources[i]]))
	end_list()
	begin_list("EVENT_SOURCE_KINDS", "\"source\", mask of kinds", "Sources that have events.")
	for (i = 1; i <= source_cnt; i++) {
		mask = ""
		for (j = 1; j <= kind_max; j++)
			if (j in kinds && kind_source[kinds[j]] == sources[i])
				mask = mask (mask == "" ? "" : " | ") "1u << " j
		if (mask != "")
			row(quoted(sources[i]) ", " mask)
	}
	end_list()
	begin_list("EVENT_TRIMS", "\"source\"", "What a bundle leaves out to fit, first things first.")
	for (i = 1; i <= trim_cnt; i++)
		if (i in trim)
			row(quoted(trim[i]))
	end_list()
	begin_list("EVENT_NAMES", "id, NAME, \"name\", REDACT", "Types of names that events and tasks refer to.")
	for (i = 1; i <= name_max; i++)
		if (i in name_ids)
			row(i ", " name_ids[i] ", " quoted(tolower(name_ids[i])) ", " name_redact[i])
	end_list()
	begin_list("EVENT_HOOKS", "id, NAME, CLASS, \"source\"", "Hooks that the kernel sends from.")
	for (i = 1; i <= hook_cnt; i++)
		if (!hook_internal[hooks[i]])
			row(hook_id[hooks[i]] ", " hooks[i] ", " source_class[hook_source[hooks[i]]] ", " quoted(hook_source[hooks[i]]))
	end_list()
	begin_list("EVENT_PROGRAMS", "\"program\", \"tracepoint\" or NULL, SOURCE, hook, optional, \"used for\", COPY",
		   "Programs.")
	for (i = 1; i <= source_cnt; i++)
		for (j = 1; j <= program_cnt; j++)
			if (program_source[j] == sources[i])
				row(quoted(program_name[j]) ", " (program_point[j] == "-" ? "NULL" : quoted(program_point[j])) ", " \
				    source_c[sources[i]] ", " (program_hook[j] == "" ? 0 : "WIRE_" program_hook[j]) ", " \
				    program_optional[j] ", " quoted(program_doc[j]) ", " program_copy[j])
	end_list()
}

function put_lists(    i)
{
	head("What there is to record: kinds, columns, sources, hooks, programs.")
	print "#pragma once\n\nenum event_class {"
	for (i = 1; i <= class_cnt; i++)
		printf "\tEVENT_CLASS_%s = %d,\n", classes[i], i - 1
	printf "\tEVENT_CLASS_CNT = %d\n};\n", class_cnt
	put_enums()
	put_kinds()
	put_sources()
	put_texts()
}

function c_type(type)
{
	sub(/\[.*/, "", type)
	return type ~ /^wire_/ ? "struct " type : type == "char" ? type : "wire_" type
}

function put_record(r,    n, type, size)
{
	printf "\n"
	if (record_doc[r] != "")
		printf "/* %s */\n", record_doc[r]
	printf "struct wire_%s {\n", r
	if (!(r in base))
		print "\tstruct wire_hdr hdr;"
	size = r in base ? 0 : "sizeof(struct wire_hdr)"
	for (n = 1; n <= field_cnt[r]; n++) {
		type = field_type[r, n]
		extent = type ~ /\[/ ? substr(type, index(type, "[")) : ""
		printf "\t%s %s%s;%s\n", c_type(type), field_name[r, n], extent,
			field_doc[r, n] == "" ? "" : "\t/* " field_doc[r, n] " */"
		size = size " + sizeof(" c_type(type) ")" \
			(extent == "" ? "" : " * (" substr(extent, 2, length(extent) - 2) ")")
	}
	printf "};\n_Static_assert(sizeof(struct wire_%s) == %s, \"wire_%s has holes\");\n", r, size, r
}

function put_wire(    i, h, r, k, n)
{
	head("Hooks and records; a part of bpf/wire.h.")
	print "\n#include \"event_lists.h\"\n\nenum wire_hook {"
	for (i = 1; i <= hook_cnt; i++)
		printf "\tWIRE_%s = %d,\n", hooks[i], hook_id[hooks[i]]
	print "};"
	for (i = 1; i <= record_cnt; i++)
		put_record(records[i])
	begin_list("WIRE_HOOKS", "HOOK, KIND, CLASS", "What becomes of a hook's records.")
	for (i = 1; i <= hook_cnt; i++)
		row(hooks[i] ", " kind_or_none(hook_kind[hooks[i]]) ", " source_class[hook_source[hooks[i]]])
	end_list()
	begin_list("WIRE_PLACES", "HOOK, KIND, record, index, CODEC, field",
		   "Which field of a hook's record a column is made of, where it is just one.")
	for (i = 1; i <= hook_cnt; i++) {
		h = hooks[i]
		r = hook_record[h]
		k = hook_kind[h]
		if (k == "" || r in by_hand || hook_action[h] != "")
			continue
		for (n = 0; n < column_cnt[k]; n++)
			if ((r, column_from[k, n]) in has_field)
				row(h ", " kind_c[k] ", " r ", " n ", " column_codec[k, n] ", " column_from[k, n])
	}
	end_list()
	begin_list("WIRE_FIXED", "HOOK, record", "Hooks whose records have the length of their struct.")
	for (i = 1; i <= hook_cnt; i++)
		if (!record_variable[hook_record[hooks[i]]])
			row(hooks[i] ", " hook_record[hooks[i]])
	end_list()
}

# How C reads the field of a record that a column comes from.
function value_of(r, from)
{
	if (from == "hook")
		return "action"
	if ((r, from) in has_field)
		return "r->" from
	if (r in base && (base[r], from) in has_field)
		return "r->" field_name[r, 1] "." from
	return "0"
}

function put_fill(r,    k, n, tuple, width, flags, body, v)
{
	k = record_kind[r]
	flags = kind_flags[k]
	gsub(/,/, " | EVENT_F_", flags)
	tuple = "h->flags & (EVENT_F_" flags ")"
	width = 1
	for (n = 0; n < column_cnt[k]; n++) {
		v = value_of(r, column_from[k, n])
		if (column_codec[k, n] == "TUPLE") {
			tuple = tuple ", " v
			width++
		} else if (column_codec[k, n] == "UTID") {
			body = body "\trows->ref[at] = fill_slot(f, " v ", h->ts_ns);\n"
		} else {
			body = body "\trows->val[" column_c(k, n) "][at] = " v ";\n"
		}
	}
	printf "\nstatic inline void fill_%s(struct fill *f, const struct wire_hdr *h, unsigned int action)\n{\n", r
	printf "\tconst struct wire_%s *r = (const void *)h;\n", r
	printf "\tuint32_t at;\n\tstruct kind_rows *rows = fill_row(f, h, EVENT_%s, &at);\n\n%s", kind_c[k], body
	printf "\tconst uint64_t tuple[] = { %s };\n\n", tuple
	printf "\tfill_tuple(f, rows, at, tuple, %d, %s);\n", width, kind_repeats[k] ? "true" : "false"
	if (r in noted)
		printf "\tnote_%s(f, rows, at, r);\n", r
	else
		printf "\t(void)r;\n"
	printf "}\n"
}

function put_fills(    i, r, h, call, calls, call_cnt, cases)
{
	head("Records to columns; a part of block_fill.c.")
	for (i = 1; i <= record_cnt; i++)
		if (records[i] in record_kind && !(records[i] in by_hand))
			put_fill(records[i])
	# a call for all hooks with the same record and action: a function with one caller is inlined
	for (i = 1; i <= hook_cnt; i++) {
		h = hooks[i]
		r = hook_record[h]
		if (hook_kind[h] == "")
			continue
		action = hook_action[h] == "" ? 0 : "EVENT_" hook_action[h]
		call = "fill_" r "(f, " (r in by_hand ? "(const struct wire_" r " *)h" : "h, " action) ")"
		if (!(call in cases))
			calls[++call_cnt] = call
		cases[call] = cases[call] "\tcase WIRE_" h ":\n"
	}
	print "\nstatic inline __attribute__((always_inline)) void\nfill_record(struct fill *f, const struct wire_hdr *h)"
	print "{\n\tswitch (h->hook) {"
	for (i = 1; i <= call_cnt; i++)
		printf "%s\t\t%s;\n\t\tbreak;\n", cases[calls[i]], calls[i]
	print "\tdefault:\n\t\tbreak;\n\t}\n}"
}

# ---- documents ----

function values_text(e,    n, text)
{
	for (n = 1; n <= value_cnt[e]; n++)
		if (value_shown[e, n] != "-")
			text = text (text == "" ? "" : ", ") value_shown[e, n] (value_doc[e, n] == "" ? "" : " (" value_doc[e, n] ")")
	return text
}

function column_text(k, n,    e, text)
{
	e = column_shown[k, n]
	text = column_doc[k, n]
	if (e != "")
		text = text (text == "" ? "" : ": ") values_text(e)
	return text
}

function put_format(    i, k, n, e)
{
	print "| kind | values, by column number: codec |\n|---|---|"
	for (i = 1; i <= kind_max; i++) {
		if (!(i in kinds))
			continue
		k = kinds[i]
		printf "| %d %s |", i, k
		for (n = 0; n < column_cnt[k]; n++)
			printf "%s %d %s %s%s%s", n ? "," : "", n, column_name[k, n], column_codec[k, n],
				column_of[k, n] == "" ? "" : " (" column_of[k, n] ")", column_later[k, n] ? " later" : ""
		print " |"
	}
	print "\n| column | its numbers |\n|---|---|"
	for (i = 1; i <= kind_max; i++) {
		k = kinds[i]
		for (n = 0; i in kinds && n < column_cnt[k]; n++) {
			if (column_shown[k, n] == "")
				continue
			e = column_shown[k, n]
			printf "| %s `%s` |", k, column_name[k, n]
			for (j = 1; j <= value_cnt[e]; j++)
				printf "%s %d %s", (j == 1 ? "" : ","), value_id[e, j], value_shown[e, j] == "-" ? "none" : value_shown[e, j]
			print " |"
		}
	}
}

function put_names(    i)
{
	print "| type | names |\n|---|---|"
	for (i = 1; i <= name_max; i++)
		if (i in name_ids) {
			gsub(/\|/, "\\|", name_doc[i])
			printf "| %d | %s |\n", i, name_doc[i]
		}
}

function put_hooks(    i)
{
	print "| hook | name | source |\n|---|---|---|"
	for (i = 1; i <= hook_cnt; i++)
		if (!hook_internal[hooks[i]])
			printf "| %d | %s | %s |\n", hook_id[hooks[i]], tolower(hooks[i]), hook_source[hooks[i]]
}

function source_text(k) { return source_how[kind_source[k]] ~ /^(default|option)$/ ? "" : " (" kind_source[k] ")" }

# A column of a table in a document, or in C.
function put_column_text(name, type, text)
{
	if (out == "tables") {
		gsub(/\|/, "\\|", text)
		printf "| `%s` | %s | %s |\n", name, type, text
	} else {
		gsub(/`/, "", text)
		printf "\t\t{ %s, %s, %s },\n", quoted(name), quoted(type), quoted(text)
	}
}

function put_tables(    i, k, n, text)
{
	for (i = 1; i <= kind_max; i++) {
		if (!(i in kinds))
			continue
		k = kinds[i]
		text = sentence(kind_about[k] source_text(k)) kind_note[k]
		if (out == "tables") {
			printf "### %s\n\n%s\n\n| column | type | meaning |\n|---|---|---|\n", kind_table[k], text
		} else {
			gsub(/`/, "", text)
			printf "\t{ \"table\", %s, %s, %s,\n", quoted(kind_table[k]), quoted(kind_table[k]), quoted(text)
			print "\t  (const struct sql_schema_column[]){"
		}
		put_column_text("ts_ns", "integer", "instant")
		put_column_text("cpu", "integer", "CPU of the event")
		put_column_text("utid", "integer", "thread that ran on this CPU")
		put_column_text(kind_flag[k], "integer", kind_flag_doc[k])
		for (n = 0; n < column_cnt[k]; n++)
			put_column_text(column_name[k, n], column_shown[k, n] == "" ? "integer" : "text", column_text(k, n))
		print out == "tables" ? "" : "\t  }, " 4 + column_cnt[k] " },"
	}
}

function put_sql(    i, k, n, name)
{
	for (i = 1; i <= kind_max; i++) {
		if (!(i in kinds))
			continue
		k = kinds[i]
		printf "-- %s\nCREATE TABLE %s (\n\tts_ns INTEGER NOT NULL,\n\tcpu INTEGER NOT NULL,\n",
			sentence(kind_about[k] source_text(k)), kind_table[k]
		printf "\tutid INTEGER NOT NULL REFERENCES threads (utid),\n\t%s INTEGER NOT NULL", kind_flag[k]
		for (n = 0; n < column_cnt[k]; n++) {
			name = column_name[k, n]
			printf ",\n\t%s %s%s%s", name, column_shown[k, n] == "" ? "INTEGER" : "TEXT", column_null[k, n] ? "" : " NOT NULL",
				is_utid(name) ? " REFERENCES threads (utid)" : is_upid(name) ? " REFERENCES processes (upid)" : ""
		}
		print "\n) STRICT;\n"
	}
}

# SQL that gives the numbers that FORMAT.md tells, for columns that tables show as text or NULL.
function put_tests(    i, j, k, n, e, text)
{
	for (i = 1; i <= kind_max; i++) {
		if (!(i in kinds))
			continue
		k = kinds[i]
		printf "%s %s %s ", k, kind_table[k], kind_flag[k]
		for (n = 0; n < column_cnt[k]; n++) {
			text = column_name[k, n]
			e = column_shown[k, n]
			if (e != "") {
				text = "CASE " text
				for (j = 1; j <= value_cnt[e]; j++)
					if (value_shown[e, j] != "-")
						text = text " WHEN '" value_shown[e, j] "' THEN " value_id[e, j]
				text = text " ELSE 0 END"
			} else if (column_null[k, n]) {
				text = "coalesce(" text ", 0)"
			}
			printf "%s%s", n ? ", " : "", text
		}
		print ""
	}
}

END {
	if (failed)
		exit 1
	sort_sources()
	sort_hooks()
	wrong = check()
	if (wrong != "") {
		print "schema/events: " wrong > "/dev/stderr"
		exit 1
	}
	if (out == "lists")
		put_lists()
	else if (out == "wire")
		put_wire()
	else if (out == "fill")
		put_fills()
	else if (out == "format")
		put_format()
	else if (out == "names")
		put_names()
	else if (out == "hooks")
		put_hooks()
	else if (out == "tables" || out == "items")
		put_tables()
	else if (out == "sql")
		put_sql()
	else if (out == "tests")
		put_tests()
	else
		exit 1
}

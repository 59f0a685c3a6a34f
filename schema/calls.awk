# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# calls.awk: makes the C tables of system calls, by number. POSIX awk.
#
#     awk -f schema/calls.awk schema/calls.decl > build/calls.h

function fail(text)
{
	printf "%s:%d: %s\n", FILENAME, FNR, text > "/dev/stderr"
	failed = 1
	exit 1
}

BEGIN {
	split("x86_64 i386 arm64", machines, " ")
	split("lock timer child signal poll disk socket call", words, " ")
	for (i in words)
		kinds[words[i]] = "WAIT_" toupper(words[i])
	kinds["file"] = "CALL_FILE_SAYS"
	wakes[""] = "CALL_WAKE_OTHER"
	split("futex signal write close", words, " ")
	for (i in words)
		wakes[words[i]] = "CALL_WAKE_" toupper(words[i])
}

/^(#|$)/ { next }
{
	if (NF > 6 || !($5 in kinds) || !($6 in wakes))
		fail("a call is NAME x86-64 i386 arm64 KIND [WAKES]")
	for (i = 1; i <= 3; i++) {
		if ($(i + 1) == "-")
			continue
		if ($(i + 1) !~ /^[0-9]+$/ || $(i + 1) > 511 || (i, $(i + 1) + 0) in call)
			fail("a number of its own up to 511 is wanted, not '" $(i + 1) "'")
		call[i, $(i + 1) + 0] = "{ \"" $1 "\", " kinds[$5] ", " wakes[$6] " }"
	}
}

END {
	if (failed)
		exit 1
	print "/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */"
	print "/* System calls by number. Made by schema/calls.awk from schema/calls.decl. */"
	for (i = 1; i <= 3; i++) {
		printf "\nstatic const struct call_decl calls_%s[CALL_NUMBER_CNT] = {\n", machines[i]
		for (nr = 0; nr < 512; nr++)
			printf "\t[%d] = %s,\n", nr, (i, nr) in call ? call[i, nr] : "{ \"call " nr "\", WAIT_CALL, CALL_WAKE_OTHER }"
		print "};"
	}
}

/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* span_lines: lines of --span-fd become records with the time and the process of their writer. */
#include <sys/wait.h>

#include "base/clock.h"
#include "event_lists.h"
#include "ring/span_lines.h"
#include "tests/unit/unit_test.h"

#define FD 77

static void expect(const char *line, unsigned int action, const char *name, uint64_t id,
		   uint32_t tid)
{
	struct wire_span r;

	assert_true(span_lines_parse(line, strlen(line), &r));
	assert_int_equal(r.action, action);
	assert_int_equal(strncmp(r.name, name, sizeof(r.name)), 0);
	assert_int_equal(r.id, id);
	assert_int_equal(r.hdr.tid, tid);
	assert_int_equal(r.nr, 0);
}

UNIT_TEST(test_a_line_is_an_action_a_name_and_an_id)
{
	expect("begin GET 17", EVENT_SPAN_BEGIN, "GET", 17, 0);
	expect(" begin\tGET  /a b  17 \r", EVENT_SPAN_BEGIN, "GET  /a b", 17, 0);
	expect("begin GET 9223372036854775807 tid=12", EVENT_SPAN_BEGIN, "GET", INT64_MAX, 12);
	expect("begin GET", EVENT_SPAN_BEGIN, "GET", 0, 0);
	expect("end", EVENT_SPAN_END, "", 0, 0);
	expect("end 17", EVENT_SPAN_END, "", 17, 0);
	expect("fail 17", EVENT_SPAN_FAIL, "", 17, 0);
	expect("step read the file", EVENT_SPAN_STEP, "read the file", 0, 0);
	expect("step tid=x", EVENT_SPAN_STEP, "tid=x", 0, 0);
	expect("attach 17 tid=7", EVENT_SPAN_ATTACH, "", 17, 7);
	expect("attach 0", EVENT_SPAN_ATTACH, "", 0, 0);
	/* FNV-1a of "a", and of "foobar", without the highest bit */
	expect("end a", EVENT_SPAN_END, "", 0x2f63dc4c8601ec8c, 0);
	expect("end foobar", EVENT_SPAN_END, "", 0x05944171f73967e8, 0);
	/* larger than a number may be: a word */
	expect("end 9223372036854775808", EVENT_SPAN_END, "", 0x77cef8da42d0e432, 0);
}

UNIT_TEST(test_a_long_name_is_cut_between_characters)
{
	struct wire_span r;
	char line[80] = "step ";

	memset(line + 5, 'x', 47);
	strcpy(line + 52, "\u00e4");	/* its second byte would be the 49th */
	assert_true(span_lines_parse(line, strlen(line), &r));
	assert_int_equal(r.name[46], 'x');
	assert_int_equal(r.name[47], 0);
	memset(line + 5, 'x', 70);
	assert_true(span_lines_parse(line, 75, &r));
	assert_int_equal(r.name[47], 'x');
}

UNIT_TEST(test_other_lines_are_bad)
{
	static const char *const lines[] = { "", " ", "x", "begin", "begin ", "beginGET 1",
					     "Begin GET 1", "step", "attach", "attach 1 2",
					     "end 1 2", "end 0", "fail 0", "begin GET 0", "tid=7" };
	struct wire_span r;

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		assert_false(span_lines_parse(lines[i], strlen(lines[i]), &r));
}

static const struct wire_span *next(struct span_lines *s)
{
	size_t bytes = 0;
	const void *r = span_lines_next(s, clock_mono_ns(), &bytes);

	assert_true(!r || bytes == sizeof(struct wire_span));
	return r;
}

static void put(const char *text)
{
	assert_int_equal(write(FD, text, strlen(text)), strlen(text));
}

UNIT_TEST(test_the_time_and_the_process_are_the_writers)
{
	int socket = span_lines_socket(FD), status;
	struct span_lines *s = span_lines_new(socket);
	uint64_t before[3], after[3];
	const struct wire_span *r;
	pid_t child;

	assert_true(socket >= 0);
	assert_int_equal(span_lines_socket(FD), -EEXIST);
	for (int i = 0; i < 3; i++) {
		before[i] = clock_mono_ns();
		put(i == 1 ? "step a\nbad\n\nend 5" : "begin GET 5\n");
		after[i] = clock_mono_ns();
	}
	child = fork();
	if (!child) {
		put("end 5 tid=1\n");	/* not a thread of this process */
		put("end 6\n");
		_exit(0);
	}
	waitpid(child, &status, 0);
	/* a record of the future waits for its pass */
	assert_null(span_lines_next(s, before[0] - 1000000, &(size_t){ 0 }));
	for (int i = 0; i < 4; i++) {
		int datagram = i > 1 ? i - 1 : i;

		r = next(s);
		assert_non_null(r);
		if (i == 1) {
			span_lines_unread(s);
			assert_ptr_equal(next(s), r);
		}
		assert_int_equal(r->hdr.hook, WIRE_SPAN);
		assert_int_equal(r->hdr.tid, getpid());
		assert_true(r->hdr.ts_ns >= before[datagram]);
		assert_true(r->hdr.ts_ns <= after[datagram]);
	}
	r = next(s);
	assert_non_null(r);
	assert_int_equal(r->hdr.tid, child);
	assert_int_equal(r->id, 6);
	assert_null(next(s));
	assert_int_equal(span_lines_count(s, WIRE_SPAN).attempted, 7);
	assert_int_equal(span_lines_count(s, WIRE_SPAN).lost_other, 2);
	assert_int_equal(span_lines_count(s, WIRE_SWITCH).attempted, 0);
	assert_string_equal(span_lines_first_bad(s), "bad");
	span_lines_free(s);
	close(socket);
	close(FD);
}

/* Random datagrams: as many records and losses as lines, and nothing else. */
UNIT_TEST(test_any_bytes_are_lines_or_lost)
{
	static const char *const parts[] = { "begin ", "end ", "step ", "attach ", "\n", "17",
					     "tid=", "\x1b", "\xff", " ", "GET", "\r",
					     "99999999999999999999" };
	const size_t part_cnt = sizeof(parts) / sizeof(parts[0]);
	int socket = span_lines_socket(FD);
	struct span_lines *s = span_lines_new(socket);
	static char large[100000];
	char text[512];

	srand(1);
	for (int i = 0; i < 2000; i++) {
		text[0] = 0;
		for (int n = rand() % 12 + 1; n; n--)
			strcat(text, parts[(unsigned int)rand() % part_cnt]);
		put(text);
		while (next(s))
			;
	}
	/* longer than what is read of a datagram: the rest is one loss */
	for (size_t i = 0; i < sizeof(large); i += 8)
		memcpy(large + i, "step ab\n", 8);
	assert_int_equal(write(FD, large, sizeof(large)), sizeof(large));
	for (int i = 0; i < 65536 / 8; i++)
		assert_non_null(next(s));
	assert_null(next(s));
	span_lines_free(s);
	close(socket);
	close(FD);
}

UNIT_TESTS

/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* render_pprof: every frame of a sample is defined, for any function name. */
#include <zlib.h>

#include "cmd/render/render.h"
#include "tests/unit/unit_test.h"

enum { PROFILE_LOCATION = 4, PROFILE_FUNCTION = 5 };

static uint64_t varint(const uint8_t **at)
{
	uint64_t v = 0;

	for (unsigned int shift = 0;; shift += 7) {
		uint8_t b = *(*at)++;

		v |= (uint64_t)(b & 127) << shift;
		if (b < 128)
			return v;
	}
}

/* How many fields of a number the message has. */
static unsigned int fields(const uint8_t *at, size_t n, unsigned int number)
{
	const uint8_t *end = at + n;
	unsigned int cnt = 0;

	while (at < end) {
		uint64_t tag = varint(&at), value = varint(&at);

		cnt += tag >> 3 == number;
		if ((tag & 7) == 2)
			at += value;
	}
	assert_ptr_equal(at, end);
	return cnt;
}

static struct value text(const char *s)
{
	return (struct value){ .type = VALUE_TEXT, .text = s, .text_bytes = strlen(s) };
}

static struct value number(int64_t i)
{
	return (struct value){ .type = VALUE_INT, .i = i };
}

/* A profile of one sample has so many functions and locations. */
static void expect(const char *stack, unsigned int functions, unsigned int locations)
{
	static const char *const cols[] = { "comm", "source", "samples", "bytes", "stack" };
	const struct value row[] = { text("bytes"), text("slab"), number(2), number(10),
				     text(stack) };
	struct render_options o = { .format = RENDER_PPROF, .title = "the title" };
	uint8_t profile[4096];
	struct render *r;
	gzFile f;
	int n;

	o.out = tmpfile();
	assert_non_null(o.out);
	assert_int_equal(render_new(&r, &o), 0);
	assert_int_equal(render_begin(r, 5, cols), 0);
	assert_int_equal(render_put(r, row), 0);
	assert_int_equal(render_end(r), 0);
	render_free(r);
	rewind(o.out);
	f = gzdopen(fileno(o.out), "rb");
	n = gzread(f, profile, sizeof(profile));
	assert_in_range(n, 1, sizeof(profile) - 1);
	assert_int_equal(fields(profile, (size_t)n, PROFILE_FUNCTION), functions);
	assert_int_equal(fields(profile, (size_t)n, PROFILE_LOCATION), locations);
	gzclose(f);
}

/* A function, a process and a source may have names that the profile uses for its own. */
UNIT_TEST(test_a_frame_may_be_called_as_a_unit_is)
{
	/* [slab], bytes, main, count, the title */
	expect("main;count;main;the title", 5, 5);
}

UNIT_TEST(test_a_function_has_a_location_per_line)
{
	/* two before the stack; main is in two files */
	expect("main (a.c:1);f (a.c:7);main (a.c:2);main (b.c:2);f (a.c:7);f", 2 + 4, 2 + 5);
}

UNIT_TESTS

/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * fuzz_words: user input: times, durations, sizes, counts, lists of processes and of sources,
 * formats. A parsed size or duration is the same after printing it exactly and parsing again.
 */
#include <inttypes.h>

#include "base/units.h"
#include "cmd/input/opts.h"
#include "cmd/render/render_format.h"
#include "cmd/render/say.h"
#include "fuzz.h"
#include "probe/source.h"

static uint64_t mono_from_real(void *ctx, uint64_t real_ns)
{
	return real_ns - 1700000000000000000ull;
}

static void run_units(const char *s)
{
	struct err e = { "" };
	char text[64];
	uint64_t v, again;

	if (units_parse_duration(s, &v, &e) == 0) {
		snprintf(text, sizeof(text), "%" PRIu64 "ns", v);
		FUZZ_CHECK(units_parse_duration(text, &again, &e) == 0 && again == v);
		units_format_duration(text, sizeof(text), v);
	}
	if (units_parse_size(s, &v, &e) == 0) {
		snprintf(text, sizeof(text), "%" PRIu64, v);
		FUZZ_CHECK(units_parse_size(text, &again, &e) == 0 && again == v);
		units_format_bytes(text, sizeof(text), v);
		units_format_bytes_si(text, sizeof(text), v);
	}
	units_parse_count(s, &v, &e);
	units_scan_seconds(s, &v);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	const struct timeexpr_base base = {
		.start_ns = 5000000000ull, .end_ns = 65000000000ull,
		.start_real_ns = 1700000000000000000ull + 5000000000ull,
		.mono_from_real = mono_from_real,
	};
	char *s = strndup((const char *)data, bytes), *joined = NULL;
	char *argv[] = { s, s, NULL };
	struct lists_ids pids = { NULL, 0 };
	uint32_t mask;
	struct err e = { "" };
	uint64_t v;

	FUZZ_CHECK(s);
	if (timeexpr_resolve(s, &base, &v, &e) == 0)
		say_wall(v, v & 1);
	else
		FUZZ_CHECK(e.text[0]);
	run_units(s);
	lists_take_ids(&pids, s, &e);
	free(pids.v);
	lists_take_words(&joined, s, &e);
	lists_take_words(&joined, s, &e);
	free(joined);
	free(lists_join_argv(argv));
	source_parse(s, &mask, &e);
	free(s);
	return 0;
}

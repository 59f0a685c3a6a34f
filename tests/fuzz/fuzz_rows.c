/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * fuzz_rows: a byte that picks a type of row, eight of from_ns, and rows: identity, dictionary of
 * names, summary, loss, index... A row that is read is written and read again to the same.
 */
#include "format/rows.h"
#include "fuzz.h"

#define SAME_U(f) FUZZ_CHECK(a.f == b.f);
#define SAME_T(f) FUZZ_CHECK(a.f == b.f);
#define SAME_S(f) FUZZ_CHECK(!strcmp(a.f, b.f));

#define X(name, type, fields)                                                \
	static void run_##name(struct row_reader r)                          \
	{                                                                    \
		struct row_writer w = { .base_ns = r.base_ns };              \
		struct row_reader again;                                     \
		struct type a, b;                                            \
		while (row_get_##name(&r, &a) > 0) {                         \
			buf_reset(&w.out);                                   \
			row_put_##name(&w, &a);                              \
			FUZZ_CHECK(!w.out.failed);                           \
			again = (struct row_reader){ w.out.data, w.out.data + w.out.len, \
						     r.base_ns };            \
			FUZZ_CHECK(row_get_##name(&again, &b) == 1);         \
			FUZZ_CHECK(again.p == again.end);                    \
			fields(SAME_U, SAME_T, SAME_S)                       \
		}                                                            \
		buf_done(&w.out);                                            \
	}
ROW_TYPES(X)
#undef X

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	static void (*const run[])(struct row_reader) = {
#define X(name, type, fields) run_##name,
		ROW_TYPES(X)
#undef X
	};
	struct row_reader r;

	if (bytes < 9)
		return 0;
	memcpy(&r.base_ns, data + 1, 8);
	r.p = data + 9;
	r.end = data + bytes;
	run[data[0] % (sizeof(run) / sizeof(*run))](r);
	return 0;
}

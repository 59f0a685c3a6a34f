/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * fuzz_names: any bytes as the name of a process, through every format: the output is valid UTF-8
 * on one line, without control sequences for a terminal, and without a formula in CSV.
 */
#include "base/textsafe.h"
#include "fuzz.h"

static void check_text(const char *s, size_t n)
{
	uint32_t code;
	unsigned int k;

	while (n) {
		k = utf8_decode(s, n, &code);
		FUZZ_CHECK(k && k <= n && !utf8_is_unsafe(code));
		s += k;
		n -= k;
	}
}

/* One cell: either it is quoted, with quotes doubled, or nothing in it needs quotes. */
static void check_csv(const char *s, size_t n)
{
	if (n && s[0] == '"') {
		FUZZ_CHECK(n >= 2 && s[n - 1] == '"');
		for (size_t i = 1; i + 1 < n; i++)
			if (s[i] == '"')
				FUZZ_CHECK(i + 2 < n && s[++i] == '"');
		s++;
		n -= 2;
	} else {
		FUZZ_CHECK(!memchr(s, '"', n) && !memchr(s, ',', n));
	}
	FUZZ_CHECK(!n || !strchr("=+-@", s[0]));
}

static void check_json(const char *s, size_t n)
{
	FUZZ_CHECK(n >= 2 && s[0] == '"' && s[n - 1] == '"');
	for (size_t i = 1; i + 1 < n; i++) {
		FUZZ_CHECK(s[i] != '"' && (unsigned char)s[i] >= 0x20);
		if (s[i] != '\\')
			continue;
		FUZZ_CHECK(i + 2 < n && strchr("\"\\/bfnrtu", s[i + 1]));
		if (s[++i] == 'u') {
			FUZZ_CHECK(i + 5 < n && strspn(s + i + 1, "0123456789abcdefABCDEF") >= 4);
			i += 4;
		}
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	const char *src = (const char *)data;
	unsigned int cells;
	size_t room, n;
	char *dst;

	room = bytes * TEXTSAFE_GROWTH + 1;
	dst = malloc(room);
	FUZZ_CHECK(dst);
	n = textsafe_escape(dst, room, src, bytes, &cells);
	FUZZ_CHECK(n < room && !dst[n] && strlen(dst) == n);
	check_text(dst, n);
	textsafe_cut(dst, cells / 2);
	check_text(dst, strlen(dst));
	free(dst);
	room = bytes % 17 + 1;
	dst = malloc(room);
	FUZZ_CHECK(dst);
	n = textsafe_escape(dst, room, src, bytes, NULL);
	FUZZ_CHECK(n < room);
	check_text(dst, n);
	free(dst);
	dst = malloc(TEXTSAFE_CSV_MAX(bytes));
	FUZZ_CHECK(dst);
	n = textsafe_csv(dst, src, bytes);
	FUZZ_CHECK(n <= TEXTSAFE_CSV_MAX(bytes));
	check_text(dst, n);
	check_csv(dst, n);
	free(dst);
	dst = malloc(TEXTSAFE_HTML_MAX(bytes) + 1);
	FUZZ_CHECK(dst);
	n = textsafe_html(dst, src, bytes);
	FUZZ_CHECK(n <= TEXTSAFE_HTML_MAX(bytes));
	check_text(dst, n);
	free(dst);
	dst = malloc(TEXTSAFE_JSON_MAX(bytes));
	FUZZ_CHECK(dst);
	n = textsafe_json(dst, src, bytes);
	FUZZ_CHECK(n <= TEXTSAFE_JSON_MAX(bytes));
	check_text(dst, n);
	check_json(dst, n);
	free(dst);
	return 0;
}

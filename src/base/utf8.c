/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * utf8: used wherever text of a trace leaves the program.
 *
 * The ranges are from the Unicode character database: general categories Cc, Cf, Zl, Zp, Co and,
 * for noncharacters, Cn; East Asian Width W and F for the wide ones. The C library's tables are not
 * used because they depend on the current locale.
 */
#include "base/utf8.h"

struct range {
	uint32_t first, last;
};

static bool is_in(uint32_t code, const struct range *ranges, size_t cnt)
{
	for (size_t i = 0; i < cnt; i++) {
		if (code >= ranges[i].first && code <= ranges[i].last)
			return true;
	}
	return false;
}

#define IS_IN(code, ranges) is_in(code, ranges, sizeof(ranges) / sizeof(ranges[0]))

static bool is_tail(unsigned char c)
{
	return (c & 0xc0) == 0x80;
}

unsigned int utf8_decode(const char *str, size_t n, uint32_t *ret_code)
{
	const unsigned char *s = (const unsigned char *)str;
	uint32_t code;

	if (s[0] < 0x80) {
		*ret_code = s[0];
		return 1;
	}
	if (s[0] >= 0xc2 && s[0] <= 0xdf && n >= 2 && is_tail(s[1])) {
		*ret_code = (uint32_t)(s[0] & 0x1f) << 6 | (s[1] & 0x3f);
		return 2;
	}
	if ((s[0] & 0xf0) == 0xe0 && n >= 3 && is_tail(s[1]) && is_tail(s[2])) {
		code = (uint32_t)(s[0] & 0x0f) << 12 | (uint32_t)(s[1] & 0x3f) << 6 | (s[2] & 0x3f);
		if (code < 0x800 || (code >= 0xd800 && code <= 0xdfff))
			return 0;
		*ret_code = code;
		return 3;
	}
	if ((s[0] & 0xf8) == 0xf0 && n >= 4 && is_tail(s[1]) && is_tail(s[2]) && is_tail(s[3])) {
		code = (uint32_t)(s[0] & 0x07) << 18 | (uint32_t)(s[1] & 0x3f) << 12 |
		       (uint32_t)(s[2] & 0x3f) << 6 | (s[3] & 0x3f);
		if (code < 0x10000 || code > 0x10ffff)
			return 0;
		*ret_code = code;
		return 4;
	}
	return 0;
}

bool utf8_is_unsafe(uint32_t code)
{
	static const struct range unsafe[] = {
		{ 0x0000, 0x001f },    { 0x007f, 0x009f },   { 0x00ad, 0x00ad },
		{ 0x0600, 0x0605 },    { 0x061c, 0x061c },   { 0x06dd, 0x06dd },
		{ 0x070f, 0x070f },    { 0x115f, 0x1160 },   { 0x180b, 0x180f },
		{ 0x200b, 0x200f },    { 0x2028, 0x202e },   { 0x2060, 0x206f },
		{ 0x3164, 0x3164 },    { 0xd800, 0xf8ff },   { 0xfdd0, 0xfdef },
		{ 0xfe00, 0xfe0f },    { 0xfeff, 0xfeff },   { 0xffa0, 0xffa0 },
		{ 0xfff0, 0xfffb },    { 0x1bca0, 0x1bca3 }, { 0x1d173, 0x1d17a },
		{ 0xe0000, 0x10ffff },
	};

	return (code & 0xfffe) == 0xfffe || IS_IN(code, unsafe);
}

unsigned int utf8_cells(uint32_t code)
{
	static const struct range combining[] = {
		{ 0x0300, 0x036f }, { 0x0483, 0x0489 }, { 0x0591, 0x05bd }, { 0x064b, 0x065f },
		{ 0x0e31, 0x0e31 }, { 0x0e34, 0x0e3a }, { 0x0e47, 0x0e4e }, { 0x1ab0, 0x1aff },
		{ 0x1dc0, 0x1dff }, { 0x20d0, 0x20ff }, { 0xfe20, 0xfe2f },
	};
	static const struct range wide[] = {
		{ 0x1100, 0x115e },   { 0x231a, 0x231b },   { 0x23e9, 0x23ec },
		{ 0x2614, 0x2615 },   { 0x2e80, 0x303e },   { 0x3041, 0xa4cf },
		{ 0xa960, 0xa97c },   { 0xac00, 0xd7a3 },   { 0xf900, 0xfaff },
		{ 0xfe30, 0xfe6b },   { 0xff01, 0xff60 },   { 0xffe0, 0xffe6 },
		{ 0x16fe0, 0x18cd5 }, { 0x1b000, 0x1b2fb }, { 0x1f300, 0x1f64f },
		{ 0x1f680, 0x1f6ff }, { 0x1f900, 0x1f9ff }, { 0x1fa70, 0x1faff },
		{ 0x20000, 0x3fffd },
	};

	if (code < 0x300)
		return 1;
	return IS_IN(code, combining) ? 0 : IS_IN(code, wide) ? 2 : 1;
}

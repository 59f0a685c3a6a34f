/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* textsafe: every string of a trace passes through these functions before it is output. */
#include "base/textsafe.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

/*
 * utf8: decodes and classifies characters.
 *
 * The ranges are from the Unicode character database: general categories Cc, Cf, Zl, Zp, Co and,
 * for noncharacters, Cn are unsafe; characters with East Asian Width W or F are wide. The C
 * library's tables are not used because they depend on the current locale.
 */

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

#define ELLIPSIS "\xe2\x80\xa6"

static const char hex[] = "0123456789abcdef";

static size_t put_hex(char *dst, unsigned char byte)
{
	memcpy(dst, "\\x", 2);
	dst[2] = hex[byte >> 4];
	dst[3] = hex[byte & 15];
	return 4;
}

/*
 * Escapes one character, or one byte of invalid UTF-8, of src into dst (16 bytes). Returns the
 * bytes consumed.
 */
static size_t escape_one(char *dst, size_t *ret_written, const char *src, size_t n,
			 unsigned int *ret_cells)
{
	uint32_t code;
	size_t len, w = 0;

	/* the most frequent case */
	if (n && *src >= 0x20 && *src < 0x7f) {
		*dst = *src;
		*ret_cells = 1;
		return *ret_written = 1;
	}
	len = utf8_decode(src, n, &code);
	if (len && !utf8_is_unsafe(code)) {
		memcpy(dst, src, len);
		*ret_written = len;
		*ret_cells = utf8_cells(code);
		return len;
	}
	len = len ?: 1;
	for (size_t i = 0; i < len; i++)
		w += put_hex(dst + w, (unsigned char)src[i]);
	*ret_written = w;
	*ret_cells = (unsigned int)w;
	return len;
}

size_t textsafe_escape(char *dst, size_t size, const char *src, size_t n, unsigned int *ret_cells)
{
	unsigned int cells = 0, c;
	size_t o = 0, written;
	char one[16];

	for (size_t i = 0; i < n;) {
		i += escape_one(one, &written, src + i, n - i, &c);
		if (o + written >= size)
			break;
		memcpy(dst + o, one, written);
		o += written;
		cells += c;
	}
	dst[o] = '\0';
	if (ret_cells)
		*ret_cells = cells;
	return o;
}

/* Advances *i by one character. Returns its width in cells. */
static unsigned int step(const char *text, size_t n, size_t *i)
{
	uint32_t code = '?';
	size_t len = utf8_decode(text + *i, n - *i, &code);

	*i += len ? len : 1;
	return utf8_cells(code);
}

void textsafe_cut(char *text, unsigned int cells)
{
	size_t n = strlen(text), keep = 0, i = 0;
	unsigned int used = 0;

	while (i < n && used <= cells) {
		used += step(text, n, &i);
		if (used < cells)
			keep = i;
	}
	if (used > cells && cells)
		strcpy(text + keep, ELLIPSIS);
}

void textsafe_cut_middle(char *text, unsigned int cells)
{
	size_t n = strlen(text), i = 0, keep = 0;
	unsigned int rest = 0, used = 0;

	while (i < n)
		rest += step(text, n, &i);
	if (rest <= cells || !cells)
		return;
	/* keep only a third of the cells at the start: a path's end distinguishes files better */
	for (i = 0; used <= (cells - 1) / 3;) {
		keep = i;
		used += step(text, n, &i);
	}
	for (i = 0, used = 0; i < keep;)
		used += step(text, n, &i);
	for (rest -= used; rest > cells - 1 - used;)
		rest -= step(text, n, &i);
	memmove(text + keep + strlen(ELLIPSIS), text + i, n - i + 1);
	memcpy(text + keep, ELLIPSIS, strlen(ELLIPSIS));
}

size_t textsafe_csv(char *dst, const char *src, size_t n)
{
	bool quote = false;
	size_t o = 1, written, start = 0;
	unsigned int cells;

	/* Write from dst[1], so that an opening quote can be inserted at dst[0]. */
	/*
	 * Double an apostrophe at the start: some readers, such as ClickHouse, treat apostrophes
	 * around a cell as quotes and remove them.
	 */
	if (n && src[0] && strchr("=+-@'", src[0])) {
		dst[o++] = '\'';
		quote = true;
	}
	for (size_t i = 0; i < n;) {
		if (src[i] == '"') {
			dst[o++] = '"';
			dst[o++] = '"';
			quote = true;
			i++;
			continue;
		}
		/* Some readers drop a leading or trailing space unless the cell is quoted. */
		if (src[i] == ',' || (src[i] == ' ' && (i == 0 || i == n - 1)))
			quote = true;
		i += escape_one(dst + o, &written, src + i, n - i, &cells);
		o += written;
	}
	/* An empty string is quoted, because an empty cell means NULL. */
	if (quote || !n) {
		dst[0] = '"';
		dst[o++] = '"';
	} else {
		start = 1;
	}
	if (start)
		memmove(dst, dst + 1, o - 1);
	return o - start;
}

size_t textsafe_html(char *dst, const char *src, size_t n)
{
	static const char *const entities[] = { "&amp;", "&lt;", "&gt;", "&quot;" };
	static const char specials[] = "&<>\"";
	size_t o = 0, written;
	unsigned int cells;

	for (size_t i = 0; i < n;) {
		const char *special = src[i] ? strchr(specials, src[i]) : NULL;

		if (special) {
			const char *entity = entities[special - specials];

			written = strlen(entity);
			memcpy(dst + o, entity, written);
			i++;
		} else {
			i += escape_one(dst + o, &written, src + i, n - i, &cells);
		}
		o += written;
	}
	return o;
}

/* Returns true at the colon of "://" and at the dot of "www.": there GitHub begins a link. */
static bool begins_link(const char *src, size_t n, size_t i)
{
	return (src[i] == ':' && i + 2 < n && src[i + 1] == '/') ||
	       (src[i] == '.' && i >= 3 && !strncasecmp(src + i - 3, "www", 3));
}

size_t textsafe_markdown(char *dst, const char *src, size_t n)
{
	size_t o = 0, written;
	unsigned int cells;

	for (size_t i = 0; i < n;) {
		if (src[i] && strchr("*_`[]|~#$", src[i])) {
			dst[o++] = '\\';
			dst[o++] = src[i++];
		} else if ((src[i] && strchr("&<>\"\\@", src[i])) || begins_link(src, n, i)) {
			o += (size_t)sprintf(dst + o, "&#%d;", src[i++]);
		} else {
			i += escape_one(dst + o, &written, src + i, n - i, &cells);
			o += written;
		}
	}
	return o;
}

static size_t put_u16(char *dst, uint32_t unit)
{
	memcpy(dst, "\\u", 2);
	for (int i = 0; i < 4; i++)
		dst[2 + i] = hex[unit >> (12 - 4 * i) & 15];
	return 6;
}

size_t textsafe_json(char *dst, const char *src, size_t n)
{
	size_t o = 0;

	dst[o++] = '"';
	for (size_t i = 0; i < n;) {
		uint32_t code;
		size_t len = utf8_decode(src + i, n - i, &code);

		if (!len) {
			memcpy(dst + o, "\xef\xbf\xbd", 3);
			o += 3;
			i++;
			continue;
		}
		if (code == '"' || code == '\\') {
			dst[o++] = '\\';
			dst[o++] = (char)code;
		} else if (!utf8_is_unsafe(code)) {
			memcpy(dst + o, src + i, len);
			o += len;
		} else if (code < 0x10000) {
			o += put_u16(dst + o, code);
		} else {
			o += put_u16(dst + o, 0xd800 + ((code - 0x10000) >> 10));
			o += put_u16(dst + o, 0xdc00 + ((code - 0x10000) & 0x3ff));
		}
		i += len;
	}
	dst[o++] = '"';
	return o;
}

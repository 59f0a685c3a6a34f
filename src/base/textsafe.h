/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * textsafe: strings from a trace, made safe for a terminal, a CSV cell or a JSON string.
 *
 * A task can choose any name, such as an escape sequence, an incomplete character or "=cmd()". None
 * of these may affect a terminal, a spreadsheet or a parser.
 *
 *     terminal, CSV   a byte of an unsafe character (utf8_is_unsafe()) or of invalid UTF-8
 *                     becomes \xNN; so a name is always one line and valid UTF-8
 *     CSV             in addition, a cell that a spreadsheet would read as a formula (first byte
 *                     = + - @) gets an apostrophe before it
 *     HTML            in addition, & < > and " become entities
 *     Markdown        as HTML, and text that GitHub would read as markup, a link or a name is
 *                     escaped
 *     JSON            RFC 8259; control and other unsafe characters as \uNNNN, invalid bytes as
 *                     U+FFFD
 *
 * Threads: any. No errors except a full output.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Maximum output bytes of textsafe_escape() per input byte, without the NUL. */
#define TEXTSAFE_GROWTH 4

/*
 * Escapes src into dst and terminates it with a NUL (size > 0). Text that does not fit is cut after
 * a whole character. Returns the bytes written without the NUL; *ret_cells (may be NULL) is the
 * width in terminal cells.
 */
size_t textsafe_escape(char *dst, size_t size, const char *src, size_t n, unsigned int *ret_cells);

/*
 * Shortens text, which must be safe already, to at most `cells` terminal cells, with an ellipsis at
 * the end. The buffer needs 2 more bytes for the ellipsis.
 */
void textsafe_cut(char *text, unsigned int cells);
/* Shortens text like textsafe_cut(), but in the middle: both ends of a path identify the file. */
void textsafe_cut_middle(char *text, unsigned int cells);

/*
 * Write src to dst as a CSV cell, as HTML text (or the value of an attribute, without quotes), as
 * Markdown text within a line, or as a JSON string (with quotes). dst needs TEXTSAFE_CSV_MAX(n),
 * TEXTSAFE_HTML_MAX(n), ... bytes. Return the bytes written; no NUL is appended.
 */
#define TEXTSAFE_CSV_MAX(n) ((n) * 4 + 3)
#define TEXTSAFE_HTML_MAX(n) ((n) * 6)
#define TEXTSAFE_MARKDOWN_MAX(n) ((n) * 6)
#define TEXTSAFE_JSON_MAX(n) ((n) * 6 + 2)
size_t textsafe_csv(char *dst, const char *src, size_t n);
size_t textsafe_html(char *dst, const char *src, size_t n);
size_t textsafe_markdown(char *dst, const char *src, size_t n);
size_t textsafe_json(char *dst, const char *src, size_t n);

/*
 * utf8: decodes and classifies characters. Names in a trace may contain any bytes; these functions
 * decide which bytes may be output unchanged. Threads: any. No errors.
 */
/*
 * Decodes the character at s; n > 0 bytes are readable. Returns its length, 1 to 4, and the code
 * point; or 0 if the bytes are not valid UTF-8 (RFC 3629: no overlong forms, no surrogates, nothing
 * above U+10FFFF).
 */
unsigned int utf8_decode(const char *s, size_t n, uint32_t *ret_code);

/*
 * True for code points that control a terminal or are invisible: C0 and C1 controls, DEL,
 * bidirectional overrides, zero-width and other format characters, line separators, private use.
 */
bool utf8_is_unsafe(uint32_t code);

/*
 * Returns the width of a safe code point in terminal cells: 0 (combining), 1, or 2 (wide).
 * Approximates wcwidth().
 */
unsigned int utf8_cells(uint32_t code);

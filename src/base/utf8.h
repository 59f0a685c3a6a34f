/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * utf8: distinguishes text from arbitrary bytes.
 *
 * Names in a trace may hold any byte. These functions decide which bytes may be shown unchanged.
 * Threads: any. No errors.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Decodes the character at s, of which n > 0 bytes may be read. Returns its length, 1 to 4, and the
 * code point; or 0 if the bytes are not valid UTF-8 (RFC 3629: no overlong forms, no surrogates,
 * nothing above U+10FFFF).
 */
unsigned int utf8_decode(const char *s, size_t n, uint32_t *ret_code);

/*
 * True for code points that control a terminal or are invisible: C0 and C1 controls, DEL,
 * bidirectional overrides, zero-width and other format characters, line separators, private use.
 */
bool utf8_is_unsafe(uint32_t code);

/*
 * Terminal cells a safe code point takes: 0 (combining), 1 or 2 (wide). An approximation of
 * wcwidth().
 */
unsigned int utf8_cells(uint32_t code);

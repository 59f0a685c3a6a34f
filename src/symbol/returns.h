/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* returns: finds the return instructions of a function. Threads: any. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/*
 * Stores the offsets of the return instructions in code[bytes], which is a whole function, in
 * ret[max]. Returns their number, or -EILSEQ: the instructions cannot be told apart; -E2BIG: more
 * than max; -ENOTSUP: another kind of processor.
 */
int returns_find(const uint8_t *code, size_t bytes, uint32_t *ret, int max);

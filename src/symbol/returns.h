/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* returns: finds the return instructions of a function. Threads: any. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/*
 * Stores in ret[max] the offsets of the return instructions in code[bytes], a whole function.
 * Returns their number, or -EILSEQ: an unknown instruction; -E2BIG: more than max; -ENOTSUP: not
 * this processor.
 */
int returns_find(const uint8_t *code, size_t bytes, uint32_t *ret, int max);

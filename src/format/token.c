/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* token: the check that lets the inline readers run without bounds. */
#include "format/token.h"

uint64_t token_bits_bytes(const uint8_t *tokens, size_t cnt)
{
	uint64_t bits = 0;
	size_t i;

	for (i = 0; i < cnt; i++)
		bits += token_extra_bits(tokens[i]);
	return (bits + 7) / 8;
}

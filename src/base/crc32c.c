/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* crc32c: uses the processor's CRC instruction if available, else tables made at the first call. */
#include <pthread.h>
#include <string.h>

#include "base/crc32c.h"

static uint32_t crc_table[8][256];
static pthread_once_t crc_once = PTHREAD_ONCE_INIT;

static void crc_make_table(void)
{
	for (unsigned int i = 0; i < 256; i++) {
		uint32_t c = i;

		for (unsigned int k = 0; k < 8; k++)
			c = c & 1 ? (c >> 1) ^ 0x82f63b78u : c >> 1;
		crc_table[0][i] = c;
	}
	for (unsigned int i = 0; i < 256; i++)
		for (unsigned int k = 1; k < 8; k++)
			crc_table[k][i] = (crc_table[k - 1][i] >> 8) ^
					  crc_table[0][crc_table[k - 1][i] & 0xff];
}

uint32_t crc32c_portable(uint32_t crc, const void *data, size_t bytes)
{
	const uint8_t *p = data;

	pthread_once(&crc_once, crc_make_table);
	crc = ~crc;
	while (bytes >= 8) {
		uint32_t a, b;

		memcpy(&a, p, 4);
		memcpy(&b, p + 4, 4);
		a ^= crc;
		crc = crc_table[7][a & 0xff] ^ crc_table[6][a >> 8 & 0xff] ^
		      crc_table[5][a >> 16 & 0xff] ^ crc_table[4][a >> 24] ^
		      crc_table[3][b & 0xff] ^ crc_table[2][b >> 8 & 0xff] ^
		      crc_table[1][b >> 16 & 0xff] ^ crc_table[0][b >> 24];
		p += 8;
		bytes -= 8;
	}
	while (bytes--)
		crc = (crc >> 8) ^ crc_table[0][(crc ^ *p++) & 0xff];
	return ~crc;
}

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) static uint32_t crc_sse42(uint32_t crc, const uint8_t *p,
							     size_t bytes)
{
	uint64_t c = ~crc;
	uint64_t v;

	while (bytes >= 8) {
		memcpy(&v, p, 8);
		c = __builtin_ia32_crc32di(c, v);
		p += 8;
		bytes -= 8;
	}
	while (bytes--)
		c = __builtin_ia32_crc32qi((uint32_t)c, *p++);
	return ~(uint32_t)c;
}

uint32_t crc32c(uint32_t crc, const void *data, size_t bytes)
{
	if (__builtin_cpu_supports("sse4.2"))
		return crc_sse42(crc, data, bytes);
	return crc32c_portable(crc, data, bytes);
}
#else
uint32_t crc32c(uint32_t crc, const void *data, size_t bytes)
{
	return crc32c_portable(crc, data, bytes);
}
#endif

/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * crc32c: the Castagnoli CRC (RFC 3720, appendix B.4): polynomial 0x1EDC6F41, reflected,
 * initial value and final inversion 0xffffffff. crc32c(0, "123456789", 9) is 0xe3069283.
 * Threads: any.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Extends crc (initially 0) by the `bytes` bytes at data. */
uint32_t crc32c(uint32_t crc, const void *data, size_t bytes);

/* Like crc32c(), in portable C, for processors without the instruction and for tests. */
uint32_t crc32c_portable(uint32_t crc, const void *data, size_t bytes);

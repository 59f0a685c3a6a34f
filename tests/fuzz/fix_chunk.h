/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * fix_chunk: makes checksums of a mutated chunk file right again, so that they do not stop a
 * fuzzer at the door. The code under test is the one that ships: nothing in it is switched off.
 * Threads: any.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Repairs the checksums of the block at p, in place. bytes: available from p. sizes: also makes
 * head, front and block size agree with the part of the section table within bytes. Returns the
 * block's size, 0: too short.
 */
size_t fix_block(uint8_t *p, size_t bytes, bool sizes);

/* The file header at p, and every block that has a magic. In place. */
void fix_chunk(uint8_t *p, size_t bytes, bool sizes);

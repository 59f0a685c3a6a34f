/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* made_files: whole files that tests read, write and damage. What fails here fails the test. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* The path of a file in a directory. Valid until the eighth call after this one. */
const char *file_in(const char *dir, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* All bytes of a file; the caller frees them. */
uint8_t *file_read(const char *path, size_t *ret_cnt);
/* The file, which may be a new one, has these bytes. */
void file_write(const char *path, const void *bytes, size_t cnt);
/* Flips the bits of the mask in one byte. */
void file_flip(const char *path, uint64_t at, uint8_t mask);

/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * fuzz: the common part of all targets. With -fsanitize=fuzzer a target is a libFuzzer binary;
 * linked with replay_main.c it runs the files named on its command line, for `make test`.
 */
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

/* A property that must hold, in every build. */
#define FUZZ_CHECK(x)                                                                 \
	do {                                                                          \
		if (!(x)) {                                                           \
			fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #x); \
			abort();                                                      \
		}                                                                     \
	} while (0)

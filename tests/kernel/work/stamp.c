/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * stamp NAME [ctxt]: prints NAME=CLOCK_MONOTONIC ns. With "ctxt" it also prints NAME_ctxt, the
 * number of context switches of the whole machine since boot (/proc/stat), and the instant after
 * it was read.
 */
#include "truth.h"

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "now";
	unsigned long long ctxt = 0;
	char line[512];
	FILE *f;

	if (argc < 3) {
		printf("%s=%llu\n", name, (unsigned long long)truth_now_ns());
		return 0;
	}
	f = fopen("/proc/stat", "r");
	if (!f)
		truth_fail("/proc/stat");
	printf("%s=%llu\n", name, (unsigned long long)truth_now_ns());
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "ctxt %llu", &ctxt) == 1)
			break;
	}
	printf("%s_ctxt=%llu\n%s_after=%llu\n", name, ctxt, name,
	       (unsigned long long)truth_now_ns());
	fclose(f);
	return 0;
}

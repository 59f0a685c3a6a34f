/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * fuzz_manifest: any bytes as a manifest. A parsed manifest is the same after writing and parsing
 * again.
 */
#include "fuzz.h"
#include "store/manifest.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct manifest a = { 0 }, b = { 0 };
	char *text = NULL;
	size_t n = 0, i;

	if (bytes > MANIFEST_MAX_BYTES)
		return 0;
	if (manifest_parse(&a, (const char *)data, bytes) == 0) {
		FUZZ_CHECK(manifest_format(&a, &text, &n) == 0);
		FUZZ_CHECK(manifest_parse(&b, text, n) == 0);
		FUZZ_CHECK(a.cnt == b.cnt);
		for (i = 0; i < a.cnt; i++) {
			FUZZ_CHECK(!strcmp(a.entries[i].key, b.entries[i].key));
			FUZZ_CHECK(!strcmp(a.entries[i].value, b.entries[i].value));
			FUZZ_CHECK(manifest_get(&b, a.entries[i].key) == b.entries[i].value);
		}
		free(text);
	}
	manifest_done(&a);
	manifest_done(&b);
	return 0;
}

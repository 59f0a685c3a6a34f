/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* fuzz_elf_symbols: an ELF file that the recorder reads, and that anybody may have made. */
#include <libelf.h>
#include <sys/mman.h>

#include "fuzz.h"
#include "symbol/elf_symbols.h"

/* The frames of a Go program, as unwinding reads them. */
static void walk_go(int fd)
{
	Elf *elf = elf_begin(fd, ELF_C_READ, NULL);
	struct go_table g;
	struct go_function f;
	uint64_t frame;

	if (elf && go_table_read(&g, elf))
		for (uint32_t i = 0; i < g.cnt && i < 64; i++)
			if (go_table_function(&g, i, &f)) {
				(void)go_table_frame_bytes(&g, &f, f.end - 1, &frame);
				FUZZ_CHECK(!go_table_find(&g, f.addr, &f) || f.end > f.addr);
			}
	elf_end(elf);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	static const uint64_t offsets[] = { 0, 1, 0x1000, 0x1045, 0x1fff, 0x401000, UINT64_MAX };
	uint8_t id[ELF_BUILD_ID_MAX];
	struct elf_symbols *s = NULL;
	uint64_t offset, from, to;
	uint32_t crc;
	int fd = memfd_create("elf", MFD_CLOEXEC), r;

	FUZZ_CHECK(fd >= 0 && write(fd, data, bytes) == (ssize_t)bytes);
	r = elf_symbols_read(&s, fd);
	FUZZ_CHECK(r == 0 || r == -ENOEXEC || r == -E2BIG || r == -ENOMEM);
	if (r == 0) {
		const char *link = elf_symbols_link(s, &crc);

		FUZZ_CHECK(elf_symbols_build_id(s, id) <= sizeof(id));
		FUZZ_CHECK(!link || (*link && !strchr(link, '/')));
		(void)elf_symbols_add(s, fd);
		for (size_t i = 0; i < sizeof(offsets) / sizeof(offsets[0]); i++) {
			const char *name = elf_symbols_find(s, offsets[i], &offset);

			FUZZ_CHECK(!name || *name);
			FUZZ_CHECK(!elf_symbols_range(s, offsets[i], &from, &to) || from < to);
		}
	}
	elf_symbols_free(s);
	walk_go(fd);
	close(fd);
	return 0;
}

/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * make_elf: writes header, program headers, notes, symbols, strings, link, section names, and
 * section headers.
 */
#include "tests/unit/gen/make_elf.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { SEC_NONE, SEC_STRINGS, SEC_SYMBOLS, SEC_LINK, SEC_NAMES, SEC_GO, SEC_CNT };

static void align(struct buf *out)
{
	static const uint8_t zeros[8];

	buf_add(out, zeros, -out->len & 7);
}

/* Symbols and their names. start: position of the file in out. */
static void add_symbols(struct buf *out, const struct elf_plan *plan, size_t start, Elf64_Shdr *sh)
{
	struct buf strings = { 0 };

	buf_add(&strings, "", 1);
	sh[SEC_SYMBOLS] = (Elf64_Shdr){ .sh_name = 9,
					.sh_type = plan->dynamic ? SHT_DYNSYM : SHT_SYMTAB,
					.sh_offset = out->len - start, .sh_link = SEC_STRINGS,
					.sh_entsize = sizeof(Elf64_Sym), .sh_addralign = 8,
					.sh_size = (plan->cnt + 1) * sizeof(Elf64_Sym) };
	buf_add(out, &(Elf64_Sym){ 0 }, sizeof(Elf64_Sym));
	for (size_t i = 0; i < plan->cnt; i++) {
		const struct elf_function *f = &plan->functions[i];
		Elf64_Sym s = { .st_name = (Elf64_Word)strings.len, .st_value = f->addr,
				.st_size = f->size, .st_shndx = SEC_NAMES,
				.st_info = ELF64_ST_INFO(f->bind, f->type ? f->type : STT_FUNC) };

		buf_add(&strings, f->name, strlen(f->name) + 1);
		buf_add(out, &s, sizeof(s));
	}
	sh[SEC_STRINGS] = (Elf64_Shdr){ .sh_name = 1, .sh_type = SHT_STRTAB, .sh_size = strings.len,
					.sh_offset = out->len - start, .sh_addralign = 1 };
	buf_add(out, strings.data, strings.len);
	buf_done(&strings);
	align(out);
}

/* The name of a file with debug information. */
static void add_link(struct buf *out, const struct elf_plan *plan, size_t start, Elf64_Shdr *sh)
{
	sh[SEC_LINK] = (Elf64_Shdr){ .sh_name = 17, .sh_type = plan->link ? SHT_PROGBITS : SHT_NULL,
				     .sh_offset = out->len - start, .sh_addralign = 4 };
	if (plan->link) {
		size_t n = strlen(plan->link) + 1;

		buf_add(out, plan->link, n);
		buf_add(out, "\0\0\0", -n & 3);
		buf_add(out, &plan->link_crc, 4);
		sh[SEC_LINK].sh_size = out->len - start - sh[SEC_LINK].sh_offset;
	}
}

void make_elf(struct buf *out, const struct elf_plan *plan)
{
	static const char names[] = "\0.strtab\0.symtab\0.gnu_debuglink\0.shstrtab\0.gopclntab";
	Elf64_Ehdr eh = { .e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
				       EV_CURRENT },
			  .e_type = ET_DYN, .e_version = EV_CURRENT, .e_phoff = sizeof(eh),
			  .e_ehsize = sizeof(eh), .e_phentsize = sizeof(Elf64_Phdr), .e_phnum = 2,
			  .e_shentsize = sizeof(Elf64_Shdr), .e_shnum = SEC_CNT,
			  .e_shstrndx = SEC_NAMES };
	Elf64_Phdr ph[2] = { { .p_type = PT_LOAD,
			       .p_flags = PF_R | (plan->zero_bytes ? PF_W : PF_X),
			       .p_offset = plan->text_offset,
			       .p_vaddr = plan->text_addr,
			       .p_filesz = plan->text_bytes,
			       .p_memsz = plan->text_bytes + plan->zero_bytes,
			       .p_align = 4096 },
			     { .p_type = PT_NOTE, .p_align = 4 } };
	Elf64_Shdr sh[SEC_CNT] = { { 0 } };
	Elf64_Nhdr note = { 4, (Elf64_Word)plan->build_id_bytes, NT_GNU_BUILD_ID };
	size_t start = out->len;

#if defined(__x86_64__)
	eh.e_machine = EM_X86_64;
#else
	eh.e_machine = EM_AARCH64;
#endif
	buf_add(out, &eh, sizeof(eh));
	buf_add(out, ph, sizeof(ph));
	ph[1].p_offset = out->len - start;
	if (plan->build_id) {
		buf_add(out, &note, sizeof(note));
		buf_add(out, "GNU", 4);
		buf_add(out, plan->build_id, plan->build_id_bytes);
		ph[1].p_filesz = ph[1].p_memsz = out->len - start - ph[1].p_offset;
	}
	align(out);
	add_symbols(out, plan, start, sh);
	add_link(out, plan, start, sh);
	sh[SEC_NAMES] = (Elf64_Shdr){ .sh_name = 32, .sh_type = SHT_STRTAB,
				      .sh_size = sizeof(names), .sh_offset = out->len - start,
				      .sh_addralign = 1 };
	buf_add(out, names, sizeof(names));
	align(out);
	sh[SEC_GO] = (Elf64_Shdr){ .sh_name = 42, .sh_type = plan->go ? SHT_PROGBITS : SHT_NULL,
				   .sh_offset = out->len - start, .sh_addralign = 8 };
	if (plan->go) {
		sh[SEC_GO].sh_size = plan->go->len;
		buf_add(out, plan->go->data, plan->go->len);
		align(out);
	}
	eh.e_shoff = out->len - start;
	buf_add(out, sh, sizeof(sh));
	if (out->failed)
		abort();
	memcpy(out->data + start, &eh, sizeof(eh));
	memcpy(out->data + start + sizeof(eh), ph, sizeof(ph));
}

/* Adds a varint of at most 14 bits. */
static void add_varint(struct buf *out, uint64_t v)
{
	buf_add(out, (const uint8_t[]){ (v & 0x7f) | 0x80, (uint8_t)(v >> 7) }, 2);
}

void make_go_table(struct buf *out, const struct elf_function *functions, size_t cnt)
{
	uint64_t text = functions[0].addr, header[9] = { 0x08010000fffffff1ull, cnt, 0, text };
	struct buf names = { 0 }, frames = { 0 }, table = { 0 }, parts = { 0 };
	uint32_t end = 0;

	buf_add(&frames, "", 1);
	for (size_t i = 0; i < cnt; i++) {
		const struct elf_function *f = &functions[i];
		uint32_t from = (uint32_t)(f->addr - text);
		uint32_t part[11] = { from, (uint32_t)names.len, 0, 0, (uint32_t)frames.len };

		part[10] = f->bind << 8;	/* the byte after that of the function's kind */
		buf_add(&table, (uint32_t[]){ from, (uint32_t)(8 * cnt + 8 + parts.len) }, 8);
		buf_add(&parts, part, sizeof(part));
		buf_add(&names, f->name, strlen(f->name) + 1);
		add_varint(&frames, 2);		/* + 1 */
		add_varint(&frames, 4);
		add_varint(&frames, 16);	/* + 8 */
		add_varint(&frames, 4);
		add_varint(&frames, 64);	/* + 32 */
		add_varint(&frames, f->size - 8);
		end = (uint32_t)(from + f->size);
	}
	buf_add(&table, (uint32_t[]){ end, 0 }, 8);
	header[4] = sizeof(header);
	header[5] = header[6] = header[7] = header[4] + names.len;
	header[8] = header[7] + frames.len;
	buf_add(out, header, sizeof(header));
	buf_add(out, names.data, names.len);
	buf_add(out, frames.data, frames.len);
	buf_add(out, table.data, table.len);
	buf_add(out, parts.data, parts.len);
	if (out->failed)
		abort();
	buf_done(&names);
	buf_done(&frames);
	buf_done(&table);
	buf_done(&parts);
}

int make_elf_fd(const void *data, size_t bytes)
{
	int fd = memfd_create("elf", MFD_CLOEXEC);

	if (fd < 0 || write(fd, data, bytes) != (ssize_t)bytes)
		abort();
	return fd;
}

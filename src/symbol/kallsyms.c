/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * kallsyms: the text symbols of /proc/kallsyms, sorted by address. Names are in one arena; a
 * function's name is followed by its module's name.
 */
#include "symbol/kallsyms.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buf.h"

struct symbol {
	uint64_t addr;
	uint32_t name;		/* offset into the arena */
};

struct kallsyms {
	struct symbol *symbols;
	size_t cnt, cap;
	struct buf arena;
};

static int add(struct kallsyms *k, uint64_t addr, const char *name, const char *module)
{
	char full[256];
	int n;

	if (array_reserve(&k->symbols, &k->cap, k->cnt + 1) < 0)
		return -ENOMEM;
	n = snprintf(full, sizeof(full), "%s%s%s", name, module[0] ? " " : "", module);
	k->symbols[k->cnt].addr = addr;
	k->symbols[k->cnt++].name = k->arena.len;
	buf_add(&k->arena, full, (n < (int)sizeof(full) ? n : (int)sizeof(full) - 1) + 1);
	return k->arena.failed ? -ENOMEM : 0;
}

int kallsyms_open(struct kallsyms **ret)
{
	struct kallsyms *k = calloc(1, sizeof(*k));
	FILE *f = fopen("/proc/kallsyms", "re");
	char line[512], type, name[256], module[128];
	unsigned long long addr;
	int err = 0;

	if (!k || !f) {
		err = k ? -errno : -ENOMEM;
		goto out;
	}
	while (!err && fgets(line, sizeof(line), f)) {
		module[0] = 0;
		if (sscanf(line, "%llx %c %255s %127s", &addr, &type, name, module) < 3)
			continue;
		if (!addr || !strchr("tTwW", type) || !strncmp(name, "__pfx_", 6))
			continue;
		err = add(k, addr, name, module);
	}
	if (!err && !k->cnt)
		err = -EPERM;
	if (!err)
		qsort(k->symbols, k->cnt, sizeof(*k->symbols), compare_u64);
out:
	if (f)
		fclose(f);
	if (err) {
		kallsyms_close(k);
		return err;
	}
	*ret = k;
	return 0;
}

void kallsyms_close(struct kallsyms *k)
{
	if (!k)
		return;
	free(k->symbols);
	buf_done(&k->arena);
	free(k);
}

int kallsyms_find(const struct kallsyms *k, uint64_t addr, char *name, size_t size)
{
	size_t after = lower_bound(k->symbols, k->cnt, addr, addr + 1);
	const struct symbol *s;
	const char *text, *module;

	if (!after)
		return -ENOENT;
	s = &k->symbols[after - 1];
	/* an address more than 1 MiB after the start of a function is not in it */
	if (addr - s->addr > 1 << 20)
		return -ENOENT;
	text = (const char *)k->arena.data + s->name;
	module = strchr(text, ' ');
	snprintf(name, size, "%.*s+0x%llx%s", (int)(module ? module - text : (long)strlen(text)),
		 text, (unsigned long long)(addr - s->addr), module ? module : "");
	return 0;
}

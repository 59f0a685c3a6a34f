/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * span_probes: see span_probes.h. A name with wildcards is compared with the linker's names and
 * with the names in source code (demangle()). A function with several names gets one probe.
 */
#include "probe/span_probes.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "symbol/elf_symbols.h"

/*
 * returns: finds the boundaries of x86-64 instructions by their lengths, which follow from the
 * opcode tables of Intel's manual (volume 2, appendix A). Compilers put no data between
 * instructions.
 */

#ifdef __x86_64__

struct instruction {
	const uint8_t *p, *end;	/* bytes that follow; p beyond end: incomplete */
	unsigned int map;	/* opcode table: 0 (none), 1 (0F), 2 (0F 38), 3 (0F 3A) */
	uint8_t opcode;
	bool is_16_bit, is_64_bit, has_short_address;
	bool is_invalid;
};

static uint8_t next_byte(struct instruction *i)
{
	return i->p < i->end ? *i->p++ : (i->p = i->end + 1, 0);
}

/* Reads prefixes and the opcode. */
static void read_opcode(struct instruction *i)
{
	uint8_t b = next_byte(i);

	for (; b && strchr("\x66\x67\xf2\xf3\xf0\x2e\x36\x3e\x26\x64\x65", b); b = next_byte(i)) {
		i->is_16_bit |= b == 0x66;
		i->has_short_address |= b == 0x67;
	}
	if ((b & 0xf0) == 0x40) {	/* REX */
		i->is_64_bit = b & 8;
		b = next_byte(i);
	}
	if (b == 0xc5) {		/* VEX of two bytes */
		next_byte(i);
		i->map = 1;
		b = next_byte(i);
	} else if (b == 0xc4) {		/* VEX of three bytes */
		i->map = next_byte(i) & 0x1f;
		next_byte(i);
		b = next_byte(i);
	} else if (b == 0x62) {		/* EVEX */
		i->map = next_byte(i) & 7;
		next_byte(i);
		next_byte(i);
		b = next_byte(i);
	} else if (b == 0x0f) {
		i->map = 1;
		b = next_byte(i);
		if (b == 0x38 || b == 0x3a) {
			i->map = b == 0x38 ? 2 : 3;
			b = next_byte(i);
		}
	}
	i->opcode = b;
	i->is_invalid = i->map > 3;
}

/* Returns the length of the immediate, and whether a ModR/M byte precedes it. */
static unsigned int layout_of(struct instruction *i, bool *ret_has_modrm)
{
	unsigned int op = i->opcode, z = i->is_16_bit && !i->is_64_bit ? 2 : 4;
	bool in = false;

#define IN(from, to) (in = op >= (from) && op <= (to))
	*ret_has_modrm = true;
	if (i->map == 2)
		return 0;
	if (i->map == 3)
		return 1;
	if (i->map == 1) {
		if (IN(0x80, 0x8f)) {
			*ret_has_modrm = false;
			return 4;
		}
		*ret_has_modrm = !(IN(0x05, 0x09) || op == 0x0b || op == 0x0e || IN(0x30, 0x37) ||
				   op == 0x77 || IN(0xa0, 0xa2) || IN(0xa8, 0xaa) ||
				   IN(0xc8, 0xcf));
		return IN(0x70, 0x73) || op == 0xa4 || op == 0xac || op == 0xba || op == 0xc2 ||
		       IN(0xc4, 0xc6);
	}
	*ret_has_modrm = (op < 0x40 && (op & 7) < 4) || op == 0x63 || op == 0x69 || op == 0x6b ||
			 IN(0x80, 0x8f) || op == 0xc0 || op == 0xc1 || op == 0xc6 || op == 0xc7 ||
			 IN(0xd0, 0xd3) || IN(0xd8, 0xdf) || op == 0xf6 || op == 0xf7 || op >= 0xfe;
	if ((op < 0x40 && (op & 7) == 5) || op == 0x68 || op == 0x69 || op == 0x81 || op == 0xa9 ||
	    op == 0xc7)
		return z;
	if (IN(0xb8, 0xbf))
		return i->is_64_bit ? 8 : z;
	if (op == 0xe8 || op == 0xe9)
		return 4;
	if (IN(0xa0, 0xa3))
		return i->has_short_address ? 4 : 8;
	if (op == 0xc2 || op == 0xca)
		return 2;
	if (op == 0xc8)
		return 3;
	if (op == 0xf6 || op == 0xf7)	/* only TEST has an immediate */
		return i->p < i->end && (*i->p & 0x38) < 0x10 ? op == 0xf6 ? 1 : z : 0;
	i->is_invalid |= op == 0x9a || op == 0xea || op == 0x82 || (op < 0x40 && (op & 7) > 5) ||
			 IN(0x60, 0x62) || IN(0xc4, 0xc5) || IN(0xd4, 0xd6);
	return (op < 0x40 && (op & 7) == 4) || op == 0x6a || op == 0x6b || IN(0x70, 0x80) ||
	       op == 0x83 || op == 0xa8 || IN(0xb0, 0xb7) || op == 0xc0 || op == 0xc1 ||
	       op == 0xc6 || op == 0xcd || IN(0xe0, 0xe7) || op == 0xeb;
#undef IN
}

/* Returns the length of the instruction at code; 0: unknown. */
static size_t instruction_bytes(const uint8_t *code, size_t max, bool *ret_is_return)
{
	struct instruction i = { .p = code, .end = code + max };
	unsigned int immediate, mod, rm;
	bool has_modrm;

	read_opcode(&i);
	immediate = layout_of(&i, &has_modrm);
	if (has_modrm) {
		uint8_t b = next_byte(&i);

		mod = b >> 6;
		rm = b & 7;
		if (mod != 3 && rm == 4) {
			rm = next_byte(&i) & 7;	/* base of the SIB byte */
			rm = rm == 5 ? 5 : 4;
		}
		immediate += mod == 1 ? 1 : mod == 2 || (!mod && rm == 5) ? 4 : 0;
	}
	*ret_is_return = !i.map && (i.opcode == 0xc3 || i.opcode == 0xc2);
	if (i.is_invalid || i.p > i.end || immediate > (size_t)(i.end - i.p))
		return 0;
	return (size_t)(i.p - code) + immediate;
}

#elif defined(__aarch64__)

static size_t instruction_bytes(const uint8_t *code, size_t max, bool *ret_is_return)
{
	static const uint8_t ret[] = { 0xc0, 0x03, 0x5f, 0xd6 };

	*ret_is_return = max >= 4 && !memcmp(code, ret, 4);
	return max >= 4 ? 4 : 0;
}

#endif

int returns_find(const uint8_t *code, size_t bytes, uint32_t *ret, int max)
{
#if defined(__x86_64__) || defined(__aarch64__)
	int cnt = 0;
	size_t n;

	for (size_t at = 0; at < bytes; at += n) {
		bool is_return;

		n = instruction_bytes(code + at, bytes - at, &is_return);
		if (!n)
			return -EILSEQ;
		if (is_return && cnt == max)
			return -E2BIG;
		if (is_return)
			ret[cnt++] = (uint32_t)at;
	}
	return cnt;
#else
	return -ENOTSUP;
#endif
}

/* ---- probes ---- */

#define PROBES_MAX 64
#define RETURNS_MAX 64
#define CODE_MAX (1u << 20)

/* ---- the file ---- */

static bool is_elf(const char *path)
{
	int fd = debug_file_open(path);
	char magic[4] = "";
	bool ret = fd >= 0 && pread(fd, magic, 4, 0) == 4 && !memcmp(magic, "\177ELF", 4);

	if (fd >= 0)
		close(fd);
	return ret;
}

/* Finds a file: a path, a program in a directory of PATH, or a library of the system. */
static bool find_file(const char *name, char path[PATH_MAX])
{
	static const char *const dirs[] = { "/lib/*-linux-*", "/usr/lib/*-linux-*", "/lib64",
					    "/usr/lib64", "/lib", "/usr/lib", "/usr/local/lib" };
	const char *dir = getenv("PATH") ?: "/usr/bin:/bin";
	glob_t found;
	bool is_there = false;

	if (strchr(name, '/')) {
		snprintf(path, PATH_MAX, "%s", name);
		return is_elf(path);
	}
	while (*dir) {
		int len = (int)strcspn(dir, ":");

		snprintf(path, PATH_MAX, "%.*s/%s", len, dir, name);
		if (is_elf(path))
			return true;
		dir += len + (dir[len] == ':');
	}
	for (size_t i = 0; !is_there && i < sizeof(dirs) / sizeof(dirs[0]); i++) {
		snprintf(path, PATH_MAX, "%s/%s", dirs[i], name);
		if (glob(path, 0, NULL, &found))
			continue;
		for (size_t k = 0; !is_there && k < found.gl_pathc; k++) {
			snprintf(path, PATH_MAX, "%s", found.gl_pathv[k]);
			is_there = is_elf(path);
		}
		globfree(&found);
	}
	return is_there;
}

/* ---- functions ---- */

static int add(struct span_probes *p, const struct span_probe *probe, const char *name)
{
	struct span_probe *v;
	char *copy = strdup(name);
	int r = copy ? array_add(&p->names, &p->name_cap, &p->name_cnt, (const char *)copy) :
		       -ENOMEM;

	if (r) {
		free(copy);
		return r;
	}
	r = array_add(&p->v, &p->cap, &p->cnt, *probe);
	if (r)
		return r;
	v = &p->v[p->cnt - 1];
	v->path = strdup(probe->path);
	if (probe->begin) {
		v->provider = strdup(probe->provider);
		v->begin = strdup(probe->begin);
		v->end = strdup(probe->end);
	}
	if (probe->return_cnt) {
		v->returns = malloc((size_t)probe->return_cnt * sizeof(v->returns[0]));
		if (!v->returns)
			return -ENOMEM;
		memcpy(v->returns, probe->returns,
		       (size_t)probe->return_cnt * sizeof(v->returns[0]));
	}
	return v->path && (!probe->begin || (v->provider && v->begin && v->end)) ? 0 : -ENOMEM;
}

struct search {
	struct span_probes *p;
	const char *pattern;
	struct span_probe probe;
	int fd;
	bool too_many;
	const char *no_returns;	/* reason why a Go function cannot be probed; NULL: it can */
};

static bool is_match(const char *pattern, const char *name)
{
	return !strcmp(pattern, name) || !fnmatch(pattern, name, 0);
}

/*
 * Finds the return instructions of a Go function. A return probe would replace the return address,
 * which Go's runtime does not support.
 */
static int find_returns(struct search *s, uint64_t offset, uint64_t bytes, uint64_t *returns)
{
	uint8_t *code = bytes && bytes <= CODE_MAX ? malloc(bytes) : NULL;
	uint32_t found[RETURNS_MAX] = { 0 };
	int cnt = -EILSEQ;

	if (code && pread(s->fd, code, bytes, (off_t)offset) == (ssize_t)bytes)
		cnt = returns_find(code, bytes, found, RETURNS_MAX);
	free(code);
	for (int i = 0; i < cnt; i++)
		returns[i] = offset + found[i];
	s->probe.returns = returns;
	s->probe.return_cnt = cnt;
	if (cnt < 0)
		s->no_returns = cnt == -E2BIG ? "there are more than 64" : "its code is not known";
	return cnt < 0 ? cnt : 0;
}

static int add_function(void *ctx, const char *name, uint64_t offset, uint64_t bytes)
{
	char shown[FUNCTION_SHOWN + 1];
	struct search *s = ctx;
	uint64_t returns[RETURNS_MAX];
	int r;

	function_shown(shown, name);
	if (!is_match(s->pattern, name) && !is_match(s->pattern, shown))
		return 0;
	/* skip the rarely used part of a function, which is entered by a jump */
	if (strstr(name, ".cold") && strcmp(name, s->pattern))
		return 0;
	for (size_t i = 0; i < s->p->cnt; i++)
		if (s->p->v[i].offset == offset && !strcmp(s->p->v[i].path, s->probe.path))
			return 0;
	if (s->p->cnt == PROBES_MAX) {
		s->too_many = true;
		return -E2BIG;
	}
	s->probe.offset = offset;
	r = s->probe.is_go ? find_returns(s, offset, bytes, returns) : 0;
	return r ?: add(s->p, &s->probe, shown);
}

static bool add_symbols(void *ctx, int fd)
{
	return !elf_symbols_add(ctx, fd);
}

static int add_functions(struct span_probes *p, const char *program, const char *pattern,
			 struct err *e)
{
	struct search search = { .p = p, .pattern = pattern };
	struct elf_symbols *s = NULL;
	char path[PATH_MAX];
	uint64_t offset;
	size_t before = p->cnt;
	bool is_full;
	int fd, r;

	if (!find_file(program, path))
		return err_set(e, -ENOENT,
			       "--request: %s is no ELF program or library, nor the name of one in "
			       "PATH", program);
	search.probe.path = path;
	fd = debug_file_open(path);
	r = fd < 0 ? fd : elf_symbols_read(&s, fd);
	if (r) {
		if (fd >= 0)
			close(fd);
		return err_set(e, r, "--request: cannot read %s: %s", path, strerror(-r));
	}
	search.fd = fd;
	if (!elf_symbols_is_full(s))
		debug_file_search(s, "", path, add_symbols, s);
	is_full = elf_symbols_is_full(s);
	search.probe.is_go = elf_symbols_function(s, "runtime.goexit", &offset) ||
			     elf_symbols_function(s, "runtime.goexit.abi0", &offset) ||
			     elf_symbols_function(s, "runtime.main", &offset);
	r = elf_symbols_each(s, add_function, &search);
	elf_symbols_free(s);
	close(fd);
	if (search.no_returns)
		return err_set(e, r, "--request: cannot find the returns of a Go function of %s "
			       "that matches '%s': %s", path, pattern, search.no_returns);
	if (search.too_many)
		return err_set(e, -E2BIG, "--request: more than %d functions match; '%s' of %s is "
			       "too general", PROBES_MAX, pattern, path);
	if (!r && p->cnt == before)
		return err_set(e, -ENOENT, "--request: no function of %s matches '%s'; %s", path,
			       pattern, is_full ? "`nm -C FILE` lists them" : "it has no symbol "
			       "table, and its debugging symbols are not installed");
	return r < 0 ? err_set(e, r, "out of memory") : 0;
}

/* ---- USDT probes ---- */

static int add_usdt(struct span_probes *p, char *text, struct err *e)
{
	struct span_probe probe = { 0 };
	char path[PATH_MAX], name[128], *end_of_arg;
	char *program = strsep(&text, ":"), *arg;
	unsigned long index;

	probe.provider = strsep(&text, ":");
	probe.begin = strsep(&text, "/");
	probe.end = strsep(&text, ":");
	arg = text;
	if (!probe.end || !*program || !*probe.provider || !*probe.begin || !*probe.end)
		return -EINVAL;
	if (arg) {
		arg += strncmp(arg, "arg", 3) ? 0 : 3;
		index = strtoul(arg, &end_of_arg, 10);
		if (*arg < '0' || *arg > '9' || *end_of_arg || index > 11)
			return -EINVAL;
		probe.arg = (unsigned int)index + 1;
	}
	if (!find_file(program, path))
		return err_set(e, -ENOENT,
			       "--request: %s is no ELF program or library, nor the name of one in "
			       "PATH", program);
	if (p->cnt == PROBES_MAX)
		return err_set(e, -E2BIG, "--request: more than %d probes", PROBES_MAX);
	probe.path = path;
	snprintf(name, sizeof(name), "%s:%s", probe.provider, probe.begin);
	return add(p, &probe, name) ? err_set(e, -ENOMEM, "out of memory") : 0;
}

int span_probes_add(struct span_probes *p, const char *request, struct err *e)
{
	char *text = strdup(request), *function;
	int r = -EINVAL;

	if (!text)
		return err_set(e, -ENOMEM, "out of memory");
	function = strchr(text, ':');
	if (!strncmp(text, "usdt:", 5)) {
		r = add_usdt(p, text + 5, e);
	} else if (function && function > text && function[1]) {
		*function = 0;
		r = add_functions(p, text, function + 1, e);
	}
	free(text);
	return r == -EINVAL ? err_set(e, r, "--request: '%s' is neither PROGRAM:FUNCTION nor "
				      "usdt:PROGRAM:PROVIDER:BEGIN/END[:ARG]", request) : r;
}

void span_probes_done(struct span_probes *p)
{
	for (size_t i = 0; i < p->cnt; i++) {
		free(p->v[i].path);
		free(p->v[i].provider);
		free(p->v[i].begin);
		free(p->v[i].end);
		free(p->v[i].returns);
	}
	for (size_t i = 0; i < p->name_cnt; i++)
		free((char *)p->names[i]);
	free(p->v);
	free(p->names);
	*p = (struct span_probes){ 0 };
}

bool span_probes_need_cookies(const struct span_probes *p)
{
	return p->cnt > 1 || (p->cnt && p->v[0].is_go);
}

bool span_probes_need(const struct span_probes *p, const char *program)
{
	bool is_usdt = !strncmp(program, "span_usdt", 9);

	for (size_t i = 0; p && i < p->cnt; i++)
		if (!p->v[i].offset == is_usdt)
			return true;
	return false;
}

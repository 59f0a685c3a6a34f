/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * attach: see attach.h. The kernel runs the programs of a tracepoint in the order of attaching. A
 * second program without a first one before it would send every event. Therefore second programs
 * are attached after first programs, and detached before them.
 */
#include "probe/attach.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <linux/bpf.h>
#include <linux/capability.h>
#include <linux/perf_event.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/privilege.h"
#include "bpf/wire.h"
#include "probe/kernel.h"
#include "probe/source.h"
#include "probe/span_probes.h"
#include "symbol/elf_symbols.h"

/*
 * adapt: programs call kernel functions by BTF id. libbpf could insert the id from a
 * declaration, but libbpf 1.1 fails to link objects that share such a declaration, and kernels 5.13
 * to 5.16 refuse an unresolved call even if it is unreachable.
 */

bool adapt_can_fetch(void)
{
	/* *(u64 *)(r10 - 8) = 0; r0 = 0; r0 = atomic_fetch_add((u64 *)(r10 - 8), r0); exit */
	static const struct bpf_insn insns[] = {
		{ .code = BPF_ST | BPF_MEM | BPF_DW, .dst_reg = BPF_REG_10, .off = -8 },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0 },
		{ .code = BPF_STX | BPF_ATOMIC | BPF_DW, .dst_reg = BPF_REG_10,
		  .src_reg = BPF_REG_0, .off = -8, .imm = BPF_ADD | BPF_FETCH },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	int fd = bpf_prog_load(BPF_PROG_TYPE_RAW_TRACEPOINT, "can_fetch", "GPL", insns,
			       sizeof(insns) / sizeof(insns[0]), NULL);

	if (fd < 0)
		return false;
	close(fd);
	return true;
}

/* Replaces the number of an enum wire_cast_type in an instruction by the type's BTF id. */
static void set_cast_type(struct bpf_insn *in, const struct kernel_info *k)
{
	static const char *const names[] = {
#define X(name) #name,
		WIRE_CAST_TYPES(X)
#undef X
	};

	if (in->code != (BPF_ALU | BPF_MOV | BPF_K) && in->code != (BPF_ALU64 | BPF_MOV | BPF_K))
		return;
	if (in->imm > WIRE_CAST_FIRST && in->imm < WIRE_CAST_END)
		in->imm = (__s32)kernel_struct_id(k, names[in->imm - WIRE_CAST_FIRST - 1]);
}

int adapt_program(struct bpf_program *prog, const struct kernel_info *k, uint32_t cast_id,
		  bool fetching)
{
	size_t cnt = bpf_program__insn_cnt(prog), i;
	struct bpf_insn *insns = malloc(cnt * sizeof(*insns));
	int err;

	if (!insns)
		return -ENOMEM;
	memcpy(insns, bpf_program__insns(prog), cnt * sizeof(*insns));
	for (i = 0; i < cnt; i++) {
		struct bpf_insn *in = &insns[i];

		if (in->code == (BPF_JMP | BPF_CALL) && !in->src_reg &&
		    in->imm == WIRE_CALL_RDONLY_CAST && cast_id) {
			in->src_reg = BPF_PSEUDO_KFUNC_CALL;
			in->imm = cast_id;
		}
		set_cast_type(in, k);
		if (BPF_CLASS(in->code) == BPF_STX && BPF_MODE(in->code) == BPF_ATOMIC &&
		    !fetching)
			in->imm = BPF_ADD;
		if (in->code == (BPF_LD | BPF_IMM | BPF_DW))
			i++;	/* skip the second half of the instruction */
	}
	err = bpf_program__set_insns(prog, insns, cnt);
	free(insns);
	return err;
}

/* ---- libbpf's messages ---- */

static __thread char kept[384];

static int keep(enum libbpf_print_level level, const char *fmt, va_list args)
{
	if (level == LIBBPF_WARN && !kept[0])
		vsnprintf(kept, sizeof(kept), fmt, args);
	kept[strcspn(kept, "\n")] = 0;
	return 0;
}

void adapt_keep_text(void)
{
	libbpf_set_print(keep);
}

void libbpf_text_clear(void)
{
	kept[0] = 0;
}

const char *libbpf_text(void)
{
	return kept;
}

struct bpf_link *attach_program(struct bpf_program *prog)
{
	const char *section = bpf_program__section_name(prog);

	/* libbpf does not attach programs of the sections that program_queue_register() handles */
	if (bpf_program__expected_attach_type(prog) == BPF_TRACE_RAW_TP)
		return bpf_program__attach_trace(prog);
	if (!strncmp(section, "raw_tp/", 7))
		return bpf_program__attach_raw_tracepoint(prog, section + 7);
	return bpf_program__attach(prog);
}

static int attach_tracepoint(struct attached *a, const struct source_program *sp,
			     struct bpf_program *prog, struct err *e)
{
	struct bpf_link *link;

	if (a->link_cnt == ATTACH_LINKS_MAX)
		return err_set(e, -E2BIG, "too many programs to attach: a bug");
	libbpf_text_clear();
	link = attach_program(prog);
	if (!link)
		return err_set(e, -errno, "cannot attach %s: %s%s%s", sp->tracepoint,
			       strerror(errno), *libbpf_text() ? "; " : "", libbpf_text());
	a->links[a->link_cnt++] = link;
	return 0;
}

/* ---- the C library's allocator, by uprobes ---- */

#define HEAP_FILES_MAX 16
#define HEAP_NAMES_MAX 32

/* C++: operator new with a size, and with size and alignment; each also without exceptions. */
#define NEW(name) name, name "RKSt9nothrow_t"
#define ALIGNED_NEW(name) name "St11align_val_t", name "St11align_val_tRKSt9nothrow_t"

/*
 * The functions to which each program is attached. Those of libstdc++ are left out: they call
 * malloc.
 */
static const struct {
	const char *program;
	const char *functions[16];	/* ends with NULL */
} heap_functions[] = {
	{ "heap_malloc",
	  { "malloc", "valloc", "pvalloc", "mallocx", "mi_malloc", NEW("_Znwm"), NEW("_Znam") } },
	{ "heap_calloc", { "calloc", "mi_calloc" } },
	{ "heap_realloc", { "realloc", "rallocx", "mi_realloc" } },
	{ "heap_reallocarr", { "reallocarray" } },
	{ "heap_aligned", { "memalign", "aligned_alloc" } },
	{ "heap_malloc", { ALIGNED_NEW("_Znwm"), ALIGNED_NEW("_Znam") } },
	{ "heap_posix", { "posix_memalign" } },
	{ "heap_free",
	  { "free", "dallocx", "sdallocx", "mi_free", "_ZdlPv", "_ZdaPv", "_ZdlPvm", "_ZdaPvm",
	    "_ZdlPvmSt11align_val_t", "_ZdaPvmSt11align_val_t", "_ZdlPvSt11align_val_t",
	    "_ZdaPvSt11align_val_t" } },
	{ "heap_return",
	  { "malloc", "calloc", "realloc", "reallocarray", "memalign", "aligned_alloc",
	    "posix_memalign", "valloc", "pvalloc" } },
	{ "heap_return", { "mallocx", "rallocx", "mi_malloc", "mi_calloc", "mi_realloc" } },
	{ "heap_return",
	  { NEW("_Znwm"), NEW("_Znam"), ALIGNED_NEW("_Znwm"), ALIGNED_NEW("_Znam") } },
};

/* A file whose functions are probed. */
struct heap_file {
	char path[PATH_MAX];
	bool is_allocator;	/* a library that few programs use */
};

/* Finds C libraries (glibc, musl) and other allocators of this system. Returns their number. */
static unsigned int heap_find_libraries(struct heap_file *files)
{
	static const struct {
		const char *pattern;
		bool is_allocator;
	} places[] = {
		{ "/lib/*-linux-gnu*/libc.so.6", false },
		{ "/lib64/libc.so.6", false },
		{ "/usr/lib/libc.so.6", false },
		{ "/lib/ld-musl-*.so.1", true },
		{ "/usr/lib/*-linux-gnu*/libjemalloc.so.2", true },
		{ "/usr/lib/*-linux-gnu*/libtcmalloc*.so.4", true },
		{ "/usr/lib/*-linux-gnu*/libmimalloc.so.2", true },
		{ "/usr/lib64/libjemalloc.so.2", true },
		{ "/usr/lib64/libtcmalloc*.so.4", true },
		{ "/usr/lib64/libmimalloc.so.2", true },
	};
	unsigned int cnt = 0, i, k;

	for (i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		glob_t g;

		if (glob(places[i].pattern, 0, NULL, &g))
			continue;
		for (size_t j = 0; j < g.gl_pathc && cnt < HEAP_FILES_MAX; j++) {
			/* A file with several names must not be probed twice. */
			if (!realpath(g.gl_pathv[j], files[cnt].path))
				continue;
			files[cnt].is_allocator = places[i].is_allocator;
			for (k = 0; k < cnt && strcmp(files[k].path, files[cnt].path); k++)
				;
			cnt += k == cnt;
		}
		globfree(&g);
	}
	return cnt;
}

/* Reads a file of /proc. The text ends with NUL; the caller frees it. NULL: cannot read. */
static char *read_text(const char *path)
{
	FILE *f = fopen(path, "re");
	char *text = NULL;
	size_t len = 0;

	if (f && getdelim(&text, &len, '\0', f) < 0) {
		free(text);
		text = NULL;
	}
	if (f)
		fclose(f);
	return text;
}

/*
 * Returns a mask of the files to probe: C libraries, and allocators that a process has mapped or
 * that LD_PRELOAD names. Unused files are not probed, because the kernel takes a tenth of a second
 * to remove a probe.
 */
static uint32_t heap_find_used(const struct heap_file *files, unsigned int cnt)
{
	const char *preload = getenv("LD_PRELOAD");
	char path[sizeof("/proc//maps") + 256];
	DIR *dir = opendir("/proc");
	uint32_t used = 0;
	struct dirent *d;
	char *text;

	for (unsigned int i = 0; i < cnt; i++) {
		const char *name = strrchr(files[i].path, '/') + 1;

		if (!files[i].is_allocator ||	/* "libjemalloc": name without version */
		    (preload && memmem(preload, strlen(preload), name, strcspn(name, "."))))
			used |= 1u << i;
	}
	while (dir && (d = readdir(dir))) {
		if (d->d_name[0] < '1' || d->d_name[0] > '9')
			continue;
		snprintf(path, sizeof(path), "/proc/%s/maps", d->d_name);
		text = read_text(path);
		for (unsigned int i = 0; text && i < cnt; i++)
			used |= (uint32_t)!!strstr(text, strrchr(files[i].path, '/')) << i;
		free(text);
	}
	if (dir)
		closedir(dir);
	return used;
}

static int attach_function(struct attached *a, struct bpf_program *prog, uint64_t offset, bool ret,
			   const char *file, struct err *e)
{
	LIBBPF_OPTS(bpf_uprobe_opts, opts, .retprobe = ret);
	struct bpf_link *link;

	if (a->link_cnt == ATTACH_LINKS_MAX)
		return err_set(e, -E2BIG, "too many programs to attach: a bug");
	link = bpf_program__attach_uprobe_opts(prog, -1, file, offset, &opts);
	if (link) {
		a->links[a->link_cnt++] = link;
		return 0;
	}
	/*
	 * Kernels since 6.16 require CAP_SYS_ADMIN for uprobes; the change was also back-ported.
	 */
	if ((errno == EACCES || errno == EPERM) && !privilege_has(CAP_SYS_ADMIN))
		return err_set(e, -EPERM,
			       "alloc.heap: this kernel wants CAP_SYS_ADMIN for uprobes; run with "
			       "sudo, or record without it");
	return err_set(e, -errno, "alloc.heap: cannot attach to %s: %s", file, strerror(errno));
}

/*
 * Attaches one probe to each function, even if it has several names: two probes would count each
 * call twice.
 */
static int attach_heap_file(struct attached *a, struct bpf_program *prog, const char *name,
			    const char *file, struct err *e)
{
	int fd = open(file, O_RDONLY | O_CLOEXEC), err;
	uint64_t offsets[HEAP_NAMES_MAX];
	struct elf_symbols *s = NULL;
	unsigned int cnt = 0, k;

	err = fd < 0 ? -errno : elf_symbols_read(&s, fd);
	if (err)
		err_set(e, err, "alloc.heap: cannot read %s: %s", file, strerror(-err));
	for (size_t i = 0; !err && i < sizeof(heap_functions) / sizeof(heap_functions[0]); i++) {
		const char *const *f = heap_functions[i].functions;

		for (; !err && !strcmp(heap_functions[i].program, name) && *f; f++) {
			if (cnt == HEAP_NAMES_MAX || !elf_symbols_function(s, *f, &offsets[cnt]))
				continue;
			for (k = 0; k < cnt && offsets[k] != offsets[cnt]; k++)
				;
			if (k < cnt)
				continue;
			err = attach_function(a, prog, offsets[cnt++],
					      !strcmp(name, "heap_return"), file, e);
		}
	}
	elf_symbols_free(s);
	if (fd >= 0)
		close(fd);
	return err;
}

/*
 * Attaches to the allocators. The probes fire in every process that uses the library; programs
 * return at once if the process is not a target.
 */
static int attach_heap(struct attached *a, const struct source_program *sp,
		       struct bpf_program *prog, struct err *e)
{
	struct heap_file *files = calloc(HEAP_FILES_MAX, sizeof(*files));
	unsigned int i, cnt = files ? heap_find_libraries(files) : 0;
	int err = files ? 0 : -ENOMEM;

	if (!err && !a->heap_program && !cnt)
		err = err_set(e, -ENOENT,
			      "alloc.heap: no C library found to attach to; record without it");
	/*
	 * determine the libraries once, so that calls and returns are probed in the same libraries
	 */
	if (!err && !a->heap_used)
		a->heap_used = heap_find_used(files, cnt);
	if (!err && a->heap_program)
		err = attach_heap_file(a, prog, sp->program, a->heap_program, e);
	for (i = 0; i < cnt && !err; i++)
		if (a->heap_used & 1u << i)
			err = attach_heap_file(a, prog, sp->program, files[i].path, e);
	free(files);
	return err;
}

/* ---- functions and USDT probes of --request ---- */

static int keep_link(struct attached *a, struct bpf_link *link, const char *what, const char *file,
		     struct err *e)
{
	int err = errno;

	if (link && a->link_cnt < ATTACH_LINKS_MAX) {
		a->links[a->link_cnt++] = link;
		return 0;
	}
	bpf_link__destroy(link);
	if (link)
		return err_set(e, -E2BIG, "too many programs to attach: a bug");
	if ((err == EACCES || err == EPERM) && !privilege_has(CAP_SYS_ADMIN))
		return err_set(e, -EPERM,
			       "--request: this kernel wants CAP_SYS_ADMIN for uprobes; run with "
			       "sudo, or record without it");
	return err_set(e, -err, "--request: cannot attach to %s of %s: %s%s%s", what, file,
		       strerror(err), *libbpf_text() ? "; " : "", libbpf_text());
}

static int attach_span(struct attached *a, const struct source_program *sp,
		       struct bpf_program *prog, struct err *e)
{
	bool is_usdt = strstr(sp->program, "usdt"), is_end = !strstr(sp->program, "begin");
	int err = 0;

	for (size_t i = 0; a->span_probes && i < a->span_probes->cnt && !err; i++) {
		const struct span_probe *p = &a->span_probes->v[i];
		LIBBPF_OPTS(bpf_usdt_opts, usdt, .usdt_cookie = (i + 1) | (uint64_t)p->arg << 32);
		bool is_return = !strcmp(sp->program, "span_return");
		LIBBPF_OPTS(bpf_uprobe_opts, uprobe, .retprobe = is_return && !p->is_go,
			    .bpf_cookie = !a->has_cookies ? 0 :
					  (i + 1) | (uint64_t)p->is_go << 32);
		int cnt = is_return && p->is_go ? p->return_cnt : 1;
		struct bpf_link *link;

		if (is_usdt != !p->offset)
			continue;
		for (int k = 0; k < cnt && !err; k++) {
			uint64_t at = is_return && p->is_go ? p->returns[k] : p->offset;

			libbpf_text_clear();
			link = is_usdt ? bpf_program__attach_usdt(prog, -1, p->path, p->provider,
								  is_end ? p->end : p->begin,
								  &usdt) :
					 bpf_program__attach_uprobe_opts(prog, -1, p->path, at,
									 &uprobe);
			err = keep_link(a, link, is_usdt && is_end ? p->end :
					a->span_probes->names[i], p->path, e);
		}
	}
	return err;
}

/* ---- the clocks of the CPUs ---- */

/*
 * Opens a clock on each CPU. A software clock has the same period everywhere, unlike cycle
 * counters. On an idle CPU it does not run the program. Code that runs with interrupts disabled is
 * sampled when it enables them. CPUs that come online later have no clock.
 */
static int attach_clocks(struct attached *a, struct bpf_program *prog, struct err *e)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_SOFTWARE, .size = sizeof(attr),
					.config = PERF_COUNT_SW_CPU_CLOCK,
					.sample_period = a->profile_ns, .exclude_idle = 1 };

	for (unsigned int cpu = 0; cpu < a->cpu_cnt; cpu++) {
		int fd = (int)syscall(SYS_perf_event_open, &attr, -1, (int)cpu, -1,
				      PERF_FLAG_FD_CLOEXEC);
		struct bpf_link *link;

		if (fd < 0 && errno == ENODEV)	/* the CPU is offline */
			continue;
		if (fd < 0)
			return err_set(e, -errno, "cpu.sample: cannot open the clock of CPU %u: %s",
				       cpu, strerror(errno));
		if (a->link_cnt == ATTACH_LINKS_MAX) {
			close(fd);
			return err_set(e, -E2BIG, "too many programs to attach: a bug");
		}
		libbpf_text_clear();
		/* on success, the link owns fd */
		link = bpf_program__attach_perf_event(prog, fd);
		if (!link) {
			int err = errno;

			close(fd);
			return err_set(e, -err, "cpu.sample: cannot attach to CPU %u: %s%s%s", cpu,
				       strerror(err), *libbpf_text() ? "; " : "", libbpf_text());
		}
		a->links[a->link_cnt++] = link;
	}
	return 0;
}

/* Attaches a program of source_programs, if it was loaded. */
static int attach_one(struct attached *a, const struct source_program *sp, struct err *e)
{
	struct bpf_program *prog = bpf_object__find_program_by_name(a->obj, sp->program);
	unsigned int first = a->link_cnt;
	int err;

	if (!prog || !bpf_program__autoload(prog))
		return 0;
	if (sp->source == SOURCE_SAMPLE)
		err = attach_clocks(a, prog, e);
	else if (sp->source == SOURCE_SPAN)
		err = attach_span(a, sp, prog, e);
	else
		err = sp->tracepoint ? attach_tracepoint(a, sp, prog, e) :
				       attach_heap(a, sp, prog, e);
	memset(a->link_source + first, sp->source, a->link_cnt - first);
	return err;
}

int attach_sources(struct attached *a, uint32_t sources, struct err *e)
{
	int err = 0;

	for (unsigned int i = 0; i < source_program_cnt && !err; i++) {
		const struct source_program *sp = &source_programs[i];

		if (sources & SOURCE_BIT(sp->source) &&
		    (sp->copy != SOURCE_SECOND_WHEN_SKIPPED || a->takes_skipped[sp->hook]))
			err = attach_one(a, sp, e);
	}
	return err;
}

int attach_second(struct attached *a, unsigned int hook, struct err *e)
{
	int err = 0;

	if (a->takes_skipped[hook])
		return 0;
	a->takes_skipped[hook] = true;
	for (unsigned int i = 0; i < source_program_cnt && !err; i++) {
		const struct source_program *sp = &source_programs[i];

		/* If the source is off, attach_sources() will attach this program later. */
		if (sp->hook == hook && sp->copy == SOURCE_SECOND_WHEN_SKIPPED &&
		    memchr(a->link_source, sp->source, a->link_cnt))
			err = attach_one(a, sp, e);
	}
	return err;
}

void attach_drop_source(struct attached *a, unsigned int source)
{
	unsigned int i, to = 0;

	for (i = a->link_cnt; i > 0; i--) {
		if (a->link_source[i - 1] == source)
			bpf_link__destroy(a->links[i - 1]);
	}
	for (i = 0; i < a->link_cnt; i++) {
		if (a->link_source[i] == source)
			continue;
		a->links[to] = a->links[i];
		a->link_source[to++] = a->link_source[i];
	}
	a->link_cnt = to;
}

void attach_drop_all(struct attached *a)
{
	while (a->link_cnt)
		bpf_link__destroy(a->links[--a->link_cnt]);
}

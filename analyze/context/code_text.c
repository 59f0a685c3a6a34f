/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * code_text: names of kernel frames are found by address, names of user frames by process, address
 * and time. Each reason for a missing name has a word for tables and a text for people.
 */
#include "analyze/context/code_text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "model/call.h"
#include "symbol/elf_symbols.h"

#define PATH_SHOWN 500
_Static_assert(SITE_TEXT_MAX > FUNCTION_SHOWN + 200 + PATH_SHOWN, "a site and its line have room");

/* ---- sites ---- */

static const struct {
	const char *word, *text;
} reasons[TRACE_SITE_WHY_CNT] = {
	[TRACE_SITE_STRIPPED] = { "stripped", "stripped" },
	[TRACE_SITE_NO_FUNCTION] = { "no_function", "no function there" },
	[TRACE_SITE_ANONYMOUS] = { "anonymous", "anonymous memory" },
	[TRACE_SITE_EXITED] = { "exited", "process had exited" },
	[TRACE_SITE_DELETED] = { "deleted", "file was deleted" },
	[TRACE_SITE_CHANGED] = { "changed", "file was replaced" },
	[TRACE_SITE_UNREADABLE] = { "unreadable", "unreadable" },
	[TRACE_SITE_UNMAPPED] = { "unmapped", "not mapped" },
	[TRACE_SITE_NOT_UNWOUND] = { "not_unwound", "not unwound" },
	[TRACE_SITE_NO_FRAME_POINTER] = { "no_frame_pointer", "no frame pointer" },
};

const char *site_text_why(const struct trace_site *s)
{
	if (s->why == TRACE_SITE_NAMED)
		return NULL;
	return s->why < TRACE_SITE_WHY_CNT ? reasons[s->why].word : "unknown";
}

static const char *file_of(const struct trace_site *s)
{
	const char *slash = strrchr(s->module, '/');

	return slash && slash[1] ? slash + 1 : s->module;
}

/* Appends " (/src/tree.c:31)", or only the file's base name; a long path is cut at its start. */
static void add_line(char *to, size_t size, const struct trace_site *s, bool only_name,
		     struct source_lines *lines)
{
	size_t at = strlen(to), n;
	unsigned int line;
	const char *path;

	/* look up the byte before the return address, as the search for the function did */
	path = source_lines_find(lines, s->module, s->build_id, s->module_offset - 1, &line);
	if (!path)
		return;
	if (only_name && strrchr(path, '/'))
		path = strrchr(path, '/') + 1;
	n = strlen(path);
	snprintf(to + at, size - at, " (%s:%u)", path + (n > PATH_SHOWN ? n - PATH_SHOWN : 0),
		 line);
}

void site_text_format(char *to, size_t size, const struct trace_site *s, bool with_offset,
		      struct source_lines *lines)
{
	const char *why = s->why < TRACE_SITE_WHY_CNT ? reasons[s->why].text : "unknown";
	const char *file = file_of(s);
	char name[FUNCTION_SHOWN + 1];

	function_shown(name, s->symbol);
	if (s->symbol[0] && with_offset)
		snprintf(to, size, file[0] == '[' ? "%s+0x%" PRIx64 " %.160s" :
						   "%s+0x%" PRIx64 " [%.160s]",
			 name, s->symbol_offset, file);
	else if (s->symbol[0])
		snprintf(to, size, "%s", name);
	else if (file[0] && s->range_to > s->range_from && !with_offset)
		snprintf(to, size, "%.300s+[0x%" PRIx64 "-0x%" PRIx64 "]", file, s->range_from,
			 s->range_to);
	else if (file[0] && file[0] != '[')
		snprintf(to, size, "%.300s+0x%" PRIx64 " (%s)", file, s->module_offset, why);
	else if (file[0])
		snprintf(to, size, "%.300s+0x%" PRIx64, file, s->module_offset);
	else if (with_offset)
		snprintf(to, size, "0x%" PRIx64 " (%s)", s->addr, why);
	else
		snprintf(to, size, "(%s)", why);
	if (lines && s->module[0] == '/')
		add_line(to, size, s, with_offset, lines);
}

uint64_t site_lock_of(uint64_t addr)
{
	return addr & ~7ull;
}

void site_text_variable(char *to, size_t size, const struct trace_site *s)
{
	char name[FUNCTION_SHOWN + 1];
	const char *symbol = function_shown(name, s->symbol);
	uint64_t offset = s->symbol_offset;

	/* do not round offset 4 down to 0: a four-byte variable may begin at offset 4 */
	if (offset > 4)
		offset = site_lock_of(offset);
	if (!s->symbol[0])
		snprintf(to, size, "%" PRIx64 " (%s)", site_lock_of(s->addr), file_of(s));
	else if (offset)
		snprintf(to, size, "%.120s+0x%" PRIx64 " (%s)", symbol, offset, file_of(s));
	else
		snprintf(to, size, "%.120s (%s)", symbol, file_of(s));
}

/* ---- stacks ---- */

/* Formats a frame. s: site of a user frame; NULL: unknown. */
static void frame_text(char *to, size_t size, const struct trace *t, const struct trace_frame *f,
		       const struct trace_site *s, struct source_lines *lines)
{
	char symbol[FUNCTION_SHOWN + 1], plain[FUNCTION_SHOWN + 1];
	const char *name;

	if (f->upid) {
		if (s)
			site_text_format(to, size, s, false, lines);
		else
			snprintf(to, size, "0x%" PRIx64, f->addr);
		return;
	}
	name = name_text(t, TRACE_NAME_SYMBOL, f->addr);
	if (name) {	/* demangle: the kernel has Rust functions, too */
		snprintf(symbol, sizeof(symbol), "%.*s", (int)strcspn(name, "+"), name);
		snprintf(to, size, "%s", function_shown(plain, symbol));
	} else {
		snprintf(to, size, "0x%" PRIx64, f->addr);
	}
}

/*
 * Returns the number of innermost frames that belong to the tracepoint and to the recorder's BPF
 * program. While recording, these frames were removed from stacks of slab objects, whose caller was
 * known, but not from stacks of pages.
 */
static size_t own_frames(const struct trace *t, const struct trace_frame *f, size_t cnt)
{
	static const char *const own[] = { "__traceiter_", "bpf_trace_run" };
	const char *name;
	size_t i, k, skip = 0;

	for (i = 0; i < cnt && i < 8 && !f[i].upid; i++) {
		name = name_text(t, TRACE_NAME_SYMBOL, f[i].addr);
		for (k = 0; name && k < sizeof(own) / sizeof(own[0]); k++)
			if (!strncmp(name, own[k], strlen(own[k])))
				skip = i + 1;
	}
	return skip;
}

/* Returns the number of innermost frames that belong to an interrupt: up to its entry function. */
static size_t interrupt_frames(const struct trace *t, const struct trace_frame *f, size_t cnt)
{
	static const char *const entries[] = { "asm_sysvec_", "asm_common_interrupt", "el1h_64_irq",
					       "el0t_64_irq" };
	const char *name;

	for (size_t i = 0; i < cnt && !f[i].upid; i++) {
		name = name_text(t, TRACE_NAME_SYMBOL, f[i].addr);
		for (size_t k = 0; name && k < sizeof(entries) / sizeof(entries[0]); k++)
			if (!strncmp(name, entries[k], strlen(entries[k])))
				return i + 1;
	}
	return cnt;
}

/* Returns the number of kernel frames, which are the innermost frames. */
static size_t kernel_frames(const struct trace_frame *f, size_t cnt)
{
	size_t i = 0;

	while (i < cnt && !f[i].upid)
		i++;
	return i;
}

/* Formats the file of a frame: "libz.so.1", "[kernel]", or, in parentheses, why it is unknown. */
static void module_text(char *to, size_t size, const struct trace_frame *f,
			const struct trace_site *s)
{
	const char *file = s ? file_of(s) : f->upid ? "[unknown]" : "[kernel]";

	if (*file)
		snprintf(to, size, "%.300s", file);
	else
		snprintf(to, size, "(%s)",
			 s->why < TRACE_SITE_WHY_CNT ? reasons[s->why].text : "unknown");
}

/* ---- CPython ---- */

/*
 * Removes the interpreter's frames between two Python functions (functions with a named
 * trampoline). `between` collects the other frames since the last Python function. When the next
 * Python function follows, `between` replaces everything that was written after the last one.
 */
struct python {
	size_t end;		/* length of out after the last Python function; 0: none yet */
	struct buf between;
};

static bool is_function(const struct trace_site *s)
{
	return s && !strncmp(s->symbol, "py::", 4) && !strcmp(s->module, TRACE_MODULE_JIT);
}

static bool is_interpreter(const struct trace_site *s)
{
	const char *file = s ? file_of(s) : "";

	return !strncmp(file, "python3", 7) || !strncmp(file, "libpython3", 10);
}

static void fold(struct python *p, struct buf *out, const struct trace_site *s, const char *text)
{
	if (is_function(s)) {
		if (p->end) {
			out->len = p->end;
			buf_add(out, p->between.data, p->between.len);
		}
		buf_reset(&p->between);
	} else if (p->end && !is_interpreter(s)) {
		buf_add(&p->between, ";", 1);
		buf_add(&p->between, text, strlen(text));
	}
}

/* ---- whole stacks ---- */

bool stack_text_add(struct buf *out, const struct trace *t, uint64_t stack, uint64_t ts_ns,
		    enum stack_part part, enum stack_frames frames, struct source_lines *lines)
{
	const bool of_modules = frames == STACK_MODULES;
	char text[SITE_TEXT_MAX], last[SITE_TEXT_MAX] = "", *p;
	size_t cnt, i, inner, outer;
	const struct trace_frame *f = trace_stack_find(t, stack, &cnt);
	const struct trace_site *s;
	struct python python = { 0 };

	inner = part == STACK_USER ? kernel_frames(f, cnt) : own_frames(t, f, cnt);
	outer = part == STACK_KERNEL	? kernel_frames(f, cnt)
		: part == STACK_INTERRUPT ? interrupt_frames(t, f, cnt)
					  : cnt;
	if (part == STACK_KERNEL ? inner >= outer : part == STACK_USER && cnt && inner >= outer)
		return false;
	if (!cnt)
		buf_add(out, "[no stack]", 10);
	for (i = outer; i-- > inner;) {
		s = f[i].upid ? trace_site_find(t, f[i].upid, f[i].addr, ts_ns) : NULL;
		if (of_modules)
			module_text(text, sizeof(text), &f[i], s);
		else
			frame_text(text, sizeof(text), t, &f[i], s, lines);
		for (p = text; *p; p++)
			if (*p == ';' || *p == '\n')
				*p = ':';
		if (of_modules && !strcmp(text, last))
			continue;
		if (frames == STACK_FOLDED)
			fold(&python, out, s, text);
		if (i + 1 < outer)
			buf_add(out, ";", 1);
		buf_add(out, text, strlen(text));
		if (frames == STACK_FOLDED && is_function(s))
			python.end = out->len;
		if (of_modules)
			memcpy(last, text, strlen(text) + 1);
	}
	buf_add(out, "", 1);
	buf_done(&python.between);
	return true;
}

/* ---- interrupts ---- */

/* The kernel's numbers of soft interrupts have never changed, and are not in BTF. */
#define NAMES(names) (sizeof(names) / sizeof((names)[0]))

static const char *const types[EVENT_IRQ_TYPE_CNT] = {
	[EVENT_IRQ_LINE] = "irq", [EVENT_IRQ_SOFT] = "softirq", [EVENT_IRQ_LOCAL] = "local"
};

const char *irq_type_name(uint64_t type)
{
	return type < EVENT_IRQ_TYPE_CNT && types[type] ? types[type] : "?";
}

unsigned int irq_type_find(const char *name)
{
	for (unsigned int i = EVENT_IRQ_LINE; i < EVENT_IRQ_TYPE_CNT; i++)
		if (!strcmp(types[i], name))
			return i;
	return 0;
}

const char *irq_vector_name(const struct trace *t, uint64_t type, uint64_t vector)
{
	static const char *const soft[] = { "HI",	"TIMER",   "NET_TX", "NET_RX",	"BLOCK",
					    "IRQ_POLL", "TASKLET", "SCHED",  "HRTIMER", "RCU" };
	static const char *const local[] = {
		[EVENT_VECTOR_TIMER] = "timer",
		[EVENT_VECTOR_RESCHEDULE] = "reschedule",
		[EVENT_VECTOR_CALL] = "call_function",
		[EVENT_VECTOR_CALL_SINGLE] = "call_function_single",
		[EVENT_VECTOR_IRQ_WORK] = "irq_work",
	};

	switch (type) {
	case EVENT_IRQ_LINE:
		return name_text(t, TRACE_NAME_IRQ, vector + 1);
	case EVENT_IRQ_SOFT:
		return vector < NAMES(soft) ? soft[vector] : NULL;
	case EVENT_IRQ_LOCAL:
		return vector < NAMES(local) ? local[vector] : NULL;
	default:
		return NULL;
	}
}

/* object_text: formats an object. The call that waits for the object implies its type. */

static void put_lock(const struct trace *t, uint32_t utid, uint64_t ts_ns, uint64_t addr,
		     char ret[OBJECT_TEXT_BYTES])
{
	const struct trace_thread *of = trace_thread_find(t, utid);
	const struct trace_site *s = of ? trace_site_find(t, of->upid, addr, ts_ns) : NULL;

	if (s && s->module[0])
		site_text_variable(ret, OBJECT_TEXT_BYTES, s);
	else
		snprintf(ret, OBJECT_TEXT_BYTES, "%" PRIx64, site_lock_of(addr));
}

static void put_named(const struct trace *t, enum trace_name_type type, uint64_t id,
		      const char *what, uint64_t number, char ret[OBJECT_TEXT_BYTES])
{
	const char *name = name_text(t, type, id);

	if (name)
		snprintf(ret, OBJECT_TEXT_BYTES, "%s", name);
	else
		snprintf(ret, OBJECT_TEXT_BYTES, "%s:[%" PRIu64 "]", what, number);
}

/*
 * Writes a device's name. Device numbers of terminals are fixed
 * (Documentation/admin-guide/devices.txt).
 */
static void put_device(const struct trace *t, bool is_block, uint32_t dev,
		       char ret[OBJECT_TEXT_BYTES])
{
	unsigned int major = dev >> 20, minor = dev & 0xfffff;
	const char *name = is_block ? name_text(t, TRACE_NAME_DEVICE, dev) : NULL;

	if (name)
		snprintf(ret, OBJECT_TEXT_BYTES, "/dev/%s", name);
	else if (!is_block && major == 136)
		snprintf(ret, OBJECT_TEXT_BYTES, "/dev/pts/%u", minor);
	else if (!is_block && major == 4)
		snprintf(ret, OBJECT_TEXT_BYTES, "/dev/tty%s%u", minor < 64 ? "" : "S",
			 minor < 64 ? minor : minor - 64);
	else if (!is_block && major == 5 && minor < 3)
		snprintf(ret, OBJECT_TEXT_BYTES, "/dev/%s",
			 minor == 0 ? "tty" : minor == 1 ? "console" : "ptmx");
	else
		snprintf(ret, OBJECT_TEXT_BYTES, "%s device %u:%u", is_block ? "block" : "char",
			 major, minor);
}

/*
 * Writes the type of an anonymous file and its descriptor: "epoll 4". WIRE_OBJECT_ANONYMOUS()
 * defines the two letters.
 */
static void put_anonymous(uint64_t object, char ret[OBJECT_TEXT_BYTES])
{
	static const struct {
		char first, second;
		const char *name;
	} files[] = {
		{ 'e', 'f', "eventfd" },	{ 'e', 'p', "epoll" },
		{ 't', 'f', "timerfd" },	{ 's', 'l', "signalfd" },
		{ 'i', 'f', "inotify" },	{ 'f', 'i', "fanotify" },
		{ 'i', 'i', "io_uring" },	{ 'p', 'e', "perf_event" },
		{ 'u', 'a', "userfaultfd" },
	};
	const char *name = "anonymous file";

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		if ((uint8_t)files[i].first == (object >> 40 & 0xff) &&
		    (uint8_t)files[i].second == (object >> 32 & 0xff))
			name = files[i].name;
	snprintf(ret, OBJECT_TEXT_BYTES, "%s %u", name, (uint32_t)object);
}

static void put_mmap_lock(const struct trace *t, uint32_t utid, uint64_t pid,
			  char ret[OBJECT_TEXT_BYTES])
{
	const struct trace_thread *of = trace_thread_find(t, utid);
	const struct trace_process *p = of ? trace_process_find(t, of->upid) : NULL;

	snprintf(ret, OBJECT_TEXT_BYTES, "mmap lock of %" PRIu64 "%s%s", pid, p ? " " : "",
		 p ? p->comm : "");
}

static void put_inode_lock(const struct trace *t, uint64_t object, char ret[OBJECT_TEXT_BYTES])
{
	char inode[32];
	const char *path = name_text(t, TRACE_NAME_WAITED, object);

	snprintf(inode, sizeof(inode), "inode:[%u]", (uint32_t)object);
	snprintf(ret, OBJECT_TEXT_BYTES, "inode lock of %s", path ? path : inode);
}

/*
 * Writes the function that contains the lock. The symbol is "function+0x1a", followed by "
 * [module]" for a module.
 */
static void put_kernel_lock(const struct trace *t, uint64_t object, char ret[OBJECT_TEXT_BYTES])
{
	const char *name = name_text(t, TRACE_NAME_SYMBOL, CALL_LOCK_ADDR(object));

	if (name)
		snprintf(ret, OBJECT_TEXT_BYTES, "kernel lock in %.*s", (int)strcspn(name, "+"),
			 name);
	else
		snprintf(ret, OBJECT_TEXT_BYTES, "kernel lock");
}

bool object_text(const struct trace *t, uint32_t utid, uint64_t ts_ns, uint32_t call,
		 uint64_t object, char ret[OBJECT_TEXT_BYTES])
{
	*ret = 0;
	if (!object)
		return false;
	switch (call_object_of(call)) {
	case CALL_OBJECT_PIPE:
		snprintf(ret, OBJECT_TEXT_BYTES, "pipe:[%" PRIu64 "]", object);
		break;
	case CALL_OBJECT_SOCKET:
		put_named(t, TRACE_NAME_SOCKET, object, "socket", object, ret);
		break;
	case CALL_OBJECT_FILE:
		put_named(t, TRACE_NAME_WAITED, object, "inode", (uint32_t)object, ret);
		break;
	case CALL_OBJECT_DEVICE:
		put_device(t, CALL_FILE(call) == CALL_FILE_BLOCK_DEVICE, (uint32_t)object, ret);
		break;
	case CALL_OBJECT_ANONYMOUS:
		put_anonymous(object, ret);
		break;
	case CALL_OBJECT_MMAP_LOCK:
		put_mmap_lock(t, utid, object, ret);
		break;
	case CALL_OBJECT_PROCESS:
		snprintf(ret, OBJECT_TEXT_BYTES, "process %" PRIu64, object);
		break;
	case CALL_OBJECT_THREAD:
		snprintf(ret, OBJECT_TEXT_BYTES, "thread %" PRIu64, object);
		break;
	case CALL_OBJECT_TIMER:
		units_format_duration(ret, OBJECT_TEXT_BYTES, object);
		break;
	case CALL_OBJECT_GROUP:
		put_named(t, TRACE_NAME_CGROUP, CALL_GROUP_ID(object), "cgroup", object, ret);
		break;
	case CALL_OBJECT_INODE_LOCK:
		put_inode_lock(t, object, ret);
		break;
	case CALL_OBJECT_KERNEL_LOCK:
		put_kernel_lock(t, object, ret);
		break;
	case CALL_OBJECT_LOCK:
		put_lock(t, utid, ts_ns, object, ret);
		break;
	}
	return true;
}

bool object_text_is_local(const char *text)
{
	const char *local = strchr(text, ' '), *remote = strstr(text, " > "), *port;

	if (!local || !remote)
		return false;
	port = strrchr(remote, ':');
	return port && !strncmp(local + 1, remote + 3, (size_t)(port + 1 - (remote + 3)));
}

uint32_t object_waker(const struct trace *t, enum call_machine machine,
		      const struct thread_sleep *s)
{
	enum call_wake wake = call_wake_of(machine, s->waker_call);
	char text[OBJECT_TEXT_BYTES];

	if (!s->is_irq)
		return s->waker;
	if (s->waker < EVENT_ID_FIRST || call_object_of(s->call) != CALL_OBJECT_SOCKET ||
	    (wake != CALL_WAKE_WRITE && wake != CALL_WAKE_CLOSE))
		return 0;
	/* the name of a socket does not depend on a thread */
	return object_text(t, EVENT_ID_UNKNOWN, s->end_ns, s->call, s->object, text) &&
	       object_text_is_local(text) ? s->waker : 0;
}

uint32_t object_releaser(enum call_machine machine, const struct thread_sleep *s)
{
	enum call_wake wake = call_wake_of(machine, s->waker_call);

	if (s->is_irq || s->waker_call == CALL_UNKNOWN)
		return 0;
	/* an exit releases robust locks, closes files and removes mappings */
	if (s->waker_call == CALL_EXIT)
		return s->waker;
	if (call_wake_of(machine, s->call) == CALL_WAKE_FUTEX)
		return wake == CALL_WAKE_FUTEX ? s->waker : 0;
	if (wake == CALL_WAKE_WRITE && !call_is_of_kernel_lock(s->call))
		/*
		 * a write can release only locks of the kernel; if it ends another wait, as a write
		 * to the freezer does, it releases nothing
		 */
		return 0;
	return wake == CALL_WAKE_SIGNAL ? 0 : s->waker;
}

/*
 * thread_makers: main threads are looked up on first use, because a trace that is opened quickly
 * has not read its threads.
 */

int thread_makers_init(struct thread_makers *m, const struct dense_ids *ids)
{
	*m = (struct thread_makers){ .ids = ids };
	m->first_of = calloc(ids->process_cnt + 1, sizeof(*m->first_of));
	m->waker_of = calloc(ids->thread_cnt + 1, sizeof(*m->waker_of));
	return m->first_of && m->waker_of ? 0 : -ENOMEM;
}

void thread_makers_note(struct thread_makers *m, const struct thread_wait *w)
{
	uint32_t *waker = &m->waker_of[w->thread];

	if (!*waker && !w->slept && w->waker >= EVENT_ID_FIRST && w->waker < m->ids->thread_cnt)
		*waker = w->waker;
	if (*waker == w->waker && !m->held_to_ns && w->waker &&
	    dense_thread_row(m->ids, w->thread)->start_call == CALL_HELD)
		m->held_to_ns = w->from_ns - 1;
}

void thread_makers_done(struct thread_makers *m)
{
	free(m->first_of);
	free(m->waker_of);
}

static void read_first_threads(struct thread_makers *m)
{
	const struct trace_thread *threads;
	size_t cnt;

	threads = trace_threads(m->ids->trace, &cnt);
	for (size_t i = 0; i < cnt; i++) {
		const struct trace_thread *h = &threads[i];
		const struct trace_process *p = trace_process_find(m->ids->trace, h->upid);

		if (p && h->tid == p->pid)
			m->first_of[dense_process(m->ids, h->upid)] =
				dense_thread(m->ids, h->utid);
	}
	m->is_read = true;
}

uint32_t thread_maker(struct thread_makers *m, uint32_t thread, uint64_t *ret_start_ns)
{
	const struct trace_thread *h = dense_thread_row(m->ids, thread);
	uint32_t process = dense_process_of(m->ids, thread);
	const struct trace_process *p = dense_process_row(m->ids, process);

	*ret_start_ns = h ? h->start_ns : 0;
	if (!h || !p)
		return 0;
	if (h->start_call == CALL_HELD && m->held_to_ns)
		*ret_start_ns = m->held_to_ns;
	if (m->waker_of[thread])
		return m->waker_of[thread];
	if (!m->is_read)
		read_first_threads(m);
	return m->first_of[h->tid == p->pid ? dense_process(m->ids, p->parent_upid) : process];
}

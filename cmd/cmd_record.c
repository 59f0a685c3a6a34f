/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * cmd_record: `ebpfrec record` converts options to a struct session_options, calls session_stop()
 * on signals, and prints the session's reports to stderr. stdout belongs to COMMAND.
 *
 * The live status line is drawn only if stderr is a terminal, and only if it cannot mix with
 * COMMAND's output: there is no COMMAND, or stdout is not a terminal. --status allows mixing.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "analyze/engine/report_view.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/units.h"
#include "base/words.h"
#include "cmd/cmd.h"
#include "cmd/input/input.h"
#include "cmd/input/opts.h"
#include "cmd/render/page.h"
#include "cmd/render/say.h"
#include "event_lists.h"
#include "probe/rings.h"
#include "probe/source.h"
#include "record/session.h"
#include "symbol/unwind_table.h"

struct record_repeat {
	uint64_t cnt; /* number of runs; 0: --repeat was not given */
	uint64_t warm_up; /* the first warm_up runs are warm-ups */
};

#define RECORD_REPEAT_MAX 1000

/* ---- record value ---- */

/*
 * Parses --max-overhead, a percentage of the machine's CPU time with or without "%", into a
 * uint64_t of millionths. 0, or -errno with text, as all functions of this section.
 */
static int record_value_overhead(void *budget_ppm, const char *value, struct err *e)
{
	char *end;
	double pct;

	errno = 0;
	pct = strtod(value, &end);
	end += *end == '%';
	if (end == value || *end || errno || !(pct >= 0.0001) || pct > 100)
		return err_set(e, -EINVAL,
			       "'%s' is not a percentage of the machine's CPU time, such as 2 or "
			       "0.5",
			       value);
	*(uint64_t *)budget_ppm = (uint64_t)(pct * 10000 + 0.5);
	return 0;
}

/* Parses --rings into a struct rings_config. */
static int record_value_rings(void *config, const char *value, struct err *e)
{
	struct rings_config *rings = config;
	uint64_t v = 0;
	int c = 0;

	rings->sharing = RINGS_COUNT;
	if (!strcmp(value, "cpu"))
		rings->sharing = RINGS_PER_CPU;
	else if (!strcmp(value, "cache"))
		rings->sharing = RINGS_PER_CACHE;
	else
		c = units_parse_count(value, &v, e);
	if (!c && rings->sharing == RINGS_COUNT && (v < 1 || v > 4096))
		c = err_set(e, -ERANGE, "%s is out of range; 1 to 4096, cpu or cache", value);
	rings->cnt = (unsigned int)v;
	return c;
}

/* Adds --note KEY=VALUE to a struct lists_strings. */
static int record_value_note(void *notes, const char *value, struct err *e)
{
	size_t key =
		strspn(value, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-");

	if (!key || key > 64 || value[key] != '=')
		return err_set(e, -EINVAL,
			       "'%s' is not KEY=VALUE with a key of up to 64 letters, digits, '.', "
			       "'_' and '-'",
			       value);
	return lists_add_string(notes, value, e);
}

/*
 * service_notify: messages to the service manager. Each message opens the socket, since messages
 * are rare.
 */

/*
 * Sends text, lines such as "READY=1\nSTATUS=recording", to the service manager, if there is one.
 * Never waits: if the manager's queue is full, the message is dropped, so callers repeat important
 * messages.
 */
static void service_notify(const char *text)
{
	const char *path = getenv("NOTIFY_SOCKET");
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	size_t len = path ? strlen(path) : 0;
	int fd;

	if (!len || len >= sizeof(a.sun_path))
		return;
	memcpy(a.sun_path, path, len);
	if (*path == '@') /* abstract socket names begin with a NUL */
		a.sun_path[0] = '\0';
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return;
	(void)sendto(fd, text, strlen(text), MSG_NOSIGNAL, (const struct sockaddr *)&a,
		     (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len));
	close(fd);
}

/* record_page: --html makes a page from the recorded trace, as `export --to html` does. */

/* Checks before the recording whether the page can be made. 0 or an exit status. */
static int record_page_check(const char *html, bool force)
{
	if (!page_is_built())
		return say_error("--html: %s", page_lacks);
	if (!force && !access(html, F_OK))
		return opts_usage_error("--html: the file exists; -f replaces it");
	return 0;
}

/* Makes the page of the recorded trace. Prints an error, which does not change the exit status. */
static void record_page_make(const char *output, const char *html, bool force, bool quiet)
{
	struct input in = { .path = output };
	struct page_request q = { .path = output };
	char missing[400] = "";
	struct err e = { "" };
	int c = input_open(&in, false);

	c = c ?: input_window(&in, &q.from_ns, &q.to_ns) ?: input_analysis(&in);
	if (!c) {
		input_is_complete(in.trace, report_view_find("page")->needs, q.from_ns, q.to_ns,
				  missing, sizeof(missing));
		q.analysis = in.analysis;
		q.trace = in.trace;
		q.missing = missing;
		c = input_status(page_make(&q, html, force, &e), &e);
	}
	if (!c && !quiet)
		say_note("%s: a page of the recording, %s; open it in a browser", html,
			 say_file_bytes(html));
	input_close(&in);
}

/* record_repeat: --repeat. A signal ends the current run, and no further run is started. */

#define FORWARDED_CNT 4
#define STATUS_CANNOT_RUN 126 /* 126 or 127: COMMAND could not be run */

/* Global, since the signal handler uses them. */
static volatile pid_t recorder;
static volatile sig_atomic_t stopped;

/*
 * Forwards a signal to the recorder, unless the kernel sent it: a terminal's signal reaches the
 * whole process group.
 */
static void forward(int sig, siginfo_t *info, void *context)
{
	int saved = errno;

	stopped |= sig != SIGUSR2;
	if (info->si_code != SI_KERNEL && recorder > 0)
		kill(recorder, sig);
	errno = saved;
}

static int run_once(unsigned int n, const char *output, struct lists_strings *notes,
		    int (*one)(void *ctx, const char *output), void *ctx, bool is_warm_up)
{
	char name[4096], run[32];

	if ((size_t)snprintf(name, sizeof(name), "%s.%u", output, n) >= sizeof(name))
		return say_error("%s: the name is too long", output);
	snprintf(run, sizeof(run), "run=%u", n);
	if (lists_add_string(notes, run, NULL) ||
	    (is_warm_up && lists_add_string(notes, "warm_up=1", NULL)))
		return say_error("out of memory");
	return one(ctx, name);
}

/*
 * Calls one() for the traces OUTPUT.1 to OUTPUT.cnt. Adds the note "run=N" to each, and "warm_up=1"
 * to warm-ups. A signal, or a run that cannot be recorded, ends the series. Returns the status of
 * the first run that fails, or 0.
 */
static int record_repeat(const struct record_repeat *r, const char *output,
			 struct lists_strings *notes, int (*one)(void *ctx, const char *output),
			 void *ctx)
{
	static const int signals[FORWARDED_CNT] = { SIGINT, SIGTERM, SIGHUP, SIGUSR2 };
	const struct sigaction forwards = { .sa_sigaction = forward, .sa_flags = SA_SIGINFO };
	struct sigaction before[FORWARDED_CNT];
	int first = 0, status = 0;

	for (int i = 0; i < FORWARDED_CNT; i++)
		sigaction(signals[i], &forwards, &before[i]);
	for (unsigned int n = 1; n <= r->cnt && !stopped; n++) {
		pid_t pid;

		fflush(NULL);
		pid = recorder = fork();
		if (pid < 0)
			return say_error("cannot start a recorder: %s", strerror(errno));
		if (!pid) {
			for (int i = 0; i < FORWARDED_CNT; i++)
				sigaction(signals[i], &before[i], NULL);
			status = run_once(n, output, notes, one, ctx, n <= r->warm_up);
			fflush(NULL);
			_exit(status);
		}
		while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
			;
		recorder = 0;
		status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
		first = first ? first : status;
		if (status == EXIT_RECORD || status == STATUS_CANNOT_RUN ||
		    status == STATUS_CANNOT_RUN + 1)
			break;
	}
	return first;
}

#define KEEP_BYTES_MIN (1ull << 20)
#define LEVEL_DEFAULT UINT64_MAX
/* default allocations per stack: a stack costs as much as recording 20 allocations */
#define STACKS_EVERY 100

#define UNWIND_DEFAULT_HZ 1000 /* at higher rates, stacks are copied only with --unwind dwarf */

/* Global, since the signal handlers use them. */
static struct session *volatile running;
static volatile sig_atomic_t early_stop;

struct record {
	struct session_options o;
	struct lists_ids pids;
	char *events, *command_line;
	const char *html, *start_at;
	bool view;
	struct lists_strings notes, triggers, requests;
	uint64_t level;
	enum { UNWIND_DEFAULT, UNWIND_DWARF, UNWIND_FP } unwind;
	bool all, quiet, status;
	bool draws, notifies;
	struct record_repeat repeat;
	struct progress line; /* the status line on the terminal */
	unsigned int tick_cnt;
};

/* ---- signals ---- */

static void on_stop(int sig)
{
	int saved = errno;

	if (running)
		session_stop(running);
	else
		early_stop = 1;
	errno = saved;
}

static void on_snapshot(int sig)
{
	int saved = errno;

	if (running)
		session_snapshot(running);
	errno = saved;
}

static void on_nothing(int sig)
{
}

/*
 * Installs the handlers. *ret_ignored: signals that the caller ignores, so that COMMAND ignores
 * them, too.
 */
static void set_signals(sigset_t *ret_ignored)
{
	static const struct {
		int sig;
		void (*handler)(int sig);
	} handled[] = {
		/*
		 * Signals that control a recording are handled even if the caller ignores them:
		 * shells ignore SIGINT for background jobs.
		 */
		{ SIGINT, on_stop },
		{ SIGTERM, on_stop },
		{ SIGUSR2, on_snapshot },
		{ SIGHUP, on_stop },
		/*
		 * An empty handler, since COMMAND would inherit SIG_IGN. With SIGXFSZ handled, a
		 * file that reaches `ulimit -f` is a write error, like a full disk.
		 */
		{ SIGPIPE, on_nothing },
		{ SIGXFSZ, on_nothing },
	};
	struct sigaction old;

	sigemptyset(ret_ignored);
	for (size_t i = 0; i < sizeof(handled) / sizeof(handled[0]); i++) {
		const struct sigaction new = { .sa_handler = handled[i].handler,
					       .sa_flags = SA_RESTART };
		bool ignored = !sigaction(handled[i].sig, NULL, &old) && old.sa_handler == SIG_IGN;

		if (ignored)
			sigaddset(ret_ignored, handled[i].sig);
		/* SIGHUP stays ignored under nohup: the recording outlives the terminal. */
		if (!ignored || handled[i].sig != SIGHUP)
			sigaction(handled[i].sig, &new, NULL);
	}
}

/* ---- reports of the session ---- */

static uint64_t sum(const uint64_t *v)
{
	uint64_t total = 0;

	for (unsigned int i = 0; i < SAMPLER_CLASS_CNT; i++)
		total += v[i];
	return total;
}

/*
 * Returns the subject of the recording for messages: " make", " process 77 (postgres) and 2 more",
 * " /sys/fs/cgroup/web"; "": the whole machine.
 */
static const char *subject(const struct record *r)
{
	char path[64], name[32] = "";
	FILE *f;

	if (r->o.command)
		return say_format(" %s", say_text(basename(r->o.command[0])));
	if (r->o.cgroup)
		return say_format(" %s", say_text(r->o.cgroup));
	if (!r->pids.cnt)
		return "";
	snprintf(path, sizeof(path), "/proc/%u/comm", r->pids.v[0]);
	f = fopen(path, "re");
	if (f && fgets(name, sizeof(name), f))
		name[strcspn(name, "\n")] = '\0';
	if (f)
		fclose(f);
	return say_format(" process %u%s%s%s%s", r->pids.v[0], *name ? " (" : "", say_text(name),
			  *name ? ")" : "",
			  r->pids.cnt > 1 ? say_format(" and %u more", r->pids.cnt - 1) : "");
}

#define DEEP_OFFCPU_NS (UNITS_NS_PER_S / 1000)
#define NOTIFY_TICKS 4 /* ticks per status message to the service manager: about a second */

static void on_tick(void *ctx, const struct session *s)
{
	struct session_stats st;
	struct record *r = ctx;
	const char *text;

	session_get_stats(s, &st);
	text = say_format("recording%s: %" PRIu64 ".%" PRIu64 " s, %s events, %s, %s lost%s%s",
			  subject(r), st.duration_ns / UNITS_NS_PER_S,
			  st.duration_ns % UNITS_NS_PER_S / 100000000,
			  say_count(sum(st.event_cnt)), say_bytes_si(st.bytes),
			  say_count(sum(st.totals.lost_cnt)), st.off && *st.off ? ", off: " : "",
			  st.off ? st.off : "");
	if (r->draws)
		progress_line(&r->line, "%s", text);
	if (r->notifies && r->tick_cnt++ % NOTIFY_TICKS == 0)
		service_notify(say_format("READY=1\nWATCHDOG=1\nSTATUS=%s", text));
}

static void on_warn(void *ctx, const char *text)
{
	progress_erase(&((struct record *)ctx)->line);
	say_note("warning: %s", text);
}

static void on_notice(void *ctx, const char *text)
{
	struct record *r = ctx;

	if (r->quiet)
		return;
	progress_erase(&r->line);
	say_note("%s", text);
}

static void on_renamed(void *ctx, uint64_t real_ns, bool replaces)
{
	const struct record *r = ctx;
	const char *name = say_text(r->o.output);

	if (real_ns)
		name = say_format("the recording of %s is now %s.old", say_clock(real_ns), name);
	else
		name = say_format("the older %s is now %s.old", name, name);
	if (replaces)
		name = say_format("%s; an older trace of that name was removed", name);
	on_notice(ctx, name);
}

/* Classes in the order of messages; index: enum event_class. */
static const struct {
	const char *name;
	unsigned int index;
} classes[SAMPLER_CLASS_CNT] = { { "sched", 1 }, { "alloc", 2 }, { "block", 3 }, { "cpu", 4 },
				 { "mem", 5 }, { "app", 6 }, { "task", 0 } };

/* Writes the classes whose cnt is not 0: "sched 1,234, block 5". */
static void list_classes(char *buf, size_t size, const uint64_t *cnt)
{
	size_t o = 0;

	buf[0] = '\0';
	for (unsigned int i = 0; i < SAMPLER_CLASS_CNT && o < size; i++) {
		if (cnt[classes[i].index])
			o += (size_t)snprintf(buf + o, size - o, "%s%s %s", o ? ", " : "",
					      classes[i].name, say_count(cnt[classes[i].index]));
	}
}

static void print_closing(const struct record *r, const struct session_stats *st)
{
	const struct sampler_totals *t = &st->totals;
	uint64_t cpu_ns = t->user_ns + t->sys_ns, dur_ms = st->duration_ns / 1000000;
	double share = st->duration_ns ? 100.0 / (double)st->duration_ns : 0;
	char kept[160], by_class[160];
	const char *missing = "", *off = "", *gone = "", *programs;
	uint64_t lost_cnt = sum(t->lost_cnt);

	list_classes(kept, sizeof(kept), st->event_cnt);
	list_classes(by_class, sizeof(by_class), t->lost_cnt);
	/* a larger ring helps only against full rings, not if the kernel skipped a program */
	if (lost_cnt)
		missing = say_format(
			" (%s%s; %s)", by_class,
			st->inferred_cnt ? say_format("; %s of them inferred from later events",
						      say_count(st->inferred_cnt)) : "",
			t->full_cnt ? "rings were full: try a larger --ring-size"
				    : say_format("`ebpfrec report loss -i %s` says when and why",
						 r->o.output));
	if (st->off_cnt)
		off = say_format("; sources were turned off %u time%s (--max-overhead), `ebpfrec "
				 "info -i %s` says which and when",
				 st->off_cnt, st->off_cnt == 1 ? "" : "s", r->o.output);
	if (st->dropped_bytes)
		gone = say_format(" (kept: the last %s, %s)", say_duration(st->kept_ns),
				  say_bytes_si(st->bytes - st->dropped_bytes));
	say_note("%s: %s events%s%s%s, %s lost%s", r->o.output, say_count(sum(st->event_cnt)),
		 kept[0] ? " (" : "", kept, kept[0] ? ")" : "", say_count(lost_cnt), missing);
	say_note("recorded: %" PRIu64 ".%03u s; written: %s%s", dur_ms / 1000,
		 (unsigned int)(dur_ms % 1000), say_bytes_si(st->bytes), gone);
	/* the same figures as in `report cost` */
	programs = t->bpf_ns ? say_format("about %s (%.1f %%)", say_duration(t->bpf_ns),
					  (double)t->bpf_ns * share) : "not measured";
	say_note("cost: recorder %s (%.1f %% of a CPU), kernel programs %s, memory %s%s",
		 say_duration(cpu_ns), (double)cpu_ns * share, programs,
		 say_bytes(t->rss_max_bytes), off);
	if (st->running_pid)
		say_note("the command goes on: process %d (%s)", st->running_pid,
			 say_text(basename(r->o.command[0])));
}

/* ---- options ---- */

static int take_stacks(void *job, const char *value, struct err *e)
{
	struct session_options *o = &((struct record *)job)->o;
	bool every = !value || !strncmp(value, "1/", 2);
	uint64_t v = STACKS_EVERY;
	int c = !value	? 0
		: every ? units_parse_count(value + 2, &v, e)
			: units_parse_size(value, &v, e);

	if (!c && every && (!v || v > UINT32_MAX))
		c = err_set(e, -ERANGE, "%s: N is 1 or more", value);
	if (!c && !v)
		c = err_set(e, -ERANGE, "the size must be 1 byte or more; 1/1 takes every "
					"allocation");
	o->stacks_every = every ? (uint32_t)v : 0;
	o->stacks_min_bytes = every ? 0 : v;
	return c;
}

static int take_heap(void *job, const char *value, struct err *e)
{
	struct session_options *o = &((struct record *)job)->o;
	uint64_t bytes = 0;
	int c = value ? units_parse_size(value, &bytes, e) : 0;

	if (!c && value && (!bytes || bytes > SESSION_HEAP_SAMPLE_MAX))
		c = err_set(e, -ERANGE, "a sample per 1 byte up to 1 GiB");
	o->heap = true;
	o->heap_sample_bytes = bytes;
	return c;
}

static int take_unwind(void *job, const char *value, struct err *e)
{
	struct record *r = job;

	r->unwind = !strcmp(value, "dwarf") ? UNWIND_DWARF : UNWIND_FP;
	if (r->unwind == UNWIND_FP && strcmp(value, "fp"))
		return err_set(e, -EINVAL, "'%s' is neither dwarf nor fp", value);
	if (r->unwind == UNWIND_DWARF && !unwind_is_offered())
		return err_set(e, -ENOTSUP, "this program was built without libdw");
	return 0;
}

static int take_mark_fd(void *job, const char *value, struct err *e)
{
	struct session_options *o = &((struct record *)job)->o;
	uint64_t v = 0;
	int c = units_parse_count(value, &v, e);

	/* COMMAND must not inherit the descriptor */
	if (!c && (v > INT_MAX || fcntl((int)v, F_SETFD, FD_CLOEXEC) < 0))
		c = err_set(e, -EBADF, "%s is no open file descriptor", value);
	if (!c && (fcntl((int)v, F_GETFL) & O_ACCMODE) == O_WRONLY)
		c = err_set(e, -EBADF, "%s is not open for reading", value);
	o->flight.mark_fd = (int)v;
	return c;
}

static int take_span_fd(void *job, const char *value, struct err *e)
{
	struct session_options *o = &((struct record *)job)->o;
	uint64_t v = 0;
	int c = units_parse_count(value, &v, e), unused = 9;

	if (c)
		return c;
	if (o->span_fd)
		return err_set(e, -EINVAL, "it is given twice");
	while (fcntl(unused, F_GETFD) >= 0)
		unused++;
	c = v > INT_MAX ? -EBADF : session_span_socket((int)v);
	if (c == -EEXIST)
		return err_set(e, c,
			       "descriptor %s is open; COMMAND gets a new socket under this "
			       "number, so choose another one, such as %d",
			       value, unused);
	if (c < 0)
		return err_set(e, c, "%s: %s", value, strerror(-c));
	o->span_fd = c;
	return 0;
}

/* Parses --keep: a size, a time of at least a second, or both. */
static int add_keep(void *job, const char *value, struct err *e)
{
	struct session_options *o = &((struct record *)job)->o;
	char item[64];
	uint64_t v;

	do {
		struct word w = word_next(&value);

		snprintf(item, sizeof(item), "%.*s", w.len, w.s);
		/* a number without a unit could be a size or a time */
		if (!item[strspn(item, "0123456789.")] || !word_is(w, item) ||
		    (units_parse_duration(item, &v, NULL) && units_parse_size(item, &v, NULL)))
			return err_set(e, -EINVAL,
				       "'%.*s' is neither a time nor a size; write 60s, 1GiB or "
				       "both: 60s,1GiB",
				       w.len, w.s);
		if (!units_parse_duration(item, &v, NULL)) {
			if (v < UNITS_NS_PER_S)
				return err_set(e, -ERANGE, "%s is too short; at least 1s", item);
			o->keep_ns = v;
		} else {
			if (v < KEEP_BYTES_MIN)
				return err_set(e, -ERANGE, "%s is too little; at least 1MiB", item);
			o->keep_bytes = v;
		}
	} while (*value);
	return 0;
}

/* Refuses combinations of options that contradict each other. 0 or EXIT_USAGE. */
static int check_options(const struct record *r)
{
	const struct session_options *o = &r->o;
	bool has_workload = o->command || o->pid_cnt || o->cgroup;
	struct err e = { "" };
	uint32_t sources = 0;

	if (!has_workload && !r->all && !o->duration_ns)
		return opts_usage_error("nothing to record: give a COMMAND, or -a (until Ctrl-C), "
					"-p PID, --cgroup PATH or -d DUR");
	if (source_parse(r->events, &sources, &e))
		return opts_usage_error("-e: %s", e.text);
	if (!has_workload && (o->heap || o->heap_wait || sources & SOURCE_BIT(SOURCE_HEAP)))
		return opts_usage_error(
			"alloc.heap is recorded for a workload only: give a COMMAND, -p or "
			"--cgroup");
	if (o->only && !has_workload)
		return opts_usage_error(
			"--only keeps just the workload, and there is none: give a COMMAND, -p or "
			"--cgroup");
	if (r->unwind && !o->profile_hz && !o->offcpu_ns &&
	    !(sources & (SOURCE_BIT(SOURCE_SAMPLE) | SOURCE_BIT(SOURCE_OFFCPU))))
		return opts_usage_error("--unwind is about the stacks of --profile and --offcpu: "
					"give one of them, too");
	if ((o->spans || o->span_fd) && !o->command)
		return opts_usage_error("%s is what COMMAND writes to, and there is none",
					o->spans ? "--spans" : "--span-fd");
	if (o->user && !o->command)
		return opts_usage_error("-u says who runs COMMAND, but there is no COMMAND");
	return 0;
}

/* ---- the recording ---- */

static int take_start(struct record *r)
{
	struct err e = { "" };
	int c = timeexpr_resolve_future(r->start_at, clock_real_ns(), &r->o.start_real_ns, &e);

	return c ? opts_usage_error("--start-at: %s", e.text) : 0;
}

static void say_start(const struct record *r)
{
	uint64_t now_ns = clock_real_ns();

	if (!r->quiet && r->o.start_real_ns > now_ns)
		say_note("recording begins at %s, in %s",
			 say_wall(r->o.start_real_ns, true),
			 say_duration(r->o.start_real_ns - now_ns));
}

static int run_session(struct record *r, bool *ret_has_trace)
{
	struct session_stats st;
	struct err e = { "" };
	int status = 0, c;

	c = session_run(running, &status, &e);
	progress_erase(&r->line);
	if (c) {
		say_error("%s", err_text(&e, c));
		status = EXIT_RECORD;
	} else if (e.text[0]) { /* COMMAND could not be run: print no summary */
		say_error("%s", e.text);
		return status;
	}
	session_get_stats(running, &st);
	*ret_has_trace = st.has_trace;
	if (!r->quiet && st.has_trace)
		print_closing(r, &st);
	return status;
}

/* Replaces this process by the viewer. COMMAND's exit status remains in the trace. */
static int become_viewer(const char *trace)
{
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	execl("/proc/self/exe", "ebpfrec", "view", "-i", trace, NULL);
	say_error("cannot run `ebpfrec view -i %s`: %s", trace, strerror(errno));
	return EXIT_RECORD;
}

static int record(struct record *r)
{
	struct session *s;
	struct err e = { "" };
	bool has_trace = false;
	int status, c;

	r->draws = !r->quiet && isatty(STDERR_FILENO) &&
		   (!r->o.command || !isatty(STDOUT_FILENO) || r->status);
	/* a COMMAND is the service itself, and sends its own notifications */
	r->notifies = !r->o.command && getenv("NOTIFY_SOCKET");
	if (r->draws || r->notifies) {
		r->o.tick = on_tick;
		r->o.tick_ctx = r;
	}
	r->o.notices = (struct notices){ .warn = on_warn, .notice = on_notice, .ctx = r };
	r->o.renamed = on_renamed;
	set_signals(&r->o.ignored);
	c = session_open(&s, &r->o, &e);
	if (c) {
		say_error("%s", err_text(&e, c));
		return EXIT_RECORD;
	}
	running = s;
	if (early_stop) { /* a signal arrived while programs were being loaded */
		say_error("interrupted before recording began; nothing was kept");
		status = EXIT_RECORD;
	} else {
		say_start(r);
		status = run_session(r, &has_trace);
	}
	running = NULL;
	session_close(s);
	if (r->html && has_trace)
		record_page_make(r->o.output, r->html, r->o.force, r->quiet);
	if (r->view && has_trace)
		return become_viewer(r->o.output);
	return status;
}

/*
 * Records one of several runs. The array of notes may have moved when record_repeat() added notes.
 */
static int record_as(void *record_of, const char *output)
{
	struct record *r = record_of;

	r->o.output = output;
	r->o.notes = r->notes.v;
	r->o.note_cnt = r->notes.cnt;
	return record(r);
}

static int check_repeat(const struct record *r)
{
	if (!r->o.command)
		return opts_usage_error("--repeat runs COMMAND again, and there is none");
	if (r->html || r->view || r->start_at || r->o.flight.mark_fd >= 0)
		return opts_usage_error("--repeat makes several recordings: leave out --html, "
					"--view, --start-at and --mark-fd");
	if (r->repeat.warm_up >= r->repeat.cnt)
		return opts_usage_error("--warm-up %s leaves nothing of --repeat %s",
					say_count(r->repeat.warm_up), say_count(r->repeat.cnt));
	return 0;
}

static int take_command(void *job, char **argv, char **rest)
{
	struct record *r = job;

	r->command_line = lists_join_argv(argv);
	r->o.command = *rest ? rest : NULL;
	return 0;
}

/*
 * Replaces -e deep[,NAME ...] by its meaning: options for stacks of running and waiting threads.
 * The rest of the list stays.
 */
static void take_deep(struct record *r)
{
	if (!r->events || strncmp(r->events, "deep", 4) || (r->events[4] && r->events[4] != ','))
		return;
	r->o.profile_hz = r->o.profile_hz ?: SESSION_PROFILE_HZ;
	r->o.offcpu_ns = r->o.offcpu_ns ?: DEEP_OFFCPU_NS;
	if (!r->unwind && unwind_is_offered())
		r->unwind = UNWIND_DWARF;
	if (r->events[4])
		memmove(r->events, r->events + 5, strlen(r->events + 5) + 1);
	else
		free(r->events), r->events = NULL;
}

/* Returns the PID of a thread's process; tid if there is no such thread. */
static uint32_t process_of(uint32_t tid)
{
	char path[64], line[128];
	unsigned int pid = tid;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%u/status", tid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f) && sscanf(line, "Tgid: %u", &pid) != 1)
		;
	if (f)
		fclose(f);
	return pid;
}

/* Replaces TIDs of -p by the PIDs of their processes, because filters select processes. */
static void take_processes(struct record *r)
{
	for (unsigned int i = 0; i < r->pids.cnt; i++) {
		uint32_t tid = r->pids.v[i], pid = process_of(tid);

		r->pids.v[i] = pid;
		if (pid != tid)
			say_note("-p %u is a thread: recording its process, %u; `ebpfrec report "
				 "--tid %u` shows the thread", tid, pid, tid);
	}
}

static int run(void *job)
{
	struct record *r = job;
	int status = 0;

	take_deep(r);
	take_processes(r);
	r->o.events = r->events;
	r->o.pids = r->pids.v;
	r->o.pid_cnt = r->pids.cnt;
	r->o.notes = r->notes.v;
	r->o.note_cnt = r->notes.cnt;
	r->o.requests = r->requests.v;
	r->o.request_cnt = r->requests.cnt;
	r->o.flight.triggers = r->triggers.v;
	r->o.flight.trigger_cnt = r->triggers.cnt;
	r->o.command_line = r->command_line;
	/* the default output replaces an older trace, since the user did not choose its name */
	r->o.force |= !r->o.output;
	if (!r->o.output)
		r->o.output = INPUT_TRACE_DEFAULT;
	if (r->unwind == UNWIND_DWARF)
		r->o.unwound = SOURCE_BIT(SOURCE_SAMPLE) | SOURCE_BIT(SOURCE_OFFCPU);
	else if (!r->unwind && unwind_is_offered() && r->o.profile_hz <= UNWIND_DEFAULT_HZ)
		r->o.unwound = SOURCE_BIT(SOURCE_SAMPLE);
	if (r->level != LEVEL_DEFAULT)
		r->o.zstd_level = r->level ? (int)r->level : -1;
	if (r->events && (!strcmp(r->events, "list") || !strcmp(r->events, "help")))
		return sources_print();
	if (r->events)
		status = sources_check(r->events);
	if (!status)
		status = check_options(r);
	if (!status && r->repeat.warm_up && !r->repeat.cnt)
		status = opts_usage_error("--warm-up is for --repeat");
	if (!status && r->html)
		status = record_page_check(r->html, r->o.force);
	if (!status && r->start_at)
		status = take_start(r);
	if (!status && r->repeat.cnt)
		status = check_repeat(r);
	if (status || !r->repeat.cnt)
		return status ? status : record(r);
	return record_repeat(&r->repeat, r->o.output, &r->notes, record_as, r);
}

static void done(void *job)
{
	struct record *r = job;

	free(r->pids.v);
	free(r->events);
	free(r->notes.v);
	free(r->triggers.v);
	free(r->requests.v);
	free(r->command_line);
}

#define AT(field) offsetof(struct record, field)

static const struct opts_option options[] = {
	{ 'o', "output", "TRACE",
	  "directory to write (default: " INPUT_TRACE_DEFAULT "); an existing trace\nis renamed to "
	  "TRACE.old",
	  OPTS_TEXT, AT(o.output), .refuse = "the name of a trace must not be empty" },
	{ 'e', "events", "LIST",
	  "classes and sources to record, such as sched,alloc.page,block\n(default: all "
	  "but " EVENT_NOT_DEFAULT "); +NAME adds to\nthe default, -NAME takes away; light "
	  "is sched,block,alloc.rss; all is every\nsource; deep adds stacks of what threads run "
	  "and wait for; '-e list'\nshows them",
	  OPTS_CALL, AT(events), lists_take_words },
	{ 'a', "all", NULL, "record without COMMAND, until -d or Ctrl-C", OPTS_FLAG, AT(all) },
	{ 'p', "pid", "PID,...", "these processes and their descendants are the workload",
	  OPTS_CALL, AT(pids), lists_take_ids },
	{ 0, "cgroup", "PATH", "the processes of this cgroup are the workload", OPTS_TEXT,
	  AT(o.cgroup) },
	{ 0, "only", NULL, "keep events of the workload only, not of the whole system", OPTS_FLAG,
	  AT(o.only) },
	{ 'd', "duration", "DUR", "stop after this time: 250ms, 10s, 2m", OPTS_DURATION,
	  AT(o.duration_ns), .min = 1, .refuse = "a recording of no time has nothing in it" },
	{ 0, "start-at", "TIME",
	  "begin at this wall-clock time: T12:00:03, 2026-03-01T12:00:00.5Z,\n@SECONDS, or 5s from "
	  "now; COMMAND starts then",
	  OPTS_TEXT, AT(start_at) },
	{ 0, "repeat", "N", "run and record COMMAND N times, as TRACE.1 to TRACE.N", OPTS_COUNT,
	  AT(repeat.cnt), .min = 1, .max = RECORD_REPEAT_MAX, .refuse = " is out of range" },
	{ 0, "warm-up", "K",
	  "with --repeat: the first K of the N runs only warm up, which diff leaves\nout",
	  OPTS_COUNT, AT(repeat.warm_up) },
	{ 'u', "user", "USER", "run COMMAND as this user", OPTS_TEXT, AT(o.user) },
	{ 0, "cmdlines", NULL, "keep the command lines of all processes, not just the workload's",
	  OPTS_FLAG, AT(o.all_cmdlines) },
	{ 0, "stacks", "[SIZE|1/N]",
	  "record stacks of allocations of at least SIZE, or of every N-th (of a\nhook, on a "
	  "CPU; default: 1/100)",
	  OPTS_CALL, .take = take_stacks },
	{ 0, "offcpu", "DUR",
	  "record waits off the CPU of at least DUR, with stacks: of the workload's\nthreads, or "
	  "of all with -a",
	  OPTS_STEP, AT(o.offcpu_ns), .min = 1, .refuse = "at least 1ns" },
	{ 0, "profile", "[HZ]",
	  "sample the code that runs on each CPU, with stacks, HZ times a second\n(default: 99)",
	  OPTS_COUNT, AT(o.profile_hz), .otherwise = SESSION_PROFILE_HZ, .min = 1, .max = 10000,
	  .refuse = " is out of range; 1 to 10000 samples a second" },
	{ 0, "unwind", "dwarf|fp",
	  "find callers in the stacks of --profile and --offcpu by the unwind\ntables of their "
	  "files (--profile's default up to 1000 HZ), or by\nframe pointers (--offcpu's)",
	  OPTS_CALL, .take = take_unwind },
	{ 0, "heap", "[SIZE]",
	  "record each malloc and free of COMMAND and its children, as\n-e +alloc.heap does; SIZE, "
	  "such as 512KiB: a sample per so many\nallocated bytes, for estimates at little cost",
	  OPTS_CALL, .take = take_heap },
	{ 0, "heap-wait", NULL,
	  "as --heap, but the command waits while there is no room for its\nevents, so that none "
	  "is lost",
	  OPTS_FLAG, AT(o.heap_wait) },
	{ 0, "note", "KEY=VALUE", "keep a remark with the trace; may be repeated", OPTS_CALL,
	  AT(notes), record_value_note },
	{ 0, "keep", "DUR|SIZE",
	  "keep only the most recent part: 60s, 1GiB, or 60s,1GiB (the smaller of\nthe two); older "
	  "chunk files are removed",
	  OPTS_CALL, .take = add_keep },
	{ 0, "trigger", "EXPR",
	  "make a snapshot when this happens: spike>500MiB, io-latency>200ms,\n"
	  "runq>50ms, 'request:GET*>200ms', loss>0, exit!=0; may be repeated",
	  OPTS_CALL, AT(triggers), lists_add_string },
	{ 0, "trigger-max", "N", "at most so many snapshots by --trigger (default: 10)", OPTS_COUNT,
	  AT(o.flight.trigger_max), .min = 1,
	  .refuse = "at least 1; leave --trigger out for none" },
	{ 0, "mark-fd", "FD", "each line read from this descriptor is a mark", OPTS_CALL,
	  .take = take_mark_fd },
	{ 0, "spans", NULL,
	  "record begins, ends and steps of requests that COMMAND's programs tell of\nby "
	  "ebpfrec.h", OPTS_FLAG, AT(o.spans) },
	{ 0, "request", "PROGRAM:FUNCTION",
	  "record each call of a function, or with usdt:PROGRAM:PROVIDER:BEGIN/END\nwhat is "
	  "between two USDT probes, as a request; may be repeated",
	  OPTS_CALL, AT(requests), lists_add_string },
	{ 0, "span-fd", "FD",
	  "COMMAND may write begins and ends of requests to this descriptor, as\nlines: "
	  "'begin NAME ID', 'end ID', 'step NAME'",
	  OPTS_CALL, .take = take_span_fd },
	{ 0, "ring-size", "SIZE",
	  "size of each ring buffer, such as 16MiB; rounded up to a power of 2", OPTS_SIZE,
	  AT(o.rings.bytes), .min = 4000, .max = 1ull << 30,
	  .refuse = " is out of range; a ring buffer has 4KiB to 1GiB" },
	{ 0, "rings", "N|cpu|cache",
	  "ring buffers: a number, one per CPU or one per last-level cache\n"
	  "(default: cpu; on more than 16 CPUs, one per 8 that share a cache)",
	  OPTS_CALL, AT(o.rings), record_value_rings },
	{ 0, "level", "N", "zstd compression level, 1 to 19 (default: 1); 0: none", OPTS_COUNT,
	  AT(level), .max = 19, .refuse = " is out of range; 0 to 19" },
	{ 0, "max-overhead", "PCT",
	  "turn sources off while recording costs more than this share of the\n"
	  "machine's CPU time, such as 2 or 0.5 (percent); reports mark the gap",
	  OPTS_CALL, AT(o.budget_ppm), record_value_overhead },
	{ 0, "btf", "FILE", "the kernel's BTF, where /sys/kernel/btf/vmlinux is not available",
	  OPTS_TEXT, AT(o.btf_file) },
	{ 0, "html", "FILE", "make a page of charts of the recording, as export --to html does",
	  OPTS_TEXT, AT(html), .refuse = "the name must not be empty" },
	{ 0, "view", NULL, "afterwards serve the recording, as `ebpfrec view` does", OPTS_FLAG,
	  AT(view) },
	{ 'f', "force", NULL, "replace TRACE.old, as is done without -o, and FILE of --html",
	  OPTS_FLAG, AT(o.force) },
	{ 'q', "quiet", NULL, "print no status and no closing lines", OPTS_FLAG, AT(quiet) },
	{ 0, "status", NULL,
	  "draw the live status line even if COMMAND writes to the same\nterminal", OPTS_FLAG,
	  AT(status) },
	{ 0 },
};

const struct opts_command record_opts = {
	.name = "record",
	.about = "Record scheduling, memory and block I/O while a command runs.",
	.synopsis = "[OPTIONS] [--] COMMAND [ARG...]\n"
		    "       ebpfrec record [OPTIONS] -a | -p PID,... | --cgroup PATH | -d DUR",
	.text = "The whole system is recorded; COMMAND (or -p, --cgroup) is marked as the "
		"workload.\n"
		"Recording ends when COMMAND ends, when -d is over, or at Ctrl-C; a second Ctrl-C\n"
		"ends it at once. The exit status is COMMAND's, 126 or 127 if COMMAND could not "
		"be\n"
		"run, and 125 when recording failed. Recording needs root, or CAP_BPF and\n"
		"CAP_PERFMON: see `ebpfrec doctor`.\n",
	.options = options,
	.examples = "  ebpfrec record -- make -j2\n"
		    "  ebpfrec record -d 10s -o night.ebpfrec\n"
		    "  ebpfrec record -e sched,block -p 1234 -d 2m\n"
		    "  ebpfrec record -e +sched.irq,-alloc.slab -- make -j2\n"
		    "  ebpfrec record --only -u \"$USER\" -- ./benchmark --fast\n",
	.bytes = sizeof(struct record),
	.initial = &(const struct record){ .level = LEVEL_DEFAULT, .o.flight.mark_fd = -1 },
	.done = done,
	.rest = take_command,
	.run = run,
};

/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * prog_stats OUT COMMAND...: runs COMMAND while the kernel keeps statistics of BPF programs. Then
 * it writes the runs of each program that is still loaded to OUT, as "name,runs,run_ns" lines.
 * The exit status is COMMAND's.
 *
 * Run it as the workload of a recorder: it then measures every run of the recorder's programs
 * under that load, while the recorder records. Programs of the same name are added up. run_ns
 * includes the two clock reads that measure it.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <bpf/bpf.h>

enum { PROGRAMS_MAX = 1024 };

struct program {
	uint32_t id;
	char name[BPF_OBJ_NAME_LEN];
	uint64_t runs, run_ns;
};

struct programs {
	struct program v[PROGRAMS_MAX];
	unsigned int cnt;
};

static void die(const char *what)
{
	fprintf(stderr, "prog_stats: %s: %s\n", what, strerror(errno));
	exit(125);
}

static void programs_read(struct programs *ps)
{
	__u32 id = 0;

	ps->cnt = 0;
	while (ps->cnt < PROGRAMS_MAX && !bpf_prog_get_next_id(id, &id)) {
		struct program *p = &ps->v[ps->cnt];
		struct bpf_prog_info info = {};
		__u32 len = sizeof(info);
		int fd = bpf_prog_get_fd_by_id(id);

		if (fd < 0)
			continue;	/* unloaded in between */
		if (!bpf_obj_get_info_by_fd(fd, &info, &len)) {
			p->id = id;
			memcpy(p->name, info.name, sizeof(p->name));
			p->name[sizeof(p->name) - 1] = '\0';
			p->runs = info.run_cnt;
			p->run_ns = info.run_time_ns;
			ps->cnt++;
		}
		close(fd);
	}
}

static const struct program *programs_find(const struct programs *ps, uint32_t id)
{
	unsigned int i;

	for (i = 0; i < ps->cnt; i++) {
		if (ps->v[i].id == id)
			return &ps->v[i];
	}
	return NULL;
}

/* Stores the runs of each program between the two readings in after, one entry per name. */
static void programs_subtract(struct programs *after, const struct programs *before)
{
	unsigned int i, k, kept = 0;

	for (i = 0; i < after->cnt; i++) {
		struct program p = after->v[i];
		const struct program *was = programs_find(before, p.id);

		p.runs -= was ? was->runs : 0;
		p.run_ns -= was ? was->run_ns : 0;
		for (k = 0; k < kept && strcmp(after->v[k].name, p.name); k++)
			;
		if (k == kept) {
			after->v[kept++] = p;
		} else {
			after->v[k].runs += p.runs;
			after->v[k].run_ns += p.run_ns;
		}
	}
	after->cnt = kept;
}

int main(int argc, char **argv)
{
	static struct programs before, after;
	int stats, status;
	unsigned int i;
	FILE *out;
	pid_t pid;

	if (argc < 3) {
		fprintf(stderr, "usage: prog_stats OUT COMMAND [ARG...]\n");
		return 125;
	}
	out = fopen(argv[1], "we");
	if (!out)
		die(argv[1]);
	stats = bpf_enable_stats(BPF_STATS_RUN_TIME);
	if (stats < 0)
		die("BPF_ENABLE_STATS (needs root, kernel 5.8 or later)");
	programs_read(&before);
	pid = fork();
	if (pid < 0)
		die("fork");
	if (pid == 0) {
		execvp(argv[2], argv + 2);
		die(argv[2]);
	}
	if (waitpid(pid, &status, 0) < 0)
		die("waitpid");
	programs_read(&after);
	close(stats);
	programs_subtract(&after, &before);
	for (i = 0; i < after.cnt; i++) {
		if (after.v[i].runs)
			fprintf(out, "%s,%llu,%llu\n", after.v[i].name,
				(unsigned long long)after.v[i].runs,
				(unsigned long long)after.v[i].run_ns);
	}
	if (fclose(out) != 0)
		die(argv[1]);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

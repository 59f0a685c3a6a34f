/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Which CPU writes to which ring, on machines of 1 to 1,000 CPUs made of files. */
#include <sys/stat.h>

#include "probe/rings.h"
#include "tests/unit/unit_test.h"

#define CPUS_MAX 1024

static void write_file(const char *dir, const char *name, const char *text)
{
	char path[512];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

/*
 * A machine: cpu_cnt CPUs, `cache` neighbours share each last-level cache; with smt, CPU n and n +
 * cpu_cnt / 2 are threads of one core.
 */
struct machine {
	unsigned int cpu_cnt, cache;
	int smt;
	char dir[64];
	unsigned int group[CPUS_MAX], ring[CPUS_MAX], most;
};

static void make_cache(const struct machine *m, unsigned int cpu, int index, int level,
		       unsigned int share)
{
	unsigned int half = m->smt ? m->cpu_cnt / 2 : m->cpu_cnt, core = cpu % half;
	unsigned int first = core / share * share, last = first + share - 1;
	char dir[256], text[96];

	if (last >= half)
		last = half - 1;
	snprintf(dir, sizeof(dir), "%s/cpu%u/cache/index%d", m->dir, cpu, index);
	assert_int_equal(mkdir(dir, 0700), 0);
	snprintf(text, sizeof(text), "%d\n", level);
	write_file(dir, "level", text);
	if (m->smt)
		snprintf(text, sizeof(text), "%u-%u,%u-%u\n", first, last, first + half,
			 last + half);
	else if (first == last)
		snprintf(text, sizeof(text), "%u\n", first);
	else
		snprintf(text, sizeof(text), "%u-%u\n", first, last);
	write_file(dir, "shared_cpu_list", text);
}

static void make(struct machine *m)
{
	char dir[128];

	/* tens of thousands of files in all: in memory, if there is such a place */
	snprintf(m->dir, sizeof(m->dir), "%s/test_topology.XXXXXX",
		 access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm");
	assert_non_null(mkdtemp(m->dir));
	for (unsigned int cpu = 0; cpu < m->cpu_cnt; cpu++) {
		snprintf(dir, sizeof(dir), "%s/cpu%u", m->dir, cpu);
		assert_int_equal(mkdir(dir, 0700), 0);
		strcat(dir, "/cache");
		assert_int_equal(mkdir(dir, 0700), 0);
		make_cache(m, cpu, 0, 1, 1);
		make_cache(m, cpu, 1, 2, 1);
		make_cache(m, cpu, 2, 3, m->cache);
	}
	topology_read(m->dir, m->cpu_cnt, m->group);
}

static void drop(const struct machine *m)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf %s", m->dir);
	assert_int_equal(system(command), 0);
}

/*
 * Assigns CPUs to rings, and checks the invariants of every machine. Returns the number of rings.
 */
static unsigned int deal(struct machine *m, enum ring_sharing sharing, unsigned int cnt)
{
	unsigned int rings = topology_deal(m->group, NULL, m->cpu_cnt, sharing, cnt, m->ring);
	unsigned int load[CPUS_MAX] = {}, i;

	assert_in_range(rings, 1, m->cpu_cnt);
	m->most = 0;
	for (i = 0; i < m->cpu_cnt; i++) {
		assert_true(m->ring[i] < rings);
		if (++load[m->ring[i]] > m->most)
			m->most = load[m->ring[i]];
	}
	for (i = 0; i < rings; i++)
		assert_true(load[i] > 0);
	return rings;
}

/* Whether all CPUs of each ring share one cache. */
static int keeps_caches(const struct machine *m)
{
	unsigned int a, b;

	for (a = 0; a < m->cpu_cnt; a++) {
		for (b = 0; b < a; b++) {
			if (m->ring[a] == m->ring[b] && m->group[a] != m->group[b])
				return 0;
		}
	}
	return 1;
}

UNIT_TEST(test_topology_reads_the_last_level_cache)
{
	struct machine m = { .cpu_cnt = 16, .cache = 4, .smt = 1 };

	make(&m);
	assert_int_equal(m.group[0], 0);
	assert_int_equal(m.group[3], 0);
	assert_int_equal(m.group[4], 4);
	assert_int_equal(m.group[8], 0);	/* the other thread of core 0 */
	assert_int_equal(m.group[15], 4);
	drop(&m);
}

UNIT_TEST(test_topology_without_files_every_cpu_is_alone)
{
	unsigned int group[3], ring[3];

	topology_read("/nonexistent", 3, group);
	assert_int_equal(group[0], 0);
	assert_int_equal(group[2], 2);
	assert_int_equal(topology_deal(group, NULL, 3, RINGS_PER_CACHE, 0, ring), 3);
}

/* CPU 0 is off: it has no cache directory, and the others still name it first. */
UNIT_TEST(test_topology_leader_that_is_off)
{
	struct machine m = { .cpu_cnt = 4, .cache = 4 };
	char command[128];

	make(&m);
	snprintf(command, sizeof(command), "rm -rf %s/cpu0/cache", m.dir);
	assert_int_equal(system(command), 0);
	topology_read(m.dir, 4, m.group);
	assert_int_equal(deal(&m, RINGS_PER_CACHE, 0), 1);
	drop(&m);
}

/*
 * The defaults of a machine: few threads, bounded memory, no ring across caches unless it must be.
 */
UNIT_TEST(test_topology_default_by_size)
{
	static const struct {
		unsigned int cpu_cnt, cache;
		int smt;
		unsigned int rings, most;
		int keeps;
	} want[] = {
		{ 1, 1, 0, 1, 1, 1 },	   { 2, 2, 0, 2, 1, 1 },     { 16, 8, 1, 16, 1, 1 },
		{ 64, 8, 0, 8, 8, 1 },	   { 64, 4, 1, 8, 8, 1 },    { 64, 64, 0, 8, 8, 1 },
		{ 200, 10, 0, 40, 5, 1 },  { 200, 50, 1, 26, 8, 1 }, { 192, 1, 0, 64, 3, 0 },
		{ 1000, 8, 0, 64, 16, 0 }, { 1000, 125, 0, 64, 16, 1 },
	};

	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		struct machine m = { .cpu_cnt = want[i].cpu_cnt, .cache = want[i].cache,
				     .smt = want[i].smt };
		unsigned int rings;

		make(&m);
		rings = deal(&m, RINGS_AUTO, 0);
		drop(&m);
		if (rings != want[i].rings || m.most > want[i].most ||
		    keeps_caches(&m) != want[i].keeps)
			fail_msg("%u CPUs, %u a cache: %u rings, up to %u CPUs each, %s caches",
				 m.cpu_cnt, m.cache, rings, m.most,
				 keeps_caches(&m) ? "within" : "across");
		/* threads, and memory of the rings: half a gigabyte on the largest */
		assert_true(rings <= 64);
		assert_true(rings * RINGS_DEFAULT_BYTES <= 512ULL << 20);
	}
}

/* A virtual machine that CPUs can be added to: two of 64 are online, with a cache each. */
UNIT_TEST(test_topology_cpus_that_are_off_have_no_ring_of_their_own)
{
	struct machine m = { .cpu_cnt = 64, .cache = 1 };
	bool online[64] = {};
	unsigned int load[2] = {}, cpu;

	make(&m);
	write_file(m.dir, "online", "5,63\n");
	topology_online(m.dir, 64, online);
	drop(&m);
	assert_int_equal(topology_deal(m.group, online, 64, RINGS_AUTO, 0, m.ring), 2);
	assert_int_equal(m.ring[5], 0);
	assert_int_equal(m.ring[63], 1);
	for (cpu = 0; cpu < 64; cpu++) {
		assert_true(m.ring[cpu] < 2);
		load[m.ring[cpu]]++;
	}
	assert_int_equal(load[0], 32);
	assert_int_equal(topology_deal(m.group, online, 64, RINGS_COUNT, 1, m.ring), 1);
	assert_int_equal(m.ring[40], 0);
}

UNIT_TEST(test_topology_as_asked)
{
	struct machine m = { .cpu_cnt = 64, .cache = 16, .smt = 1 };

	make(&m);
	assert_int_equal(deal(&m, RINGS_PER_CPU, 0), 64);
	assert_int_equal(deal(&m, RINGS_PER_CACHE, 0), 2);
	assert_true(keeps_caches(&m));
	assert_int_equal(deal(&m, RINGS_COUNT, 4), 4);
	assert_true(keeps_caches(&m));
	assert_int_equal(m.most, 16);
	assert_int_equal(deal(&m, RINGS_COUNT, 7), 7);
	assert_int_equal(deal(&m, RINGS_COUNT, 1), 1);
	assert_int_equal(deal(&m, RINGS_COUNT, 1000), 64);
	drop(&m);
}

/* The kernel takes sizes that are a power of two and a multiple of the page size. */
UNIT_TEST(test_rings_have_sizes_the_kernel_takes)
{
	static const uint64_t bytes[] = { 0, 4096, 5000, 1 << 20 };

	for (size_t i = 0; i < sizeof(bytes) / sizeof(bytes[0]); i++) {
		struct rings_config c = { .sharing = RINGS_COUNT, .cnt = 1, .bytes = bytes[i] };
		struct rings r;

		assert_int_equal(rings_plan(&r, &c, 64), 0);
		assert_int_equal(r.cnt, 1);
		assert_int_equal(r.bytes & (r.bytes - 1), 0);
		assert_true(r.bytes >= bytes[i]);
		assert_int_equal(r.bytes % 4096, 0);
		assert_int_equal(r.wake_bytes & (r.wake_bytes - 1), 0);
		rings_done(&r);
	}
}

UNIT_TESTS

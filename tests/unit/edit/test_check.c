/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * check and repair: damage of every kind is found with its place, and nothing else is reported.
 * repair writes all the rest, byte for byte, and its output passes the check. The old trace does
 * not change.
 */
#include <sys/stat.h>

#include "base/crc32c.h"
#include "format/chunk.h"
#include "edit/trace_copy.h"
#include "store/manifest.h"
#include "trace/trace_read.h"
#include "tests/unit/gen/gen_trace.h"
#include "tests/unit/gen/made_files.h"
#include "tests/unit/unit_test.h"

#define BLOCKS 6

static char dir[64], path[80], fixed[96];
static struct trace_block blocks[BLOCKS];

/* Two blocks in each of three files. */
static void make(bool finish)
{
	struct gen_mix m = { .seed = 4, .now_ns = 1000000 };
	struct gen *g;
	struct trace *t;
	size_t cnt;

	/* in memory if there is a place: a repair waits for the disk */
	snprintf(dir, sizeof(dir), "/dev/shm/ebpfrec-check.XXXXXX");
	if (!mkdtemp(dir))
		gen_temp_dir(dir);
	snprintf(path, sizeof(path), "%s/t", dir);
	snprintf(fixed, sizeof(fixed), "%s/fixed", dir);
	g = gen_open(path, &(struct gen_config){ .from_ns = m.now_ns, .file_bytes = 45000 });
	gen_mix_start(g, &m);
	for (int i = 0; i < BLOCKS; i++) {
		gen_mix_run(g, &m, 2000);
		gen_slice(g, ++m.now_ns);
	}
	gen_mix_done(&m);
	if (finish)
		gen_finish(g);
	else
		gen_abort(g);
	assert_int_equal(trace_open(&t, path, NULL), 0);
	memcpy(blocks, trace_blocks(t, &cnt), sizeof(blocks));
	assert_int_equal(cnt, BLOCKS);
	for (int i = 0; i < BLOCKS; i++)
		blocks[i].file = strdup(blocks[i].file);
	trace_close(t);
	assert_string_equal(blocks[0].file, blocks[1].file);
	assert_string_not_equal(blocks[1].file, blocks[2].file);
	assert_string_equal(blocks[4].file, "chunk-000002.ebr");
}

static void unmake(void)
{
	for (int i = 0; i < BLOCKS; i++)
		free((char *)blocks[i].file);
	gen_remove_dir(dir);
}

static int open_file(const char *file)
{
	int fd;

	fd = open(file_in(path, "%s", file), O_RDWR);
	assert_true(fd >= 0);
	return fd;
}

static void flip(const char *file, uint64_t offset)
{
	file_flip(file_in(path, "%s", file), offset, 0x10);
}

struct parts {
	struct check_part p[40];
	char file[40][32];
	int cnt;
};

static int on_part(void *ctx, const struct check_part *p)
{
	struct parts *s = ctx;

	assert_true(s->cnt < 40);
	snprintf(s->file[s->cnt], 32, "%s", p->file);
	s->p[s->cnt] = *p;
	s->p[s->cnt].file = s->file[s->cnt];
	s->cnt++;
	return 0;
}

static struct check_result check(const char *what, struct parts *s)
{
	struct check_result r;
	struct trace *t;

	memset(s, 0, sizeof(*s));
	assert_int_equal(trace_open_anyway(&t, what, NULL), 0);
	assert_int_equal(trace_check(t, on_part, s, &r, NULL), 0);
	trace_close(t);
	return r;
}

static const struct check_part *find(const struct parts *s, enum check_status status, int skip)
{
	for (int i = 0; i < s->cnt; i++)
		if (s->p[i].status == status && !skip--)
			return &s->p[i];
	return NULL;
}

static uint64_t hash_tree(void)
{
	char command[400], out[64] = "";
	FILE *f;

	snprintf(command, sizeof(command),
		 "cat %s/* | cksum; ls -l --time-style=full-iso %s | cksum", path, path);
	f = popen(command, "r");
	assert_non_null(f);
	assert_non_null(fgets(out, sizeof(out), f));
	pclose(f);
	return strtoull(out, NULL, 10);
}

/* Repairs the trace, and compares the result with the blocks in the mask. */
static void repair(unsigned int want)
{
	uint64_t was = hash_tree();
	struct check_result c;
	struct repair_result r;
	struct parts s;
	struct trace *t;
	const struct trace_block *b;
	size_t cnt, i, k;

	assert_int_equal(trace_open_anyway(&t, path, NULL), 0);
	assert_int_equal(trace_check(t, NULL, NULL, &c, NULL), 0);
	assert_int_equal(trace_repair(t, fixed, &r, NULL), 0);
	trace_close(t);
	assert_int_equal(hash_tree(), was);
	assert_int_equal(r.block_cnt, __builtin_popcount(want));
	c = check(fixed, &s);
	assert_int_equal(c.damaged_cnt, 0);
	assert_int_equal(c.block_cnt, r.block_cnt);
	assert_int_equal(trace_open(&t, fixed, NULL), 0);
	assert_true(trace_is_finished(t));
	assert_string_equal(trace_get(t, "repaired"), "1");
	b = trace_blocks(t, &cnt);
	for (i = k = 0; i < BLOCKS; i++) {
		uint8_t *x, *y;
		int fd;

		if (!(want & 1u << i))
			continue;
		assert_int_equal(b[k].from_ns, blocks[i].from_ns);
		assert_int_equal(b[k].bytes, blocks[i].bytes);
		x = malloc(b[k].bytes);
		y = malloc(b[k].bytes);
		fd = open_file(blocks[i].file);
		assert_int_equal(pread(fd, x, b[k].bytes, (off_t)blocks[i].offset),
				 (ssize_t)b[k].bytes);
		close(fd);
		fd = open(file_in(fixed, "%s", b[k].file), O_RDONLY);
		assert_int_equal(pread(fd, y, b[k].bytes, (off_t)b[k].offset), (ssize_t)b[k].bytes);
		close(fd);
		assert_memory_equal(x, y, b[k].bytes);
		free(x);
		free(y);
		k++;
	}
	assert_int_equal(k, cnt);
	trace_close(t);
	gen_remove_dir(fixed);
}

UNIT_TEST(test_whole_trace_is_whole)
{
	struct check_result r;
	struct parts s;

	make(true);
	r = check(path, &s);
	assert_int_equal(r.damaged_cnt, 0);
	assert_int_equal(r.note_cnt, 0);
	assert_int_equal(r.block_cnt, BLOCKS);
	assert_int_equal(r.missing_ns, 0);
	assert_int_equal(r.valid_to_ns, blocks[BLOCKS - 1].to_ns);
	/* the manifest and three files, a stretch each */
	assert_int_equal(s.cnt, 4);
	assert_int_equal(s.p[2].offset, blocks[2].offset);
	assert_int_equal(s.p[2].bytes, blocks[2].bytes + blocks[3].bytes);
	repair(0x3f);
	unmake();
}

UNIT_TEST(test_killed_recorder_is_no_damage)
{
	struct parts s;
	struct check_result r;

	make(false);
	r = check(path, &s);
	assert_int_equal(r.damaged_cnt, 0);
	assert_int_equal(r.note_cnt, 0);
	repair(0x3f);
	unmake();
}

UNIT_TEST(test_damage_is_placed_in_file_and_time)
{
	const struct check_part *p;
	struct check_result r;
	struct parts s;

	make(true);
	flip(blocks[3].file, blocks[3].offset + blocks[3].bytes - 30);
	r = check(path, &s);
	assert_int_equal(r.damaged_cnt, 1);
	assert_int_equal(r.damaged_bytes, blocks[3].bytes);
	assert_int_equal(r.valid_to_ns, blocks[2].to_ns);
	assert_int_equal(r.missing_ns, blocks[3].to_ns - blocks[3].from_ns);
	p = find(&s, CHECK_DAMAGED, 0);
	assert_string_equal(p->file, blocks[3].file);
	assert_int_equal(p->offset, blocks[3].offset);
	assert_int_equal(p->from_ns, blocks[3].from_ns);
	assert_int_equal(p->to_ns, blocks[3].to_ns);
	assert_non_null(strstr(p->reason, "checksum"));
	repair(0x37);
	unmake();
}

UNIT_TEST(test_lost_file_is_a_hole)
{
	const struct check_part *p;
	struct check_result r;
	struct parts s;

	make(true);
	assert_int_equal(unlink(file_in(path, "%s", blocks[2].file)), 0);
	r = check(path, &s);
	assert_int_equal(r.damaged_cnt, 1);
	p = find(&s, CHECK_DAMAGED, 0);
	assert_int_equal(p->from_ns, blocks[1].to_ns);
	assert_int_equal(p->to_ns, blocks[4].from_ns);
	assert_int_equal(r.missing_ns, p->to_ns - p->from_ns);
	blocks[2].bytes = 0;
	assert_int_equal(r.block_cnt, BLOCKS - 2);
	unmake();
}

/* 64 of them: a manifest or a name may say that there were millions. */
UNIT_TEST(test_of_many_lost_files_the_first_are_named)
{
	const struct trace_damage *d;
	size_t cnt, i, named = 0;
	char from[160];
	struct trace *t;

	make(true);
	assert_int_equal(rename(file_in(path, "%s", blocks[4].file),
				file_in(path, "chunk-000102.ebr")), 0);
	assert_int_equal(trace_open_anyway(&t, path, NULL), 0);
	d = trace_damages(t, &cnt);
	for (i = 0; i < cnt; i++) {
		if (strcmp(d[i].reason, TRACE_FILE_MISSING))
			continue;
		snprintf(from, sizeof(from), "chunk-%06zu.ebr", 2 + named++);
		assert_string_equal(d[i].file, from);
	}
	assert_int_equal(named, 64);
	trace_close(t);
	unmake();
}

/* A block that was whole when the trace was opened is read again when it is copied. */
UNIT_TEST(test_a_block_that_breaks_meanwhile_is_not_copied)
{
	struct repair_result r;
	struct err e = { "" };
	struct stat st;
	struct trace *t;

	make(true);
	assert_int_equal(trace_open(&t, path, NULL), 0);
	flip(blocks[3].file, blocks[3].offset + blocks[3].bytes - 30);
	assert_int_equal(trace_repair(t, fixed, &r, &e), -EIO);
	assert_non_null(strstr(e.text, "is damaged now"));
	assert_int_equal(stat(fixed, &st), -1);
	trace_close(t);
	unmake();
}

/* Corrects the checksums after wrong values were written. */
static void forge(uint64_t number, void (*lie)(uint8_t *block))
{
	const struct trace_block *b = &blocks[number];
	uint8_t *p = malloc(b->bytes);
	int fd = open_file(b->file);
	struct disk_section s;
	struct disk_block h;
	uint64_t at;

	assert_int_equal(pread(fd, p, b->bytes, (off_t)b->offset), (ssize_t)b->bytes);
	lie(p);
	memcpy(&h, p, sizeof(h));
	at = h.head_bytes;
	for (unsigned int i = 0; i < h.section_cnt; i++) {
		memcpy(&s, p + sizeof(h) + i * sizeof(s), sizeof(s));
		s.crc = crc32c(0, p + at, s.stored_bytes);
		memcpy(p + sizeof(h) + i * sizeof(s), &s, sizeof(s));
		at += s.stored_bytes;
	}
	h.table_crc = crc32c(0, p + sizeof(h), h.section_cnt * sizeof(s));
	h.head_crc = crc32c(0, &h, offsetof(struct disk_block, head_crc));
	memcpy(p, &h, sizeof(h));
	assert_int_equal(pwrite(fd, p, b->bytes, (off_t)b->offset), (ssize_t)b->bytes);
	close(fd);
	free(p);
}

static uint64_t section_at(const uint8_t *p, unsigned int type, struct disk_section *ret)
{
	struct disk_block h;
	uint64_t at;

	memcpy(&h, p, sizeof(h));
	at = h.head_bytes;
	for (unsigned int i = 0; i < h.section_cnt; i++) {
		memcpy(ret, p + sizeof(h) + i * sizeof(*ret), sizeof(*ret));
		if (ret->type == type)
			return at;
		at += ret->stored_bytes;
	}
	fail_msg("no section %u", type);
	return 0;
}

static void lie_about_times(uint8_t *p)
{
	struct disk_block h;

	memcpy(&h, p, sizeof(h));
	h.last_ns++;
	memcpy(p, &h, sizeof(h));
}

static void lie_about_counts(uint8_t *p)
{
	struct disk_block h;

	memcpy(&h, p, sizeof(h));
	h.kind_cnt[EVENT_SWITCH]--;
	memcpy(p, &h, sizeof(h));
}

static void lie_about_columns(uint8_t *p)
{
	struct disk_section s;
	uint64_t at = section_at(p, CHUNK_COLUMN, &s);

	/* of a section that its checksum calls right; the CPU runs come first */
	memset(p + at, 0xff, s.stored_bytes);
}

UNIT_TEST(test_lies_with_right_checksums_are_found)
{
	static const struct {
		void (*lie)(uint8_t *block);
		const char *says;
	} lies[] = {
		{ lie_about_times, "times" },
		{ lie_about_counts, "column" },
		{ lie_about_columns, "column" },
	};
	const struct check_part *p;
	struct check_result r;
	struct parts s;

	for (size_t i = 0; i < sizeof(lies) / sizeof(*lies); i++) {
		make(true);
		forge(1, lies[i].lie);
		r = check(path, &s);
		assert_int_equal(r.damaged_cnt, 1);
		p = find(&s, CHECK_DAMAGED, 0);
		assert_int_equal(p->offset, blocks[1].offset);
		if (!strstr(p->reason, lies[i].says))
			fail_msg("lie %zu: '%s' says nothing about %s", i, p->reason, lies[i].says);
		repair(0x3d);
		unmake();
	}
}

UNIT_TEST(test_strangers_and_manifest)
{
	struct check_result r;
	struct err e = { "" };
	struct trace *t;
	char name[160];
	struct parts s;

	make(true);
	/* a recorder's, which has ended */
	snprintf(name, sizeof(name), "%s/control", path);
	file_write(name, "", 0);
	r = check(path, &s);
	assert_int_equal(r.note_cnt, 1);
	assert_string_equal(find(&s, CHECK_NOTE, 0)->file, "control");
	assert_int_equal(unlink(name), 0);
	file_write(file_in(path, "notes.txt"), "", 0);
	r = check(path, &s);
	assert_int_equal(r.damaged_cnt, 0);
	assert_int_equal(r.note_cnt, 1);
	assert_string_equal(find(&s, CHECK_NOTE, 0)->file, "notes.txt");
	/*
	 * Without its manifest it is still a trace for check and repair, but for no other
	 * command.
	 */
	assert_int_equal(unlink(file_in(path, "manifest")), 0);
	assert_int_equal(trace_open(&t, path, &e), -EINVAL);
	r = check(path, &s);
	assert_int_equal(r.damaged_cnt, 1);
	assert_string_equal(s.p[0].file, "manifest");
	assert_int_equal(s.p[0].status, CHECK_DAMAGED);
	repair(0x3f);
	unmake();
}

/*
 * Whether the trace opens with all its blocks and shows that its manifest is damaged. has_head: the
 * first line is there, so that every command opens it; otherwise check and repair do.
 */
static bool notices(const char *what, size_t at, bool has_head)
{
	const struct trace_damage *d;
	size_t damage_cnt, block_cnt;
	struct trace *t;
	bool yes;

	if ((has_head ? trace_open(&t, path, NULL) : trace_open_anyway(&t, path, NULL)) < 0) {
		print_error("%s at %zu: is not opened\n", what, at);
		return false;
	}
	d = trace_damages(t, &damage_cnt);
	trace_blocks(t, &block_cnt);
	yes = damage_cnt == has_head && (!has_head || !strcmp(d->file, "manifest")) &&
	      !trace_get(t, "state") && !trace_get(t, "page_bytes") &&
	      trace_get(t, "manifest.lost") && block_cnt == BLOCKS;
	if (!yes)
		print_error("%s at %zu: is not noticed, or costs blocks\n", what, at);
	trace_close(t);
	return yes;
}

static void assert_manifest_is_named(void)
{
	struct parts s;
	struct check_result r = check(path, &s);

	assert_int_equal(r.damaged_cnt, 1);
	assert_string_equal(s.p[0].file, "manifest");
	assert_int_equal(s.p[0].status, CHECK_DAMAGED);
	assert_int_equal(r.block_cnt, BLOCKS);
}

/* Any bit of the manifest changes, or its end is missing. */
UNIT_TEST(test_manifest_changed_anywhere)
{
	char name[160];
	struct parts s;
	size_t bytes, i;
	uint8_t *text;

	make(true);
	snprintf(name, sizeof(name), "%s/manifest", path);
	text = file_read(name, &bytes);
	assert_in_range(bytes, 150, 999);
	for (i = 0; i < bytes * 8; i++) {
		text[i / 8] ^= (uint8_t)(1 << i % 8);
		file_write(name, text, bytes);
		assert_true(notices("bit", i, true));
		if (i % 31 == 0)
			assert_manifest_is_named();
		text[i / 8] ^= (uint8_t)(1 << i % 8);
	}
	for (i = 0; i < bytes; i++) {
		file_write(name, text, i);
		assert_true(notices("end", i, i >= strlen("ebpfrec trace 2\n")));
		if (i % 31 == 0)
			assert_manifest_is_named();
	}
	file_write(name, text, bytes);
	free(text);
	assert_int_equal(check(path, &s).damaged_cnt, 0);
	unmake();
}

/* The manifest of the repaired trace says "from to" of its first gap. */
static void declare_gap(unsigned long long from_ns, unsigned long long to_ns)
{
	const char *name = file_in(fixed, "manifest");
	struct manifest m = { 0 };
	char value[64], *made;
	size_t bytes;
	char *text = (char *)file_read(name, &bytes);

	assert_int_equal(manifest_parse(&m, text, bytes), 0);
	snprintf(value, sizeof(value), "%llu %llu", from_ns, to_ns);
	assert_int_equal(manifest_set(&m, "repaired.gap.0", value), 0);
	assert_int_equal(manifest_format(&m, &made, &bytes), 0);
	file_write(name, made, bytes);
	free(made);
	free(text);
	manifest_done(&m);
}

UNIT_TEST(test_a_hole_is_declared_from_its_start_to_its_end)
{
	uint64_t from_ns, to_ns;
	struct check_result c;
	struct repair_result r;
	struct trace *t;
	struct parts s;

	make(true);
	flip(blocks[3].file, blocks[3].offset + blocks[3].bytes - 30);
	assert_int_equal(trace_open_anyway(&t, path, NULL), 0);
	assert_int_equal(trace_check(t, NULL, NULL, &c, NULL), 0);
	assert_int_equal(trace_repair(t, fixed, &r, NULL), 0);
	trace_close(t);
	from_ns = blocks[2].to_ns;
	to_ns = blocks[4].from_ns;
	assert_int_equal(check(fixed, &s).damaged_cnt, 0);
	declare_gap(from_ns, to_ns);
	assert_int_equal(check(fixed, &s).damaged_cnt, 0);
	declare_gap(from_ns, to_ns - 1);
	assert_int_equal(check(fixed, &s).damaged_cnt, 1);
	declare_gap(from_ns + 1, to_ns);
	assert_int_equal(check(fixed, &s).damaged_cnt, 1);
	unmake();
}

UNIT_TEST(test_repair_refuses)
{
	struct repair_result r;
	struct check_result c;
	struct err e = { "" };
	char name[160];
	struct trace *t;
	struct stat st;

	make(true);
	assert_int_equal(trace_open(&t, path, &e), 0);
	assert_int_equal(trace_check(t, NULL, NULL, &c, &e), 0);
	/* over anything, a link too */
	assert_int_equal(trace_repair(t, path, &r, &e), -EEXIST);
	assert_int_equal(symlink("nowhere", fixed), 0);
	assert_int_equal(trace_repair(t, fixed, &r, &e), -EEXIST);
	unlink(fixed);
	/* output inside the old trace, by any path */
	memset(&e, 0, sizeof(e));
	assert_int_equal(trace_repair(t, file_in(path, "new"), &r, &e), -EINVAL);
	assert_non_null(strstr(e.text, "inside"));
	assert_int_equal(symlink("t", fixed), 0);
	snprintf(name, sizeof(name), "%s/new", fixed);
	assert_int_equal(trace_repair(t, name, &r, NULL), -EINVAL);
	unlink(fixed);
	assert_int_equal(stat(name, &st), -1);
	assert_int_equal(trace_repair(t, file_in(dir, "no/such"), &r, NULL), -ENOENT);
	trace_close(t);
	/* nothing valid: no new trace */
	for (int i = 0; i < BLOCKS; i++)
		flip(blocks[i].file, blocks[i].offset + 20);
	assert_int_equal(trace_open(&t, path, &e), 0);
	assert_int_equal(trace_check(t, NULL, NULL, &c, &e), 0);
	assert_int_equal(trace_repair(t, fixed, &r, NULL), -ENODATA);
	assert_int_equal(stat(fixed, &st), -1);
	trace_close(t);
	unmake();
}

/*
 * A byte changes anywhere: repair saves all parts that check calls valid, and the result is whole.
 */
UNIT_TEST(test_repair_after_any_flip)
{
	uint64_t seed = 11;

	make(true);
	for (int i = 0; i < 60; i++) {
		uint64_t r = gen_random(&seed);
		const struct trace_block *b = &blocks[r % BLOCKS];
		uint64_t at = b->offset + (r >> 8) % (b->bytes - 8);
		struct check_result c;
		struct parts s;

		flip(b->file, at);
		c = check(path, &s);
		assert_int_equal(c.block_cnt, BLOCKS - 1);
		assert_int_equal(c.damaged_cnt, 1);
		repair(0x3fu & ~(1u << r % BLOCKS));
		flip(b->file, at);
	}
	unmake();
}

UNIT_TESTS

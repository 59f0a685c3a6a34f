/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * trace_redact: redacts block by block. Every small section is decoded, and its known fields are
 * written again; event columns contain only numbers and are copied as stored. The copy has a single
 * chunk file, so that the first block of each file still lists all tasks, as in the old trace.
 */
#include "edit/trace_redact.h"

#include <ctype.h>
#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/buf.h"
#include "base/cgroup_path.h"
#include "base/hash_map.h"
#include "base/strpool.h"
#include "edit/trace_copy.h"
#include "format/block.h"
#include "store/store_writer.h"
#include "symbol/elf_symbols.h"
#include "trace/trace_read.h"

/*
 * redact_words: splits a string into parts (components of a path, words of a command line),
 * replaces each part by its pseudonym, and joins the parts again. Results are cached, because most
 * strings occur in every block.
 */

/*
 * pseudonym: computed with SipHash-2-4 (Aumasson and Bernstein, 2012), a pseudo-random function
 * with a 128-bit key, and stored in a dictionary of all words assigned so far.
 */

#define DIGITS_FIRST 6
#define DIGITS_LAST  16

struct pseudonyms {
	uint8_t key[PSEUDONYM_KEY_BYTES];
	struct strpool *pool;
	struct hash_map words;	/* address of the string in the pool -> word */
	struct hash_map taken;	/* id of a word -> word */
	struct hash_map numbers, numbers_taken;	/* number -> pseudonym + 1; set of used offsets */
};

static uint64_t rotate(uint64_t v, unsigned int bits)
{
	return v << bits | v >> (64 - bits);
}

static void sip_round(uint64_t v[4])
{
	v[0] += v[1];
	v[2] += v[3];
	v[1] = rotate(v[1], 13) ^ v[0];
	v[3] = rotate(v[3], 16) ^ v[2];
	v[0] = rotate(v[0], 32);
	v[2] += v[1];
	v[0] += v[3];
	v[1] = rotate(v[1], 17) ^ v[2];
	v[3] = rotate(v[3], 21) ^ v[0];
	v[2] = rotate(v[2], 32);
}

static uint64_t siphash(const uint8_t key[PSEUDONYM_KEY_BYTES], const void *data, size_t bytes)
{
	const uint8_t *p = data;
	uint64_t k[2], m, v[4];
	size_t left = bytes;

	memcpy(k, key, sizeof(k));
	v[0] = k[0] ^ 0x736f6d6570736575ull;
	v[1] = k[1] ^ 0x646f72616e646f6dull;
	v[2] = k[0] ^ 0x6c7967656e657261ull;
	v[3] = k[1] ^ 0x7465646279746573ull;
	for (;; p += 8, left -= 8) {
		m = 0;
		memcpy(&m, p, left < 8 ? left : 8);
		if (left < 8)
			m |= (uint64_t)bytes << 56;
		v[3] ^= m;
		sip_round(v);
		sip_round(v);
		v[0] ^= m;
		if (left < 8)
			break;
	}
	v[2] ^= 0xff;
	for (int i = 0; i < 4; i++)
		sip_round(v);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}

/* Derives a key from a text of any length. The key is as hard to guess as the text. */
static void pseudonym_key_from(uint8_t key[PSEUDONYM_KEY_BYTES], const void *text, size_t bytes)
{
	static const uint8_t half[2][PSEUDONYM_KEY_BYTES] = { "ebpfrec salt 0", "ebpfrec salt 1" };

	for (int i = 0; i < 2; i++) {
		uint64_t h = siphash(half[i], text, bytes);

		memcpy(key + 8 * i, &h, sizeof(h));
	}
}

/* Returns 0 or -ENOMEM. */
static int pseudonyms_new(struct pseudonyms **ret, const uint8_t key[PSEUDONYM_KEY_BYTES])
{
	struct pseudonyms *p = calloc(1, sizeof(*p));

	if (!p || strpool_new(&p->pool)) {
		free(p);
		return -ENOMEM;
	}
	memcpy(p->key, key, sizeof(p->key));
	*ret = p;
	return 0;
}

/* Frees p and wipes its key. */
static void pseudonyms_free(struct pseudonyms *p)
{
	if (!p)
		return;
	strpool_free(p->pool);
	hash_map_done(&p->words);
	hash_map_done(&p->taken);
	hash_map_done(&p->numbers);
	hash_map_done(&p->numbers_taken);
	explicit_bzero(p->key, sizeof(p->key));
	free(p);
}

/*
 * Letters of words. There are no digits, since names that differ only in digits count as the same
 * role (role.h), and no vowels, so that words do not look like real ones.
 */
static const char letters[] = "bcdfghjklmnpqrst";

/* Returns the shortest unused word for a hash. NULL: all are in use, or no memory (*ret_err). */
static const char *take_word(struct pseudonyms *p, uint64_t hash, int *ret_err)
{
	char text[PSEUDONYM_WORD_MAX], word[PSEUDONYM_WORD_MAX];
	const char *kept;

	*ret_err = 0;
	for (size_t i = 0; i < sizeof(text) - 1; i++)
		text[i] = letters[hash >> (60 - 4 * i) & 15];
	text[sizeof(text) - 1] = 0;
	for (int n = DIGITS_FIRST; n <= DIGITS_LAST; n += 2) {
		/*
		 * The id contains the first n digits and n: words of different lengths have
		 * different ids.
		 */
		uint64_t id = n == DIGITS_LAST ? hash :
						 (hash >> (64 - 4 * n)) << 4 | (uint64_t)n / 2;

		if (hash_map_get(&p->taken, id))
			continue;
		snprintf(word, sizeof(word), "%.*s", n, text);
		kept = strpool_put(p->pool, word);
		if (!kept || hash_map_put(&p->taken, id, (void *)kept))
			*ret_err = -ENOMEM;
		return *ret_err ? NULL : kept;
	}
	return NULL;
}

/* Returns the word of a string, valid until p is freed; NULL: out of memory. */
static const char *pseudonym_word(struct pseudonyms *p, const char *s, size_t bytes)
{
	char *copy = strndup(s, bytes);
	const char *mine, *word;
	uint64_t hash;
	int err = 0;

	mine = copy ? strpool_put(p->pool, copy) : NULL;
	free(copy);
	if (!mine)
		return NULL;
	word = hash_map_get(&p->words, (uintptr_t)mine);
	hash = siphash(p->key, mine, strlen(mine));
	while (!word && !err) {
		word = take_word(p, hash, &err);
		if (!word && !err)
			hash = siphash(p->key, &hash, sizeof(hash));
		else if (!err && hash_map_put(&p->words, (uintptr_t)mine, (void *)word))
			return NULL;
	}
	return word;
}

/*
 * Returns a pseudonym for v in [from, from + span), different from that of any other number. 0: out
 * of memory.
 */
static uint64_t pseudonym_number(struct pseudonyms *p, uint64_t v, uint64_t from, uint64_t span)
{
	uint64_t n = (uintptr_t)hash_map_get(&p->numbers, v);

	if (n)
		return n - 1;
	n = siphash(p->key, &v, sizeof(v)) % span;
	while (hash_map_get(&p->numbers_taken, n))
		n = (n + 1) % span;
	if (hash_map_put(&p->numbers_taken, n, p) ||
	    hash_map_put(&p->numbers, v, (void *)(uintptr_t)(from + n + 1)))
		return 0;
	return from + n;
}

/* Names of kernel threads that are the same on every machine, except for numbers and disk names. */
#define KERNELS_THREADS                                                                            \
	"^(kthreadd|pool_workqueue_.*|kworker/[0-9uRH:-].*|ksoftirqd/[0-9]+|migration/[0-9]+|"     \
	"rcu[a-z_]*(/[0-9a-z/]+)?|cpuhp/[0-9]+|idle_inject/[0-9]+|irq/[0-9]+-.*|irq_work/[0-9]+|"  \
	"kdevtmpfs|kauditd|khungtaskd|oom_reaper|kcompactd[0-9]+|ksmd|khugepaged|watchdogd|"       \
	"watchdog/[0-9]+|kswapd[0-9]+|hwrng|kdamond\\.?[0-9]*|kthrotld|kblockd|writeback|"         \
	"kintegrityd|netns|bioset|jbd2/(dm-|sd|vd|nvme|loop|mmcblk|md)[a-z0-9-]*|"                 \
	"(xfsaild|xfs-[a-z]+)/(dm-|sd|vd|nvme|loop|mmcblk|md)[a-z0-9-]*|scsi_(eh|tmf)_[0-9]+|"     \
	"loop[0-9]+|dmcrypt_write/[0-9:]*|kcryptd[_a-z]*(/[0-9:]*)?|kpsmoused|psimon|lockd|nfsd|"  \
	"card[0-9]+-crtc[0-9]+|kvm-[a-z-]*[0-9]*|vhost-[0-9]+|usb-storage|khubd)$"

#define KERNELS_DISKS                                                                              \
	"^((sd|hd|vd|xvd)[a-z]{1,3}[0-9]*|(sr|fd|ram|zram|dm-|st|scd|pmem|zd)[0-9]+|"              \
	"(loop|nbd|rbd|md|drbd|mmcblk|nvme[0-9]+(c[0-9]+)?n)[0-9]+(p[0-9]+|boot[0-9]+|rpmb)?)$"

/* Extensions that are kept: they reveal only the purpose of a file. */
static const char *const extensions[] = {
	"a", "bin", "bz2", "c", "cc", "cfg", "class", "conf", "cpp", "css", "csv", "cxx", "d",
	"db", "deb", "dll", "exe", "go", "gz", "h", "hpp", "html", "img", "ini", "iso", "jar",
	"java", "js", "json", "ko", "lock", "log", "md", "mjs", "mount", "o", "parquet", "path",
	"pem", "php", "pid", "pl", "pm", "png", "proto", "py", "pyc", "pyx", "qcow2", "rb", "rpm",
	"rs", "s", "scope", "service", "sh", "slice", "so", "sock", "socket", "sql", "sqlite",
	"swap", "swp", "tar", "target", "tgz", "timer", "tmp", "toml", "ts", "txt", "wal", "wasm",
	"whl", "xml", "xz", "yaml", "yml", "zip", "zst",
};

struct item {			/* an original string */
	const char *as[REDACT_KIND_CNT];	/* replacement by kind; NULL: not computed yet */
};

struct redact_words {
	struct pseudonyms *words;
	struct strpool *pool;
	struct hash_map items;	/* address of the string in pool -> struct item */
	const char *const *keep;
	unsigned int keep_cnt;
	regex_t threads, disks;
	bool has_threads, has_disks;
	struct buf out;		/* the string being built */
	struct redact_counts counts;
};

int redact_words_new(struct redact_words **ret, const uint8_t key[PSEUDONYM_KEY_BYTES],
		     const char *const *keep, unsigned int keep_cnt)
{
	struct redact_words *w = calloc(1, sizeof(*w));

	if (!w)
		return -ENOMEM;
	w->keep = keep;
	w->keep_cnt = keep_cnt;
	w->has_threads = !regcomp(&w->threads, KERNELS_THREADS, REG_EXTENDED | REG_NOSUB);
	w->has_disks = !regcomp(&w->disks, KERNELS_DISKS, REG_EXTENDED | REG_NOSUB);
	if (!w->has_threads || !w->has_disks || pseudonyms_new(&w->words, key) ||
	    strpool_new(&w->pool)) {
		redact_words_free(w);
		return -ENOMEM;
	}
	*ret = w;
	return 0;
}

void redact_words_free(struct redact_words *w)
{
	if (!w)
		return;
	hash_map_done_values(&w->items);
	if (w->has_threads)
		regfree(&w->threads);
	if (w->has_disks)
		regfree(&w->disks);
	strpool_free(w->pool);
	pseudonyms_free(w->words);
	buf_done(&w->out);
	free(w);
}

static struct item *item_of(struct redact_words *w, const char *s, const char **ret_mine)
{
	const char *mine = strpool_put(w->pool, s);

	if (!mine)
		return NULL;
	*ret_mine = mine;
	return hash_map_make(&w->items, (uintptr_t)mine, sizeof(struct item));
}

/* Keeps s of this kind unchanged. Call this before the first redact_word() of s. */
static int redact_words_keep(struct redact_words *w, enum redact_kind kind, const char *s)
{
	const char *mine;
	struct item *it;

	if (!*s)
		return 0;
	it = item_of(w, s, &mine);
	if (!it)
		return -ENOMEM;
	if (!it->as[kind])
		w->counts.kept[kind]++;
	it->as[kind] = mine;
	return 0;
}

bool redact_words_is_kernels(struct redact_words *w, const char *comm)
{
	return !regexec(&w->threads, comm, 0, NULL, 0);
}

/*
 * Returns true if a pattern keeps s. '*' does not match a slash, so a pattern for names does not
 * keep paths. A pattern that begins with a slash also keeps everything below that path.
 */
static bool is_kept(const struct redact_words *w, const char *s, size_t len)
{
	char *copy;
	bool yes = false;

	if (!w->keep_cnt)
		return false;
	copy = strndup(s, len);
	for (unsigned int i = 0; copy && !yes && i < w->keep_cnt; i++)
		yes = !fnmatch(w->keep[i], copy,
			       FNM_PATHNAME | (w->keep[i][0] == '/' ? FNM_LEADING_DIR : 0));
	free(copy);
	return yes;
}

/* ---- parts ---- */

static void add_pseudonym(struct redact_words *w, const char *prefix, const char *s, size_t len)
{
	const char *word = pseudonym_word(w->words, s, len);

	buf_add(&w->out, prefix, strlen(prefix));
	if (word)
		buf_add(&w->out, word, strlen(word));
	else
		w->out.failed = true;
}

/*
 * Finds a known extension: ".so" of "libc.so.6", ".gz" of "x.tar.gz". Returns its length; 0: none.
 */
static size_t find_extension(const char *s, size_t len, const char **ret)
{
	size_t end = len, dot;

	while (end) {
		for (dot = end; dot && s[dot - 1] != '.'; dot--)
			;
		if (dot < 2)
			return 0;
		for (size_t i = 0; i < sizeof(extensions) / sizeof(extensions[0]); i++) {
			if (strlen(extensions[i]) == end - dot &&
			    !memcmp(extensions[i], s + dot, end - dot)) {
				*ret = s + dot - 1;
				return end - dot + 1;
			}
		}
		/* only a version number may follow the extension */
		if (end == dot || strspn(s + dot, "0123456789") < end - dot)
			return 0;
		end = dot - 1;
	}
	return 0;
}

static void add_component(struct redact_words *w, const char *prefix, const char *s, size_t len)
{
	const char *extension;
	size_t n;

	if (is_kept(w, s, len)) {
		buf_add(&w->out, s, len);
		return;
	}
	add_pseudonym(w, prefix, s, len);
	n = find_extension(s, len, &extension);
	if (n)
		buf_add(&w->out, extension, n);
}

static void add_path_part(struct redact_words *w, const char *s, size_t len)
{
	add_component(w, "p", s, len);
}

static void add_path(struct redact_words *w, const char *s, size_t len,
		     void (*add_part)(struct redact_words *w, const char *s, size_t len))
{
	if (is_kept(w, s, len)) {
		buf_add(&w->out, s, len);
		return;
	}
	while (len) {
		const char *slash = memchr(s, '/', len);
		size_t n = slash ? (size_t)(slash - s) : len;

		if (n <= 2 && !strncmp(s, "..", n))
			buf_add(&w->out, s, n);		/* "", "." and ".." */
		else
			add_part(w, s, n);
		if (slash)
			buf_add(&w->out, "/", 1);
		n += slash ? 1 : 0;
		s += n;
		len -= n;
	}
}

/*
 * Appends an id with its hexadecimal digits replaced, so that ids of containers and pods keep their
 * form.
 */
static void add_id(struct redact_words *w, const char *s, size_t len)
{
	uint64_t number = 0xcbf29ce484222325ull;
	char digits[17];
	size_t i, at = 0;

	for (i = 0; i < len; i++)
		if (isxdigit((unsigned char)s[i]))
			number = (number ^ (unsigned char)s[i]) * 0x100000001b3ull;
	number = pseudonym_number(w->words, number, 1ull << 60, 1ull << 60);
	w->out.failed |= !number;
	snprintf(digits, sizeof(digits), "%016" PRIx64, number);
	for (i = 0; i < len; i++)
		buf_add(&w->out, isxdigit((unsigned char)s[i]) ? &digits[1 + at++ % 15] : &s[i], 1);
}

/*
 * Appends a part of a cgroup's path. Names that container managers and systemd choose are kept, so
 * that a reader recognizes the manager.
 */
static void add_cgroup_part(struct redact_words *w, const char *s, size_t len)
{
	struct cgroup_part p;
	char digits[24];
	uint32_t uid;

	if (is_kept(w, s, len) || !cgroup_path_part(s, len, &p)) {
		add_path_part(w, s, len);
		return;
	}
	buf_add(&w->out, s, p.prefix_len);
	s += p.prefix_len;
	if (cgroup_path_is_id(s, p.id_len)) {
		add_id(w, s, p.id_len);
	} else if (p.id_len && p.id_len < 10 && strspn(s, "0123456789") >= p.id_len) {
		uid = (uint32_t)strtoul(s, NULL, 10);
		w->out.failed |= redact_uid(w, &uid) < 0;
		snprintf(digits, sizeof(digits), "%" PRIu32, uid);
		buf_add(&w->out, digits, strlen(digits));
	} else if (p.id_len) {
		add_pseudonym(w, "", s, p.id_len);
	}
	buf_add(&w->out, s + p.id_len, len - p.prefix_len - p.id_len);
}

/* Appends an argument: "-O2", "--file=/x/y.c", "if=/dev/zero", "12". */
static void add_argument(struct redact_words *w, const char *s, size_t len)
{
	const char *prefix = *s == '-' ? "o" : "a", *extension;

	if (is_kept(w, s, len)) {
		buf_add(&w->out, s, len);
		return;
	}
	for (; len && *s == '-'; s++, len--)
		buf_add(&w->out, "-", 1);
	while (len) {
		const char *eq = memchr(s, '=', len);
		size_t n = eq ? (size_t)(eq - s) : len;

		if (memchr(s, '/', n))
			add_path(w, s, n, add_path_part);
		else if (n)
			add_component(w, find_extension(s, n, &extension) ? "p" : prefix, s, n);
		if (eq)
			buf_add(&w->out, "=", 1);
		n += eq ? 1 : 0;
		s += n;
		len -= n;
		prefix = "a";
	}
}

static void add_cmdline(struct redact_words *w, const char *s)
{
	while (*s) {
		size_t blanks = strspn(s, " \n"), n;

		buf_add(&w->out, s, blanks);
		s += blanks;
		n = strcspn(s, " \n");
		if (n)
			add_argument(w, s, n);
		s += n;
	}
}

/*
 * Appends "function+0x1f". Functions of BPF programs get pseudonyms, because users load these
 * programs.
 */
static void add_symbol(struct redact_words *w, const char *s)
{
	size_t n = strcspn(s, "+");

	if (strncmp(s, "bpf_prog_", 9) || is_kept(w, s, n)) {
		buf_add(&w->out, s, strlen(s));
		return;
	}
	add_pseudonym(w, "sym-", s, n);
	buf_add(&w->out, s + n, strlen(s + n));
}

/* Appends "address:port". Addresses with the same meaning on every machine are kept. */
static void add_end(struct redact_words *w, const char *s, size_t len)
{
	static const char *const usual[] = { "0.0.0.0", "127.0.0.1", "[::]", "[::1]" };
	size_t n = len, i;

	while (n && s[n - 1] != ':')
		n--;
	n -= n > 0;
	for (i = 0; i < sizeof(usual) / sizeof(usual[0]); i++)
		if (strlen(usual[i]) == n && !memcmp(usual[i], s, n))
			break;
	if (i < sizeof(usual) / sizeof(usual[0]) || !n || is_kept(w, s, n))
		buf_add(&w->out, s, n);
	else
		add_pseudonym(w, "addr-", s, n);
	buf_add(&w->out, s + n, len - n);
}

/* Appends a socket: "tcp 10.0.0.1:80 > 10.0.0.2:40112", "unix /run/x.sock", "netlink". */
static void add_socket(struct redact_words *w, const char *s)
{
	size_t n = strcspn(s, " ");
	const char *other;

	buf_add(&w->out, s, n);
	s += n;
	if (!*s)
		return;
	buf_add(&w->out, s++, 1);
	if (n == 4 && !strncmp(s - 5, "unix", 4)) {
		if (*s == '@')
			buf_add(&w->out, s++, 1);
		add_path(w, s, strlen(s), add_path_part);
		return;
	}
	other = strstr(s, " > ");
	n = other ? (size_t)(other - s) : strlen(s);
	add_end(w, s, n);
	if (!other)
		return;
	buf_add(&w->out, other, 3);
	add_end(w, other + 3, strlen(other + 3));
}

/* ---- strings ---- */

/*
 * Returns false if s may contain a cgroup's name, which old kernels append to kmem_caches in
 * brackets.
 */
static bool is_plain_cache(const char *s)
{
	return !s[strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
			    "0123456789_.,:+-")];
}

static void add_string(struct redact_words *w, enum redact_kind kind, const char *s)
{
	static const char *const prefixes[REDACT_KIND_CNT] = {
		[REDACT_COMM] = "proc-", [REDACT_HOST] = "host-", [REDACT_DEVICE] = "dev-",
		[REDACT_CACHE] = "cache-", [REDACT_MARK] = "mark-", [REDACT_NOTE] = "note-",
		[REDACT_FUNCTION] = "fn-", [REDACT_BUILD_ID] = "id-",
		[REDACT_USER] = "user-", [REDACT_REQUEST] = "request-",
	};
	size_t len = strlen(s);

	if (kind == REDACT_CMDLINE)
		add_cmdline(w, s);
	else if (kind == REDACT_CGROUP)
		add_path(w, s, len, add_cgroup_part);
	else if (kind == REDACT_PATH)
		add_path(w, s, len, add_path_part);
	else if (kind == REDACT_SOCKET)
		add_socket(w, s);
	else if (kind == REDACT_SYMBOL)
		add_symbol(w, s);
	else if (is_kept(w, s, len) || (kind == REDACT_CACHE && is_plain_cache(s)) ||
		 (kind == REDACT_DEVICE && !regexec(&w->disks, s, 0, NULL, 0)))
		buf_add(&w->out, s, len);
	else
		add_pseudonym(w, prefixes[kind], s, len);
}

const char *redact_word(struct redact_words *w, enum redact_kind kind, const char *s)
{
	const char *mine, *text;
	struct item *it;

	if (!*s)
		return "";
	it = item_of(w, s, &mine);
	if (!it)
		return NULL;
	if (it->as[kind])
		return it->as[kind];
	buf_reset(&w->out);
	add_string(w, kind, mine);
	buf_add(&w->out, "", 1);
	text = w->out.failed ? NULL : strpool_put(w->pool, (const char *)w->out.data);
	if (!text)
		return NULL;
	it->as[kind] = text;
	if (strcmp(text, mine))
		w->counts.replaced[kind]++;
	else
		w->counts.kept[kind]++;
	return text;
}

/* Keeps system users, by convention below 1000, and 65534, which stands for unmapped users. */
int redact_uid(struct redact_words *w, uint32_t *uid)
{
	uint64_t n;

	if (*uid < 1000 || *uid == 65534 || *uid == UINT32_MAX)
		return 0;
	n = pseudonym_number(w->words, *uid, 1000000000, 1000000000);
	if (!n)
		return -ENOMEM;
	*uid = (uint32_t)n;
	return 0;
}

struct redact {
	struct trace *t;
	const struct redact_options *o;
	struct redact_words *words;
	struct store_writer *store;
	struct block_out out;
	struct row_writer rows;
	struct redact_result res;
};

/* ---- rows ---- */

#define AS_IS REDACT_KIND_CNT

/* Kinds of a row's strings, in the order of its fields. */
static const uint8_t row_strings[CHUNK_SMALL_END][3] = {
	[CHUNK_PROCESSES] = { REDACT_COMM, REDACT_PATH, REDACT_CMDLINE },
	[CHUNK_THREADS] = { REDACT_COMM },
	[CHUNK_TASK_EVENTS] = { REDACT_COMM, REDACT_PATH, REDACT_CMDLINE },
	[CHUNK_MARKS] = { REDACT_MARK },
	[CHUNK_GAPS] = { REDACT_NOTE, REDACT_NOTE },
	[CHUNK_SITES] = { REDACT_FUNCTION, REDACT_PATH, REDACT_BUILD_ID },
};

static enum redact_kind string_kind(unsigned int section, const union any_row *row,
				    unsigned int nth, const char *s)
{
	static const enum redact_kind names[TRACE_NAME_TYPE_CNT] = {
#define X(id, name, text, redact) [TRACE_NAME_##name] = REDACT_##redact,
		EVENT_NAMES(X)
#undef X
	};
	static const char own[] = "abcdefghijklmnopqrstuvwxyz .-_";

	if (section == CHUNK_NAMES)
		return names[row->name.type];
	/* keep words of the recorder: "alloc.slab", "max-overhead" */
	if (section == CHUNK_GAPS && !s[strspn(s, own)])
		return AS_IS;
	/* keep the kernel's "[vdso]" */
	if (section == CHUNK_SITES && nth == 1 && s[0] == '[')
		return AS_IS;
	return row_strings[section][nth];
}

/*
 * Returns the text whose pseudonym replaces a string. Functions that reports show by one name, such
 * as overloaded C++ functions, have one pseudonym.
 */
static const char *text_of(unsigned int section, unsigned int nth, const char *s,
			   char shown[FUNCTION_SHOWN + 1])
{
	return section == CHUNK_SITES && !nth ? function_shown(shown, s) : s;
}

/* Replaces the number and name of a user, except a system user. */
static int edit_user(struct redact *x, struct trace_name *n)
{
	uint32_t uid = (uint32_t)(n->id - 1);
	int r = redact_uid(x->words, &uid);

	if (uid != n->id - 1)
		n->name = redact_word(x->words, REDACT_USER, n->name);
	n->id = uid + 1ull;
	return n->name ? r : -ENOMEM;
}

static int edit_row(struct redact *x, unsigned int section, const struct row_type *of,
		    union any_row *row)
{
	const char **s, *text, *word;
	char shown[FUNCTION_SHOWN + 1];
	enum redact_kind kind;

	/* the type was added by a later recorder */
	if (section == CHUNK_NAMES && (!row->name.type || row->name.type >= TRACE_NAME_TYPE_CNT)) {
		row->name.name = "";
		return 0;
	}
	if (section == CHUNK_NAMES && row->name.type == TRACE_NAME_USER)
		return edit_user(x, &row->name);
	for (unsigned int i = 0; (s = row_string(of, row, i)); i++) {
		kind = string_kind(section, row, i, *s);
		if (kind == AS_IS)
			continue;
		text = text_of(section, i, *s, shown);
		word = redact_word(x->words, kind, text);
		if (!word)
			return -ENOMEM;
		/* a function that is kept keeps its linker name */
		if (strcmp(word, text))
			*s = word;
	}
	return section == CHUNK_PROCESSES ? redact_uid(x->words, &row->process.uid) : 0;
}

static int copy_section(struct redact *x, struct block_meta *f, unsigned int type)
{
	const struct row_type *of = row_type_of(type);
	struct row_reader in;
	union any_row row;
	int r;

	if (type == CHUNK_UTIDS)
		block_copy_small(&x->out, f, type);
	if (!of)
		return 0;
	r = block_meta_rows(f, trace_own_reader(x->t)->zunpack, type, &in);
	buf_reset(&x->rows.out);
	x->rows.base_ns = f->head.from_ns;
	x->rows.cnt = 0;
	while (r == 0 && (r = row_get(&in, of, &row)) > 0) {
		r = edit_row(x, type, of, &row);
		row_put(&x->rows, of, &row);
	}
	if (r == 0)
		block_out_add_rows(&x->out, type, &x->rows);
	return r;
}

static int copy_block(struct redact *x, size_t i, struct redact_result *ret, struct err *e)
{
	const struct trace_block *b = trace_block_at(x->t, i);
	struct trace_block_open o = { 0 };
	struct disk_block head;
	struct block_io io;
	const void *bytes;
	size_t cnt = 0;
	int r;

	r = trace_block_open(x->t, trace_own_reader(x->t), i, &o, e);
	if (r < 0)
		return r;
	io = (struct block_io){ chunk_io_read, &o.io };
	head = o.meta->head;
	block_out_begin(&x->out);
	for (uint32_t s = 0; r == 0 && s < head.section_cnt; s++) {
		if (o.meta->sections[s].type < CHUNK_SMALL_END)
			r = copy_section(x, o.meta, o.meta->sections[s].type);
	}
	r = r ?: block_copy_events(&x->out, o.meta, &io, &head);
	r = r ?: block_out_seal(&x->out, &head, &bytes, &cnt);
	block_meta_free(o.meta);
	if (r < 0)
		return err_set(e, r, "'%s/%s', block at %" PRIu64 ": %s", trace_path(x->t), b->file,
			       b->offset,
			       r == -ENOMEM ? "out of memory" :
					      "is damaged; `ebpfrec repair` makes a trace of "
					      "what is valid, which can be redacted");
	ret->block_cnt++;
	ret->bytes += cnt;
	return store_writer_append(x->store, bytes, cnt, 0, e);
}

/* ---- strings that stay ---- */

/* Keeps names of the kernel and the recorder and, if requested, of the workload. */
static int keep_row(struct redact *x, unsigned int section, const union any_row *row,
		    uint32_t flags)
{
	char shown[FUNCTION_SHOWN + 1];
	union any_row copy = { 0 };
	bool keep;
	const char **s;

	memcpy(&copy, row, row_type_of(section)->bytes);
	for (unsigned int i = 0; (s = row_string(row_type_of(section), &copy, i)); i++) {
		keep = flags & TRACE_TASK_WORKLOAD && x->o->keep_workload;
		if (row_strings[section][i] == REDACT_COMM)
			keep |= (flags & TRACE_TASK_KTHREAD &&
				 redact_words_is_kernels(x->words, *s)) ||
				(flags & TRACE_TASK_RECORDER && !strncmp(*s, "ebpfrec", 7));
		if (keep && redact_words_keep(x->words, row_strings[section][i],
					      text_of(section, i, *s, shown)) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int keep_cgroup(struct redact *x, uint64_t cgroup_id, uint32_t flags)
{
	const struct trace_name *n = trace_name_find(x->t, TRACE_NAME_CGROUP, cgroup_id);

	if (!n || !(flags & TRACE_TASK_WORKLOAD) || !x->o->keep_workload)
		return 0;
	return redact_words_keep(x->words, REDACT_CGROUP, n->name);
}

static int keep_list(struct redact *x, unsigned int list)
{
	const struct trace_process *p;
	const union any_row *row;
	int r = 0;

	for (size_t i = 0; r == 0 && (row = trace_row_at(x->t, list, i)); i++) {
		if (list == CHUNK_THREADS) {
			r = keep_row(x, list, row, row->thread.flags);
			continue;
		}
		p = trace_process_find(x->t, list == CHUNK_PROCESSES ? row->process.upid :
					     list == CHUNK_SITES     ? row->site.upid :
								       row->task_event.upid);
		if (!p)
			continue;
		r = keep_row(x, list, row, p->flags);
		if (r == 0 && list == CHUNK_PROCESSES)
			r = keep_cgroup(x, p->cgroup_id, p->flags);
		if (r == 0 && list == CHUNK_TASK_EVENTS)
			r = keep_cgroup(x, row->task_event.cgroup_id, p->flags);
	}
	return r;
}

/* Selects the names to keep. A name that several processes share is kept in all of them. */
static int keep_names(struct redact *x)
{
	int r = keep_list(x, CHUNK_PROCESSES);

	r = r ?: keep_list(x, CHUNK_THREADS) ?: keep_list(x, CHUNK_TASK_EVENTS);
	return r == 0 ? keep_list(x, CHUNK_SITES) : r;
}

/* ---- the manifest ---- */

/* A kind of manifest entry, besides AS_IS and the kinds of redact_words. */
#define ENTRY_NUMBERS (REDACT_KIND_CNT + 1)

static const struct {
	const char *key;	/* glob pattern */
	unsigned int kind;
} entries[] = {
	{ "attempted", ENTRY_NUMBERS }, { "read", ENTRY_NUMBERS }, { "lost", ENTRY_NUMBERS },
	{ "command.exit", ENTRY_NUMBERS }, { "command.pid", ENTRY_NUMBERS },
	{ "recorder.pid", ENTRY_NUMBERS }, { "cpu.online", ENTRY_NUMBERS },
	{ "cpu.possible", ENTRY_NUMBERS }, { "mem.bytes", ENTRY_NUMBERS },
	{ "page_bytes", ENTRY_NUMBERS }, { "only", ENTRY_NUMBERS }, { "stacks.*", ENTRY_NUMBERS },
	{ "steal", ENTRY_NUMBERS }, { "heap", AS_IS },
	{ "heap.*", ENTRY_NUMBERS },
	{ "offcpu.*", ENTRY_NUMBERS }, { "profile.*", ENTRY_NUMBERS },
	{ "max_overhead_ppm", ENTRY_NUMBERS }, { "ring.*", ENTRY_NUMBERS },
	{ "disk.*", ENTRY_NUMBERS }, { "keep.*", ENTRY_NUMBERS }, { "kept.*", ENTRY_NUMBERS },
	{ "dropped.*", ENTRY_NUMBERS }, { "snapshot.*", ENTRY_NUMBERS },
	{ "repaired", ENTRY_NUMBERS }, { "repaired.gap*", ENTRY_NUMBERS }, { "cut", ENTRY_NUMBERS },
	{ "cut.*_ns", ENTRY_NUMBERS }, { "cut.left_out", AS_IS },
	{ "cut.unowned_*", ENTRY_NUMBERS }, { "cut.lost_before.*", ENTRY_NUMBERS },
	{ "cut.processes", REDACT_CMDLINE }, { "redacted", ENTRY_NUMBERS },
	{ "span.*", ENTRY_NUMBERS },
	{ "repaired.state", AS_IS }, { "manifest.lost", AS_IS },
	{ "redacted.state", AS_IS }, { "recorder.version", AS_IS },
	{ "kernel.release", AS_IS }, { "kernel.version", AS_IS },
	{ "machine", AS_IS }, { "cpu.model", AS_IS }, { "programs", AS_IS },
	{ "sources", AS_IS }, { "lacks", AS_IS }, { "host", REDACT_HOST },
	{ "cgroup", REDACT_CGROUP }, { "command", REDACT_CMDLINE },
	{ "recorder.command_line", REDACT_CMDLINE },
};

/* Returns the kind of an entry; -1: unknown. */
static int entry_kind(const struct manifest_entry *m)
{
	for (size_t i = 0; i < sizeof(entries) / sizeof(entries[0]); i++) {
		if (fnmatch(entries[i].key, m->key, 0))
			continue;
		/* the value is not a number; a later entry of the table may match the key */
		if (entries[i].kind == ENTRY_NUMBERS && m->value[strspn(m->value, "0123456789 .-")])
			continue;
		return (int)entries[i].kind;
	}
	return -1;
}

/* Returns the value to write for an entry; NULL: skip the entry, or an error in *ret_err. */
static const char *entry_value(struct redact *x, const struct manifest_entry *m, int *ret_err)
{
	int kind = entry_kind(m);
	const char *v;

	if (kind < 0)
		return NULL;
	if (kind >= REDACT_KIND_CNT || (x->o->keep_workload && !strcmp(m->key, "command")))
		return m->value;
	v = redact_word(x->words, (enum redact_kind)kind, m->value);
	*ret_err = v ? 0 : -ENOMEM;
	return v;
}

/* Copies note.KEY=VALUE. Users choose both, except the recorder's own key note.trigger. */
static int copy_note(struct redact *x, const struct manifest_entry *m)
{
	const char *key = m->key + strlen("note.");
	const char *value = redact_word(x->words, REDACT_NOTE, m->value);
	char buf[256];

	if (strcmp(key, "trigger"))
		key = redact_word(x->words, REDACT_NOTE, key);
	if (!key || !value)
		return -ENOMEM;
	snprintf(buf, sizeof(buf), "note.%s", key);
	return store_writer_set(x->store, buf, value);
}

static int copy_manifest(struct redact *x, struct redact_result *ret)
{
	const struct manifest *all = trace_stored_manifest(x->t);
	const char *state = trace_get(x->t, "state"), *value;
	int r = 0;

	for (size_t i = 0; r == 0 && i < all->cnt; i++) {
		const struct manifest_entry *m = &all->entries[i];

		if (!strncmp(m->key, "note.", 5)) {
			r = copy_note(x, m);
			continue;
		}
		value = entry_value(x, m, &r);
		if (r == 0 && value)
			r = store_writer_set(x->store, m->key, value);
		else if (r == 0 && strcmp(m->key, "state") && strcmp(m->key, "mounts") &&
			 strncmp(m->key, "trace.", 6))
			ret->entries_left_out++;
	}
	r = r ?: store_writer_set(x->store, "redacted", "1");
	if (r == 0 && !trace_get(x->t, "redacted.state"))
		r = store_writer_set(x->store, "redacted.state",
				     state && !strcmp(state, "finished") ? state : "recording");
	return r;
}

/* ---- strings to redact ---- */

static void each_of_list(const struct trace *t, unsigned int list, trace_string_fn fn, void *ctx)
{
	unsigned int section = list < CHUNK_SMALL_END ? list : CHUNK_NAMES, kind, nth;
	const struct row_type *of = trace_list_type(list);
	const void *at;
	union any_row row = { 0 };
	const char **s;

	for (size_t i = 0; (at = trace_row_at(t, list, i)); i++) {
		memcpy(&row, at, of->bytes);
		for (nth = 0; (s = row_string(of, &row, nth)); nth++) {
			kind = string_kind(section, &row, nth, *s);
			if (kind < REDACT_KIND_CNT && **s)
				fn(ctx, (enum redact_kind)kind, *s);
		}
	}
}

void trace_strings_each(const struct trace *t, trace_string_fn fn, void *ctx)
{
	const struct manifest *stored = trace_stored_manifest(t);
	const struct manifest_entry *m = stored->entries;
	int kind;

	for (unsigned int list = 0; list < TRACE_LIST_CNT; list++)
		each_of_list(t, list, fn, ctx);
	for (size_t i = 0; i < stored->cnt; i++, m++) {
		kind = !strncmp(m->key, "note.", 5) ? REDACT_NOTE :
		       !strcmp(m->key, "mounts")    ? REDACT_PATH : entry_kind(m);
		if (kind >= 0 && kind < REDACT_KIND_CNT && *m->value)
			fn(ctx, (enum redact_kind)kind, m->value);
	}
}

/* ---- the trace ---- */

static int write_redacted(void *ctx, struct store_writer *w, struct err *e)
{
	struct redact *x = ctx;
	struct redact_result *res = &x->res;
	int r = keep_names(x);

	x->store = w;
	r = r ?: block_out_init(&x->out, 0) ?: copy_manifest(x, res);
	if (r < 0)
		return err_set(e, r, "out of memory");
	for (size_t i = 0; r == 0 && i < trace_block_cnt(x->t); i++)
		r = copy_block(x, i, res, e);
	if (r == 0 && !res->block_cnt)
		r = err_set(e, -ENODATA, "'%s' has no valid block", trace_path(x->t));
	res->words = x->words->counts;
	return r;
}

/*
 * Creates the key, and derives the copy's id from key and trace id: equal salts make equal copies.
 */
static int make_words(struct redact *x, uint64_t *ret_id, struct err *e)
{
	uint64_t id = trace_id(x->t);
	uint8_t key[PSEUDONYM_KEY_BYTES], mixed[PSEUDONYM_KEY_BYTES + sizeof(id)];
	int r;

	if (x->o->salt)
		pseudonym_key_from(key, x->o->salt, x->o->salt_bytes);
	else if (getrandom(key, sizeof(key), 0) != sizeof(key))
		return err_set(e, -errno, "cannot make a random salt: %s; give one with --salt",
			       err_text(NULL, errno));
	r = redact_words_new(&x->words, key, x->o->keep, x->o->keep_cnt);
	memcpy(mixed, key, sizeof(key));
	memcpy(mixed + sizeof(key), &id, sizeof(id));
	pseudonym_key_from(key, mixed, sizeof(mixed));
	memcpy(ret_id, key, sizeof(*ret_id));
	explicit_bzero(key, sizeof(key));
	explicit_bzero(mixed, sizeof(mixed));
	return r ? err_set(e, r, "out of memory") : 0;
}

int trace_redact(struct trace *t, const char *path, const struct redact_options *o,
		 struct redact_result *ret, struct err *e)
{
	struct store_config config = {
		.uid = (uid_t)-1,
		.gid = (gid_t)-1,
		.file_bytes = UINT64_MAX / 2,
		.file_age_ns = UINT64_MAX / 2,
	};
	struct redact x = { .t = t, .o = o };
	int r = make_words(&x, &config.trace_id, e);

	r = r ?: trace_copy_make(t, path, &config, write_redacted, &x, e);
	block_out_done(&x.out);
	buf_done(&x.rows.out);
	redact_words_free(x.words);
	if (r == 0)
		*ret = x.res;
	return r;
}

/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * redact_words: splits a string into parts (components of a path, words of a command line),
 * replaces each part by its pseudonym, and joins the parts again. Results are cached, because most
 * strings occur in every block.
 */
#include "edit/redact_words.h"

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

int pseudonym_key_random(uint8_t key[PSEUDONYM_KEY_BYTES])
{
	ssize_t n = getrandom(key, PSEUDONYM_KEY_BYTES, 0);

	if (n < 0)
		return -errno;
	return n == PSEUDONYM_KEY_BYTES ? 0 : -EIO;
}

void pseudonym_key_from(uint8_t key[PSEUDONYM_KEY_BYTES], const void *text, size_t bytes)
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
		 * The first n digits and n itself: words of different lengths have different ids.
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

int redact_words_keep(struct redact_words *w, enum redact_kind kind, const char *s)
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

const struct redact_counts *redact_words_counts(const struct redact_words *w)
{
	return &w->counts;
}

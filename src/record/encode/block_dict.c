/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * block_dict: names, sites and stacks to which a block's events refer. Each type of name has a map
 * by id, which also contains ids without a name, so that every id is looked up only once. Sites are
 * found by a hash of (process, address), stacks by their number. If another stack has the same
 * number, a stack gets the next free number.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "model/call.h"
#include "record/encode/block_state.h"

#define SITE_DICT_MAX (1u << 17)	/* maximum number of sites per block; others are left out */

void block_dict_done(struct block_dict *b)
{
	hash_map_done(&b->by_key);
	buf_done(&b->items);
}

void block_dict_begin(struct block_dict *b)
{
	if (b->items.len)
		hash_map_done(&b->by_key);
	buf_reset(&b->items);
}

/* ---- names ---- */

#define NAME_MAX_BYTES 4096
/*
 * Number of sockets and of files whose unused names are not dropped, because the kernel sends a
 * name again only after a while.
 */
#define SOCKETS_KEPT 4096

struct name_entry {
	uint64_t used_block;	/* epoch of the last block with this name */
	uint64_t arg;
	char *name;		/* NULL: the id has none */
};

static bool drop_name(void *ctx, void **value)
{
	struct name_entry *n = *value;

	if (n->used_block >= *(uint64_t *)ctx)
		return false;
	free(n->name);
	free(n);
	return true;
}

void block_names_forget(struct block_writer *w, uint64_t epoch)
{
	for (unsigned int type = 0; type < TRACE_NAME_TYPE_CNT; type++)
		if ((type != TRACE_NAME_SOCKET && type != TRACE_NAME_WAITED) ||
		    w->names[type].cnt > SOCKETS_KEPT || epoch == UINT64_MAX)
			hash_map_drop_if(&w->names[type], drop_name, &epoch);
}

void block_names_done(struct block_writer *w)
{
	block_names_forget(w, UINT64_MAX);
	for (unsigned int type = 0; type < TRACE_NAME_TYPE_CNT; type++)
		hash_map_done(&w->names[type]);
}

static struct name_entry *name_make(struct block_writer *w, enum trace_name_type type, uint64_t id)
{
	const struct id_names_calls *names = &w->config.names;
	struct name_entry *n = calloc(1, sizeof(*n));
	char name[NAME_MAX_BYTES];
	uint64_t arg = 0;

	if (!n)
		return NULL;
	if (names->name && names->name(names->ctx, type, id, name, sizeof(name), &arg) >= 0) {
		name[NAME_MAX_BYTES - 1] = 0;
		n->arg = arg;
		n->name = strdup(name);
		if (!n->name)
			goto fail;
	}
	if (hash_map_put(&w->names[type], id, n) < 0)
		goto fail;
	return n;
fail:
	free(n->name);
	free(n);
	return NULL;
}

int block_set_name(struct block_writer *w, enum trace_name_type type, uint64_t id, const char *name)
{
	struct name_entry *n = hash_map_get(&w->names[type], id);
	char *copy;

	n = n ?: name_make(w, type, id);
	if (!n || (n->name && !strcmp(n->name, name)))
		return n ? 0 : -ENOMEM;
	copy = strdup(name);
	if (!copy)
		return -ENOMEM;
	free(n->name);
	n->name = copy;
	n->used_block = 0;
	return 0;
}

/* Returns the name of an id, valid until names are forgotten; NULL: the id has none. */
static const char *block_name(struct block_writer *w, enum trace_name_type type, uint64_t id)
{
	struct name_entry *n = hash_map_get(&w->names[type], id);

	n = n ?: name_make(w, type, id);
	return n ? n->name : NULL;
}

int block_use_name(struct block_writer *w, enum trace_name_type type, uint64_t id)
{
	struct name_entry *n;

	if (!id)
		return 0;
	n = hash_map_get(&w->names[type], id) ?: name_make(w, type, id);
	if (!n)
		return -ENOMEM;
	if (n->used_block == w->epoch)
		return 0;
	n->used_block = w->epoch;
	if (!n->name)
		return 0;
	row_put_name(&w->small[CHUNK_NAMES],
		     &(struct trace_name){ .type = type, .id = id, .arg = n->arg,
					   .name = n->name });
	return 0;
}

/* ---- sites ---- */

struct site_asked {
	uint64_t addr;
	uint64_t from_ns, until_ns;
	uint64_t code;		/* result of block_use_site() */
	uint32_t upid;
	uint32_t next;		/* index + 1 of the next entry with the same hash; 0: none */
};

/* Looks up the site at row->addr in process p. -errno: not found. */
static int ask_site(struct block_writer *w, const struct task_process *p, bool is_variable,
		    uint64_t ts_ns, struct trace_site *row, uint64_t *ret_until_ns)
{
	const struct id_names_calls *names = &w->config.names;
	uint64_t since_ns = p->exec_ns > p->life.since_ns ? p->exec_ns : p->life.since_ns;

	if (!is_variable)
		return names->site(names->ctx, p->pid, ts_ns, row, ret_until_ns);
	*ret_until_ns = UINT64_MAX;
	return names->variable(names->ctx, p->pid, since_ns, ts_ns, row);
}

static uint64_t mix(uint64_t h, uint64_t v)
{
	h = (h ^ v) * 0x9e3779b97f4a7c15ull;
	h = (h ^ h >> 32) * 0xd6e8feb86659fd93ull;
	return h ^ h >> 29;
}

static uint64_t code_of(const struct trace_site *s)
{
	uint64_t h = mix(1, s->module_offset);

	if (!s->module[0])
		return s->why == TRACE_SITE_ANONYMOUS || s->addr < TRACE_ADDR_FIRST_CODE ?
			       mix(1, s->why) : 0;
	for (const char *p = s->module; *p; p++)
		h = mix(h, (uint8_t)*p);
	for (const char *p = s->build_id; *p; p++)
		h = mix(h, (uint8_t)*p);
	/* code of a JIT compiler has no offset in a file */
	if (!strcmp(s->module, TRACE_MODULE_JIT))
		for (const char *p = s->symbol; *p; p++)
			h = mix(h, (uint8_t)*p);
	return h;
}

int block_use_site(struct block_writer *w, const struct task_process *p, uint64_t addr,
		   enum block_site what, uint64_t ts_ns, uint64_t *ret_code)
{
	bool is_variable = what == BLOCK_SITE_VARIABLE;
	const struct id_names_calls *names = &w->config.names;
	struct block_dict *b = &w->sites;
	uint64_t key = addr ^ (uint64_t)p->upid * 0x9e3779b97f4a7c15ull;
	struct site_asked *v = (struct site_asked *)b->items.data,
			  new = { .addr = addr, .upid = p->upid };
	uint32_t first = (uint32_t)(uintptr_t)hash_map_get(&b->by_key, key), i;
	struct trace_site row = { .upid = p->upid, .addr = addr };
	size_t cnt = b->items.len / sizeof(*v);
	int r;

	*ret_code = 0;
	if (!addr || !(is_variable ? names->variable != NULL : names->site != NULL))
		return 0;
	for (i = first; i; i = v[i - 1].next)
		if (v[i - 1].addr == addr && v[i - 1].upid == p->upid &&
		    ts_ns >= v[i - 1].from_ns && ts_ns < v[i - 1].until_ns) {
			*ret_code = v[i - 1].code;
			return 0;
		}
	if (cnt == SITE_DICT_MAX)
		return 0;
	r = ask_site(w, p, is_variable, ts_ns, &row, &new.until_ns);
	if (r == -ENOMEM || (r && !is_variable))
		return r == -ENOMEM ? r : 0;
	new.code = r ? 0 : code_of(&row);
	if (!r && (new.code || what != BLOCK_SITE_CALLER))
		row_put_site(&w->small[CHUNK_SITES], &row);
	*ret_code = new.code;
	new.from_ns = row.from_ns;
	new.next = first;
	buf_add(&b->items, &new, sizeof(new));
	if (b->items.failed || hash_map_put(&b->by_key, key, (void *)(uintptr_t)(cnt + 1)))
		return -ENOMEM;
	return 0;
}

/* ---- stacks ---- */

#define ID_BITS 62

struct stored_stack {
	uint32_t upid, kernel_cnt, user_cnt, zero;
	uint64_t code;
	/* frames follow */
};

uint64_t stack_code_add(uint64_t code, uint64_t site_code)
{
	return mix(code, site_code);
}

static uint64_t stack_hash(const struct stack_frames *f)
{
	uint64_t h = mix(mix(f->upid, f->kernel_cnt), f->code);

	for (uint32_t i = 0; i < f->kernel_cnt; i++)
		h = mix(h, f->kernel[i]);
	for (uint32_t i = 0; i < f->user_cnt; i++)
		h = mix(h, f->user[i]);
	return h;
}

static bool is_same_stack(const struct stored_stack *s, const struct stack_frames *f)
{
	const uint64_t *frames = (const uint64_t *)(s + 1);

	return s->upid == f->upid && s->code == f->code && s->kernel_cnt == f->kernel_cnt &&
	       s->user_cnt == f->user_cnt &&
	       !memcmp(frames, f->kernel, f->kernel_cnt * sizeof(*frames)) &&
	       !memcmp(frames + s->kernel_cnt, f->user, f->user_cnt * sizeof(*frames));
}

int stack_dict_use(struct block_dict *b, struct row_writer *w, const struct stack_frames *f,
		   uint64_t *ret_id, bool *ret_new)
{
	struct stored_stack s = { .upid = f->upid, .kernel_cnt = f->kernel_cnt,
				  .user_cnt = f->user_cnt, .code = f->code };
	uint64_t id = stack_hash(f);
	uintptr_t at;

	*ret_new = false;
	for (;; id++) {
		id &= (1ull << ID_BITS) - 1;
		id += !id;
		at = (uintptr_t)hash_map_get(&b->by_key, id);
		if (!at)
			break;
		*ret_id = id;
		if (is_same_stack((const struct stored_stack *)(b->items.data + (at - 1)), f))
			return 0;
	}
	at = b->items.len;
	buf_add(&b->items, &s, sizeof(s));
	buf_add(&b->items, f->kernel, f->kernel_cnt * sizeof(uint64_t));
	buf_add(&b->items, f->user, f->user_cnt * sizeof(uint64_t));
	if (b->items.failed || hash_map_put(&b->by_key, id, (void *)(at + 1)))
		return -ENOMEM;
	for (uint32_t i = 0; i < f->kernel_cnt + f->user_cnt; i++) {
		struct trace_frame row = { .stack = id, .nth = i };

		row.upid = i < f->kernel_cnt ? 0 : f->upid;
		row.addr = i < f->kernel_cnt ? f->kernel[i] : f->user[i - f->kernel_cnt];
		row_put_frame(w, &row);
	}
	*ret_id = id;
	*ret_new = true;
	return 0;
}

/*
 * socket_names: names the sockets on which threads sleep, by protocol and ends.
 *
 *     socket records --[name by inode number]--> names of objects in switches
 *
 *     tcp 127.0.0.1:5432 > 127.0.0.1:40112    local end > remote end
 *     tcp [::1]:80                            not connected, such as a listening socket
 *     unix /run/x.sock                        its path, or the peer's; abstract names begin with @
 *
 * A unix socket has no name if neither end has a path, or if its record was lost.
 */

#define END_BYTES (INET6_ADDRSTRLEN + 10)
#define SOCKET_NAME_BYTES 256

static void put_end(char ret[END_BYTES], int family, const wire_u8 addr[16], unsigned int port)
{
	char text[INET6_ADDRSTRLEN] = "?";

	inet_ntop(family, addr, text, sizeof(text));
	snprintf(ret, END_BYTES, family == AF_INET6 ? "[%s]:%u" : "%s:%u", text, port);
}

static void put_inet(char *ret, size_t size, const struct wire_socket *r)
{
	const char *protocol = r->type == SOCK_STREAM ? "tcp" :
			       r->type == SOCK_DGRAM  ? "udp" :
							"ip";
	char local[END_BYTES], remote[END_BYTES];

	put_end(local, r->family, r->local, r->local_port);
	put_end(remote, r->family, r->remote, r->remote_port);
	if (r->remote_port)
		snprintf(ret, size, "%s %s > %s", protocol, local, remote);
	else
		snprintf(ret, size, "%s %s", protocol, local);
}

static void put_unix(char *ret, size_t size, const struct wire_socket *r)
{
	int len = r->path_len <= sizeof(r->path) ? (int)r->path_len : 0;
	bool is_abstract = len && !r->path[0];

	if (len)
		snprintf(ret, size, "unix %s%.*s", is_abstract ? "@" : "", len - is_abstract,
			 r->path + is_abstract);
	else
		*ret = 0;
}

static void format_socket(char *ret, size_t size, const struct wire_socket *r)
{
	if (r->family == AF_INET || r->family == AF_INET6)
		put_inet(ret, size, r);
	else if (r->family == AF_UNIX)
		put_unix(ret, size, r);
	else if (r->family == AF_NETLINK)
		snprintf(ret, size, "netlink");
	else
		snprintf(ret, size, "family %u", r->family);
}

int socket_names_note(struct block_writer *w, const struct wire_socket *r)
{
	char name[SOCKET_NAME_BYTES];

	format_socket(name, sizeof(name), r);
	return *name ? block_set_name(w, TRACE_NAME_SOCKET, r->ino, name) : 0;
}

int socket_names_use(struct block_writer *w, uint32_t call, uint64_t object)
{
	uint64_t *last = &w->last_sockets[object % BLOCK_LAST_SOCKETS];
	enum call_object what = call_object_of(call);
	bool is_file = what == CALL_OBJECT_FILE || what == CALL_OBJECT_INODE_LOCK;

	if ((what != CALL_OBJECT_SOCKET && !is_file) || *last == object)
		return 0;
	*last = object;
	return block_use_name(w, is_file ? TRACE_NAME_WAITED : TRACE_NAME_SOCKET, object);
}

/*
 * kernel_places: finds the kernel lock for which a thread waits in an uninterruptible sleep.
 *
 *     place records --[caller by thread and instant]--> switches of kind CALL_FILE_KERNEL_LOCK
 *
 *     __schedule, schedule, rwsem_down_read_slowpath, down_read, iterate_dir
 *
 * The frames after those of the scheduler are functions of the lock. Their caller identifies the
 * lock, which has no name of its own. A sleep without such functions is not a wait for a lock. A
 * place record may arrive one slice before the record of its switch.
 */

#define PLACES_MAX 65536	/* maximum number of places whose switches have not arrived */

/* Functions of locks. A name that ends with an underscore matches all names that begin with it. */
static const char *const lock_functions[] = {
	"mutex_lock", "mutex_lock_", "__mutex_lock", "__mutex_lock_", "ww_mutex_", "__ww_mutex_",
	"rwsem_", "down", "down_", "__down", "__down_", "percpu_down_", "__percpu_down_",
	"percpu_rwsem_", "rt_mutex_", "__rt_mutex_", "rwbase_", "ldsem_down_",
};

/*
 * Compares a symbol, such as "down_read+0x2f" or "__mutex_lock.constprop.0+0x1a2", with a function.
 */
static bool is_function(const char *name, const char *wanted)
{
	size_t len = strlen(wanted);

	return !strncmp(name, wanted, len) &&
	       (wanted[len - 1] == '_' || strchr("+. ", name[len]));
}

static bool is_of_lock(const char *name)
{
	for (size_t i = 0; i < sizeof(lock_functions) / sizeof(lock_functions[0]); i++)
		if (is_function(name, lock_functions[i]))
			return true;
	return false;
}

static bool is_of_scheduler(const char *name)
{
	return is_function(name, "__schedule") || is_function(name, "schedule") ||
	       is_function(name, "schedule_preempt_disabled") ||
	       is_function(name, "schedule_timeout");
}

/* Returns the return address into the function that waits for a lock; 0: not a wait for a lock. */
static uint64_t caller_of_lock(struct block_writer *w, const uint64_t *frames)
{
	bool in_scheduler = false, in_lock = false;

	for (unsigned int i = 0; i < WIRE_PLACE_FRAMES && frames[i]; i++) {
		const char *name = block_name(w, TRACE_NAME_SYMBOL, frames[i]);

		if (name && is_of_scheduler(name))
			in_scheduler = true;
		else if (name && in_scheduler && is_of_lock(name))
			in_lock = true;
		else if (in_scheduler)
			return in_lock && name ? frames[i] : 0;
	}
	return 0;
}

static uint64_t key_of(const struct wire_hdr *h)
{
	return h->ts_ns << 22 | h->tid;
}

int kernel_places_note(struct block_writer *w, const struct wire_place *r)
{
	uint64_t caller = caller_of_lock(w, r->frames);

	if (w->places.cnt >= PLACES_MAX)
		hash_map_clear(&w->places);
	return caller ? hash_map_put(&w->places, key_of(&r->hdr), (void *)(uintptr_t)caller) : 0;
}

uint64_t kernel_places_take(struct block_writer *w, const struct wire_hdr *of)
{
	return (uintptr_t)hash_map_remove(&w->places, key_of(of));
}

/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * kernel_places: which lock of the kernel a thread waited for in an uninterruptible sleep.
 *
 *     place records --[a caller by thread and instant]--> switches of kind CALL_FILE_KERNEL_LOCK
 *
 *     __schedule, schedule, rwsem_down_read_slowpath, down_read, iterate_dir
 *
 * Below the scheduler are the functions of the lock; the function that called them stands for the
 * lock, because the lock itself has no name. A sleep without such functions is not for a lock. The
 * record may arrive in the slice before its switch.
 */
#include <errno.h>
#include <string.h>

#include "model/call.h"
#include "record/encode/block_state.h"

#define PLACES_MAX 65536	/* switches that never came */

/* Whole names, or their beginnings if they end with an underscore. */
static const char *const lock_functions[] = {
	"mutex_lock", "mutex_lock_", "__mutex_lock", "__mutex_lock_", "ww_mutex_", "__ww_mutex_",
	"rwsem_", "down", "down_", "__down", "__down_", "percpu_down_", "__percpu_down_",
	"percpu_rwsem_", "rt_mutex_", "__rt_mutex_", "rwbase_", "ldsem_down_",
};

/* name: "down_read+0x2f", or "__mutex_lock.constprop.0+0x1a2". */
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

/* The return address into the function that waits for a lock; 0: not for a lock. */
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

/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* hook_name: a table made from the declared hooks. */
#include "format/hook_name.h"

#include <stddef.h>

#include "event_lists.h"

const struct hook_name *hook_name_find(unsigned int hook)
{
	static const struct hook_name names[] = {
#define X(id, name_, class_, source_) [id] = { #name_, source_, EVENT_CLASS_##class_ },
		EVENT_HOOKS(X)
#undef X
	};

	return hook < sizeof(names) / sizeof(names[0]) && names[hook].name ? &names[hook] : NULL;
}

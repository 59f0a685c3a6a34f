/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* A table made from the list of hooks. */
#include "chunk/hook_name.h"

#include <stddef.h>

#include "bpf/wire.h"

const struct hook_name *hook_name_find(unsigned int hook)
{
	static const struct hook_name names[WIRE_HOOK_MAX] = {
#define X(id, name_, class_, source_) [id] = { #name_, source_, WIRE_CLASS_##class_ },
		WIRE_HOOKS(X)
#undef X
	};

	return hook < WIRE_HOOK_MAX && names[hook].name ? &names[hook] : NULL;
}

/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* column_value: one value of a decoded column, however the column came. */
#pragma once

#include "format/columns.h"

static inline uint64_t kind_columns_value(const struct kind_columns *k, unsigned int column,
					  uint32_t row)
{
	if (k->value[column])
		return k->value[column][row];
	if (k->tuple_value[column])
		return k->tuple_value[column][k->tuple ? k->tuple[row] : 0];
	return k->ref[column] ? k->ref[column][row] : 0;
}

/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* sql_functions: the SQL functions the analysis adds; schema/TABLES.md lists them. Threads: one. */
#ifndef SQL_FUNCTIONS_H
#define SQL_FUNCTIONS_H

#include "analyze/engine/context.h"

/* Registers all of them with a->db; a outlives it. */
int sql_functions_register(struct analysis *a, struct err *e);

#endif /* SQL_FUNCTIONS_H */

/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* The -e list and the program table. */
#include "bpf/wire.h"
#include "probe/source.h"
#include "tests/unit/unit_test.h"

static uint32_t mask_of(const char *list)
{
	uint32_t mask = 0;
	struct err e = {};

	assert_int_equal(source_parse(list, &mask, &e), 0);
	return mask;
}

UNIT_TEST(test_source_default_is_what_declarations_say)
{
	uint32_t all = SOURCE_BIT(SOURCE_CNT) - 1, wanted = 0;

	for (unsigned int i = 0; i < SOURCE_CNT; i++)
		wanted |= source_infos[i].is_default ? SOURCE_BIT(i) : 0;
	assert_int_equal(mask_of(NULL), wanted);
	assert_false(wanted & (SOURCE_BIT(SOURCE_HEAP) | SOURCE_BIT(SOURCE_IRQ)));
	assert_true(wanted & SOURCE_BIT(SOURCE_TASK));
	assert_int_equal(mask_of("all"), all);
}

UNIT_TEST(test_source_task_is_always_on)
{
	assert_int_equal(mask_of("block"), SOURCE_BIT(SOURCE_TASK) | SOURCE_BIT(SOURCE_BLOCK) |
						   SOURCE_BIT(SOURCE_DIRTY));
	assert_int_equal(mask_of("task"), SOURCE_BIT(SOURCE_TASK));
}

UNIT_TEST(test_source_class_picks_its_default_sources)
{
	assert_int_equal(mask_of("sched"), SOURCE_BIT(SOURCE_TASK) | SOURCE_BIT(SOURCE_SWITCH) |
						   SOURCE_BIT(SOURCE_WAKEUP));
	assert_true(mask_of("sched,sched.irq") & SOURCE_BIT(SOURCE_IRQ));
	assert_false(mask_of("alloc") & SOURCE_BIT(SOURCE_HEAP));
	assert_true(mask_of("alloc,alloc.heap") & SOURCE_BIT(SOURCE_HEAP));
	assert_int_equal(mask_of("sched.switch,alloc.rss"), SOURCE_BIT(SOURCE_TASK) |
								    SOURCE_BIT(SOURCE_SWITCH) |
								    SOURCE_BIT(SOURCE_RSS));
}

UNIT_TEST(test_source_signs_count_from_the_default)
{
	uint32_t usual = mask_of(NULL);

	assert_int_equal(mask_of("+sched.irq"), usual | SOURCE_BIT(SOURCE_IRQ));
	assert_int_equal(mask_of("-alloc.slab"), usual & ~SOURCE_BIT(SOURCE_SLAB));
	assert_int_equal(mask_of("+alloc.heap,-alloc.slab"),
			 (usual | SOURCE_BIT(SOURCE_HEAP)) & ~SOURCE_BIT(SOURCE_SLAB));
	/* removing a class removes all of its sources */
	assert_int_equal(mask_of("+alloc.heap,-alloc"), mask_of("sched,block,mem.pressure"));
	assert_int_equal(mask_of("-all"), SOURCE_BIT(SOURCE_TASK));
	/* a later sign modifies the list up to there */
	assert_int_equal(mask_of("light,+sched.irq"), mask_of("light,sched.irq"));
	assert_int_equal(mask_of("all,-block"),
			 (mask_of("all") & ~mask_of("block")) | SOURCE_BIT(SOURCE_TASK));
}

UNIT_TEST(test_source_light_is_sched_block_and_rss)
{
	assert_int_equal(mask_of("light"), mask_of("sched,block,alloc.rss"));
}

UNIT_TEST(test_source_task_cannot_be_left_out)
{
	uint32_t mask = 77;
	struct err e = {};

	assert_int_equal(source_parse("-task", &mask, &e), -EINVAL);
	assert_int_equal(mask, 77);
	assert_non_null(strstr(e.text, "always"));
}

UNIT_TEST(test_source_names_the_unknown_word)
{
	static const char *const bad[] = { "sched,bogus", "",	    "sched,",	     ",sched",
					   "SCHED",	  "alloc.", "sched.switchx", "+",
					   "+bogus",	  "--sched" };
	uint32_t mask = 77;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct err e = {};

		assert_int_equal(source_parse(bad[i], &mask, &e), -EINVAL);
		assert_int_equal(mask, 77);
		assert_non_null(strstr(e.text, "unknown event"));
	}
	struct err e = {};

	source_parse("sched,bogus", &mask, &e);
	assert_non_null(strstr(e.text, "'bogus'"));
}

UNIT_TEST(test_source_every_hook_has_a_program)
{
	static const uint8_t ids[] = {
#define X(id, name, class, source) id,
		EVENT_HOOKS(X)
#undef X
	};
	unsigned int i, j;

	for (i = 0; i < sizeof(ids); i++) {
		/* sent by the programs of allocations, of issues and dirtyings, and of switches */
		if (ids[i] == WIRE_STACK || ids[i] == WIRE_PATH ||
		    ids[i] == WIRE_SWITCH_MORE || ids[i] == WIRE_SOCKET || ids[i] == WIRE_PLACE ||
		    ids[i] == WIRE_SCHED_FACTS)
			continue;
		for (j = 0; j < source_program_cnt && source_programs[j].hook != ids[i]; j++)
			;
		if (j == source_program_cnt)
			fail_msg("no program serves hook %u", ids[i]);
	}
}

UNIT_TEST(test_source_hook_belongs_to_its_source)
{
	static const char *const sources[WIRE_HOOK_MAX] = {
#define X(id, name, class, source) [id] = source,
		EVENT_HOOKS(X)
#undef X
	};

	for (unsigned int j = 0; j < source_program_cnt; j++) {
		const struct source_program *p = &source_programs[j];

		if (p->hook)
			assert_string_equal(sources[p->hook], source_infos[p->source].name);
		assert_true(strlen(p->program) <= 15);
	}
}

UNIT_TESTS

# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# One Makefile, everything it makes is under build/.
#   make           build/ebpfrec
#   make demo      dependencies, build, record a real workload, show the reports
#   make test      dependencies, build, the gate: exact tests, in minutes
#   make test-all  the same and all other tests: cost, load, servers, other engines
#   make assess    its figures next to those of the kernel, iostat, pidstat, htop, node-exporter
#   make bench     what recording costs, next to other tracers; bench-quick: the same in minutes
#   make fuzz      FUZZ_TIME seconds of every fuzz target, and thousands of damaged traces; T="trace column" picks some
#   make mutate    changes one operator of the library at a time: does a test notice? MUTATE="--count 20 --seed 7"
#   make fuzz-keep puts what fuzzing found into its corpus; fuzz-seeds: all of it anew, for a new trace format
#   make install   DESTDIR, PREFIX; make uninstall; make deb: a Debian package
# V=1 shows commands. WERROR=1 turns warnings into errors. SAN=address,undefined (or thread)
# builds instrumented under build-san/, STATIC=1 links statically, under build/static/, NO_EDIT=1
# does without libedit, NO_LINES=1 without libdw, NO_DEMANGLE=1 without libiberty.

.DEFAULT_GOAL := all
.SUFFIXES:
.DELETE_ON_ERROR:
.SECONDARY:

PREFIX ?= /usr/local
DESTDIR ?=
CC ?= gcc
CLANG ?= clang
# Ubuntu's /usr/sbin/bpftool only looks for the running kernel's tools; the tool itself is under /usr/lib
BPFTOOL ?= $(firstword $(wildcard /usr/lib/linux-tools/*/bpftool /usr/sbin/bpftool /sbin/bpftool) bpftool)
PKG_CONFIG ?= pkg-config
VERSION := 0.1.0

comma := ,
ifdef FUZZ
# libFuzzer comes with clang only
B := build-san/fuzz
CC := $(CLANG)
SANFLAGS := -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined \
	-fno-omit-frame-pointer -DSANITIZED_address
else ifdef MUTATED
# the library is a shared object, so that a changed file costs no more than that object, and notes which of its code
# runs (tests/mutate_operators.py); SAN=address too
B := build-san/mutate$(if $(SAN),-$(SAN))
CFLAGS ?= -O1 -g1 -Wno-unknown-warning-option -Wno-format-truncation -Wno-clobbered
SANFLAGS := -fPIC $(if $(SAN),-fsanitize=$(SAN) -fno-omit-frame-pointer -DSANITIZED_$(SAN))
else ifdef SAN
B := build-san/$(firstword $(subst $(comma), ,$(SAN)))
# half the compiler's time of -O2 -g; a sanitizer's report needs lines and no more. With less known of values, gcc warns
# of two things that cannot be.
CFLAGS ?= -O1 -g1 -Wno-unknown-warning-option -Wno-format-truncation -Wno-clobbered
# each compiler has its own way of saying which sanitizer it is
SANFLAGS := -fsanitize=$(SAN) -fno-omit-frame-pointer -DSANITIZED_$(firstword $(subst $(comma), ,$(SAN)))
else ifdef STATIC
B := build/static
else
B := build
endif

ifeq ($(V),1)
Q :=
say = @:
else
Q := @
say = @printf '  %-8s %s\n' $(1) $(2)
endif

ARCH := $(shell uname -m | sed -e 's/x86_64/x86/' -e 's/aarch64/arm64/' -e 's/ppc64le/powerpc/' -e 's/riscv64/riscv/')
LIBS := libbpf libelf libzstd sqlite3 zlib
# bundles (one zip file): Debian has no archive of libzip, so a static program does without
ifndef STATIC
LIBS += libzip
# lines are edited in the shell of `ebpfrec sql`; a program without libedit (NO_EDIT=1) reads them as they are
ifeq ($(NO_EDIT)$(shell $(PKG_CONFIG) --exists libedit || echo none),)
LIBS += libedit
EDIT_FLAG := -DEBPFREC_EDIT
endif
# `ebpfrec metrics --listen`; a program without libmicrohttpd (NO_HTTP=1) says so
ifeq ($(NO_HTTP)$(shell $(PKG_CONFIG) --exists libmicrohttpd || echo none),)
LIBS += libmicrohttpd
HTTP_FLAG := -DEBPFREC_HTTP
endif
endif
# `ebpfrec mcp`; a program without jansson (NO_JSON=1) says so
ifeq ($(NO_JSON)$(shell $(PKG_CONFIG) --exists jansson || echo none),)
LIBS += jansson
JSON_FLAG := -DEBPFREC_JSON
endif
# lines of source code in stacks (report --lines): a program without libdw (NO_LINES=1) says so. pkg-config would
# name what libdw's other parts need, too, which a static program then wants archives of.
ifeq ($(NO_LINES)$(shell $(PKG_CONFIG) --exists libdw || echo none),)
NAME_LIBS += -ldw
NAME_FLAGS += -DEBPFREC_LINES
endif
# names of C++ and Rust; without libiberty (NO_DEMANGLE=1) they stay as the linker has them
ifeq ($(NO_DEMANGLE)$(shell echo '#include <libiberty/demangle.h>' | $(CC) -E - >/dev/null 2>&1 || echo none),)
NAME_LIBS += -liberty
NAME_FLAGS += -DEBPFREC_DEMANGLE
endif
STATIC_FLAG := $(if $(STATIC),--static)
LIB_CFLAGS = $(shell $(PKG_CONFIG) --cflags $(LIBS))
LIB_LDLIBS = $(NAME_LIBS) $(shell $(PKG_CONFIG) $(STATIC_FLAG) --libs $(LIBS)) -lpthread -lm

WARN := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wpointer-arith \
	-Wno-unused-parameter -Wno-missing-field-initializers $(if $(WERROR),-Werror)
CFLAGS ?= -O2 -g
ALL_CFLAGS = -std=gnu11 $(WARN) $(CFLAGS) $(SANFLAGS) -I. -Isrc -I$(B) -D_GNU_SOURCE \
	-DEBPFREC_VERSION='"$(VERSION)"' $(if $(STATIC),-DEBPFREC_STATIC -DEBPFREC_NO_ZIP) $(EDIT_FLAG) \
	$(HTTP_FLAG) $(JSON_FLAG) $(NAME_FLAGS) $(LIB_CFLAGS)
DEPENDS = -MMD -MP -MF $@.d -MT $@
ALL_LDFLAGS = $(LDFLAGS) $(SANFLAGS) $(if $(STATIC),-static -Wl$(comma)--wrap=dlopen)

LIB_SRC := $(sort $(filter-out src/preload/%,$(wildcard src/*/*.c src/*/*/*.c analyze/*/*.c)))
CMD_SRC := $(sort $(wildcard cmd/*.c cmd/*/*.c))
BPF_SRC := $(sort $(wildcard bpf/*.bpf.c))
SQL_SRC := $(sort $(wildcard schema/*.sql))
UNIT_SRC := $(sort $(wildcard tests/unit/*/test_*.c))
UNIT_AUX := $(sort $(wildcard tests/unit/gen/*.c))
BENCH_SRC := $(sort $(wildcard tests/bench/load/*.c tests/bench/meter/*.c))
CRASH_SRC := $(sort $(wildcard tests/crash/test_*.c))
CRASH_AUX := $(filter-out $(CRASH_SRC),$(wildcard tests/crash/*.c))
FUZZ_SRC := $(sort $(wildcard tests/fuzz/fuzz_*.c))
FUZZ_AUX := tests/fuzz/fix_chunk.c tests/fuzz/scratch_trace.c tests/fuzz/index_trace.c \
	tests/unit/gen/gen_trace.c tests/unit/gen/gen_mix.c $(if $(FUZZ),,tests/fuzz/replay_main.c)
WORK_SRC := $(sort $(wildcard tests/kernel/work/*.c))

LIB := $(B)/libebpfrec.$(if $(MUTATED),so,a)
LIB_OBJ := $(LIB_SRC:%.c=$(B)/%.o) $(B)/schema_sql.o $(B)/report_views.o $(B)/columns.o
ifdef MUTATED
$(LIB_OBJ): SANFLAGS += -fsanitize-coverage=trace-pc
LIB_OBJ += $(B)/tests/mutate_reached.o
endif
CMD_OBJ := $(CMD_SRC:%.c=$(B)/%.o) $(B)/page_text.o $(B)/sql_schema_items.o $(B)/metric_table.o
UNIT_BIN := $(addprefix $(B)/unit/,$(basename $(notdir $(UNIT_SRC))))
UNIT_AUX_OBJ := $(UNIT_AUX:%.c=$(B)/%.o)
BENCH_BIN := $(addprefix $(B)/bench/bin/,$(patsubst preload_%,preload_%.so,$(basename $(notdir $(BENCH_SRC)))))
CRASH_BIN := $(CRASH_SRC:tests/crash/%.c=$(B)/unit/%)
CRASH_AUX_OBJ := $(CRASH_AUX:%.c=$(B)/%.o)
FUZZ_BIN := $(FUZZ_SRC:tests/fuzz/%.c=$(B)/fuzz/%)
FUZZ_AUX_OBJ := $(FUZZ_AUX:%.c=$(B)/%.o)
FUZZ_CORPUS := $(patsubst tests/fuzz/%.tar.xz,$(B)/fuzz/%.unpacked,$(sort $(wildcard tests/fuzz/corpus/*.tar.xz)))
WORK_BIN := $(WORK_SRC:tests/kernel/work/%.c=$(B)/work/%) $(B)/work/profile_bare $(B)/work/waits_bare
WORK_LIB := $(B)/work/heap_sites.so $(B)/work/heap_calls.so
ifdef STATIC	# it loads a library, which a static program had better not
WORK_BIN := $(filter-out $(B)/work/heap_sites $(B)/work/heap_calls,$(WORK_BIN))
WORK_LIB :=
endif

.PHONY: all demo test test-all test-vm picture soak assess fuzz fuzz-bin fuzz-keep fuzz-real fuzz-seeds mutate \
	bench bench-quick bench-bin install uninstall deb clean deps deps-test unit work check-includes documents

all: $(B)/ebpfrec $(B)/ebpfrec_heap.so

# ---- event sources: what their declarations give to C and BPF ----

EVENT_SRC := $(sort $(wildcard schema/events/*.event))
EVENT_GEN := $(B)/event_lists.h $(B)/wire_records.h $(B)/fill_records.h

$(B)/event_lists.h: OUT := lists
$(B)/wire_records.h: OUT := wire
$(B)/fill_records.h: OUT := fill
$(EVENT_GEN): schema/events.awk $(EVENT_SRC)
	$(call say,EVENTS,$@)
	$(Q)mkdir -p $(@D)
	$(Q)LC_ALL=C awk -f schema/events.awk -v out=$(OUT) $(EVENT_SRC) > $@

$(B)/calls.h: schema/calls.awk schema/calls.decl
	$(call say,CALLS,$@)
	$(Q)mkdir -p $(@D)
	$(Q)LC_ALL=C awk -f schema/calls.awk schema/calls.decl > $@

$(B)/src/model/call.o: | $(B)/calls.h

$(B)/alloc_wrappers.h: schema/alloc_wrappers.decl
	$(call say,WRAPPERS,$@)
	$(Q)mkdir -p $(@D)
	$(Q)sed -n 's/^[^#].*/"&",/p' schema/alloc_wrappers.decl > $@

$(B)/analyze/views/view_allocations.o: | $(B)/alloc_wrappers.h

# the tables in documents that are made from declarations; tests/format/run.sh compares them
documents:
	$(Q)schema/documents.sh

# ---- BPF: objects, linked into one, one skeleton ----

BPF_CFLAGS := -g -O2 -target bpf -mcpu=v3 -D__TARGET_ARCH_$(ARCH) -D__BPF__ -Wall -Werror -Ibpf -I$(B) \
	-idirafter $(shell $(CC) -print-sysroot 2>/dev/null)/usr/include/$(shell $(CC) -print-multiarch)

$(B)/bpf/%.bpf.o: bpf/%.bpf.c | $(EVENT_GEN)
	$(call say,BPF,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CLANG) $(BPF_CFLAGS) -MMD -MP -MF $(@:.o=.d) -MT $@ -c $< -o $@

$(B)/ebpfrec.bpf.o: $(BPF_SRC:bpf/%.bpf.c=$(B)/bpf/%.bpf.o)
	$(call say,BPFLINK,$@)
	$(Q)$(BPFTOOL) gen object $@ $^

$(B)/ebpfrec.skel.h: $(B)/ebpfrec.bpf.o
	$(call say,SKEL,$@)
	$(Q)$(BPFTOOL) gen skeleton $< name ebpfrec_bpf > $@

# ---- SQL files, embedded ----

$(B)/schema_sql.c: schema/embed.sh $(SQL_SRC)
	$(call say,EMBED,$@)
	$(Q)mkdir -p $(@D)
	$(Q)sh schema/embed.sh $(SQL_SRC) > $@

# ---- views of `report`: what the heads of their SQL files declare ----

VIEW_SRC := $(sort $(wildcard schema/report_*.sql))

$(B)/report_views.c: schema/views.awk $(VIEW_SRC)
	$(call say,VIEWS,$@)
	$(Q)mkdir -p $(@D)
	$(Q)LC_ALL=C awk -f schema/views.awk $(VIEW_SRC) > $@

$(B)/columns.c: schema/columns.awk schema/columns.decl
	$(call say,COLUMNS,$@)
	$(Q)mkdir -p $(@D)
	$(Q)LC_ALL=C awk -f schema/columns.awk schema/columns.decl > $@

$(B)/metric_table.c: schema/metrics.awk schema/report_metrics.sql
	$(call say,METRICS,$@)
	$(Q)mkdir -p $(@D)
	$(Q)LC_ALL=C awk -f schema/metrics.awk schema/report_metrics.sql > $@

# ---- tables of SQL: what their declarations give to C and to `sql --schema` ----

TABLES_AWK := LC_ALL=C awk -f schema/tables.awk -v

$(B)/table_columns.h: schema/tables.awk schema/tables.decl
	$(call say,TABLES,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(TABLES_AWK) out=columns schema/tables.decl > $@

$(filter $(B)/analyze/tables/%.o $(B)/analyze/views/%.o $(B)/analyze/engine/sql_functions.o,$(LIB_OBJ)): \
	| $(B)/table_columns.h

$(B)/sql_schema_items.c: schema/tables.awk schema/tables.decl schema/events.awk $(EVENT_SRC) schema/sql_schema.awk \
		schema/QUERIES.md Makefile
	$(call say,SCHEMA,$@)
	$(Q)mkdir -p $(@D)
	$(Q){ echo '#include "cmd/sql_schema.h"' && echo 'const struct sql_schema_item sql_schema_items[] = {' && \
		$(TABLES_AWK) out=items_lists schema/tables.decl && \
		LC_ALL=C awk -f schema/events.awk -v out=items $(EVENT_SRC) && \
		$(TABLES_AWK) out=items_rest schema/tables.decl && echo '};' && \
		echo 'const unsigned int sql_schema_item_cnt = sizeof(sql_schema_items) / sizeof(sql_schema_items[0]);' && \
		LC_ALL=C awk -f schema/sql_schema.awk schema/QUERIES.md; } > $@

# ---- the page of `export --to html`, with the library of its charts, embedded ----

DYGRAPHS ?= /usr/share/javascript/dygraphs
DYGRAPHS_LICENSE ?= /usr/share/doc/libjs-dygraphs/copyright

$(B)/page_text.c: $(sort $(wildcard cmd/page/*)) $(wildcard $(DYGRAPHS)/dygraph.min.js)
	$(call say,EMBED,$@)
	$(Q)mkdir -p $(@D)
	$(Q)sh cmd/page/embed_page.sh $(DYGRAPHS) $(DYGRAPHS_LICENSE) > $@

# ---- C ----

# (a pattern rule without a recipe would add nothing)
$(filter $(B)/src/probe/%.o,$(LIB_OBJ)): | $(B)/ebpfrec.skel.h

$(B)/%.o: %.c | $(EVENT_GEN)
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) -MMD -MP -c $< -o $@

$(B)/schema_sql.o $(B)/report_views.o $(B)/columns.o $(B)/sql_schema_items.o $(B)/page_text.o \
$(B)/metric_table.o: %.o: %.c
	$(call say,CC,$<)
	$(Q)$(CC) $(ALL_CFLAGS) -MMD -MP -c $< -o $@

$(B)/libebpfrec.a: $(LIB_OBJ)
	$(call say,AR,$@)
	$(Q)rm -f $@ && ar rcs $@ $^

$(B)/libebpfrec.so: $(LIB_OBJ)
	$(call say,LD,$@)
	$(Q)$(CC) $(ALL_LDFLAGS) -shared -Wl,-soname,$(@F) -o $@ $^ $(LIB_LDLIBS)

$(B)/ebpfrec: $(CMD_OBJ) $(LIB)
	$(call say,LD,$@)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $(CMD_OBJ) $(LIB) $(LIB_LDLIBS)

# what `record --heap` puts into the workload: never instrumented, and linked with the C library alone. The compiler
# must not know what malloc() is, because this is where it is made.
$(B)/ebpfrec_heap.so: src/preload/heap_preload.c
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -std=gnu11 $(WARN) -O2 -g -Isrc -D_GNU_SOURCE -fPIC -fno-builtin -fno-omit-frame-pointer \
		-fvisibility=hidden $(DEPENDS) -shared -Wl,-z,now -o $@ $<

# ---- tests ----

# build/unit/test_x is made of tests/unit/ROOM/test_x.c; those of cmd/ link everything of it but main()
define UNIT_RULE
$(B)/unit/$(basename $(notdir $(1))): $(1:%.c=$(B)/%.o) $(UNIT_AUX_OBJ) \
		$(if $(filter tests/unit/cmd/%,$(1)),$(B)/libebpfrec-cmd.a) $(LIB)
	$$(call say,LD,$$@)
	$$(Q)mkdir -p $$(@D)
	$$(Q)$$(CC) $$(ALL_LDFLAGS) -o $$@ $$^ $$(LIB_LDLIBS) -lcmocka
endef
$(foreach src,$(UNIT_SRC),$(eval $(call UNIT_RULE,$(src))))

# crash tests: a recording on a simulated disk
$(CRASH_BIN): $(B)/unit/%: $(B)/tests/crash/%.o $(CRASH_AUX_OBJ) $(UNIT_AUX_OBJ) $(LIB)
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(LIB_LDLIBS) -lcmocka

$(B)/libebpfrec-cmd.a: $(filter-out $(B)/cmd/main.o,$(CMD_OBJ))
	$(call say,AR,$@)
	$(Q)rm -f $@ && ar rcs $@ $^

# the small deterministic trace of the golden command line tests
$(B)/tests/cli/gen_golden: $(B)/tests/cli/gen_golden.o $(B)/tests/unit/gen/gen_trace.o $(LIB)
	$(call say,LD,$@)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(LIB_LDLIBS)

# traces that are not complete
$(B)/tests/cli/gen_doubtful: $(B)/tests/cli/gen_doubtful.o $(UNIT_AUX_OBJ) $(LIB)
	$(call say,LD,$@)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(LIB_LDLIBS) -lcmocka

# without FUZZ=1 a target only replays what it is given
$(B)/fuzz/fuzz_%: $(B)/tests/fuzz/fuzz_%.o $(FUZZ_AUX_OBJ) $(B)/libebpfrec-cmd.a $(LIB)
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(ALL_LDFLAGS) $(if $(FUZZ),-fsanitize=fuzzer) -o $@ $^ $(LIB_LDLIBS)

$(B)/fuzz/make_seeds: $(B)/tests/fuzz/make_seeds.o $(B)/tests/fuzz/fix_chunk.o $(B)/tests/fuzz/index_trace.o \
		$(B)/tests/unit/gen/gen_trace.o $(B)/tests/unit/gen/gen_mix.o $(B)/tests/unit/gen/make_elf.o $(LIB)
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(LIB_LDLIBS)

# the inputs that fuzzing found, one archive per target
$(B)/fuzz/corpus/%.unpacked: tests/fuzz/corpus/%.tar.xz
	$(call say,UNPACK,$<)
	$(Q)rm -rf $(@D)/$* && mkdir -p $(@D)
	$(Q)tar -xJmf $< -C $(@D)
	$(Q)touch $@

WORK_CC = $(CC) -std=gnu11 $(WARN) -O2 -g -D_GNU_SOURCE $(DEPENDS)

$(B)/work/%: tests/kernel/work/%.c
	$(call say,WORK,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(WORK_CC) $(if $(STATIC),-static) -o $@ $< -lpthread $(WORK_FLAGS)

# its frames are walked, and the same source is a library it loads
$(B)/work/heap_sites: WORK_FLAGS = -fno-omit-frame-pointer -ldl
$(B)/work/waits $(B)/work/profile $(B)/work/jit_map $(B)/work/request_causes: WORK_FLAGS = -fno-omit-frame-pointer
# the same without them
$(B)/work/%_bare: tests/kernel/work/%.c
	$(call say,WORK,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(WORK_CC) $(if $(STATIC),-static) -fomit-frame-pointer -o $@ $< -lpthread
$(B)/work/heap_calls: WORK_FLAGS = -fno-builtin
$(WORK_LIB): $(B)/work/%.so: tests/kernel/work/%.c
	$(call say,WORK,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(WORK_CC) -fno-builtin -fno-omit-frame-pointer -shared -fPIC -DLIBRARY -o $@ $<

# load generators and meters of the benchmark: never instrumented, never linked with the project
BENCH_CC = $(WORK_CC) -o $@ $<

$(B)/bench/bin/preload_%.so: tests/bench/meter/preload_%.c
	$(call say,BENCH,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(BENCH_CC) -shared -fPIC -ldl

$(B)/bench/bin/%: tests/bench/load/%.c
	$(call say,BENCH,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(BENCH_CC) -lpthread

$(B)/bench/bin/%: tests/bench/meter/%.c
	$(call say,BENCH,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(BENCH_CC) $(shell $(PKG_CONFIG) --cflags --libs libbpf libzstd)

# made of the project's own writers
$(B)/bench/bin/gen_%: $(B)/tests/bench/gen/gen_%.o $(LIB)
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(LIB_LDLIBS)

# the block writer alone, fed from a trace (tests/bench/LEVELS.md)
$(B)/bench/recode: $(B)/tests/bench/recode.o $(LIB)
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(LIB_LDLIBS)

# decodes all blocks of a trace once
$(B)/bench/bin/decode: $(B)/tests/bench/decode.o $(LIB)
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(LIB_LDLIBS)

# what recording an event is made of, piece by piece (tests/bench/KERNEL_COST.md)
$(B)/bench/floor.skel.h: $(B)/tests/bench/floor/floor.bpf.o
	$(call say,SKEL,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(BPFTOOL) gen skeleton $< name floor_bpf > $@

$(B)/tests/bench/floor/%.bpf.o: tests/bench/floor/%.bpf.c
	$(call say,BPF,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CLANG) $(BPF_CFLAGS) -MMD -MP -MF $(@:.o=.d) -MT $@ -c $< -o $@

$(B)/tests/bench/floor/floor.o: | $(B)/bench/floor.skel.h

$(B)/bench/bin/floor: $(B)/tests/bench/floor/floor.o $(LIB)
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(LIB_LDLIBS)

# what SQLite takes for itself in a statement over many rows
$(B)/bench/bin/sql_floor: tests/bench/floor/sql_floor.c
	$(call say,BENCH,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(BENCH_CC) $(shell $(PKG_CONFIG) --cflags --libs sqlite3)

bench-bin: $(BENCH_BIN) $(addprefix $(B)/bench/bin/,gen_trace_large floor sql_floor decode) $(B)/bench/recode
fuzz-bin: $(FUZZ_BIN) $(B)/fuzz/make_seeds $(FUZZ_CORPUS)
unit: $(UNIT_BIN) $(CRASH_BIN) $(B)/tests/cli/gen_golden $(B)/tests/cli/gen_doubtful fuzz-bin
work: $(WORK_BIN) $(WORK_LIB)

# ---- what people run; recursive so that dependencies are there before anything is looked for ----

deps:
	$(Q)tests/deps.sh build

deps-test:
	$(Q)tests/deps.sh test

demo: deps
	$(Q)$(MAKE) --no-print-directory all work
	$(Q)BUILD=$(abspath $(B)) tests/demo.sh

# T="unit kernel/cpu_*" runs a part
test: deps-test
	$(Q)$(MAKE) --no-print-directory all unit work bench-bin
	$(Q)BUILD=$(abspath $(B)) tests/run.sh $(T)

test-all: deps-test
	$(Q)$(MAKE) --no-print-directory all unit work bench-bin
	$(Q)BUILD=$(abspath $(B)) tests/run.sh --all $(T)

# FUZZ_TIME seconds for each target, FUZZ_JOBS at a time; what crashes is kept in build-san/fuzz/found/. Without T=, it
# ends with FUZZ_DAMAGE damaged traces, others each time (tests/damage/).
FUZZ_TIME ?= 60
FUZZ_JOBS ?= 2
FUZZ_DAMAGE ?= 5000
FUZZ_ENV = BUILD=$(abspath build-san/fuzz) FUZZ_TIME=$(FUZZ_TIME) FUZZ_JOBS=$(FUZZ_JOBS)
fuzz:
	$(Q)tests/deps.sh fuzz
	$(Q)$(MAKE) --no-print-directory FUZZ=1 fuzz-bin
	$(Q)$(FUZZ_ENV) tests/fuzz/fuzz.sh $(T)
ifeq ($(T),)
	$(Q)$(MAKE) --no-print-directory all bench-bin
	$(Q)seed=$$(date +%s); echo "damaged traces: DAMAGE_SEED=$$seed makes the same again"; \
		DAMAGE_CASES=$(FUZZ_DAMAGE) DAMAGE_SEED=$$seed tests/run.sh damage
endif

# what earlier runs of `make fuzz` found goes into tests/fuzz/corpus/, as far as it reaches code that nothing else does
fuzz-keep:
	$(Q)tests/deps.sh fuzz
	$(Q)$(MAKE) --no-print-directory FUZZ=1 fuzz-bin
	$(Q)$(FUZZ_ENV) tests/fuzz/fuzz.sh --keep $(T)

# recorded seeds (tests/fuzz/real/), from an emulated machine
fuzz-real:
	$(Q)tests/deps.sh vm
	$(Q)$(MAKE) --no-print-directory STATIC=1 all work
	$(Q)$(MAKE) --no-print-directory STATIC= build/work/heap_user
	$(Q)tests/fuzz/record_real.sh

# when the format of traces has changed: recorded seeds, FUZZ_TIME seconds of each target, and archives that have only
# inputs of the new format
fuzz-seeds:
	$(Q)$(MAKE) --no-print-directory fuzz-real
	$(Q)$(MAKE) --no-print-directory fuzz
	$(Q)$(MAKE) --no-print-directory fuzz-keep

# changes of one operator each, of which unit, cli and format tests should notice 85 %
mutate: deps-test
	$(Q)$(MAKE) --no-print-directory MUTATED=1 all unit
	$(Q)tests/mutate_operators.py $(MUTATE)

# ebpfrec's figures next to those of the kernel and of other tools; ASSESS="--only cpu,fio --quick" picks
assess: $(B)/ebpfrec
	$(Q)tests/deps.sh assess
	$(Q)tests/assess/assess.sh $(ASSESS)

# the README's picture of the page, of the trace of `ebpfrec demo`
picture: $(B)/ebpfrec
	$(Q)tests/page/picture.sh

# the recorder on Debian's kernels, oldest to newest, in emulated machines: no root, a few minutes.
# T="5.10 newest" picks kernels; they are kept in VM_CACHE, VM_REFRESH=1 fetches them again
test-vm:
	$(Q)tests/deps.sh vm
	$(Q)$(MAKE) --no-print-directory STATIC=1 all work
	$(Q)$(MAKE) --no-print-directory STATIC= build/work/heap_user
	$(Q)tests/vm/run.sh $(T)

# a flight recorder under load for an hour: memory, descriptors and disk stay flat. As root.
SOAK_S ?= 3600
SOAK_KEEP ?= 60s,256MiB
soak: deps
	$(Q)$(MAKE) --no-print-directory all work
	$(Q)EBPFREC=$(abspath $(B))/ebpfrec WORK=$(abspath $(B))/work tests/soak.sh $(SOAK_S) $(SOAK_KEEP)

# against perf, ftrace and bpftrace; BENCH="--only mixed --rounds 20" picks. Results: build/bench/
bench: deps
	$(Q)tests/bench/bench_deps.sh
	$(Q)$(MAKE) --no-print-directory all bench-bin
	$(Q)BUILD=$(abspath $(B)) tests/bench/bench.sh $(BENCH)

bench-quick: deps
	$(Q)tests/bench/bench_deps.sh
	$(Q)$(MAKE) --no-print-directory all bench-bin
	$(Q)BUILD=$(abspath $(B)) tests/bench/bench.sh --quick $(BENCH)

check-includes:
	$(Q)tests/check_includes.sh

# ---- installing ----

MAN_PAGES := $(sort $(wildcard cmd/*.1))
MAN7_PAGES := $(sort $(wildcard cmd/*.7))
UNITS := ebpfrec.service ebpfrec-metrics.service ebpfrec-send.service ebpfrec-send.timer
BINDIR := $(DESTDIR)$(PREFIX)/bin
DATADIR := $(DESTDIR)$(PREFIX)/share
MAN1DIR := $(DATADIR)/man/man1
MAN5DIR := $(DATADIR)/man/man5
MAN7DIR := $(DATADIR)/man/man7
LIBDIR := $(DESTDIR)$(PREFIX)/lib/ebpfrec
INCLUDEDIR := $(DESTDIR)$(PREFIX)/include
UNITDIR := $(DESTDIR)$(PREFIX)/lib/systemd/system
DEFAULTS := $(DESTDIR)/etc/default/ebpfrec
DOCDIR := $(DATADIR)/doc/ebpfrec
DOCS := README.md CHANGELOG.md LICENSE .github/SECURITY.md \
	$(addprefix schema/,FORMAT.md CHANGES.md LIMITS.md TABLES.md QUERIES.md grafana.json prometheus_rules.yml) \
	$(addprefix schema/fleet/,FLEET.md questions.sql questions_duckdb.sql remote_servers.xml)
BASHCOMPDIR := $(DATADIR)/bash-completion/completions
ZSHCOMPDIR := $(DATADIR)/zsh/site-functions

install: $(B)/ebpfrec $(B)/ebpfrec_heap.so
	install -d $(BINDIR) $(MAN1DIR) $(MAN5DIR) $(MAN7DIR) $(DOCDIR) $(BASHCOMPDIR) $(ZSHCOMPDIR) $(LIBDIR) \
		$(INCLUDEDIR) $(UNITDIR) $(dir $(DEFAULTS))
	install -m 755 $(B)/ebpfrec $(BINDIR)/ebpfrec
	install -m 644 $(MAN_PAGES) $(MAN1DIR)
	sed 's,@DOCDIR@,$(PREFIX)/share/doc/ebpfrec,' cmd/ebpfrec-trace.5 > $(MAN5DIR)/ebpfrec-trace.5
	chmod 644 $(MAN5DIR)/ebpfrec-trace.5
	install -m 644 $(MAN7_PAGES) $(MAN7DIR)
	for unit in $(UNITS); do \
		sed 's,@BINDIR@,$(PREFIX)/bin,; s,@LIBDIR@,$(PREFIX)/lib/ebpfrec,' cmd/dist/$$unit >$(UNITDIR)/$$unit && \
		chmod 644 $(UNITDIR)/$$unit || exit; done
	install -m 755 cmd/dist/send_bins $(LIBDIR)
	install -m 644 $(B)/ebpfrec_heap.so $(LIBDIR)
	install -m 644 cmd/ebpfrec.h $(INCLUDEDIR)
	install -d $(LIBDIR)/shop.ebpfrec
	install -m 644 cmd/demo/shop.ebpfrec/* $(LIBDIR)/shop.ebpfrec
	[ -e $(DEFAULTS) ] || install -m 644 cmd/dist/ebpfrec.default $(DEFAULTS)
	install -m 644 $(DOCS) $(DOCDIR)
	install -m 644 cmd/completion/ebpfrec.bash $(BASHCOMPDIR)/ebpfrec
	install -m 644 cmd/completion/_ebpfrec $(ZSHCOMPDIR)/_ebpfrec

uninstall:
	rm -f $(BINDIR)/ebpfrec $(MAN_PAGES:cmd/%=$(MAN1DIR)/%) $(MAN5DIR)/ebpfrec-trace.5 $(MAN7_PAGES:cmd/%=$(MAN7DIR)/%) \
		$(BASHCOMPDIR)/ebpfrec $(ZSHCOMPDIR)/_ebpfrec $(UNITS:%=$(UNITDIR)/%)
	! cmp -s cmd/dist/ebpfrec.default $(DEFAULTS) || rm $(DEFAULTS)
	rm -f $(INCLUDEDIR)/ebpfrec.h
	rm -rf $(DOCDIR) $(LIBDIR)

# build/ebpfrec_VERSION-1_ARCH.deb; DEBFULLNAME and DEBEMAIL say whose it is
deb: $(B)/ebpfrec
	$(Q)rm -rf $(B)/deb $(B)/ebpfrec_*.deb
	$(Q)$(MAKE) --no-print-directory install DESTDIR=$(abspath $(B))/deb PREFIX=/usr >/dev/null
	$(Q)strip --remove-section=.comment $(B)/deb/usr/bin/ebpfrec
	$(Q)cmd/dist/deb.sh $(VERSION) $(B)/deb $(B)

clean:
	rm -rf build build-san

-include $(shell find $(B) -type f -name '*.d' 2>/dev/null)

/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Objects that threads wait for: locks, pipes, sockets with their endpoints, files and others, from
 * the kernel's records to SQL, and the enders of such waits. Hand-made events, by ms.
 */
#include <arpa/inet.h>
#include <sys/socket.h>

#include "analyze/context/code_text.h"
#include "bpf/wire.h"
#include "edit/trace_redact.h"
#include "tests/unit/gen/made_trace.h"
#include "tests/unit/gen/table_rows.h"
#include "tests/unit/unit_test.h"

#define T0 (1000 * MS)
#define AT(ms) (T0 + (ms) * MS)

enum { API = 100, DB = 200, TCP = 4711, LISTENS, REMOTE, UNIX, ABSTRACT, NAMELESS, LOST, PIPE };

static void sleep_for(struct gen *g, uint64_t ts, uint32_t tid, uint32_t type, uint64_t object)
{
	gen_leave(g, ts, 0, tid, 1, type << WIRE_CALL_FILE_SHIFT, object);
}

static void inet_socket(struct gen *g, uint64_t ino, int family, const char *local,
			unsigned int local_port, const char *remote, unsigned int remote_port)
{
	struct wire_socket r = { .hdr = { .ts_ns = T0, .hook = WIRE_SOCKET, .tid = API },
				 .ino = ino, .family = (wire_u16)family, .type = SOCK_STREAM,
				 .local_port = (wire_u16)local_port,
				 .remote_port = (wire_u16)remote_port };

	assert_int_equal(inet_pton(family, local, r.local), 1);
	assert_int_equal(inet_pton(family, remote, r.remote), 1);
	gen_raw(g, &r, sizeof(r));
}

static void unix_socket(struct gen *g, uint64_t ino, const char *path, uint32_t len)
{
	struct wire_socket r = { .hdr = { .ts_ns = T0, .hook = WIRE_SOCKET, .tid = API },
				 .ino = ino, .family = AF_UNIX, .type = SOCK_STREAM,
				 .path_len = len };

	memcpy(r.path, path, len);
	gen_raw(g, &r, sizeof(r));
}

/* api sleeps for an object from at_ms on, and is woken 5 ms later on CPU 1. */
static void wait_for(struct gen *g, uint64_t at_ms, uint32_t type, uint64_t object, bool is_irq)
{
	gen_switch(g, AT(at_ms - 1), 0, 0, API, 0);
	sleep_for(g, AT(at_ms), API, type, object);
	gen_wakeup_in(g, AT(at_ms + 5), 1, DB, API, is_irq ? WIRE_F_IRQ : 0, /* sendto */
		      WIRE_CALL_IS_NUMBER | 44);
}

/* api leaves its CPU in write() to a pipe, in the function that the scheduler's caller calls. */
static void sleep_in_kernel(struct gen *g, uint64_t at_ms, enum gen_kernel_function function)
{
	struct wire_place place = {
		.hdr = { .ts_ns = AT(at_ms), .hook = WIRE_PLACE, .tid = API },
		.frames = { 0xffffffffc0000010, GEN_KERNEL(GEN_SCHEDULE_INNER) + 1,
			    GEN_KERNEL(GEN_SCHEDULE) + 2, GEN_KERNEL(function) + 3,
			    GEN_KERNEL(GEN_PIPE_WRITE) + 4 },
	};
	struct wire_switch leave = {
		.hdr = { .ts_ns = AT(at_ms), .hook = WIRE_SWITCH, .flags = WIRE_F_PLACE,
			 .tid = API },
		.prev_state = 2, .object_low = PIPE + 1,
		.call = WIRE_CALL_IS_NUMBER | WIRE_FILE_PIPE << WIRE_CALL_FILE_SHIFT | 1,
	};

	gen_switch(g, AT(at_ms - 1), 0, 0, API, 0);
	gen_raw(g, &place, sizeof(place));
	gen_raw(g, &leave, sizeof(leave));
	gen_wakeup_in(g, AT(at_ms + 5), 1, DB, API, 0, WIRE_CALL_IS_NUMBER | 1);
}

/*
 * Sockets are described in the first block, and waited for in that and the fourth. Each block
 * begins a file, which forgets names that no block of the last file needed.
 */
static void make(struct made_trace *m)
{
	made_begin(m, &(struct gen_config){ .cpu_cnt = 2, .from_ns = T0, .file_bytes = 1,
					    .sites = true, .machine = "x86_64" });
	gen_snap(m->g, T0, 0, API, API, 1, "api");
	gen_snap(m->g, T0, 1, DB, DB, 1, "db");
	gen_switch(m->g, T0, 1, 0, DB, 0);
	inet_socket(m->g, TCP, AF_INET, "127.0.0.1", 40112, "127.0.0.1", 5432);
	inet_socket(m->g, LISTENS, AF_INET6, "::1", 80, "::", 0);
	inet_socket(m->g, REMOTE, AF_INET, "10.0.0.1", 40113, "10.0.0.10", 443);
	unix_socket(m->g, UNIX, "/run/db.sock", 13);
	unix_socket(m->g, ABSTRACT, "\0db", 3);
	unix_socket(m->g, NAMELESS, "", 0);
	wait_for(m->g, 10, WIRE_FILE_SOCKET, TCP, true);
	gen_slice(m->g, AT(17));
	gen_slice(m->g, AT(18));
	gen_slice(m->g, AT(19));
	wait_for(m->g, 20, WIRE_FILE_SOCKET, REMOTE, true);
	wait_for(m->g, 30, WIRE_FILE_SOCKET, LISTENS, true);
	wait_for(m->g, 40, WIRE_FILE_SOCKET, UNIX, false);
	wait_for(m->g, 50, WIRE_FILE_SOCKET, ABSTRACT, false);
	wait_for(m->g, 60, WIRE_FILE_SOCKET, NAMELESS, false);
	wait_for(m->g, 70, WIRE_FILE_SOCKET, LOST, false);
	wait_for(m->g, 80, WIRE_FILE_PIPE, PIPE, false);
	wait_for(m->g, 90, WIRE_FILE_UNKNOWN, 0xbf33a0012018, false);
	wait_for(m->g, 100, WIRE_FILE_UNKNOWN, 0x7f33a0012000, false);
	wait_for(m->g, 110, WIRE_FILE_UNKNOWN, 0x7f33a0012018, false);
	wait_for(m->g, 120, WIRE_FILE_UNKNOWN, 0x7f33a0012019, false);
	gen_path(m->g, AT(129), 0, API, 5, 8 << 20 | 1, "var/log");
	wait_for(m->g, 130, WIRE_FILE_REGULAR, WIRE_OBJECT_FILE(5ull, 8u << 20 | 1, 0u), false);
	wait_for(m->g, 140, WIRE_FILE_REGULAR, WIRE_OBJECT_FILE(5ull, 8u << 20 | 1, 1u), false);
	wait_for(m->g, 150, WIRE_FILE_DEVICE, 136 << 20 | 3, false);
	wait_for(m->g, 160, WIRE_FILE_DEVICE, 4 << 20 | 65, false);
	wait_for(m->g, 170, WIRE_FILE_DEVICE, 10 << 20 | 200, false);
	wait_for(m->g, 180, WIRE_FILE_ANONYMOUS, WIRE_OBJECT_ANONYMOUS(7, 'e', 'p'), false);
	wait_for(m->g, 190, WIRE_FILE_ANONYMOUS, WIRE_OBJECT_ANONYMOUS(8, 'e', 'f'), false);
	wait_for(m->g, 200, WIRE_FILE_ANONYMOUS, WIRE_OBJECT_ANONYMOUS(9, '?', '?'), false);
	wait_for(m->g, 210, WIRE_FILE_MMAP_LOCK, API, false);
	wait_for(m->g, 220, WIRE_FILE_PROCESS, 4711, false);
	wait_for(m->g, 230, WIRE_FILE_TIMER, 20 * MS, false);
	wait_for(m->g, 240, WIRE_FILE_INODE_LOCK, WIRE_OBJECT_FILE(5ull, 8u << 20 | 1, 0u), false);
	sleep_in_kernel(m->g, 250, GEN_MUTEX_LOCK);
	wait_for(m->g, 260, WIRE_FILE_REGULAR, 0, false);
	sleep_in_kernel(m->g, 270, GEN_COMPLETION);
	gen_switch(m->g, AT(276), 0, 0, API, 0);
	made_finish(m, AT(280));
}

static const char *const wanted[] = {
	"tcp 127.0.0.1:40112 > 127.0.0.1:5432", "tcp 10.0.0.1:40113 > 10.0.0.10:443",
	"tcp [::1]:80", "unix /run/db.sock", "unix @db", "socket:[4716]", "socket:[4717]",
	"pipe:[4718]", "bf33a0012018", "ufunc_120 (prog)", "ufunc_120+0x18 (prog)",
	"7f33a0012018 (prog)", "/var/log", "inode:[5]", "/dev/pts/3", "/dev/ttyS1",
	"char device 10:200", "epoll 7", "eventfd 8", "anonymous file 9", "mmap lock of 100 api",
	"process 4711", "20.0 ms", "inode lock of /var/log", "kernel lock in pipe_write",
};

#define WANTED (sizeof(wanted) / sizeof(wanted[0]))

static struct made_trace made;

UNIT_TEST(test_switches_and_waits_that_ended_tell_what_the_thread_waited_for)
{
	make(&made);
	for (unsigned int i = 0; i < WANTED; i++) {
		rows_want(made.a, 10 * (i + 1) * MS, "SELECT ts_ns FROM switches WHERE "
			  "object_name(call, object, utid, ts_ns) = '%s'", wanted[i]);
		rows_want(made.a, 5 * MS, "SELECT min(wait_ns) FROM wait_ends WHERE waits AND "
			  "object = '%s'", wanted[i]);
	}
	/* a sleep in the kernel that is not for a lock is for the call's file, a pipe */
	rows_want(made.a, WANTED + 1, "SELECT count(object_name(call, object)) FROM switches");
	rows_want(made.a, 5 * MS, "SELECT wait_ns FROM wait_ends WHERE waits AND call = 'write' "
		  "AND kind = 'pipe'");
	rows_want(made.a, 5 * MS, "SELECT wait_ns FROM wait_ends JOIN threads AS t ON t.utid = "
		  "ender_utid WHERE waits AND call = 'write' AND kind = 'lock' AND comm = 'db'");
	/* one sleep is for a regular file, which has no object */
	rows_want(made.a, WANTED + 2, "SELECT count(*) FROM wait_ends WHERE waits");
}

/* An interrupt delivers data from another machine, or a connection to a listening socket. */
UNIT_TEST(test_who_sent_from_this_machine_ended_the_wait)
{
	make(&made);
	rows_want(made.a, 1, "SELECT count(*) FROM wait_ends JOIN threads AS t ON t.utid = "
		  "ender_utid WHERE waits AND comm = 'db' AND object LIKE 'tcp 127%%'");
	rows_want(made.a, 2, "SELECT count(*) FROM wait_ends WHERE waits AND irq AND ender_utid IS "
		  "NULL AND object LIKE 'tcp %%'");
}

UNIT_TEST(test_two_ends_are_on_one_machine_if_their_addresses_are_one)
{
	assert_true(object_text_is_local("tcp 10.0.0.1:40113 > 10.0.0.1:443"));
	assert_true(object_text_is_local("udp [::1]:1 > [::1]:2"));
	assert_false(object_text_is_local("tcp 10.0.0.1:40113 > 10.0.0.10:443"));
	assert_false(object_text_is_local("tcp 10.0.0.10:40113 > 10.0.0.1:443"));
	assert_false(object_text_is_local("tcp 10.0.0.1:443"));
	assert_false(object_text_is_local("unix /run/a > b:c"));
	assert_false(object_text_is_local("pipe:[4718]"));
	assert_false(object_text_is_local(""));
}

/* A lock has no name if its process is unknown. */
UNIT_TEST(test_object_name_without_a_thread_is_the_address)
{
	make(&made);
	rows_want(made.a, 4, "SELECT count(*) FROM switches WHERE object_name(call, object) LIKE "
		  "'_f33a00120__'");
}

/* Protocols, ports and which ends are on one machine stay; paths and addresses do not. */
UNIT_TEST(test_redaction_leaves_of_a_socket_what_tells_nothing)
{
	static const char *const patterns[] = {
		"tcp 127.0.0.1:40112 > 127.0.0.1:5432", "tcp addr-*:40113 > addr-*:443",
		"tcp [[]::1]:80", "unix /*.sock", "unix @*", "socket:[[]4716]",
		"socket:[[]4717]", "pipe:[[]4718]", "bf33a0012018", "fn-* (*)", "fn-*+0x18 (*)",
		"7f33a0012018 (*)", "/*", "inode:[[]5]", "/dev/pts/3", "/dev/ttyS1",
		"char device 10:200", "epoll 7", "eventfd 8", "anonymous file 9",
		"mmap lock of 100 proc-*", "process 4711", "20.0 ms", "inode lock of /*",
		"kernel lock in pipe_write",
	};
	const struct redact_options o = { .salt = "x", .salt_bytes = 1 };
	struct redact_result r;
	struct analysis *a;
	struct trace *t;
	char path[100];

	make(&made);
	snprintf(path, sizeof(path), "%s/redacted", made.dir);
	assert_int_equal(trace_redact(made.t, path, &o, &r, NULL), 0);
	assert_int_equal(trace_open(&t, path, NULL), 0);
	assert_int_equal(analysis_open(&a, t, NULL), 0);
	for (unsigned int i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++)
		rows_want(a, 1, "SELECT count(*) FROM switches WHERE ts_ns = %u AND "
			  "object_name(call, object, utid, ts_ns) GLOB '%s'", 10000000 * (i + 1),
			  patterns[i]);
	rows_want(a, 0, "SELECT count(*) FROM switches WHERE object_name(call, object) GLOB '*db*' "
		  "OR object_name(call, object, utid, ts_ns) GLOB '*10.0*' OR object_name(call, "
		  "object, utid, ts_ns) GLOB '*prog)' OR object_name(call, object) GLOB '/var*'");
	analysis_close(a);
	trace_close(t);
}

UNIT_TESTS_END(made_close, made)

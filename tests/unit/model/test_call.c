/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Names and kinds of calls: the numbers of the kernel's own headers, and invalid numbers. */
#include <sys/syscall.h>

#include "model/call.h"
#include "tests/unit/unit_test.h"

#if defined(__x86_64__)
#define HERE CALL_MACHINE_X86_64
#else
#define HERE CALL_MACHINE_ARM64
#endif

static enum wait_kind kind(unsigned int call)
{
	return wait_kind_of(HERE, THREAD_SLEEPING, call);
}

UNIT_TEST(test_calls_have_the_names_of_this_machines_headers)
{
	static const struct { int nr; const char *name; enum wait_kind kind; } calls[] = {
		{ SYS_futex, "futex", WAIT_LOCK }, { SYS_wait4, "wait4", WAIT_CHILD },
		{ SYS_clock_nanosleep, "clock_nanosleep", WAIT_TIMER },
		{ SYS_fsync, "fsync", WAIT_DISK }, { SYS_accept4, "accept4", WAIT_SOCKET },
		{ SYS_epoll_pwait, "epoll_pwait", WAIT_POLL }, { SYS_munmap, "munmap", WAIT_CALL },
		{ SYS_ppoll, "ppoll", WAIT_POLL }, { SYS_statx, "statx", WAIT_CALL },
		{ SYS_fcntl, "fcntl", WAIT_LOCK }, { SYS_clone3, "clone3", WAIT_CHILD },
		{ SYS_rt_sigtimedwait, "rt_sigtimedwait", WAIT_SIGNAL },
		{ SYS_rt_sigsuspend, "rt_sigsuspend", WAIT_SIGNAL },
	};

	for (unsigned int i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		uint32_t call = CALL_IS_NUMBER | (uint32_t)calls[i].nr;

		assert_string_equal(call_name(HERE, call), calls[i].name);
		assert_int_equal(kind(call), calls[i].kind);
	}
}

UNIT_TEST(test_type_of_a_file_says_what_a_read_waits_for)
{
	uint32_t call = CALL_IS_NUMBER | SYS_read;

	assert_string_equal(call_name(HERE, call | CALL_FILE_PIPE << 9), "read");
	assert_int_equal(kind(call | CALL_FILE_PIPE << 9), WAIT_PIPE);
	assert_int_equal(kind(call | CALL_FILE_SOCKET << 9), WAIT_SOCKET);
	assert_int_equal(kind(call | CALL_FILE_REGULAR << 9), WAIT_DISK);
	assert_int_equal(kind(call | CALL_FILE_DEVICE << 9), WAIT_CALL);
	assert_int_equal(kind(call | CALL_FILE_KERNEL << 9), WAIT_CALL);
	assert_int_equal(call_object_of(call | CALL_FILE_KERNEL << 9), CALL_OBJECT_FILE);
	assert_int_equal(kind(call | CALL_FILE_ANONYMOUS << 9), WAIT_CALL);
	assert_int_equal(kind(call), WAIT_CALL);
	call = CALL_IS_NUMBER | SYS_ppoll;
	assert_int_equal(kind(call | CALL_FILE_SOCKET << 9), WAIT_SOCKET);
	assert_int_equal(kind(call | CALL_FILE_PIPE << 9), WAIT_PIPE);
	assert_int_equal(kind(call | CALL_FILE_ANONYMOUS << 9), WAIT_POLL);
	assert_int_equal(kind(call | CALL_FILE_DEVICE << 9), WAIT_POLL);
	assert_int_equal(kind(call | CALL_FILE_TIMER << 9), WAIT_TIMER);
	call = CALL_IS_NUMBER | SYS_futex | CALL_FILE_THREAD << 9;
	assert_int_equal(kind(call), WAIT_CHILD);
	assert_int_equal(call_object_of(call), CALL_OBJECT_THREAD);
	call = CALL_IS_NUMBER | SYS_futex | CALL_FILE_CONDITION << 9;
	assert_int_equal(kind(call), WAIT_CONDITION);
	assert_int_equal(call_object_of(call), CALL_OBJECT_LOCK);
}

UNIT_TEST(test_what_is_no_call_has_a_name_and_a_kind)
{
	assert_string_equal(call_name(HERE, CALL_KERNEL), "kernel thread");
	assert_int_equal(kind(CALL_KERNEL), WAIT_KERNEL);
	assert_string_equal(call_name(HERE, CALL_USER), "user code");
	assert_int_equal(kind(CALL_USER), WAIT_FAULT);
	assert_null(call_name(HERE, CALL_UNKNOWN));
	assert_int_equal(kind(CALL_UNKNOWN), WAIT_UNKNOWN);
	assert_string_equal(call_name(HERE, CALL_IS_NUMBER | 511), "call 511");
	assert_int_equal(kind(CALL_IS_NUMBER | 511), WAIT_CALL);
	assert_string_equal(call_name(CALL_MACHINE_UNKNOWN, CALL_IS_NUMBER), "another call");
	assert_string_equal(call_name(CALL_MACHINE_X86_64, CALL_IS_NUMBER | CALL_IS_32_BIT | 3),
			    "read");
	assert_string_equal(call_name(CALL_MACHINE_ARM64, CALL_IS_NUMBER | CALL_IS_32_BIT | 3),
			    "another call");
	assert_int_equal(call_machine_of("x86_64"), CALL_MACHINE_X86_64);
	assert_int_equal(call_machine_of("aarch64"), CALL_MACHINE_ARM64);
	assert_int_equal(call_machine_of(NULL), CALL_MACHINE_UNKNOWN);
}

/* A trace can contain any number. */
UNIT_TEST(test_every_number_has_a_kind)
{
	unsigned int call, machine, s;

	for (call = 0; call <= UINT16_MAX + 1; call++)
		for (machine = 0; machine <= CALL_MACHINE_ARM64; machine++)
			for (s = THREAD_RUNNABLE; s < THREAD_STATE_CNT; s++)
				assert_non_null(wait_kind_name(wait_kind_of(machine, s, call)));
	assert_int_equal(wait_kind_of(HERE, THREAD_RUNNABLE, 0), WAIT_CPU);
	assert_int_equal(wait_kind_of(HERE, THREAD_PREEMPTED, CALL_USER), WAIT_CPU);
	assert_int_equal(wait_kind_of(HERE, THREAD_THROTTLED, CALL_THROTTLED), WAIT_THROTTLED);
	assert_int_equal(wait_kind_of(HERE, THREAD_DISK, CALL_USER), WAIT_DISK);
	assert_int_equal(wait_kind_of(HERE, THREAD_STOPPED, CALL_USER), WAIT_STOPPED);
	assert_int_equal(wait_kind_of(HERE, THREAD_UNKNOWN, CALL_USER), WAIT_UNKNOWN);
}

UNIT_TESTS

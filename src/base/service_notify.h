/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * service_notify: tells the service manager about this process, as sd_notify(3) describes the
 * protocol: one datagram to the socket that NOTIFY_SOCKET names. Threads: any.
 */
#pragma once

#include <stdbool.h>

/* Returns whether a service manager started this process and listens. */
bool service_notify_wanted(void);

/*
 * text: lines such as "READY=1\nSTATUS=recording". Does nothing without a manager. Never waits: a
 * message that finds the manager's queue full is dropped, so send again what matters.
 */
void service_notify(const char *text);

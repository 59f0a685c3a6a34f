/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * service_notify: reports this process's state to the service manager, by the protocol of
 * sd_notify(3): one datagram to the socket that NOTIFY_SOCKET names. Threads: any.
 */
#pragma once

#include <stdbool.h>

/* Returns whether a service manager started this process and listens. */
bool service_notify_wanted(void);

/*
 * text: lines such as "READY=1\nSTATUS=recording". Does nothing without a manager. Never waits: if
 * the manager's queue is full, the message is dropped, so repeat important ones.
 */
void service_notify(const char *text);

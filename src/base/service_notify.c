/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* service_notify: opens the socket for each message, since messages are rare. */
#include "base/service_notify.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

bool service_notify_wanted(void)
{
	return getenv("NOTIFY_SOCKET");
}

void service_notify(const char *text)
{
	const char *path = getenv("NOTIFY_SOCKET");
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	size_t len = path ? strlen(path) : 0;
	int fd;

	if (!len || len >= sizeof(a.sun_path))
		return;
	memcpy(a.sun_path, path, len);
	if (*path == '@') /* an abstract name begins with a NUL */
		a.sun_path[0] = '\0';
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return;
	(void)sendto(fd, text, strlen(text), MSG_NOSIGNAL, (const struct sockaddr *)&a,
		     (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len));
	close(fd);
}

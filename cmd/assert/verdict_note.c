/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* verdict_note: the manifest is written anew, for its owner, and takes the old one's place. */
#include "cmd/assert/verdict_note.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/manifest.h"

static int keep(int dir_fd, const char *text, struct err *e)
{
	struct manifest_place place = { .files = &files_kernel, .dir_fd = dir_fd };
	struct manifest m = { 0 };
	const char *state;
	struct stat st;
	size_t bytes;
	char *all;
	int r = manifest_read(&m, dir_fd, e);

	if (r)
		return r;
	state = manifest_get(&m, "state");
	if (manifest_get(&m, MANIFEST_LOST))
		r = err_set(e, -EINVAL, "its manifest is damaged");
	else if (!state || strcmp(state, "finished"))
		r = err_set(e, -EBUSY, "its recording has not ended");
	else if (fstatat(dir_fd, MANIFEST_NAME, &st, AT_SYMLINK_NOFOLLOW))
		r = -errno;
	if (!r) {
		place.uid = st.st_uid == geteuid() ? (uid_t)-1 : st.st_uid;
		place.gid = st.st_uid == geteuid() ? (gid_t)-1 : st.st_gid;
		r = manifest_set(&m, "note.assert", text);
	}
	if (!r)
		r = manifest_format(&m, &all, &bytes);
	if (!r) {
		r = manifest_replace(&place, all, bytes);
		free(all);
	}
	manifest_done(&m);
	return r;
}

int verdict_keep(const char *path, const char *text, struct err *e)
{
	int dir_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), r;

	if (dir_fd < 0)
		return errno == ENOTDIR ? err_set(e, -ENOTDIR, "a bundle cannot be changed") :
					  -errno;
	r = keep(dir_fd, text, e);
	close(dir_fd);
	return r;
}

/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * cgroup_path: parses the names that container managers and systemd choose for cgroups. A manager
 * either lets systemd create its cgroups (docker-ID.scope) or creates them itself (docker/ID).
 */
#include "base/cgroup_path.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define ID_SHOWN 12
#define ID_LEN 64		/* characters of a container's name that consists only of an id */
#define POD_ID_MIN 32		/* hexadecimal digits of a UUID, without its four dashes */

/* Prefixes before an id or a name. Longer prefixes come first. */
static const struct form {
	const char *prefix, *manager; /* NULL: not a container */
} forms[] = {
	{ "docker-", "docker" },
	{ "libpod-conmon-", NULL },
	{ "libpod-", "podman" },
	{ "cri-containerd-", "containerd" },
	{ "cri-containerd:", "containerd" },
	{ "nerdctl-", "containerd" },
	{ "crio-conmon-", NULL },
	{ "crio-", "cri-o" },
	{ "crio:", "cri-o" },
	{ "lxc.payload.", "lxc" },
	{ "lxc.monitor.", NULL },
	{ "machine-libpod_pod_", NULL },
	{ "user@", NULL },
	{ "user-", NULL },
	{ "session-", NULL },
};

/* Names that are not chosen by users. Children of docker, lxc and lxc.payload are containers. */
static const char *const fixed[] = {
	"docker", "lxc", "lxc.payload", "lxc.monitor", "lxc.pivot", "libpod_parent", "kubepods",
	"burstable", "besteffort", "guaranteed", "kubepods.slice", "kubepods-burstable.slice",
	"kubepods-besteffort.slice", "system.slice", "user.slice", "machine.slice", "init.scope",
	"app.slice", "session.slice", "background.slice", "container", "supervisor", "-.slice",
};

static const char *const suffixes[] = { ".scope", ".slice", ".service" };

bool cgroup_path_is_id(const char *s, size_t len)
{
	size_t digits = 0;

	for (size_t i = 0; i < len; i++) {
		if (isxdigit((unsigned char)s[i]))
			digits++;
		else if (s[i] != '-' && s[i] != '_')
			return false;
	}
	return digits >= POD_ID_MIN && isxdigit((unsigned char)*s);
}

static bool is_text(const char *s, size_t len, const char *text)
{
	return strlen(text) == len && !memcmp(s, text, len);
}

static size_t suffix_len(const char *s, size_t len)
{
	for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++) {
		size_t n = strlen(suffixes[i]);

		if (len > n && !memcmp(s + len - n, suffixes[i], n))
			return n;
	}
	return 0;
}

/* Returns the offset of a pod's id in "podID" or "kubepods-burstable-podID"; len: not a pod. */
static size_t pod_id_at(const char *s, size_t len)
{
	for (size_t i = 0; i + 3 < len; i++)
		if (!memcmp(s + i, "pod", 3) && (!i || s[i - 1] == '-') &&
		    cgroup_path_is_id(s + i + 3, len - i - 3))
			return i + 3;
	return len;
}

static const struct form *form_of(const char *s, size_t len)
{
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		size_t n = strlen(forms[i].prefix);

		if (len > n && !memcmp(s, forms[i].prefix, n))
			return &forms[i];
	}
	return NULL;
}

bool cgroup_path_part(const char *s, size_t len, struct cgroup_part *ret)
{
	size_t bare = len - suffix_len(s, len), pod = pod_id_at(s, bare);
	const struct form *f = form_of(s, bare);

	*ret = (struct cgroup_part){ .prefix_len = len };
	for (size_t i = 0; i < sizeof(fixed) / sizeof(fixed[0]); i++)
		if (is_text(s, len, fixed[i]))
			return true;
	if (pod < bare)
		*ret = (struct cgroup_part){ pod, bare - pod };
	else if (f)
		*ret = (struct cgroup_part){ strlen(f->prefix), bare - strlen(f->prefix) };
	else
		*ret = (struct cgroup_part){ 0, bare };
	return pod < bare || f || cgroup_path_is_id(s, bare);
}

/*
 * Finds the next part of a path; false: end of the path. "a.slice:cri:ID" is split after a.slice.
 */
static bool next_part(const char **path, const char **ret, size_t *ret_len)
{
	const char *s = *path + strspn(*path, "/:"), *cut;
	size_t len = strcspn(s, "/");

	cut = memchr(s, ':', len);
	if (cut && suffix_len(s, (size_t)(cut - s)))
		len = (size_t)(cut - s);
	*ret = s;
	*ret_len = len;
	*path = s + len;
	return len != 0;
}

/*
 * Writes "k8s:ID/" to buf. In slice names, pod ids have underscores instead of dashes, because
 * systemd uses dashes for levels; the dashes are restored.
 */
static void put_pod(char *buf, const char *pod, size_t len)
{
	size_t at = strlen(strcpy(buf, "k8s:"));

	for (size_t i = 0; i < len && i < ID_SHOWN; i++)
		buf[at++] = pod[i] == '_' ? '-' : pod[i];
	strcpy(buf + at, "/");
}

bool cgroup_path_container(const char *path, char buf[CGROUP_NAME_MAX])
{
	const char *s, *parent = "", *pod = NULL;
	size_t len, parent_len = 0, pod_len = 0;

	*buf = '\0';
	for (; next_part(&path, &s, &len); parent = s, parent_len = len) {
		size_t bare = len - suffix_len(s, len), at = pod_id_at(s, bare), id_len;
		const struct form *f = form_of(s, bare);
		const char *manager = f ? f->manager : NULL, *id = s;

		if (at < bare) {
			pod = s + at;
			pod_len = bare - at;
			continue;
		}
		if (manager) {
			id += strlen(f->prefix);
		} else if (!f && len == ID_LEN && cgroup_path_is_id(s, len)) {
			manager = is_text(parent, parent_len, "docker") ? "docker" : "container";
		} else if (is_text(parent, parent_len, "lxc") ||
			   is_text(parent, parent_len, "lxc.payload")) {
			manager = "lxc";
		} else {
			continue;
		}
		id_len = bare - (size_t)(id - s);
		if (cgroup_path_is_id(id, id_len))
			id_len = ID_SHOWN;
		if (pod)
			put_pod(buf, pod, pod_len);
		else
			snprintf(buf, CGROUP_NAME_MAX, "%s:", manager);
		len = strlen(buf);
		snprintf(buf + len, CGROUP_NAME_MAX - len, "%.*s", (int)id_len, id);
	}
	return *buf;
}

/* ---- units ---- */

#define UNIT_MAX 255

static bool is_unit(const char *s, size_t len)
{
	static const char *const types[] = { ".service", ".scope", ".slice", ".socket", ".mount",
					     ".swap" };

	if (len > UNIT_MAX)
		return false;
	for (size_t i = 0; i < len; i++)
		if (!isalnum((unsigned char)s[i]) && (!s[i] || !strchr(":-_.\\@", s[i])))
			return false;
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		size_t n = strlen(types[i]);
		const char *at = memchr(s, '@', len);

		if (len > n && !memcmp(s + len - n, types[i], n))
			return at != s && at != s + len - n - 1;
	}
	return false;
}

static bool is_slice(const char *s, size_t len)
{
	return is_unit(s, len) && len > 6 && !memcmp(s + len - 6, ".slice", 6);
}

/*
 * Finds the first part of *path that is not a slice, and the last slice before that part, if any.
 * Advances *path past the part.
 */
static bool skip_slices(const char **path, const char **ret, size_t *ret_len, const char **slice,
			size_t *slice_len)
{
	for (;;) {
		const char *s = *path + strspn(*path, "/");
		size_t len = strcspn(s, "/");

		if (!len)
			return false;
		*path = s + len;
		if (!is_slice(s, len)) {
			/* systemd prepends an underscore to names that the kernel reserves */
			*ret = s + (*s == '_');
			*ret_len = len - (*s == '_');
			return is_unit(*ret, *ret_len);
		}
		*slice = s;
		*slice_len = len;
	}
}

bool cgroup_path_unit(const char *path, char buf[CGROUP_NAME_MAX])
{
	const char *unit = NULL, *slice = NULL, *user;
	size_t len = 0, slice_len = 0, user_len;

	*buf = '\0';
	if (!skip_slices(&path, &unit, &len, &slice, &slice_len)) {
		if (unit || !slice)
			return false;
		unit = slice;
		len = slice_len;
	}
	snprintf(buf, CGROUP_NAME_MAX, "%.*s", (int)len, unit);
	if (len > 5 && !memcmp(unit, "user@", 5) &&
	    skip_slices(&path, &user, &user_len, &slice, &slice_len))
		snprintf(buf + len, CGROUP_NAME_MAX - len, "/%.*s", (int)user_len, user);
	return true;
}

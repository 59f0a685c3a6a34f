/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* The forms of cgroup paths of container managers and systemd. */
#include "base/cgroup_path.h"
#include "tests/unit/unit_test.h"

#define A "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define B "fedcba9876543210fedcba9876543210fedcba9876543210fedcba9876543210"
#define POD "11112222-3333-4444-5555-666677778888"
#define POD_ "11112222_3333_4444_5555_666677778888"

static const struct path_case {
	const char *path, *container, *unit;
} cases[] = {
	{ "", "", "" },
	{ "/", "", "" },
	{ "no/slash", "", "" },
	{ "/init.scope", "", "init.scope" },
	{ "/system.slice", "", "system.slice" },
	{ "/system.slice/ssh.service", "", "ssh.service" },
	{ "/system.slice/system-getty.slice/getty@tty1.service", "", "getty@tty1.service" },
	{ "/system.slice/getty@.service", "", "" },
	{ "/system.slice/ssh.service/sub/below", "", "ssh.service" },
	{ "/_cgroup.service", "", "cgroup.service" },
	{ "/not a unit/ssh.service", "", "" },
	{ "/user.slice/user-1000.slice/session-3.scope", "", "session-3.scope" },
	{ "/user.slice/user-1000.slice/user@1000.service/init.scope", "",
	  "user@1000.service/init.scope" },
	{ "/user.slice/user-1000.slice/user@1000.service/app.slice/app-x.service", "",
	  "user@1000.service/app-x.service" },
	{ "/user.slice/user-1000.slice/user@1000.service", "", "user@1000.service" },
	{ "/system.slice/docker-" A ".scope", "docker:0123456789ab", "docker-" A ".scope" },
	{ "/docker/" A, "docker:0123456789ab", "" },
	{ "/docker/" A "/docker/" B, "docker:fedcba987654", "" },
	{ "/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" A ".scope/container",
	  "podman:0123456789ab", "user@1000.service/libpod-" A ".scope" },
	{ "/machine.slice/libpod-" A ".scope", "podman:0123456789ab", "libpod-" A ".scope" },
	{ "/machine.slice/libpod-conmon-" A ".scope", "", "libpod-conmon-" A ".scope" },
	{ "/libpod_parent/libpod-" A, "podman:0123456789ab", "" },
	{ "/system.slice/nerdctl-" A ".scope", "containerd:0123456789ab", "nerdctl-" A ".scope" },
	{ "/default/" A, "container:0123456789ab", "" },
	{ "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" POD_
	  ".slice/cri-containerd-" A ".scope",
	  "k8s:11112222-333/0123456789ab", "cri-containerd-" A ".scope" },
	{ "/kubepods.slice/kubepods-pod" POD_ ".slice/crio-" A ".scope",
	  "k8s:11112222-333/0123456789ab", "crio-" A ".scope" },
	{ "/kubepods.slice/kubepods-pod" POD_ ".slice/crio-conmon-" A ".scope", "",
	  "crio-conmon-" A ".scope" },
	{ "/kubepods/burstable/pod" POD "/" A, "k8s:11112222-333/0123456789ab", "" },
	{ "/kubepods/burstable/pod" POD, "", "" },
	{ "/kubepods/podless/x", "", "" },
	{ "/system.slice/containerd.service/kubepods-pod" POD_ ".slice:cri-containerd:" A,
	  "k8s:11112222-333/0123456789ab", "containerd.service" },
	{ "/docker/" A "/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-pod" POD_
	  ".slice/cri-containerd-" B ".scope",
	  "k8s:11112222-333/fedcba987654", "" },
	{ "/crio-" A, "cri-o:0123456789ab", "" },
	{ "/lxc/web", "lxc:web", "" },
	{ "/lxc.payload/web_1/system.slice/cron.service", "lxc:web_1", "" },
	{ "/lxc.payload.web.1/init.scope", "lxc:web.1", "" },
	{ "/lxc.monitor.web", "", "" },
};

UNIT_TEST(test_paths_name_containers_and_units)
{
	char container[CGROUP_NAME_MAX], unit[CGROUP_NAME_MAX];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct path_case *c = &cases[i];

		print_message("%s\n", c->path);
		assert_int_equal(cgroup_path_container(c->path, container), *c->container != 0);
		assert_string_equal(container, c->container);
		assert_int_equal(cgroup_path_unit(c->path, unit), *c->unit != 0);
		assert_string_equal(unit, c->unit);
	}
}

UNIT_TEST(test_long_parts_are_cut_to_the_buffer)
{
	char path[4096] = "/lxc.payload.", buf[CGROUP_NAME_MAX];

	memset(path + strlen(path), 'x', sizeof(path) - strlen(path) - 1);
	path[sizeof(path) - 1] = '\0';
	assert_true(cgroup_path_container(path, buf));
	assert_int_equal(strlen(buf), CGROUP_NAME_MAX - 1);
	assert_false(cgroup_path_unit(path, buf));
}

UNIT_TEST(test_parts_have_a_prefix_and_an_id)
{
	static const struct {
		const char *part;
		bool known;
		size_t prefix_len, id_len;
	} parts[] = {
		{ "docker-" A ".scope", true, 7, 64 },
		{ A, true, 0, 64 },
		{ "kubepods-burstable-pod" POD_ ".slice", true, 22, 36 },
		{ "pod" POD, true, 3, 36 },
		{ "user@1000.service", true, 5, 4 },
		{ "system.slice", true, 12, 0 },
		{ "burstable", true, 9, 0 },
		{ "secret.service", false, 0, 6 },
		{ "x", false, 0, 1 },
	};

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		struct cgroup_part p;

		print_message("%s\n", parts[i].part);
		assert_int_equal(cgroup_path_part(parts[i].part, strlen(parts[i].part), &p),
				 parts[i].known);
		assert_int_equal(p.prefix_len, parts[i].prefix_len);
		assert_int_equal(p.id_len, parts[i].id_len);
	}
}

UNIT_TESTS

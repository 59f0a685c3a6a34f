#!/bin/bash
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# boot_systemd.bash UNITS DEFAULTS BINARY: systemd as the first process of new namespaces, for service.sh. It sees the
# machine's files, except /run, /var/lib (160 MiB), /var/cache, /etc/default and /etc/systemd/system, and starts the
# journal and nothing else.
set -eu

mount --make-rprivate /
umount -l /sys/fs/cgroup
mount -t tmpfs -o mode=755 tmpfs /sys/fs/cgroup
if grep -q :name=systemd: /proc/self/cgroup; then
	mkdir /sys/fs/cgroup/systemd
	mount -t cgroup -o none,name=systemd cgroup /sys/fs/cgroup/systemd
	mkdir /sys/fs/cgroup/unified
	mount -t cgroup2 cgroup2 /sys/fs/cgroup/unified
else
	umount /sys/fs/cgroup
	mount -t cgroup2 cgroup2 /sys/fs/cgroup
fi
mount -t tmpfs -o mode=755 tmpfs /run
mkdir -p /run/systemd/system /run/lock /run/bin
cp -r "$1"/* /run/systemd/system
cp "$3" /run/bin/ebpfrec
cp "${0%/*}/../../cmd/dist/send_bins" /run/bin
mount --bind "$2" /etc/default
mount -t tmpfs tmpfs /etc/systemd/system
mount -t tmpfs -o mode=755,size=160m tmpfs /var/lib
mount -t tmpfs -o mode=755,size=16m tmpfs /var/cache
cat >/run/systemd/system/service-test.target <<END
[Unit]
DefaultDependencies=no
Wants=systemd-journald.service
END
exec env -i container=lxc PATH="$PATH" /lib/systemd/systemd --system --unit=service-test.target --log-target=null

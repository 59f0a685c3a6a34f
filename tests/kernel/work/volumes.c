/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * volumes dm NAME SECTORS TARGET PARAMS...: a device-mapper device with one target; prints the
 * device as device=dm-N.
 * volumes md NODE DEVICE DEVICE: a RAID 1 without a superblock; NODE is /dev/mdN.
 *
 * What dmsetup and mdadm do, for machines that have neither.
 */
#include <linux/dm-ioctl.h>
#include <linux/major.h>
#include <linux/raid/md_p.h>
#include <linux/raid/md_u.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "truth.h"

struct dm_request {
	struct dm_ioctl head;
	struct dm_target_spec target;
	char params[1024];
};

static void dm_call(int fd, unsigned long call, struct dm_request *r)
{
	r->head.version[0] = 4;
	r->head.data_size = sizeof(*r);
	r->head.data_start = offsetof(struct dm_request, target);
	if (ioctl(fd, call, r) < 0)
		truth_fail("ioctl of device-mapper");
}

static void make_dm(int argc, char **argv)
{
	int fd = open("/dev/mapper/control", O_RDWR), i;
	struct dm_request r = { 0 };

	if (fd < 0)
		truth_fail("/dev/mapper/control");
	snprintf(r.head.name, sizeof(r.head.name), "%s", argv[2]);
	dm_call(fd, DM_DEV_CREATE, &r);
	printf("device=dm-%u\n", minor(r.head.dev));
	r.head.dev = 0;		/* the name identifies the device */
	r.head.target_count = 1;
	r.target.length = strtoull(argv[3], NULL, 0);
	snprintf(r.target.target_type, sizeof(r.target.target_type), "%s", argv[4]);
	for (i = 5; i < argc; i++)
		snprintf(r.params + strlen(r.params), sizeof(r.params) - strlen(r.params), "%s%s",
			 i > 5 ? " " : "", argv[i]);
	dm_call(fd, DM_TABLE_LOAD, &r);
	r.head.dev = 0;
	r.head.flags = 0;	/* no DM_SUSPEND_FLAG: resume */
	dm_call(fd, DM_DEV_SUSPEND, &r);
	close(fd);
}

static void make_md(char **argv)
{
	mdu_array_info_t array = { .level = 1, .nr_disks = 2, .raid_disks = 2, .not_persistent = 1,
				   .state = 1 << MD_SB_CLEAN };
	int fd, i;

	(void)mknod(argv[2], S_IFBLK | 0600, makedev(MD_MAJOR, 0));
	fd = open(argv[2], O_RDWR);
	if (fd < 0 || ioctl(fd, SET_ARRAY_INFO, &array) < 0)
		truth_fail("SET_ARRAY_INFO");
	for (i = 0; i < 2; i++) {
		struct stat st;
		mdu_disk_info_t disk = { .number = i, .raid_disk = i,
					 .state = 1 << MD_DISK_ACTIVE | 1 << MD_DISK_SYNC };

		if (stat(argv[3 + i], &st) < 0)
			truth_fail(argv[3 + i]);
		disk.major = (int)major(st.st_rdev);
		disk.minor = (int)minor(st.st_rdev);
		if (ioctl(fd, ADD_NEW_DISK, &disk) < 0)
			truth_fail("ADD_NEW_DISK");
	}
	if (ioctl(fd, RUN_ARRAY, NULL) < 0)
		truth_fail("RUN_ARRAY");
	close(fd);
}

int main(int argc, char **argv)
{
	if (argc >= 6 && !strcmp(argv[1], "dm"))
		make_dm(argc, argv);
	else if (argc == 5 && !strcmp(argv[1], "md"))
		make_md(argv);
	else
		return 2;
	return 0;
}

/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * replay_main: runs a fuzz target over the files and directories of its command line, once each; no
 * compiler support is needed. Prints how many there were. A crash is the failure.
 */
#include <dirent.h>
#include <sys/stat.h>

#include "fuzz.h"

static unsigned int done_cnt;

static void run_file(const char *path)
{
	FILE *f = fopen(path, "rb");
	uint8_t *data;
	long bytes;

	if (!f || fseek(f, 0, SEEK_END) || (bytes = ftell(f)) < 0) {
		perror(path);
		exit(2);
	}
	rewind(f);
	/* exactly as long as it is, for the address sanitizer */
	data = malloc(bytes ? (size_t)bytes : 1);
	if (!data || fread(data, 1, (size_t)bytes, f) != (size_t)bytes) {
		perror(path);
		exit(2);
	}
	fclose(f);
	/* the one that was running when it crashed */
	fprintf(stderr, "%s\n", path);
	LLVMFuzzerTestOneInput(data, (size_t)bytes);
	free(data);
	done_cnt++;
}

static void run_path(const char *path)
{
	char name[4096];
	struct dirent *d;
	struct stat st;
	DIR *dir;

	if (stat(path, &st)) {
		perror(path);
		exit(2);
	}
	if (!S_ISDIR(st.st_mode)) {
		run_file(path);
		return;
	}
	dir = opendir(path);
	if (!dir) {
		perror(path);
		exit(2);
	}
	while ((d = readdir(dir))) {
		snprintf(name, sizeof(name), "%s/%s", path, d->d_name);
		if (d->d_name[0] != '.')
			run_path(name);
	}
	closedir(dir);
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		run_path(argv[i]);
	printf("%u inputs\n", done_cnt);
	return !done_cnt;
}

/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * bundle_place: the directory beside the output in which a bundle is made: .ebpfrec-bundle.XXXXXX.
 *
 * It is locked while it is in use, and gone at the end. One that a killed `bundle` left behind is not locked: the next
 * one that makes a place in the same directory removes it. Threads: one. Says what is wrong.
 */
#ifndef BUNDLE_PLACE_H
#define BUNDLE_PLACE_H

struct bundle_place {
	char *dir;		/* NULL: there is none */
	char *trace, *redacted, *zip;	/* what is made in it */
	int fd;			/* of dir; holds the lock */
};

/* 0 or EXIT_FAILED. */
int bundle_place_make(struct bundle_place *p, const char *output);
void bundle_place_drop_trace(const struct bundle_place *p);
void bundle_place_drop(struct bundle_place *p);

#endif /* BUNDLE_PLACE_H */

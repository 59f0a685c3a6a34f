/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * libbpf_text: what libbpf complains of, for the text of an error. libbpf prints through a callback
 * of the whole process; the first warning since libbpf_text_clear() is kept, for each thread.
 */
#ifndef LIBBPF_TEXT_H
#define LIBBPF_TEXT_H

/* Takes libbpf's messages from here on; nothing is printed any more. */
void libbpf_text_keep(void);
void libbpf_text_clear(void);
/* The kept warning, one line without its newline; "" if there was none. */
const char *libbpf_text(void);

#endif /* LIBBPF_TEXT_H */

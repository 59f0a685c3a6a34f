/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * column_reader: the inverse of column_writer.c, for untrusted input: counts are checked against
 * the header before memory is allocated, and indices before they are used.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/crc32c.h"
#include "format/columns.h"

struct decode {
	const struct column_source *s;
	struct kind_columns *k;
	const char **why;
};

static int bad(struct decode *d, const char *why)
{
	*d->why = why;
	return -EBADMSG;
}

void kind_columns_done(struct kind_columns *k)
{
	free(k->runs);
	free(k->ts_ns);
	free(k->utid);
	free(k->tuple);
	free(k->flags);
	for (unsigned int i = 0; i < EVENT_VALUES; i++) {
		free(k->tuple_value[i]);
		free(k->ref[i]);
		free(k->value[i]);
	}
	memset(k, 0, sizeof(*k));
}

/* Returns a section's unpacked bytes, followed by TOKEN_SLACK zero bytes; malloc'ed. */
static int unpack(struct decode *d, const struct disk_section *s, uint8_t **ret)
{
	uint8_t *stored, *raw;
	int r = -ENOMEM;

	stored = malloc((size_t)s->stored_bytes + 1);
	raw = malloc((size_t)s->raw_bytes + TOKEN_SLACK);
	if (!stored || !raw)
		goto out;
	r = d->s->io.read(d->s->io.ctx, block_meta_offset(d->s->meta, s), stored, s->stored_bytes);
	if (r < 0) {
		*d->why = "cannot be read";
		goto out;
	}
	if (crc32c(0, stored, s->stored_bytes) != s->crc) {
		r = bad(d, "event column checksum");
		goto out;
	}
	r = zunpack_run(d->s->zunpack, s->pack, raw, s->raw_bytes, stored, s->stored_bytes);
	if (r < 0) {
		*d->why = "event column does not unpack";
		goto out;
	}
	memset(raw + s->raw_bytes, 0, TOKEN_SLACK);
	*ret = raw;
	raw = NULL;
out:
	free(stored);
	free(raw);
	return r;
}

static const struct disk_section *part(struct decode *d, unsigned int type, unsigned int column,
				       unsigned int p)
{
	return block_meta_find(d->s->meta, type, d->k->kind, column, p);
}

/* ---- streams ---- */

struct stream {
	uint8_t *main, *bits;
	struct token_reader r;
	uint32_t cnt, left;
	unsigned int shift;
};

static void stream_close(struct stream *t)
{
	free(t->main);
	free(t->bits);
}

/* Opens a stream of tokens and bits; token_get() may then be called item_cnt times. */
static int stream_open(struct decode *d, struct stream *t, unsigned int column, unsigned int p,
		       uint32_t max)
{
	const struct disk_section *m = part(d, CHUNK_COLUMN, column, p);
	const struct disk_section *b = part(d, CHUNK_COLUMN, column, p + 1);
	int r;

	memset(t, 0, sizeof(*t));
	if (!m && p == CHUNK_PART_NEW)
		return 0;
	if (!m)
		return bad(d, "event column missing");
	if (m->encoding != CHUNK_ENC_TOKENS || m->raw_bytes != m->item_cnt || m->item_cnt > max)
		return bad(d, "event column size");
	r = unpack(d, m, &t->main);
	if (r < 0)
		return r;
	t->cnt = t->left = m->item_cnt;
	t->shift = m->shift;
	if (token_bits_bytes(t->main, t->cnt) != (b ? b->raw_bytes : 0))
		return bad(d, "event column bits");
	if (b) {
		if (b->encoding != CHUNK_ENC_BITS)
			return bad(d, "event column bits");
		r = unpack(d, b, &t->bits);
		if (r < 0)
			return r;
	}
	t->r.token = t->main;
	t->r.bits = t->bits;
	return 0;
}

/* Opens a stream with one number per row. */
static int stream_open_rows(struct decode *d, struct stream *t, unsigned int column)
{
	int r = stream_open(d, t, column, CHUNK_PART_MAIN, d->k->cnt);

	if (r < 0)
		return r;
	return t->cnt == d->k->cnt ? 0 : bad(d, "event column length");
}

static uint64_t *new_values(const struct kind_columns *k)
{
	return malloc(((size_t)k->cnt + 1) * sizeof(uint64_t));
}

/* ---- CPUs, time, threads ---- */

static int read_runs(struct decode *d)
{
	const struct disk_section *s = part(d, CHUNK_COLUMN, CHUNK_COL_CPU, 0);
	struct kind_columns *k = d->k;
	uint8_t *raw = NULL;
	const uint8_t *p, *end;
	uint64_t cpu, n, row = 0;
	int64_t last = -1;
	int r;

	if (!s || s->encoding != CHUNK_ENC_VARINTS || s->item_cnt % 2 ||
	    s->raw_bytes < s->item_cnt || s->raw_bytes > s->item_cnt * 5ull ||
	    s->item_cnt > CHUNK_CPUS_MAX * 2)
		return bad(d, "CPU column");
	k->runs = calloc(s->item_cnt / 2 + 1, sizeof(*k->runs));
	if (!k->runs)
		return -ENOMEM;
	r = unpack(d, s, &raw);
	if (r < 0)
		return r;
	p = raw;
	end = raw + s->raw_bytes;
	for (k->run_cnt = 0; k->run_cnt < s->item_cnt / 2; k->run_cnt++) {
		p = varint_get(p, end, &cpu);
		p = p ? varint_get(p, end, &n) : NULL;
		if (!p || cpu >= d->s->meta->head.cpu_cnt || (int64_t)cpu <= last ||
		    n > k->cnt - row)
			break;
		k->runs[k->run_cnt] =
			(struct column_run){ (uint32_t)cpu, (uint32_t)row, (uint32_t)n };
		last = (int64_t)cpu;
		row += n;
	}
	free(raw);
	return k->run_cnt == s->item_cnt / 2 && row == k->cnt ? 0 : bad(d, "CPU column");
}

static int read_ts(struct decode *d)
{
	const struct disk_block *h = &d->s->meta->head;
	struct kind_columns *k = d->k;
	struct token_reader tokens;
	struct stream t;
	uint32_t i, row = 0, run;
	int r;

	r = stream_open_rows(d, &t, CHUNK_COL_TS);
	if (r < 0)
		goto out;
	tokens = t.r;
	r = -ENOMEM;
	k->ts_ns = new_values(k);
	if (!k->ts_ns)
		goto out;
	for (run = 0; run < k->run_cnt; run++) {
		uint64_t ts = h->first_ns, last = h->last_ns, *to = k->ts_ns + row;
		uint32_t cnt = k->runs[run].cnt;

		for (i = 0; i < cnt; i++) {
			uint64_t delta = token_get(&tokens);

			if (delta > last - ts) {
				r = bad(d, "time column");
				goto out;
			}
			ts += delta;
			to[i] = ts;
		}
		row += cnt;
	}
	r = 0;
out:
	stream_close(&t);
	return r;
}

/* Reads an index per row, below limit: a byte, or a varint after the byte 255. */
static int read_index(struct decode *d, unsigned int column, uint32_t limit, uint32_t **ret)
{
	const struct disk_section *m = part(d, CHUNK_COLUMN, column, CHUNK_PART_MAIN);
	const struct disk_section *b = part(d, CHUNK_COLUMN, column, CHUNK_PART_BITS);
	uint8_t *main = NULL, *escape = NULL;
	const uint8_t *p = NULL, *end = NULL;
	uint32_t *v = NULL, i, cnt = d->k->cnt;
	int r;

	if (!m || m->encoding != CHUNK_ENC_INDEX || m->raw_bytes != cnt || m->item_cnt != cnt)
		return bad(d, "index column");
	if (b && (b->encoding != CHUNK_ENC_VARINTS || b->raw_bytes > cnt * 5ull))
		return bad(d, "index column");
	r = unpack(d, m, &main);
	if (r < 0)
		goto out;
	if (b) {
		r = unpack(d, b, &escape);
		if (r < 0)
			goto out;
		p = escape;
		end = p + b->raw_bytes;
	}
	r = -ENOMEM;
	v = malloc(((size_t)cnt + 1) * sizeof(*v));
	if (!v)
		goto out;
	for (i = 0; i < cnt; i++) {
		uint64_t x = main[i];

		if (x == 255) {
			p = p ? varint_get(p, end, &x) : NULL;
			x = p && x <= UINT32_MAX ? x + 255 : UINT64_MAX;
		}
		if (x >= limit) {
			r = bad(d, "index column");
			goto out;
		}
		v[i] = (uint32_t)x;
	}
	*ret = v;
	v = NULL;
	r = 0;
out:
	free(main);
	free(escape);
	free(v);
	return r;
}

static int read_utids(struct decode *d, unsigned int column, uint32_t **ret)
{
	uint32_t *v, i;
	int r;

	if (*ret)
		return 0;
	r = read_index(d, column, d->s->utid_cnt, &v);
	if (r < 0)
		return r;
	for (i = 0; i < d->k->cnt; i++)
		v[i] = d->s->utids[v[i]];
	*ret = v;
	return 0;
}

static int read_prev(struct decode *d)
{
	struct kind_columns *k = d->k;
	uint32_t *v, i, run;
	int r;

	r = read_utids(d, EV_SWITCH_NEXT_UTID, &k->ref[EV_SWITCH_NEXT_UTID]);
	if (r < 0)
		return r;
	r = read_index(d, CHUNK_COL_UTID, d->s->utid_cnt + 1, &v);
	if (r < 0)
		return r;
	k->utid = v;
	for (run = 0; run < k->run_cnt; run++) {
		for (i = 0; i < k->runs[run].cnt; i++) {
			uint32_t row = k->runs[run].start + i;

			if (v[row])
				v[row] = d->s->utids[v[row] - 1];
			else if (i)
				v[row] = k->ref[EV_SWITCH_NEXT_UTID][row - 1];
			else
				return bad(d, "switch column");
		}
	}
	return 0;
}

/* ---- tuples ---- */

static int read_tuple_values(struct decode *d, unsigned int column, uint64_t max, uint64_t **ret)
{
	const struct disk_section *s = part(d, CHUNK_TUPLES, column, 0);
	const uint8_t *p, *end;
	uint64_t *v, prev = 0, z;
	uint8_t *raw;
	uint32_t i;
	int r;

	if (!s || s->encoding != CHUNK_ENC_VARINT_DELTAS || s->item_cnt != d->k->tuple_cnt ||
	    s->raw_bytes > s->item_cnt * (uint64_t)VARINT_MAX_BYTES)
		return bad(d, "tuple table");
	r = unpack(d, s, &raw);
	if (r < 0)
		return r;
	v = malloc(((size_t)s->item_cnt + 1) * sizeof(*v));
	if (!v) {
		free(raw);
		return -ENOMEM;
	}
	*ret = v;
	p = raw;
	end = raw + s->raw_bytes;
	for (i = 0; i < s->item_cnt; i++) {
		p = varint_get(p, end, &z);
		if (!p)
			break;
		prev += zigzag_decode(z);
		if (prev > max)
			break;
		v[i] = prev;
	}
	free(raw);
	return i == s->item_cnt ? 0 : bad(d, "tuple table");
}

/* Reads the tuple index, which all TUPLE columns and flags share. */
static int read_tuples(struct decode *d)
{
	const struct disk_section *s = part(d, CHUNK_TUPLES, CHUNK_COL_FLAGS, 0);

	if (!s || !s->item_cnt || s->item_cnt > d->k->cnt)
		return bad(d, "tuple table");
	d->k->tuple_cnt = s->item_cnt;
	if (s->item_cnt == 1)
		return 0;
	return read_index(d, CHUNK_COL_TUPLE, s->item_cnt, &d->k->tuple);
}

/* ---- values ---- */

/* Reads a PLAIN, DELTA or TDELTA column. TDELTA: differences to the last row of the same tuple. */
static int read_numbers(struct decode *d, unsigned int column, unsigned int codec)
{
	struct kind_columns *k = d->k;
	bool by_tuple = codec == EVENT_CODEC_TDELTA && k->tuple;
	uint64_t *v, *last = NULL, prev = 0;
	struct token_reader tokens;
	uint32_t i, cnt = k->cnt;
	struct stream t;
	int r;

	r = stream_open_rows(d, &t, column);
	if (r < 0)
		goto out;
	v = k->value[column] = new_values(k);
	if (by_tuple)
		last = calloc(k->tuple_cnt, sizeof(*last));
	if (!v || (by_tuple && !last)) {
		r = -ENOMEM;
		goto out;
	}
	tokens = t.r;
	for (i = 0; !by_tuple && i < cnt; i++) {
		uint64_t x = token_get(&tokens);

		prev = codec == EVENT_CODEC_PLAIN ? x : prev + zigzag_decode(x);
		v[i] = prev << t.shift;
	}
	for (; i < cnt; i++) {
		uint64_t *l = &last[k->tuple[i]];

		*l += zigzag_decode(token_get(&tokens));
		v[i] = *l << t.shift;
	}
out:
	free(last);
	stream_close(&t);
	return r;
}

/*
 * Reads a BACKREF column, or (there != NULL) an XREF column, whose rows refer to rows of `there`.
 */
static int read_refs(struct decode *d, unsigned int column, const uint64_t *there,
		     uint32_t there_cnt)
{
	struct kind_columns *k = d->k;
	struct token_reader tokens, new_tokens;
	struct stream t, fresh;
	uint64_t *v, last = 0, ref = 0, x;
	uint32_t i, cnt = k->cnt, new_left;
	int r, r2;

	r = stream_open_rows(d, &t, column);
	r2 = stream_open(d, &fresh, column, CHUNK_PART_NEW, cnt);
	if (r < 0 || r2 < 0) {
		r = r < 0 ? r : r2;
		goto out;
	}
	v = k->value[column] = new_values(k);
	if (!v) {
		r = -ENOMEM;
		goto out;
	}
	tokens = t.r;
	new_tokens = fresh.r;
	new_left = fresh.left;
	r = bad(d, "reference column");
	for (i = 0; i < cnt; i++) {
		x = token_get(&tokens);
		if (!x) {
			if (!new_left--)
				goto out;
			last += zigzag_decode(token_get(&new_tokens));
			v[i] = last << fresh.shift;
		} else if (!there) {
			if (x > i)
				goto out;
			v[i] = v[i - x];
		} else {
			ref += zigzag_decode(x - 1);
			if (ref >= there_cnt)
				goto out;
			v[i] = there[ref];
		}
	}
	*d->why = "";
	r = 0;
out:
	stream_close(&t);
	stream_close(&fresh);
	return r;
}

static int read_xref(struct decode *d, unsigned int column)
{
	unsigned int other = column_xref_kind(d->k->kind);
	struct kind_columns alloc = { .kind = other, .cnt = d->s->meta->head.kind_cnt[other] };
	struct decode a = { .s = d->s, .k = &alloc, .why = d->why };
	const uint64_t *there = d->s->first_values[other];
	uint64_t none = 0;
	int r = 0;

	if (alloc.cnt && !there)
		r = read_refs(&a, 0, NULL, 0);
	if (r == 0 && !there)
		there = alloc.cnt ? alloc.value[0] : &none;
	r = r ?: read_refs(d, column, there, alloc.cnt);
	kind_columns_done(&alloc);
	return r;
}

static int read_value(struct decode *d, unsigned int column)
{
	const struct event_column *c = event_column(d->k->kind, column);
	unsigned int type;

	if (!c)
		return 0;
	type = c->codec == EVENT_CODEC_TUPLE ? CHUNK_TUPLES : CHUNK_COLUMN;
	if (c->is_later && !part(d, type, column, CHUNK_PART_MAIN))
		return 0;
	switch (c->codec) {
	case EVENT_CODEC_UTID:
		return read_utids(d, column, &d->k->ref[column]);
	case EVENT_CODEC_TUPLE:
		return read_tuple_values(d, column, UINT64_MAX, &d->k->tuple_value[column]);
	case EVENT_CODEC_PLAIN:
	case EVENT_CODEC_DELTA:
	case EVENT_CODEC_TDELTA:
		return read_numbers(d, column, c->codec);
	case EVENT_CODEC_BACKREF:
		return read_refs(d, column, NULL, 0);
	case EVENT_CODEC_XREF:
		return read_xref(d, column);
	default:
		return 0;
	}
}

static bool needs_tuples(unsigned int kind, uint32_t ask)
{
	for (unsigned int i = 0; i < EVENT_VALUES; i++) {
		unsigned int codec = column_codec(kind, i);

		if (ask & 1u << i && (codec == EVENT_CODEC_TUPLE || codec == EVENT_CODEC_TDELTA))
			return true;
	}
	return ask & COLUMN_ASK_FLAGS;
}

int column_read_kind(struct kind_columns *ret, const struct column_source *s, unsigned int kind,
		     uint32_t ask, const char **ret_why)
{
	struct kind_columns k = { .kind = kind, .value_cnt = event_kind_values(kind),
				   .cnt = s->meta->head.kind_cnt[kind] };
	struct decode d = { .s = s, .k = &k, .why = ret_why };
	int r = 0;

	*ret_why = "out of memory";
	if (!k.cnt)
		goto done;
	r = read_runs(&d) ?: read_ts(&d);
	if (r == 0 && needs_tuples(kind, ask))
		r = read_tuples(&d);
	if (r == 0 && ask & COLUMN_ASK_FLAGS)
		r = read_tuple_values(&d, CHUNK_COL_FLAGS, UINT8_MAX, &k.flags);
	for (unsigned int i = 0; r == 0 && i < EVENT_VALUES; i++)
		if (ask & 1u << i)
			r = read_value(&d, i);
	if (r == 0 && ask & COLUMN_ASK_UTID)
		r = kind == EVENT_SWITCH ? read_prev(&d) : read_utids(&d, CHUNK_COL_UTID, &k.utid);
	if (r < 0) {
		kind_columns_done(&k);
		return r;
	}
done:
	*ret = k;
	return 0;
}

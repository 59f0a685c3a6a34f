/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * diff_page: each figure has a scale of its own, from the lowest to the highest run of both groups,
 * with these two values below it. Quartiles are those of quantile_of().
 */
#include "cmd/diff/diff_page.h"

#include <math.h>

#include "base/units.h"
#include "cmd/render/page.h"
#include "cmd/render/render.h"

/* of a plot, in px: boxes of A above those of B, with numbers below */
#define PLOT_WIDTH 300
#define MARGIN 6
#define BOX_HEIGHT 12
#define ROW_HEIGHT 18
#define BOX_RUNS 5

static const char style[] =
	"svg{display:block}svg text{font-size:10px;fill:var(--soft)}"
	".a{fill:#0072b2;stroke:#0072b2}.b{fill:#e69f00;stroke:#e69f00}"
	".box{fill-opacity:.3}.dot{fill-opacity:.8;stroke:none}.middle{stroke:var(--fg);"
	"stroke-width:2}.key{display:inline-block;width:10px;height:10px;border-radius:2px}"
	".worse{color:var(--bad);font-weight:600}.better{color:#2e8b57;font-weight:600}"
	"td{vertical-align:middle}p{max-width:72em}";

void diff_page_begin(FILE *f, const char *a, const char *b)
{
	static const char *const key[2] = { "#0072b2", "#e69f00" };

	fprintf(f, "<!DOCTYPE html>\n<!-- made by ebpfrec -->\n<html lang=\"en\">\n<head>\n"
		   "<meta charset=\"utf-8\">\n<meta http-equiv=\"Content-Security-Policy\" "
		   "content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
		   "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
		   "<title>ebpfrec: diff</title>\n<style>%s%s</style>\n</head>\n<body>\n<header>"
		   "<h1>What differs between two groups of runs</h1>\n", page_css, style);
	for (int i = 0; i < 2; i++) {
		fprintf(f, "<p><i class=\"key\" style=\"background:%s\"></i> %c: ", key[i],
			"AB"[i]);
		render_html_text(f, i ? b : a);
		fprintf(f, "</p>\n");
	}
	fprintf(f, "</header>\n<div class=\"table\"><table><thead><tr>");
	for (int i = 0; i < 7; i++)
		fprintf(f, "<th scope=\"col\"%s>%s</th>", i == 2 || i == 3 ? "" : " class=\"text\"",
			(const char *const[]){ "Role", "Figure", "A", "B", "Change %", "Verdict",
					       "Runs" }[i]);
	fprintf(f, "</tr></thead><tbody>\n");
}

/* Between the two values beside its place, as Hyndman and Fan's type 7. cnt > 0. */
static double quantile_of(const double *v, size_t cnt, double share)
{
	double at = share * (double)(cnt - 1);
	size_t below = (size_t)at;

	return below + 1 < cnt ? v[below] + (at - (double)below) * (v[below + 1] - v[below]) :
				 v[below];
}

struct scale {
	double least, most;
};

static double place(const struct scale *s, double v)
{
	double wide = s->most - s->least;

	return MARGIN + (PLOT_WIDTH - 2 * MARGIN) * (wide > 0 ? (v - s->least) / wide : 0.5);
}

static void put_box(FILE *f, const struct scale *s, const double *v, size_t cnt, int side)
{
	double low = place(s, quantile_of(v, cnt, 0.25)),
	       high = place(s, quantile_of(v, cnt, 0.75)),
	       middle = place(s, quantile_of(v, cnt, 0.5));
	int top = 2 + side * ROW_HEIGHT, y = top + BOX_HEIGHT / 2;
	char class = "ab"[side];
	bool has_box = cnt >= BOX_RUNS;	/* the middle half of fewer runs means nothing */

	if (has_box)
		fprintf(f, "<line class=\"%c\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\"/>"
			   "<rect class=\"%c box\" x=\"%.1f\" y=\"%d\" width=\"%.1f\" "
			   "height=\"%d\"/>",
			class, place(s, v[0]), place(s, v[cnt - 1]), y, y, class, low, top,
			fmax(high - low, 1), BOX_HEIGHT);
	for (size_t i = 0; i < cnt; i++)
		fprintf(f, "<circle class=\"%c dot\" cx=\"%.1f\" cy=\"%d\" r=\"2.5\"/>", class,
			place(s, v[i]), y);
	fprintf(f, "<line class=\"middle\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\"/>", middle,
		middle, top, top + BOX_HEIGHT);
}

static void put_plot(FILE *f, const struct diff_page_row *r,
		     void (*format)(char *buf, size_t size, const char *figure, double v))
{
	struct scale s = { INFINITY, -INFINITY };
	char least[UNITS_TEXT_MAX], most[UNITS_TEXT_MAX];
	int height = 2 * ROW_HEIGHT + 12;

	for (int i = 0; i < 2; i++)
		if (r->cnt[i])
			s = (struct scale){ fmin(s.least, r->values[i][0]),
					    fmax(s.most, r->values[i][r->cnt[i] - 1]) };
	if (!r->cnt[0] && !r->cnt[1])
		return;
	format(least, sizeof(least), r->figure, s.least);
	format(most, sizeof(most), r->figure, s.most);
	fprintf(f, "<svg width=\"%d\" height=\"%d\" role=\"img\" aria-label=\"runs of A and B, "
		   "from %s to %s\">", PLOT_WIDTH, height, least, most);
	for (int i = 0; i < 2; i++)
		if (r->cnt[i])
			put_box(f, &s, r->values[i], r->cnt[i], i);
	if (s.most > s.least)
		fprintf(f, "<text x=\"%d\" y=\"%d\">%s</text><text x=\"%d\" y=\"%d\" "
			   "text-anchor=\"end\">%s</text>", MARGIN, height - 2, least,
			PLOT_WIDTH - MARGIN, height - 2, most);
	else
		fprintf(f, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">%s</text>",
			PLOT_WIDTH / 2, height - 2, least);
	fprintf(f, "</svg>");
}

static void put_cell(FILE *f, const char *class, const char *text)
{
	fprintf(f, "<td class=\"%s\">", class);
	render_html_text(f, text);
	fprintf(f, "</td>");
}

void diff_page_row(FILE *f, const struct diff_page_row *r,
		   void (*format)(char *buf, size_t size, const char *figure, double v))
{
	fprintf(f, "<tr>");
	put_cell(f, "text", r->role);
	put_cell(f, "text", r->figure);
	put_cell(f, "", r->text[0]);
	put_cell(f, "", r->text[1]);
	put_cell(f, "text", r->change);
	put_cell(f, r->is_worse ? "text worse" : r->is_better ? "text better" : "text", r->verdict);
	fprintf(f, "<td class=\"text\">");
	put_plot(f, r, format);
	fprintf(f, "</td></tr>\n");
}

void diff_page_end(FILE *f, const char *legend)
{
	fprintf(f, "</tbody></table></div>\n<p>");
	render_html_text(f, legend);
	fprintf(f, "</p>\n<p class=\"note\">A dot is a run, and the line across the median. With "
		   "five runs or more, a box holds the middle half of a group's runs, and a thin "
		   "line reaches from the least to the largest. Each figure has a scale of its "
		   "own, which does not begin at 0.</p>\n</body>\n</html>\n");
}

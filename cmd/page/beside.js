/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Two windows side by side, of one trace or of two, each in a page of its own, on its own clock. The pages announce their windows; a zoom
 * or a move of one also zooms or moves the other. The width of a page is proportional to its window, so that both have the same scale.
 * Names of traces reach the document through textContent alone.
 */
const WIDEST = 3;	/* times the other one */
const REST = 500;	/* ms until the windows are compared */
const ROWS_SHOWN = 40;

const $ = (id) => document.getElementById(id);
const paths = [...$('traces').options].map((option) => option.textContent);
const quoted = (path) => /^[A-Za-z0-9_.,:\/@%+=-]+$/.test(path) ? path : "'" + path.replace(/'/g, "'\\''") + "'";
const seconds = (ns) => (ns / 1e9).toFixed(9).replace(/\.?0+$/, '') + 's';

/* nr: number of the trace, from 1; window: shown by its page; aim: the window that a longer trace would show */
const sides = ['a', 'b'].map((name) => ({ name, frame: $('page-' + name), choice: $('choice-' + name), nr: 1, window: null, aim: null, is_told: false }));
const other_of = (side) => sides[side === sides[0] ? 1 : 0];

let asked = new AbortController(), timer = 0;

/* "#1:FROM-TO;2:FROM-TO", ns */
function take_address() {
	const named = [...location.hash.matchAll(/(\d+):(\d+)-(\d+)/g)];
	sides.forEach((side, i) => {
		side.nr = named[i] ? Math.max(1, Math.min(paths.length, Number(named[i][1]))) : Math.min(i + 1, paths.length);
		side.window = side.aim = null;
		side.choice.value = side.nr;
		side.frame.src = side.nr + '/' + (named[i] ? '#' + named[i][2] + '-' + named[i][3] : '');
	});
}

function name_windows() {
	history.replaceState(null, '', '#' + sides.map((side) => side.nr + ':' + side.window.join('-')).join(';'));
}

/* A page shows another window. */
function take(side, next) {
	const before = side.aim, other = other_of(side);
	side.window = next;
	if (!side.is_told)
		side.aim = next;
	if (!side.is_told && before && other.aim && $('together').checked) {
		const begin = other.aim[0] + next[0] - before[0];
		tell(other, [begin, begin + next[1] - next[0]]);
	}
	side.is_told = false;
	if (other.window) {
		name_windows();
		scale();
		compare_later();
	}
}

function tell(side, aim) {
	const page = side.frame.contentWindow, begin = Math.max(0, Math.round(aim[0])), end = Math.max(begin + 1, Math.round(aim[1]));
	const hash = page.location.hash.replace(/^#\d+-\d+|^#?/, '#' + begin + '-' + end);
	side.aim = aim;
	side.is_told = page.location.hash !== hash;
	/* an address without its beginning would be one of this page */
	if (side.is_told)
		page.location.replace(page.location.pathname + hash);
}

/* The same scale: widths as the lengths of the windows. */
function scale() {
	const [a, b] = sides.map((side) => side.window[1] - side.window[0]), ratio = Math.max(1 / WIDEST, Math.min(a / b, WIDEST));
	sides[0].frame.style.flexGrow = ratio;
	sides[1].frame.style.flexGrow = 1;
	$('scale').textContent = Math.abs(ratio - a / b) > 0.01 * ratio ? 'not the same scale: A has ' + duration(a) + ', B has ' + duration(b) : '';
}

/* ---- the differences ---- */

function windows_asked() {
	const [a, b] = sides;
	return '?a=' + a.nr + '&from=' + a.window[0] + '&to=' + a.window[1] + '&b=' + b.nr + '&from_b=' + b.window[0] + '&to_b=' + b.window[1];
}

function compare_later() {
	const [a, b] = sides;
	asked.abort();
	clearTimeout(timer);
	delete document.body.dataset.compared;
	$('command').textContent = 'ebpfrec diff ' + quoted(paths[a.nr - 1]) + ' ' + quoted(paths[b.nr - 1]) + ' --from ' + seconds(a.window[0]) + ' --until ' +
		seconds(a.window[1]) + ' --from-b ' + seconds(b.window[0]) + ' --until-b ' + seconds(b.window[1]);
	$('flame-diff').href = 'flame' + windows_asked();
	timer = setTimeout(compare, REST);
}

async function compare() {
	const mine = asked = new AbortController();
	let rows, answer;
	try {
		answer = await fetch('diff' + windows_asked(), { signal: mine.signal });
		const text = await answer.text();
		if (!answer.ok)
			throw new Error(text);
		rows = JSON.parse(text);
	} catch (error) {
		if (error.name !== 'AbortError')
			$('rows').textContent = 'They could not be compared: ' + error.message;
		return;
	}
	draw_rows(rows);
	document.body.dataset.compared = sides.map((side) => side.window.join('-')).join(';');
}

const FIGURES = { oncpu_ns: 'CPU time', largest_rss_bytes: 'largest RSS', ios: 'I/Os', io_bytes: 'I/O bytes', lat_p50_ns: 'I/O latency p50', lat_p99_ns: 'I/O latency p99',
	wall_ns: 'wall time' };

function figure(metric, v) {
	return v === null ? '' : metric.endsWith('_ns') ? duration(v) : metric.endsWith('bytes') ? bytes(v) : v.toLocaleString('en-US');
}

function draw_rows(rows) {
	const cells = (tag, texts) => texts.map((text, i) => element(tag, { class: i < 3 || i === 6 ? 'text' : '' }, text));
	const change = (pct) => pct === null ? '' : (pct > 0 ? '+' : '') + pct.toFixed(1);
	$('rows').replaceChildren(element('table', {},
		element('thead', {}, element('tr', {}, ...cells('th', ['ROLE', 'PARENT', 'FIGURE', 'A', 'B', 'CHANGE %', 'VERDICT']))),
		element('tbody', {}, ...rows.slice(0, ROWS_SHOWN).map((row) => element('tr', { class: ['same', 'unknown'].includes(row.verdict) ? '' : 'changed' },
			...cells('td', [row.role, row.parent || '', FIGURES[row.metric] || row.metric, figure(row.metric, row.a), figure(row.metric, row.b),
				change(row.change_pct), row.verdict]))))));
	if (rows.length > ROWS_SHOWN)
		$('rows').append((rows.length - ROWS_SHOWN) + ' more rows: the command has them.');
}

/* ---- */

for (const side of sides) {
	side.choice.append(...paths.map((path, i) => element('option', { value: i + 1 }, path)));
	/* the page under the mouse scrolls the other one, too */
	side.frame.onload = () => side.frame.contentWindow.addEventListener('scroll', () => {
		if (side.frame.matches(':hover, :focus'))
			other_of(side).frame.contentWindow.scrollTo(0, side.frame.contentWindow.scrollY);
	});
	side.choice.onchange = () => {
		side.nr = Number(side.choice.value);
		side.window = side.aim = null;
		side.frame.src = side.nr + '/';
	};
}
window.addEventListener('message', (event) => {
	const side = event.origin === location.origin && sides.find((one) => one.frame.contentWindow === event.source);
	if (side && Array.isArray(event.data) && event.data.length === 2)
		take(side, event.data.map(Number));
});
window.addEventListener('hashchange', take_address);
take_address();

/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * The page of a window: bins per process become charts, and tables of the bins that are shown.
 * Names come from the trace and are hostile: they reach the document through textContent alone.
 * Series have numbers as labels, so that the charts' library never sees a name.
 */
/* Colours that people with any kind of colour blindness tell apart (Okabe and Ito, and Tol). */
const PALETTE = ['#0072b2', '#e69f00', '#009e73', '#cc79a7', '#56b4e9', '#d55e00', '#b8a600', '#882255',
	'#7a7ad1', '#44aa99', '#a0703c', '#6f8f2f'];
const OTHER = '#9a9a9a', UNKNOWN = '#5f6b7a', PEAK = '#808080';
const SERIES = 7;	/* processes of a chart; the rest is one series */
const POINTS = 400;	/* of a chart: wider windows show the sums of several bins as one */
const ROWS = 15;	/* of a table, until all are asked for */

const $ = (id) => document.getElementById(id);

const byteRate = (v) => bytes(v) + '/s';
const rate = (v) => v.toLocaleString('en-US', { maximumFractionDigits: 1 });
const instant = (ns) => (ns / 1e9).toFixed(9).replace(/0{1,6}$/, '');
/* As an option takes it: exact. */
const option = (ns) => (ns / 1e9).toFixed(9).replace(/\.?0+$/, '') + 's';

/* ---- the data ---- */

let edges = [];		/* of bins, ns from the trace's start */
let results = {}, texts = [];
let from = 0, to = 0;	/* bins shown: [from, to) */
let before = [];	/* windows before this one */
const processes = new Map();	/* text -> { key, upid, pid, comm, color } */

async function read() {
	const coded = atob($('data').textContent.trim());
	const raw = new Uint8Array(coded.length);
	for (let i = 0; i < coded.length; i++)
		raw[i] = coded.charCodeAt(i);
	const text = await new Response(new Blob([raw]).stream().pipeThrough(new DecompressionStream('deflate'))).text();
	const all = JSON.parse(text);
	texts = all.texts;
	results = all.results;
	edges = all.edges;
	for (let i = 1; i < edges.length; i++)
		edges[i] += edges[i - 1];
	for (const r of Object.values(results)) {
		r.cnt = Object.values(r)[0].length;
		for (let i = 1; r.bin && i < r.cnt; i++)
			r.bin[i] += r.bin[i - 1];
	}
}

/* "upid pid name", or "other" */
function process(text) {
	let p = processes.get(text);
	if (!p) {
		const parts = /^(\d+) (\d*) (.*)$/s.exec(texts[text]);
		p = parts ? { key: text, pid: parts[2], comm: parts[3] } : { key: text, pid: '', comm: texts[text], is_other: true };
		/* [unknown] and [filtered] have no PID, and are no process */
		p.color = p.is_other || p.pid ? OTHER : UNKNOWN;
		processes.set(text, p);
	}
	return p;
}

/* The first row of a bin or later. */
function lower(r, bin) {
	let low = 0, high = r.cnt;
	while (low < high) {
		const mid = (low + high) >> 1;
		if (r.bin[mid] < bin)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* The palette, then its colours mixed with white, then with black. */
function nth_color(i) {
	const color = PALETTE[i % PALETTE.length], turn = Math.floor(i / PALETTE.length) % 3;
	const mixed = [1, 3, 5].map((at) => {
		const v = parseInt(color.slice(at, at + 2), 16);
		return Math.round(turn === 1 ? v + (255 - v) * 0.5 : turn === 2 ? v * 0.55 : v);
	});
	return 'rgb(' + mixed.join() + ')';
}

/* One process has one colour everywhere: the first colours are for those with the largest share of anything. */
function paint() {
	const share = new Map();
	for (const [name, column, source] of [['cpu', 'oncpu_ns'], ['memory', 'now_bytes', 'rss'], ['io', 'bytes'],
		['waits', 'wait_ns'], ['memory', 'alloc_bytes', 'slab']]) {
		const r = results[name], sums = new Map();
		let all = 0;
		for (let i = 0; i < r.cnt; i++) {
			const v = r[column][i];
			if ((source && texts[r.source[i]] !== source) || !process(r.process[i]).pid || !v)
				continue;
			sums.set(r.process[i], (sums.get(r.process[i]) || 0) + v);
			all += v;
		}
		for (const [p, v] of sums)
			share.set(p, Math.max(share.get(p) || 0, v / all));
	}
	[...share].sort((a, b) => b[1] - a[1]).forEach(([p], i) => { process(p).color = nth_color(i); });
}

function was_recorded(source) {
	const i = results.info.key.findIndex((key) => texts[key] === 'recorded');
	return texts[results.info.value[i]].split(' ').includes(source);
}

/* ---- charts ---- */

const charts = [];

/*
 * A chart: rows of a result become series by a key, or each column is a series. per: "s" divides by the seconds of a point,
 * "ns" by its ns, "max" takes the largest value, "level" that of the last bin, "top" the highest rate of a bin, per second.
 */
function prepare(chart) {
	const def = chart.def, r = results[def.result], numbers = new Map();
	chart.keys = def.series ? def.columns.slice() : [];
	chart.rows = 0;
	const cells = r.cnt * (def.series ? def.columns.length : 1);
	chart.bin = new Int32Array(cells);
	chart.key = new Int32Array(cells);
	chart.value = new Float64Array(cells);
	const add = (i, n, value) => {
		chart.bin[chart.rows] = r.bin[i];
		chart.key[chart.rows] = n;
		chart.value[chart.rows++] = value;
	};
	for (let i = 0; i < r.cnt; i++) {
		if (def.where && !def.where(r, i))
			continue;
		const values = def.columns.map((c) => r[c][i] || 0);
		if (def.series) {
			values.forEach((v, n) => add(i, n, v));
			continue;
		}
		const key = def.key ? def.key(r, i) : 0;
		let n = numbers.get(key);
		if (n === undefined) {
			numbers.set(key, n = chart.keys.length);
			chart.keys.push(key);
		}
		add(i, n, values.reduce((a, b) => a + b));
	}
}

function has_values(def) {
	const r = results[def.result];
	for (let i = 0; i < r.cnt; i++)
		if (def.columns.some((c) => r[c][i] > 0) && (!def.where || def.where(r, i)))
			return true;
	return false;
}

/* The keys with most in the bins shown; the others are one series, the last. */
function leaders(chart) {
	const sums = new Float64Array(chart.keys.length), def = chart.def;
	/* rows are in order of bins */
	for (let i = lower({ bin: chart.bin, cnt: chart.rows }, from); i < chart.rows && chart.bin[i] < to; i++)
		sums[chart.key[i]] = def.per === 'max' ? Math.max(sums[chart.key[i]], chart.value[i]) : sums[chart.key[i]] + chart.value[i];
	const order = [...chart.keys.keys()].filter((n) => sums[n] > 0 && !def.is_other(chart.keys[n]));
	if (!def.series)
		order.sort((a, b) => sums[b] - sums[a]);
	return order.slice(0, SERIES);
}

/* What each series has in each bin. */
function bin_values(chart) {
	const values = new Float64Array((edges.length - 1) * (SERIES + 1)), slot = new Int32Array(chart.keys.length).fill(SERIES);
	chart.shown.forEach((n, i) => { slot[n] = i; });
	for (let i = 0; i < chart.rows; i++) {
		const at = chart.bin[i] * (SERIES + 1) + slot[chart.key[i]];
		values[at] = chart.def.per === 'max' ? Math.max(values[at], chart.value[i]) : values[at] + chart.value[i];
	}
	return values;
}

/*
 * What each series has in each point; a point is as many bins as its level says: 1, 2, 4, ... On top of a stack comes what its
 * highest bin has more, without a fill, so that its line shows the spikes that the mean of a point hides. A chart with a band
 * also gets the lowest and the highest bin of each point: of a stack, or of each series.
 */
function points(chart, level) {
	const def = chart.def, bins = edges.length - 1, step = 1 << level, cnt = Math.ceil(bins / step);
	const values = bin_values(chart), rows = [], unit = (def.scale || 1) * (def.per === 's' || def.per === 'top' ? 1e9 : 1);
	const is_rate = ['s', 'ns', 'top'].includes(def.per), lines = def.stacked ? 1 : SERIES;
	chart.low = def.band && level ? new Float64Array(cnt * lines).fill(Infinity) : null;
	chart.high = def.band && level ? new Float64Array(cnt * lines) : null;
	const widen = (at, v) => {
		chart.low[at] = Math.min(chart.low[at], v);
		chart.high[at] = Math.max(chart.high[at], v);
	};
	for (let p = 0; p < cnt; p++) {
		const begin = p * step, end = Math.min(begin + step, bins), row = new Array(SERIES + 1).fill(0);
		let peak = 0;
		for (let bin = begin; bin < end; bin++) {
			const by = unit / (is_rate ? edges[bin + 1] - edges[bin] : 1);
			let sum = 0;
			for (let i = 0; i <= SERIES; i++) {
				const v = values[bin * (SERIES + 1) + i];
				sum += v;
				if (def.per === 'max' || def.per === 'top')
					row[i] = Math.max(row[i], v * by);
				else
					row[i] = def.per === 'level' ? v * by : row[i] + v * unit / (edges[end] - edges[begin]);
				if (chart.low && !def.stacked && i < SERIES)
					widen(p * lines + i, v * by);
			}
			peak = Math.max(peak, sum * by);
			if (chart.low && def.stacked)
				widen(p, sum * by);
		}
		rows.push([edges[begin] / 1e9, ...(def.stacked ? [Math.max(0, peak - row.reduce((a, b) => a + b))] : []), ...row]);
	}
	/* the last bin has its width, too */
	rows.push([edges[bins] / 1e9, ...rows[rows.length - 1].slice(1)]);
	chart.points = rows;
	return rows;
}

function level_of(cnt) {
	let level = 0;
	while (cnt >> level > POINTS)
		level++;
	return level;
}

let text_color = '';	/* as the page's style has it */
let lost = [];	/* bins in which something is missing: [from, to) */

function shade(canvas, area, g) {
	const x = (bin) => Math.round(g.toDomXCoord(edges[bin] / 1e9));
	canvas.save();
	canvas.fillStyle = 'rgba(190, 40, 40, 0.22)';
	for (const [a, b] of lost)
		canvas.fillRect(x(a), area.y, Math.max(2, x(b) - x(a)), area.h);
	canvas.restore();
}

function draw_marks(g, canvas) {
	const area = g.getArea(), [begin, end] = g.xAxisRange();
	canvas.save();
	canvas.strokeStyle = canvas.fillStyle = text_color;
	canvas.font = '11px system-ui, sans-serif';
	canvas.beginPath();
	canvas.rect(area.x, area.y, area.w, area.h);
	canvas.clip();
	const marks = results.marks;
	canvas.setLineDash([4, 3]);
	for (let i = 0; i < marks.cnt; i++) {
		/* the name of an earlier one may be seen */
		if (marks.ts_ns[i] / 1e9 > end || marks.ts_ns[i] / 1e9 < begin - (end - begin))
			continue;
		const x = Math.round(g.toDomXCoord(marks.ts_ns[i] / 1e9)) + 0.5;
		canvas.beginPath();
		canvas.moveTo(x, area.y);
		canvas.lineTo(x, area.y + area.h);
		canvas.stroke();
		canvas.fillText(texts[marks.name[i]], x + 3, area.y + 10);
	}
	canvas.restore();
}

/* Of a stack its lowest bins as a line; of each other series what lies between its lowest and its highest bin. */
function draw_band(chart, g, canvas) {
	const area = g.getArea(), rows = chart.points, lines = chart.def.stacked ? 1 : chart.shown.length, y = (v) => g.toDomYCoord(v);
	const x = rows.map((row) => g.toDomXCoord(row[0]));
	canvas.save();
	canvas.beginPath();
	canvas.rect(area.x, area.y, area.w, area.h);
	canvas.clip();
	for (let i = 0; i < lines; i++) {
		canvas.beginPath();
		for (let p = 0; p + 1 < rows.length; p++) {
			const at = p * (chart.def.stacked ? 1 : SERIES) + i;
			if (x[p + 1] < area.x || x[p] > area.x + area.w)
				continue;
			if (chart.def.stacked) {
				canvas.lineTo(x[p], y(chart.low[at]));
				canvas.lineTo(x[p + 1], y(chart.low[at]));
			} else {
				canvas.rect(x[p], y(chart.high[at]), x[p + 1] - x[p], y(chart.low[at]) - y(chart.high[at]));
			}
		}
		canvas.strokeStyle = text_color;
		canvas.fillStyle = color_of(chart.def, chart.keys[chart.shown[i]], i);
		canvas.globalAlpha = chart.def.stacked ? 0.7 : 0.25;
		if (chart.def.stacked)
			canvas.stroke();
		else
			canvas.fill();
	}
	canvas.restore();
}

function draw_spikes(g, canvas) {
	const area = g.getArea(), r = results.spikes, drawn = new Set();
	canvas.save();
	canvas.fillStyle = text_color;
	for (let i = 0; i < r.cnt; i++) {
		const x = g.toDomXCoord(r.start_ns[i] / 1e9), place = Math.round(x / 6);
		/* where there are many, one triangle stands for its neighbours */
		if (x < area.x || x > area.x + area.w || drawn.has(place))
			continue;
		drawn.add(place);
		canvas.beginPath();
		canvas.moveTo(x - 4, area.y);
		canvas.lineTo(x + 4, area.y);
		canvas.lineTo(x, area.y + 7);
		canvas.fill();
	}
	canvas.restore();
}

const of_process = {
	key: (r, i) => r.process[i], is_other: (key) => process(key).is_other,
	name: (key) => process(key).comm + (process(key).pid ? ' ' + process(key).pid : ''), color: (key) => process(key).color,
};
const source_is = (name) => (r, i) => texts[r.source[i]] === name;
function device(dev) {
	const i = results.devices.dev.indexOf(dev);
	return i < 0 ? (dev >> 20) + ':' + (dev & 0xfffff) : texts[results.devices.name[i]];
}
/* What ran is not known where switches were lost: that time is not busy. */
const is_known = (r, i) => process(r.process[i]).pid || process(r.process[i]).comm !== '[unknown]';
const single = { is_other: () => false, color: () => PALETTE[0] };
const of_device = { key: (r, i) => device(r.dev[i]), is_other: () => false, name: (key) => key };
const of_device_op = { key: (r, i) => device(r.dev[i]) + ' ' + texts[r.op[i]], is_other: () => false, name: (key) => key };

/* Columns as series: these are on top of each other in this order. */
const STATES = {
	uninterruptible_ns: ['other uninterruptible sleep', '#882255'], disk_ns: ['waiting for its disk requests', '#56b4e9'],
	throttled_ns: ['throttled by a quota', '#999933'],
	preempted_ns: ['preempted, waiting for a CPU', '#e69f00'], runnable_ns: ['woken, waiting for a CPU', '#d55e00'], running_ns: ['running', '#009e73'],
};
const moves_bytes = (r, i) => texts[r.op[i]] !== 'discard';

function chart_defs() {
	const cpus = new Set(results.cpus.cpu).size;
	return [
		{ title: 'CPUs busy', about: 'of ' + cpus, band: true, result: 'cpu', columns: ['oncpu_ns'], per: 'ns', wide: true,
			...single, where: is_known, name: () => 'busy', format: tick, stacked: true },
		{ title: 'What threads did', about: 'threads, on average; those that slept are left out', result: 'states', columns: Object.keys(STATES), series: true,
			per: 'ns', wide: true, is_other: () => false, name: (key) => STATES[key][0], color: (key) => STATES[key][1], format: tick,
			stacked: true },
		{ title: 'CPU by process', about: 'CPUs', result: 'cpu', columns: ['oncpu_ns'], per: 'ns', stacked: true, ...of_process,
			format: (v) => v.toFixed(3) },
		{ title: 'CPU by CPU', about: '%; shaded from the lowest to the highest bin', band: true, result: 'cpus', columns: ['oncpu_ns'], per: 'ns', scale: 100, key: (r, i) => r.cpu[i],
			is_other: () => false, name: (key) => 'CPU ' + key, color: (key) => PALETTE[key % PALETTE.length],
			format: (v) => v.toFixed(1) },
		{ title: 'Waiting for a CPU', about: 'threads, on average', result: 'states', columns: ['runnable_ns', 'preempted_ns'], per: 'ns', stacked: true,
			...of_process, format: (v) => v.toFixed(3) },
		{ title: 'Longest wait for a CPU', about: 'of each bin', result: 'waits', columns: ['wait_max_ns'], per: 'max', ...single,
			name: () => 'longest', format: duration },
		{ title: 'Waiting for disk requests', about: 'threads, on average', result: 'states', columns: ['disk_ns'], per: 'ns', stacked: true, ...of_process,
			format: (v) => v.toFixed(3) },
		{ title: 'Slowest request', about: 'of each bin, by device and operation', result: 'io', columns: ['lat_max_ns'], per: 'max', ...of_device_op,
			format: duration },
		{ title: 'Resident memory', about: 'at the end of each bin; triangles are spikes', band: true, result: 'memory', columns: ['now_bytes'], per: 'level', stacked: true,
			...of_process, where: source_is('rss'), format: bytes, spikes: true },
		{ title: 'Highest resident memory', about: 'of a process, at any instant of a bin', result: 'memory', columns: ['peak_bytes'], per: 'max', ...single,
			where: source_is('rss'), name: () => 'highest', format: bytes },
		{ title: 'Resident memory grown', about: 'per second', result: 'memory', columns: ['alloc_bytes'], per: 's', stacked: true, ...of_process,
			where: source_is('rss'), format: byteRate, spikes: true },
		{ title: 'Kernel objects allocated', about: 'slab, per second', result: 'memory', columns: ['alloc_bytes'], per: 's', stacked: true,
			...of_process, where: source_is('slab'), format: byteRate },
		{ title: 'Heap allocated', about: 'per second', result: 'memory', columns: ['alloc_bytes'], per: 's', stacked: true,
			...of_process, where: source_is('heap'), format: byteRate },
		{ title: 'Block I/O by process', about: 'bytes per second, without discards', result: 'io', columns: ['bytes'], per: 's', stacked: true, ...of_process,
			where: moves_bytes, format: byteRate },
		{ title: 'Block I/O by device', about: 'bytes per second of the highest bin, without discards', result: 'io', columns: ['bytes'], per: 'top',
			...of_device, where: moves_bytes, format: byteRate },
		{ title: 'Requests by process', about: 'per second', result: 'io', columns: ['ios'], per: 's', stacked: true, ...of_process, format: rate },
		{ title: 'Requests by device', about: 'per second, of the highest bin', result: 'io', columns: ['ios'], per: 'top', ...of_device, format: rate },
	];
}

/* Values below 1 need their first digits: rounded to tenths, small ones would all be 0. */
const tick = (v) => Math.abs(v) < 1 ? v.toLocaleString('en-US', { maximumSignificantDigits: 3 }) : v.toLocaleString('en-US', { maximumFractionDigits: 2 });

function axis_label(def) {
	if (def.format === bytes || def.format === byteRate)
		return bytes;
	return def.format === duration ? duration : tick;
}

const name_of = (def, key) => key === null ? 'other' : def.name(key);

function color_of(def, key, i) {
	return key === null ? OTHER : def.color ? def.color(key) : PALETTE[i % PALETTE.length];
}

/* The series of the window, with their names; a series that is not there is 0 and has none. */
function choose(chart) {
	const def = chart.def, shown = leaders(chart);
	chart.shown = shown;
	chart.level = level_of(to - from);
	const keys = [...shown.map((n) => chart.keys[n]), ...Array(SERIES - shown.length).fill(undefined), null];
	const rows = points(chart, chart.level);
	const others = !!def.stacked && rows.some((row) => row[SERIES + 2] > 0);
	/* where points are bins, there is nothing above them */
	const visibility = [...(def.stacked ? [chart.level > 0] : []), ...keys.map((key) => key === null ? others : key !== undefined)];
	const colors = keys.map((key, i) => key === undefined ? OTHER : color_of(def, key, chart.keys.indexOf(key)));
	chart.values = [];
	chart.legend.replaceChildren();
	const add = (i, name, color, kind) => {
		chart.values[i] = element('b');
		chart.legend.append(element('span', { title: name }, element('i', { color, class: kind || '' }), name, chart.values[i]));
	};
	keys.forEach((key, i) => {
		if (key !== undefined && (key !== null || others))
			add(i, name_of(def, key), colors[i]);
	});
	if (def.stacked && chart.level)
		add(SERIES + 1, 'highest bin', PEAK, 'line');
	if (def.stacked && chart.low)
		add(SERIES + 2, 'lowest bin', text_color, 'line');
	return { file: rows, visibility, colors: def.stacked ? [PEAK, ...colors] : colors, dateWindow: date_window() };
}

/* Without the instant at which the next bin begins. */
function date_window() {
	return [edges[from] / 1e9, (edges[to] - span_ns() * 1e-4) / 1e9];
}

function add_chart(def) {
	const chart = { def };
	if (!has_values(def))
		return;
	chart.at = element('span', { class: 'at' });
	chart.legend = element('div', { class: 'legend' });
	const plot = element('div', { class: 'plot' });
	const box = element('div', { class: def.wide ? 'chart wide' : 'chart' },
		element('div', { class: 'head' }, element('h2', {}, def.title), element('span', { class: 'note' }, def.about), chart.at),
		plot, chart.legend);
	$('charts').append(box);
	charts.push(chart);
	parts.push({ box, draw: () => {
		if (chart.graph) {
			chart.graph.updateOptions(choose(chart));
		} else {
			prepare(chart);
			make_graph(chart, plot);
		}
	} });
}

function make_graph(chart, plot) {
	const def = chart.def;
	const labels = ['t', ...(def.stacked ? ['peak'] : []), ...Array.from({ length: SERIES + 1 }, (x, i) => 's' + i)];
	const { file, ...options } = choose(chart);
	chart.graph = new Dygraph(plot, file, { ...options,
		labels, stepPlot: true, strokeWidth: def.stacked ? 0.8 : 1.2,
		stackedGraph: !!def.stacked, fillGraph: !!def.stacked, fillAlpha: def.stacked ? 0.75 : 0.3, includeZero: true,
		series: def.stacked ? { peak: { fillGraph: false, strokeWidth: 1 } } : {},
		showRangeSelector: def.wide && !chart.def.series, rangeSelectorHeight: 34, rangeSelectorPlotFillColor: '#0072b2', rangeSelectorPlotStrokeColor: '#0072b2',
		axes: { x: { axisLabelFormatter: (v) => +v.toFixed(6) + ' s', pixelsPerLabel: 80 },
			y: { axisLabelFormatter: axis_label(def), axisLabelWidth: 68, pixelsPerLabel: 28, labelsKMG2: axis_label(def) === bytes } },
		gridLineColor: 'rgba(128, 128, 128, 0.25)', axisLineColor: 'rgba(128, 128, 128, 0.6)', axisLabelFontSize: 11,
		animatedZooms: false, highlightCircleSize: 0,
		underlayCallback: shade, drawCallback: (g) => { draw_over(chart, g); },
		highlightCallback: (event, x, list, row) => hover(row, chart), unhighlightCallback: () => hover(-1, chart),
		zoomCallback: (a, b) => show_seconds(a, b),
		interactionModel: interaction(),
	});
}

function draw_over(chart, g) {
	const canvas = g.hidden_ctx_;
	if (chart.low)
		draw_band(chart, g, canvas);
	draw_marks(g, canvas);
	if (chart.def.spikes)
		draw_spikes(g, canvas);
}

/* Of the library, but double-click shows the whole. */
function interaction() {
	return Object.assign({}, Dygraph.defaultInteractionModel, { dblclick: () => show(0, edges.length - 1) });
}

/* A chart or the range selector was moved: the window follows when the mouse is let go. */
function follow() {
	const [a, b] = date_window();
	for (const chart of charts) {
		const [x, y] = chart.graph ? chart.graph.xAxisRange() : [a, b];
		if (!waiting && Math.abs(x - a) + Math.abs(y - b) > 1e-9)
			show_seconds(x, y);
	}
}

/* What a series has in a point; the highest bin is the stack and what is on top of it. */
function value_of(chart, at, i) {
	const row = chart.points[at];
	if (!chart.def.stacked)
		return row[i + 1];
	if (i === SERIES + 2)
		return chart.low[Math.min(at, chart.low.length - 1)];
	return i <= SERIES ? row[i + 2] : row.slice(1).reduce((a, b) => a + b);
}

/* The same instant in all charts. */
function hover(row, from_chart) {
	for (const chart of charts.filter((c) => c.graph)) {
		const rows = chart.points;
		chart.at.textContent = row < 0 || !rows[row] ? '' : rows[row][0].toFixed(6) + ' s';
		chart.values.forEach((value, i) => { value.textContent = row < 0 || !rows[row] ? '' : chart.def.format(value_of(chart, row, i)); });
		if (chart === from_chart)
			continue;
		if (row < 0)
			chart.graph.clearSelection();
		else
			chart.graph.setSelection(row);
	}
}

/* ---- tables of the bins that are shown ---- */

const span_ns = () => edges[to] - edges[from];
const columns = {
	process: [{ name: 'PID', text: true, of: (x) => process(x.key.process).pid },
		{ name: 'COMM', text: true, of: (x) => process(x.key.process).comm, color: (x) => process(x.key.process).color }],
	text: (name, title) => ({ name: title, text: true, of: (x) => x.key[name] === null ? '' : texts[x.key[name]] }),
	sum: (id, name, format) => ({ id, name, format, of: (x) => x.sums[id] }),
};

/* keys: columns that tell rows apart. max: columns that do not add up. report: the command with these figures. */
const TABLES = [
	{ result: 'cpu', title: 'CPU', report: 'cpu', keys: ['process'], sums: ['oncpu_ns', 'switches', 'preempted'], max: [], sort: 'oncpu_ns',
		columns: [...columns.process, columns.sum('oncpu_ns', 'ONCPU', duration),
			{ id: 'util_pct', name: '%CPU', format: percent, of: (x) => Math.round(100000 * x.sums.oncpu_ns / span_ns()) / 1000 },
			columns.sum('switches', 'SWITCHES', count), columns.sum('preempted', 'PREEMPTED', count)] },
	{ result: 'waits', title: 'Waits for a CPU', report: 'sched', keys: ['process'], sums: ['waits', 'wait_ns'], max: ['wait_max_ns'], sort: 'wait_ns',
		columns: [...columns.process, columns.sum('waits', 'WAITS', count), columns.sum('wait_ns', 'WAIT', duration),
			columns.sum('wait_max_ns', 'WAIT MAX', duration)] },
	{ result: 'states', title: 'States of threads', report: 'states', keys: ['process'], max: [], sort: 'running_ns',
		sums: ['running_ns', 'runnable_ns', 'preempted_ns', 'throttled_ns', 'disk_ns', 'uninterruptible_ns', 'sleeping_ns', 'stopped_ns', 'unknown_ns'],
		columns: [...columns.process,
			{ id: 'life_ns', name: 'LIFE', format: duration, of: (x) => Object.values(x.sums).reduce((a, b) => a + b) },
			columns.sum('running_ns', 'RUNNING', duration), columns.sum('runnable_ns', 'RUNNABLE', duration),
			columns.sum('preempted_ns', 'PREEMPTED', duration), columns.sum('throttled_ns', 'THROTTLED', duration),
			{ id: 'disk_ns', name: 'DISK', format: duration, of: (x) => was_recorded('block') ? x.sums.disk_ns : null },
			columns.sum('uninterruptible_ns', 'UNINTERR', duration), columns.sum('sleeping_ns', 'SLEEPING', duration),
			columns.sum('stopped_ns', 'STOPPED', duration), columns.sum('unknown_ns', 'UNKNOWN', duration)] },
	{ result: 'memory', title: 'Memory', report: 'alloc', keys: ['process', 'source'], sums: ['allocs', 'frees', 'alloc_bytes', 'free_bytes', 'exit_bytes'],
		max: ['peak_bytes'], sort: 'alloc_bytes',
		columns: [...columns.process, columns.text('source', 'SOURCE'), columns.sum('allocs', 'ALLOCS', count), columns.sum('frees', 'FREES', count),
			columns.sum('alloc_bytes', 'ALLOC BYTES', bytes), columns.sum('free_bytes', 'FREE BYTES', bytes),
			{ id: 'net_bytes', name: 'NET BYTES', format: bytes, of: (x) => x.sums.alloc_bytes - x.sums.free_bytes - x.sums.exit_bytes },
			/* of several processes the highest are known, not what they had together */
			{ id: 'peak_bytes', name: 'PEAK BYTES', format: bytes, of: (x) => process(x.key.process).is_other ? null : x.sums.peak_bytes },
			columns.sum('exit_bytes', 'EXIT BYTES', bytes)] },
	{ result: 'io', title: 'Block I/O', report: 'io', keys: ['process', 'dev', 'op', 'submitter', 'owner_how'],
		sums: ['ios', 'bytes', 'errors'], max: ['lat_max_ns'], sort: 'bytes',
		columns: [...columns.process, { name: 'DEVICE', text: true, of: (x) => device(x.key.dev) }, columns.text('op', 'OP'), columns.sum('ios', 'IOS', count),
			columns.sum('bytes', 'BYTES', bytes),
			{ id: 'iops', name: 'IOPS', format: rate, of: (x) => Math.round(x.sums.ios * 1e12 / span_ns()) / 1000 },
			columns.sum('lat_max_ns', 'LAT MAX', duration), columns.sum('errors', 'ERRORS', count),
			columns.text('submitter', 'SUBMITTER'), columns.text('owner_how', 'WHY UNKNOWN')] },
];

/* Single events: rows as they are, those that begin in the window. */
const EVENTS = [
	{ result: 'spikes', title: 'Spikes', report: 'spikes', at: 'start_ns', columns: [
		['START (s)', 'start_ns', instant], ['PID', 'pid'], ['COMM', 'comm', null, true], ['SOURCE', 'source', null, true], ['DUR', 'dur_ns', duration],
		['BYTES', 'bytes', bytes], ['CAUSE', 'cause', null, true], ['USER STACK', 'user_stack', null, true], ['KERNEL STACK', 'kernel_stack', null, true]] },
	{ result: 'slow_requests', title: 'Slowest requests', note: 'of the whole page; they ended in the millisecond that begins here', at: 'at_ns', columns: [
		['ENDED (s)', 'at_ns', instant], ['PROCESS', 'process', null, true], ['DEVICE', 'dev', null, true], ['OP', 'op', null, true],
		['LATENCY', 'lat_ns', duration], ['QUEUE', 'queue_ns', duration], ['DEVICE TIME', 'device_ns', duration], ['SUBMITTER', 'submitter', null, true]] },
	{ result: 'slow_waits', title: 'Longest waits for a CPU', note: 'of the whole page; they ended in the millisecond that begins here', at: 'at_ns', columns: [
		['ENDED (s)', 'at_ns', instant], ['PROCESS', 'process', null, true], ['TID', 'tid'], ['THREAD', 'comm', null, true], ['WAITED', 'wait_ns', duration]] },
];

const state = new Map();	/* of each table: { sort, down, all } */

/* Rows of a result that a table adds up have the same number. */
function number_rows(def) {
	const r = results[def.result], numbers = new Map();
	def.group = new Int32Array(r.cnt);
	for (let i = 0; i < r.cnt; i++) {
		const id = def.keys.map((k) => r[k][i]).join();
		if (!numbers.has(id))
			numbers.set(id, numbers.size);
		def.group[i] = numbers.get(id);
	}
}

function rows_of(def) {
	const r = results[def.result], rows = [];
	if (!def.group)
		number_rows(def);
	for (let i = lower(r, from); i < r.cnt && r.bin[i] < to; i++) {
		let x = rows[def.group[i]];
		if (!x) {
			x = rows[def.group[i]] = { key: {}, sums: {} };
			def.keys.forEach((k) => { x.key[k] = r[k][i]; });
			def.sums.forEach((k) => { x.sums[k] = 0; });
			def.max.forEach((k) => { x.sums[k] = null; });
		}
		for (const k of def.sums)
			x.sums[k] += r[k][i];
		for (const k of def.max)
			if (r[k][i] !== null && (x.sums[k] === null || r[k][i] > x.sums[k]))
				x.sums[k] = r[k][i];
	}
	return rows.filter((x) => x);
}

const wanted = () => $('search').value.trim().toLowerCase();
const matches = (word, ...names) => !word || names.some((n) => String(n).toLowerCase().includes(word));

/* Is all that the view needs in the bins shown? */
function missing(view) {
	const r = results.loss;
	let events = 0, incomplete = false;
	for (let i = lower(r, from); i < r.cnt && r.bin[i] < to; i++)
		if (texts[r.what[i]] === 'report ' + view) {
			events += r.lost_events[i];
			incomplete = true;
		}
	return !incomplete ? '' : events ? 'INCOMPLETE: events were lost' : 'INCOMPLETE: events may be missing';
}

function heading(def, s, redraw) {
	return element('tr', {}, ...def.columns.map((c) => {
		const th = element('th', { scope: 'col', class: c.text ? 'text' : '' }, element('button', { onclick: () => {
			s.down = s.sort === c.name ? !s.down : !c.text;
			s.sort = c.name;
			redraw();
		} }, c.name));
		if (s.sort === c.name)
			th.setAttribute('aria-sort', s.down ? 'descending' : 'ascending');
		return th;
	}));
}

function cell(c, x) {
	const v = c.of(x);
	if (v === null || v === undefined)
		return element('td');
	if (c.text)
		return element('td', { class: 'text', title: v }, ...(c.color ? [element('i', { color: c.color(x) })] : []), String(v));
	return element('td', { title: String(v), 'data-column': c.id }, c.format ? c.format(v) : String(v));
}

function fill(box, def, rows, note) {
	const s = state.get(def.title);
	const sorted = def.columns.find((c) => c.name === s.sort);
	rows.sort((a, b) => {
		const x = sorted.of(a), y = sorted.of(b);
		const order = typeof x === 'number' && typeof y === 'number' ? x - y : x === y ? 0 : x === null ? -1 : y === null ? 1 : x < y ? -1 : 1;
		return s.down ? -order : order;
	});
	const shown = s.all ? rows : rows.slice(0, ROWS);
	const redraw = () => { fill(box, def, rows, note); };
	box.replaceChildren(element('h3', {}, def.title),
		element('div', { class: 'note' }, ...note),
		element('table', { id: 'table-' + def.result }, element('thead', {}, heading(def, s, redraw)),
			element('tbody', {}, ...shown.map((x) => element('tr', {}, ...def.columns.map((c) => cell(c, x)))))));
	if (rows.length > ROWS)
		box.append(element('button', { onclick: () => { s.all = !s.all; redraw(); } },
			s.all ? 'fewer' : (rows.length - ROWS) + ' more'));
}

function draw_table(def) {
	const word = wanted(), note = missing(def.report);
	const rows = rows_of(def).filter((x) => matches(word, process(x.key.process).comm, process(x.key.process).pid));
	fill($('box-' + def.result), def, rows, [element('code', {}, command(def.report)),
		...(note ? [' ', element('span', { class: 'incomplete' }, note)] : [])]);
}

function draw_events(def) {
	const r = results[def.result], rows = [], box = $('box-' + def.result);
	for (let i = 0; i < r.cnt; i++)
		if (r[def.at][i] >= edges[from] && r[def.at][i] < edges[to])
			rows.push(i);
	box.hidden = !rows.length;
	const value = (name, i, is_text) => {
		const v = r[name][i];
		if (v === null || !is_text)
			return v;
		if (name === 'dev')
			return device(v);
		return name === 'process' ? texts[v].replace(/^\d+ /, '') : texts[v];
	};
	const full = { ...def, columns: def.columns.map(([name, id, format, text]) => ({ id, name, format, text, of: (i) => value(id, i, text) })) };
	const word = wanted();
	fill(box, full, rows.filter((i) => matches(word, value(r.process ? 'process' : 'comm', i, true), r.pid ? r.pid[i] : '')),
		[def.note || element('code', {}, command(def.report))]);
}

function add_table(def, draw) {
	const sort = def.sort ? def.columns.find((c) => c.id === def.sort).name :
		{ spikes: 'BYTES', slow_requests: 'LATENCY', slow_waits: 'WAITED' }[def.result];
	const box = element('div', { class: 'table', id: 'box-' + def.result });
	state.set(def.title, { sort, down: true, all: location.hash.includes('all') });
	$('tables').append(box);
	parts.push({ box, draw: () => draw(def) });
}

/* ---- the window ---- */

function quoted(path) {
	return /^[A-Za-z0-9_.,:\/@%+=-]+$/.test(path) ? path : "'" + path.replace(/'/g, "'\\''") + "'";
}

function command(view) {
	return 'ebpfrec report -i ' + quoted($('app').dataset.trace) + (view ? ' ' + view : '') +
		' --from ' + option(edges[from]) + ' --until ' + option(edges[to]);
}

let waiting = 0;

function show(a, b, keep) {
	const bins = edges.length - 1;
	a = Math.max(0, Math.min(a, bins - 1));
	b = Math.max(a + 1, Math.min(b, bins));
	if (!keep && (a !== from || b !== to))
		before.push([from, to]);
	from = a;
	to = b;
	/* also when nothing has changed: what was moved goes back to the edges */
	if (!waiting)
		waiting = requestAnimationFrame(redraw);
}

/* What can be seen is drawn at once, the rest piece by piece when nothing else is to be done. */
const parts = [];	/* { box, draw } */
let seen = [], unseen = [], timer = 0;

function redraw() {
	const begin = performance.now(), lack = missing('page');
	waiting = 0;
	delete document.body.dataset.drawn;
	find_unseen();
	text_color = getComputedStyle(document.body).color;
	$('span').textContent = instant(edges[from]) + ' .. ' + instant(edges[to]) + ' s (' + duration(span_ns()) + '), ' + (lack || 'complete');
	$('span').className = lack ? 'incomplete' : '';
	$('command').textContent = command('');
	$('back').disabled = !before.length;
	draw_seen();
	document.body.dataset.ms = (performance.now() - begin).toFixed(1);
	timer = setTimeout(() => {
		/* with layout and painting */
		document.body.dataset.paintedMs = (performance.now() - begin).toFixed(1);
		draw_unseen();
	});
}

/* Looks at places before anything is changed: the layout need not be made twice. */
function find_unseen() {
	clearTimeout(timer);
	seen = [];
	unseen = [];
	for (const part of parts) {
		const place = part.box.getBoundingClientRect();
		(place.bottom > 0 && place.top < innerHeight ? seen : unseen).push(part);
	}
}

function draw_seen() {
	seen.forEach((part) => part.draw());
}

function draw_unseen() {
	const part = unseen.shift();
	if (part) {
		part.draw();
		timer = setTimeout(draw_unseen);
		return;
	}
	document.body.dataset.drawn = edges[from] + '-' + edges[to];
	try {
		history.replaceState(null, '', '#' + edges[from] + '-' + edges[to]);
	} catch (error) { /* a page without an address of its own */ }
}

/* Canvases keep their width: before paper cuts them off, all is drawn as wide as paper is. */
function fit_to_paper(is_paper) {
	document.body.classList.toggle('paper', is_paper);
	unseen.splice(0).forEach((part) => part.draw());
	charts.forEach((chart) => chart.graph.resize());
	pictures.forEach((picture) => picture.draw());
}

function search() {
	find_unseen();
	draw_seen();
	timer = setTimeout(draw_unseen);
}

/* Snapped to the nearest edges. */
function show_seconds(a, b) {
	const nearest = (s) => {
		const ns = s * 1e9;
		let i = 0;
		while (i + 1 < edges.length && Math.abs(edges[i + 1] - ns) <= Math.abs(edges[i] - ns))
			i++;
		return i;
	};
	show(nearest(a), nearest(b));
}

function zoom(factor) {
	const mid = (from + to) / 2, half = (to - from) * factor / 2;
	show(Math.floor(mid - half), Math.ceil(mid + half));
}

function move(direction) {
	const step = Math.max(1, Math.round((to - from) / 4)) * direction, bins = edges.length - 1;
	const a = Math.max(0, Math.min(from + step, bins - (to - from)));
	show(a, a + to - from);
}

function back() {
	const w = before.pop();
	if (w)
		show(w[0], w[1], true);
}

function wire() {
	const keys = { '+': () => zoom(0.5), '=': () => zoom(0.5), '-': () => zoom(2), '0': () => show(0, edges.length - 1), ArrowLeft: () => move(-1),
		ArrowRight: () => move(1), Backspace: back, '/': () => $('search').focus() };
	/* a window may be given as the address's fragment */
	window.addEventListener('hashchange', go_to_address);
	document.addEventListener('keydown', (event) => {
		if (event.target.tagName === 'INPUT') {
			if (event.key === 'Escape')
				event.target.blur();
			return;
		}
		if (!keys[event.key] || event.ctrlKey || event.metaKey || event.altKey)
			return;
		event.preventDefault();
		keys[event.key]();
	});
	for (const event of ['mouseup', 'touchend'])
		window.addEventListener(event, () => setTimeout(follow));
	$('in').onclick = keys['+'];
	$('out').onclick = keys['-'];
	$('whole').onclick = keys['0'];
	$('left').onclick = keys.ArrowLeft;
	$('right').onclick = keys.ArrowRight;
	$('back').onclick = back;
	$('search').oninput = search;
	/* what canvases hold does not follow the style */
	matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => show(from, to));
	window.addEventListener('beforeprint', () => fit_to_paper(true));
	window.addEventListener('afterprint', () => fit_to_paper(false));
	$('copy').onclick = async () => {
		try {
			await navigator.clipboard.writeText($('command').textContent);
			$('copy').textContent = 'Copied';
		} catch (error) {
			getSelection().selectAllChildren($('command'));
		}
		setTimeout(() => { $('copy').textContent = 'Copy'; }, 1500);
	};
}

function find_lost() {
	const r = results.loss;
	for (let i = 0; i < r.cnt; i++) {
		if (texts[r.what[i]] !== 'all')
			continue;
		const last = lost[lost.length - 1];
		if (last && last[1] >= r.bin[i])
			last[1] = r.bin[i] + 1;
		else
			lost.push([r.bin[i], r.bin[i] + 1]);
	}
}

function go_to_address() {
	const asked = /^#(\d+)-(\d+)/.exec(location.hash);
	if (asked)
		show_seconds(asked[1] / 1e9, asked[2] / 1e9);
}

async function start() {
	await read();
	$('fallback').hidden = true;
	$('summary').open = false;
	$('app').hidden = false;
	paint();
	find_lost();
	to = edges.length - 1;
	/* the library's own legend looks at the layout of each chart, each time */
	Dygraph.PLUGINS = Dygraph.PLUGINS.filter((plugin) => plugin !== Dygraph.Plugins.Legend);
	for (const def of chart_defs())
		add_chart(def);
	add_heat_map();
	add_lanes();
	for (const def of TABLES)
		add_table(def, draw_table);
	for (const def of EVENTS)
		add_table(def, draw_events);
	add_flame();
	wire();
	go_to_address();
	before = [];
	redraw();
	/* since the page was asked for */
	document.body.dataset.startMs = performance.now().toFixed(1);
}

if (typeof DecompressionStream === 'undefined')
	$('fallback').textContent = 'This browser cannot decompress the charts\' data: Chromium 80, Firefox 113, Safari 16.4, or later can. ' +
		'The tables below are complete.';
else
	start().catch((error) => {
		$('app').hidden = true;
		$('summary').open = true;
		$('fallback').hidden = false;
		$('fallback').textContent = 'The charts could not be drawn: ' + error.message + '. The tables below are complete.';
	});

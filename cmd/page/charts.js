/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Charts: bins per process, added up to points that are as wide as pixels.
 * Series have numbers as labels, so that the charts' library never sees a name.
 */
const SERIES = 9;	/* groups of a chart; the rest is one series */
const POINTS = 400;	/* of a chart: wider windows show the sums of several bins as one */

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
		if ((def.where && !def.where(r, i)) || (def.is_group && !is_in_scope(r, i)))
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
	/* the thread on a CPU is unknown without switches */
	if (NEEDS[VIEW_OF[def.result]] === 'sched.switch' && !was_recorded('sched.switch'))
		return false;
	for (let i = 0; i < r.cnt; i++)
		if (def.columns.some((c) => r[c][i] > 0) && (!def.where || def.where(r, i)) && (!def.is_group || is_in_scope(r, i)))
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
	chart.left_out = order.slice(0, chart.skip);
	return order.slice(chart.skip, chart.skip + SERIES);
}

const RATE_NS = 1e6;	/* a rate is of at least this time: in a bin of some us one request would be GiB per second */

/* Divides the sum of short neighbouring bins among them, by their lengths. */
function even_out(values) {
	const width = SERIES + 1, bins = edges.length - 1;
	for (let begin = 0, end; begin < bins; begin = end) {
		for (end = begin + 1; end < bins && edges[end] - edges[begin] < RATE_NS;)
			end++;
		for (let i = 0; end > begin + 1 && i < width; i++) {
			let sum = 0;
			for (let bin = begin; bin < end; bin++)
				sum += values[bin * width + i];
			for (let bin = begin; sum && bin < end; bin++)
				values[bin * width + i] = sum * (edges[bin + 1] - edges[bin]) / (edges[end] - edges[begin]);
		}
	}
}

/* The value of each series in each bin. */
function bin_values(chart) {
	const values = new Float64Array((edges.length - 1) * (SERIES + 1)), slot = new Int32Array(chart.keys.length).fill(SERIES);
	chart.shown.forEach((n, i) => { slot[n] = i; });
	chart.left_out.forEach((n) => { slot[n] = -1; });
	for (let i = 0; i < chart.rows; i++) {
		if (slot[chart.key[i]] < 0)
			continue;
		const at = chart.bin[i] * (SERIES + 1) + slot[chart.key[i]];
		values[at] = chart.def.per === 'max' ? Math.max(values[at], chart.value[i]) : values[at] + chart.value[i];
	}
	if (chart.def.per === 's' || chart.def.per === 'top')
		even_out(values);
	return values;
}

/*
 * The value of each series at each point, which begins at one of the bins of starts. Above a stack is the excess of its highest bin,
 * without a fill, so that its line shows the spikes that the mean of a point hides. A chart with a band also gets the lowest and the
 * highest bin of each point: of a stack, or of each series.
 */
function points(chart, starts) {
	const def = chart.def, bins = edges.length - 1, cnt = starts.length, is_merged = cnt < bins;
	const values = bin_values(chart), rows = [], unit = (def.scale || 1) * (def.per === 's' || def.per === 'top' ? 1e9 : 1);
	const is_rate = ['s', 'ns', 'top'].includes(def.per), lines = def.stacked ? 1 : SERIES;
	chart.low = def.band && is_merged ? new Float64Array(cnt * lines).fill(Infinity) : null;
	chart.high = def.band && is_merged ? new Float64Array(cnt * lines) : null;
	const widen = (at, v) => {
		chart.low[at] = Math.min(chart.low[at], v);
		chart.high[at] = Math.max(chart.high[at], v);
	};
	for (let p = 0; p < cnt; p++) {
		const begin = starts[p], end = p + 1 < cnt ? starts[p + 1] : bins, row = new Array(SERIES + 1).fill(0);
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

/*
 * The first bin of each point. Bins differ in length: they are short around outliers. If the window has more bins than
 * a chart has points, a point consists of the bins of its part of the window.
 */
function starts_of_points() {
	const starts = [], least = to - from > POINTS ? span_ns() / POINTS * (1 - 1e-9) : 0;
	let begin = -Infinity;
	for (let bin = 0; bin + 1 < edges.length; bin++)
		if (edges[bin] - begin >= least) {
			starts.push(bin);
			begin = edges[bin];
		}
	return starts;
}

let text_color = '';	/* as the page's style has it */

/* Where something is missing, in bins [from, to). x(ns): a place. */
function hatch_losses(canvas, area, missing, x) {
	canvas.save();
	canvas.fillStyle = 'rgba(190, 40, 40, 0.12)';
	canvas.strokeStyle = 'rgba(190, 40, 40, 0.35)';
	for (const [a, b] of missing) {
		const left = Math.max(area.x, Math.round(x(edges[a]))), right = Math.min(area.x + area.w, Math.max(left + 2, Math.round(x(edges[b]))));
		if (right <= left)
			continue;
		canvas.save();
		canvas.beginPath();
		canvas.rect(left, area.y, right - left, area.h);
		canvas.clip();
		canvas.fillRect(left, area.y, right - left, area.h);
		canvas.beginPath();
		/* lines of one area go on in its neighbour */
		for (let at = left - area.h - left % 8; at < right; at += 8) {
			canvas.moveTo(at, area.y + area.h);
			canvas.lineTo(at + area.h, area.y);
		}
		canvas.stroke();
		canvas.restore();
	}
	canvas.restore();
}

/* The view of `ebpfrec report` that has a result's figures. */
const VIEW_OF = { cpu: 'cpu', cpus: 'cpu', waits: 'sched', states: 'states', memory: 'alloc', io: 'io', spikes: 'spikes' };

function draw_marks(canvas, area, x_of) {
	canvas.save();
	canvas.strokeStyle = canvas.fillStyle = text_color;
	canvas.font = '11px system-ui, sans-serif';
	canvas.beginPath();
	canvas.rect(area.x, area.y, area.w, area.h);
	canvas.clip();
	const marks = results.marks;
	canvas.setLineDash([4, 3]);
	for (let i = 0; i < marks.cnt; i++) {
		const x = Math.round(x_of(marks.ts_ns[i])) + 0.5;
		/* the name of an earlier one may be seen */
		if (x > area.x + area.w || x < area.x - area.w)
			continue;
		canvas.beginPath();
		canvas.moveTo(x, area.y);
		canvas.lineTo(x, area.y + area.h);
		canvas.stroke();
		canvas.fillText(texts[marks.name[i]], x + 3, area.y + 10);
	}
	canvas.restore();
}

/* Draws the range between the lowest and the highest bin of each point. A stack gets a line of its lowest bins instead. */
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
		/* if there are many, one triangle stands for its neighbours */
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

/* How many processes a series has: of each kind of memory its own. */
function named_members(g, def) {
	const m = by === 'name' && !g.is_other && !g.is_rest && count_members(def.result, def.source && texts.indexOf(def.source)).get(g);
	return m && m.cnt > 1 ? ' (' + members_text(m) + ')' : '';
}

const of_group = {
	key: (r, i) => group_of(r.process[i]), is_other: (g) => g.is_other, name: (g, def) => g.label + named_members(g, def),
	color: (g) => g.color, is_group: true,
};
const is_in_scope = (r, i) => in_scope(r.process[i]);
const source_is = (name) => (r, i) => texts[r.source[i]] === name;
function device(dev) {
	const i = results.devices.dev.indexOf(dev);
	return i < 0 ? (dev >> 20) + ':' + (dev & 0xfffff) : texts[results.devices.name[i]];
}
/* The running thread is unknown after lost switches: that time is not busy. */
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

/* The most that a window had. */
let cpu_cnt = 0;
function count_cpus() {
	cpu_cnt = Math.max(cpu_cnt, new Set(results.cpus.cpu).size);
	return cpu_cnt;
}

function chart_defs() {
	return [
		{ title: 'CPUs busy', about: () => 'of ' + count_cpus(), band: true, result: 'cpu', columns: ['oncpu_ns'], per: 'ns', wide: true,
			...single, where: is_known, key: (r, i) => in_scope(r.process[i]) ? 'busy' : 'rest of the machine', name: (key) => key,
			color: (key) => key === 'busy' ? PALETTE[0] : OTHER, open: (key) => key !== 'busy' && (() => set_scope('machine')), format: tick, stacked: true },
		{ title: 'What threads did', about: 'threads, on average; those that slept are left out', result: 'states', columns: Object.keys(STATES), series: true, where: is_in_scope,
			per: 'ns', wide: true, is_other: () => false, name: (key) => STATES[key][0], color: (key) => STATES[key][1], format: tick,
			stacked: true },
		{ title: () => 'CPU by ' + by, about: 'CPUs', result: 'cpu', columns: ['oncpu_ns'], per: 'ns', stacked: true, ...of_group,
			format: (v) => v.toFixed(3) },
		{ title: 'CPU by CPU', about: '%; shaded from the lowest to the highest bin', band: true, result: 'cpus', columns: ['oncpu_ns'], per: 'ns', scale: 100, key: (r, i) => r.cpu[i],
			is_other: () => false, name: (key) => 'CPU ' + key, color: (key) => PALETTE[key % PALETTE.length],
			format: (v) => v.toFixed(1) },
		{ title: 'Waiting for a CPU', about: 'threads, on average', result: 'states', columns: ['runnable_ns', 'preempted_ns'], per: 'ns', stacked: true,
			...of_group, format: (v) => v.toFixed(3) },
		{ title: 'Longest wait for a CPU', about: 'of each bin', result: 'waits', columns: ['wait_max_ns'], per: 'max', ...single, where: is_in_scope,
			name: () => 'longest', format: duration },
		{ title: 'Waiting for disk requests', about: 'threads, on average', result: 'states', columns: ['disk_ns'], per: 'ns', stacked: true, ...of_group,
			format: (v) => v.toFixed(3) },
		{ title: 'Slowest request', about: 'of each bin, by device and operation', result: 'io', columns: ['lat_max_ns'], per: 'max', ...of_device_op,
			format: duration },
		{ title: 'Resident memory', about: 'at the end of each bin; triangles are spikes', band: true, result: 'memory', columns: ['now_bytes'], per: 'level', stacked: true,
			...of_group, source: 'rss', where: source_is('rss'), format: bytes, spikes: true },
		{ title: 'Highest resident memory', about: 'of a process, at any instant of a bin', result: 'memory', columns: ['peak_bytes'], per: 'max', ...single,
			where: (r, i) => source_is('rss')(r, i) && is_in_scope(r, i), name: () => 'highest', format: bytes },
		{ title: 'Resident memory grown', about: 'per second', result: 'memory', columns: ['alloc_bytes'], per: 's', stacked: true, ...of_group,
			source: 'rss', where: source_is('rss'), format: byteRate, spikes: true },
		{ title: 'Kernel objects allocated', about: 'slab, per second', result: 'memory', columns: ['alloc_bytes'], per: 's', stacked: true,
			...of_group, source: 'slab', where: source_is('slab'), format: byteRate },
		{ title: 'Heap allocated', about: () => info('heap.sample_bytes') ? 'per second, estimated from samples' : 'per second', result: 'memory', columns: ['alloc_bytes'], per: 's', stacked: true,
			...of_group, source: 'heap', where: source_is('heap'), format: byteRate },
		{ title: () => 'Block I/O by ' + by, about: 'bytes per second, without discards', result: 'io', columns: ['bytes'], per: 's', stacked: true, ...of_group,
			where: moves_bytes, format: byteRate },
		{ title: 'Block I/O by device', about: 'bytes per second of the highest bin, without discards', result: 'io', columns: ['bytes'], per: 'top',
			...of_device, where: moves_bytes, format: byteRate },
		{ title: () => 'Requests by ' + by, about: 'per second', result: 'io', columns: ['ios'], per: 's', stacked: true, ...of_group, format: rate },
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

const name_of = (def, key) => key === null ? 'other' : def.name(key, def);

function color_of(def, key, i) {
	return key === null ? OTHER : def.color ? def.color(key) : PALETTE[i % PALETTE.length];
}

/* The action of a click on a group: unfolds or folds a name with several processes; a viewer explains a process. */
function opening(g) {
	if (g.is_rest)
		return () => set_scope('machine');
	if (by === 'name' && (g.name ? !g.is_single : unfolded.has(g.comm)))
		return () => fold(g.name || g.comm);
	const what = source !== own_data && selection_of(g);
	return what && (() => select(what));
}

/* An entry of a legend; one that opens is a button. */
function entry(name, open, ...inside) {
	const more = open ? { role: 'button', tabindex: 0, onclick: open, onkeydown: (event) => {
		if (event.key === 'Enter' || event.key === ' ') {
			event.preventDefault();
			open();
		}
	} } : {};
	return element('span', { title: name + (open ? ': click to open' : ''), 'data-name': name, ...more }, ...inside);
}

/* The series of the window, with their names; a series that is not there is 0 and has none. */
function choose(chart) {
	const def = chart.def, shown = leaders(chart);
	chart.shown = shown;
	const starts = starts_of_points(), is_merged = starts.length < edges.length - 1;
	const keys = [...shown.map((n) => chart.keys[n]), ...Array(SERIES - shown.length).fill(undefined), null];
	const rows = points(chart, starts);
	const others = !!def.stacked && rows.some((row) => row[SERIES + 2] > 0);
	/* where points are bins, there is nothing above them */
	const visibility = [...(def.stacked ? [is_merged] : []), ...keys.map((key) => key === null ? others : key !== undefined)];
	const colors = keys.map((key, i) => key === undefined ? OTHER : color_of(def, key, chart.keys.indexOf(key)));
	chart.values = [];
	chart.legend.replaceChildren();
	const add = (i, name, color, kind, open) => {
		chart.values[i] = element('b');
		chart.legend.append(entry(name, open, element('i', { color, class: kind || '' }), name, chart.values[i]));
	};
	const skip = (n) => () => { chart.skip = n; chart.data = null; redraw(); };
	if (chart.skip)
		chart.legend.append(entry('the largest', skip(0), '\u2190 the largest'));
	/* a series below one pixel everywhere is neither drawn nor named */
	const first = def.stacked ? 2 : 1, top = rows.reduce((a, row) => Math.max(a, ...row.slice(1), def.stacked ? row.slice(first).reduce((x, y) => x + y) : 0), 0);
	const is_drawn = (i) => rows.some((row) => row[first + i] * 300 >= top);
	keys.forEach((key, i) => {
		if (key !== undefined && is_drawn(i) && (key !== null || others))
			add(i, name_of(def, key), colors[i], '', key === null ? def.is_group && shown.length === SERIES && skip(chart.skip + SERIES) :
				def.open ? def.open(key) : def.is_group && opening(key));
	});
	if (def.stacked && is_merged)
		add(SERIES + 1, 'highest bin', PEAK, 'line');
	if (def.stacked && chart.low)
		add(SERIES + 2, 'lowest bin', text_color, 'line');
	return { file: rows, visibility, colors: def.stacked ? [PEAK, ...colors] : colors, dateWindow: date_window() };
}

/* Without the instant at which the next bin begins. */
function date_window() {
	return [edges[from] / 1e9, (edges[to] - span_ns() * 1e-4) / 1e9];
}

/* The topic that the trace's threads waited for most comes first: CPUs or disks. It is determined once, so that no chart moves. */
const topic_of = (def) => def.wide ? 'all' : def.result === 'io' || def.columns[0] === 'disk_ns' ? 'io' : def.result === 'memory' ? 'memory' : 'cpu';

function order_charts() {
	const waited = (...columns) => sum_of(results.states, columns);
	const is_of_disks = waited('disk_ns') > waited('runnable_ns', 'preempted_ns');
	const topics = is_of_disks ? ['all', 'io', 'cpu', 'memory'] : ['all', 'cpu', 'memory', 'io'];
	for (const chart of charts)
		chart.box.style.order = topics.indexOf(topic_of(chart.def));
}

const text_of = (text) => typeof text === 'function' ? text() : text;

function add_chart(def) {
	const chart = { def, data: null, skip: 0 };
	chart.at = element('span', { class: 'at' });
	chart.legend = element('div', { class: 'legend' });
	const plot = element('div', { class: 'plot' }), about = element('span', { class: 'note' }), title = element('h2', {}, text_of(def.title));
	const box = element('div', { class: def.wide ? 'chart wide' : 'chart' },
		element('div', { class: 'head' }, title, about, chart.at), steer_chart(chart, plot), chart.legend);
	$('charts').append(box);
	chart.box = box;
	charts.push(chart);
	zoom_by_wheel(plot, (event) => chart.graph.toDataXCoord(event.clientX - plot.getBoundingClientRect().left) * 1e9);
	parts.push({ box, draw: () => {
		if (chart.data !== results || chart.regrouped !== regrouped) {
			prepare(chart);
			chart.data = results;
			chart.regrouped = regrouped;
			title.textContent = text_of(def.title);
			about.textContent = text_of(def.about) + (chart.skip ? '; without the ' + chart.skip + ' largest' : '');
		}
		if (chart.graph)
			chart.graph.updateOptions(choose(chart));
		else
			make_graph(chart, plot);
	}, title: text_of(def.title), has_data: () => has_values(def) });
}

/* By keyboard: shows the values at the cross, as under the mouse. Returns the element to steer. */
function steer_chart(chart, plot) {
	/* the library empties its own element */
	const box = element('div', { role: 'group', 'aria-label': text_of(chart.def.title) + ': arrows move a cross, Enter zooms there, Space marks a range' }, plot);
	const area = () => chart.graph.getArea(), instant_of = (x) => chart.graph.toDataXCoord(x) * 1e9;
	const row_at = (ns) => Math.max(0, chart.points.filter((point) => point[0] * 1e9 <= ns).length - 1);
	steer(box, {
		area: () => [area().x, area().y, area().w, area().h, 1], instant: instant_of,
		say: (x) => hover(row_at(instant_of(x)), null), click: null, leave: () => hover(-1, null),
	});
	return box;
}

function make_graph(chart, plot) {
	const def = chart.def;
	const labels = ['t', ...(def.stacked ? ['peak'] : []), ...Array.from({ length: SERIES + 1 }, (x, i) => 's' + i)];
	const { file, ...options } = choose(chart);
	chart.graph = new Dygraph(plot, file, { ...options,
		labels, stepPlot: true, strokeWidth: def.stacked ? 0.8 : 1.2,
		stackedGraph: !!def.stacked, fillGraph: !!def.stacked, fillAlpha: def.stacked ? 0.75 : 0.3, includeZero: true,
		series: def.stacked ? { peak: { fillGraph: false, strokeWidth: 1 } } : {},
		showRangeSelector: source === own_data && def.wide && !chart.def.series, rangeSelectorHeight: 34, rangeSelectorPlotFillColor: '#0072b2', rangeSelectorPlotStrokeColor: '#0072b2',
		axes: { x: { axisLabelFormatter: (v) => +v.toFixed(time_digits()) + ' s', pixelsPerLabel: 85 },
			y: { axisLabelFormatter: axis_label(def), axisLabelWidth: 68, pixelsPerLabel: 28, labelsKMG2: axis_label(def) === bytes } },
		gridLineColor: 'rgba(128, 128, 128, 0.25)', axisLineColor: 'rgba(128, 128, 128, 0.6)', axisLabelFontSize: 11,
		animatedZooms: false, highlightCircleSize: 0,
		underlayCallback: (canvas, area, g) => hatch_losses(canvas, area, lost_of(VIEW_OF[def.result]), (ns) => g.toDomXCoord(ns / 1e9)),
		drawCallback: (g) => { draw_over(chart, g); },
		highlightCallback: (event, x, list, row) => hover(row, chart), unhighlightCallback: () => hover(-1, chart),
		zoomCallback: (a, b) => show_seconds(a, b),
		interactionModel: interaction(),
	});
}

function draw_over(chart, g) {
	const canvas = g.hidden_ctx_;
	if (chart.low)
		draw_band(chart, g, canvas);
	draw_marks(canvas, g.getArea(), (ns) => g.toDomXCoord(ns / 1e9));
	if (chart.def.spikes)
		draw_spikes(g, canvas);
}

/* Enough digits of a second to make all labels differ. */
const time_digits = () => Math.max(0, Math.min(9, Math.ceil(10 - Math.log10(span_ns()))));

/* The library's interaction, except that a double click shows the whole trace. */
function interaction() {
	return Object.assign({}, Dygraph.defaultInteractionModel, { dblclick: show_whole });
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

/* The value of a series at a point. For a stack, the highest bin is the stack plus the part above it. */
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

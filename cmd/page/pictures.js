/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Pictures that the charts' library cannot draw: the heat map of latencies, the lanes of threads on CPUs, and allocation stacks. */

const LANE_HEIGHT = 22, HEAT_ROW = 14;	/* px */
let picture_left = 150;	/* px, of a picture's labels: fewer on a narrow screen */

const LANES_TITLE = 'What each thread did';
const pictures = [];

/*
 * A card with a canvas. renew() reads new data and returns the height of the canvas, 0: nothing to draw; draw(context, width) gets a
 * cleared one; at(x, y) returns the text for a point. row_height: of its rows. is_of_window: other windows of the same data have other
 * pictures.
 */
function add_picture(title, about, row_height, renew, draw, at) {
	const canvas = element('canvas', { role: 'img', 'aria-label': title });
	const value = element('output', { class: 'at' }), note = element('span', { class: 'note' }, about);
	const plot = element('div', { role: 'group', 'aria-label': title + ': arrows move a cross, Enter opens, Space marks a range' }, canvas);
	const box = element('div', { class: 'chart wide picture' }, element('div', { class: 'head' }, element('h2', {}, title), note, value), plot);
	const picture = { box, canvas, note, title, width: 0, height: 0, data: null, has_data: () => {
		const looked = picture.is_of_window ? from + '-' + to : '';
		if (picture.data !== results || picture.looked !== looked)
			picture.height = renew();
		picture.data = results;
		picture.looked = looked;
		return picture.height > 0;
	}, draw: () => {
		if (!picture.has_data())
			return;
		canvas.style.height = picture.height + 'px';
		const scale = devicePixelRatio || 1, c = canvas.getContext('2d');
		picture.width = canvas.clientWidth;
		canvas.width = picture.width * scale;
		canvas.height = picture.height * scale;
		c.scale(scale, scale);
		c.font = '11px system-ui, sans-serif';
		c.fillStyle = text_color;
		draw(c, picture.width);
	} };
	canvas.addEventListener('mousemove', (event) => { value.textContent = at(event.offsetX, event.offsetY); });
	canvas.addEventListener('mouseleave', () => { value.textContent = ''; });
	steer(plot, {
		area: () => [picture_left, 0, picture.width - picture_left, row_height, Math.floor(picture.height / row_height)],
		instant: (x) => picture.instant ? picture.instant(x) : instant_at(x, picture.width),
		say: (x, y) => { value.textContent = at(x, y); },
		click: (x, y) => picture.click ? picture.click(x, y) : zoom(0.2, instant_at(x, picture.width)),
		leave: () => { value.textContent = ''; },
	});
	($(title === LANES_TITLE ? 'lanes' : 'charts')).append(box);
	parts.push(picture);
	pictures.push(picture);
	return picture;
}

/* ---- latencies of block requests: time from left to right, longer ones above, the more the darker ---- */

function add_heat_map() {
	let r, lows, row, cells = new Map(), starts = [], point_of = [];

	function renew() {
		r = results.latencies;
		lows = [];
		if (!r.cnt)
			return 0;
		/* all steps from the longest to the shortest, the one below 1 ns being 0 */
		const least = r.low_ns.reduce((a, b) => Math.min(a, b));
		for (let low = r.low_ns.reduce((a, b) => Math.max(a, b)); low >= least; low = low > 1 ? low / 2 : low - 1)
			lows.push(low);
		row = new Map(lows.map((low, i) => [low, i]));
		return lows.length * HEAT_ROW;
	}

	function draw(c, width) {
		const blue = matchMedia('(prefers-color-scheme: dark)').matches ? '86, 180, 233' : '0, 114, 178';
		let most = 1;
		starts = starts_of_points();
		point_of = starts.flatMap((bin, p) => Array((p + 1 < starts.length ? starts[p + 1] : edges.length - 1) - bin).fill(p));
		cells = new Map();
		for (let i = lower(r, from); i < r.cnt && r.bin[i] < to; i++) {
			const key = point_of[r.bin[i]] * lows.length + row.get(r.low_ns[i]);
			const n = (cells.get(key) || 0) + r.ios[i];
			cells.set(key, n);
			most = Math.max(most, n);
		}
		lows.forEach((low, i) => { c.fillText(duration(low), 2, i * HEAT_ROW + 11); });
		const x = (bin) => picture_left + (width - picture_left) * (edges[Math.max(from, Math.min(bin, to))] - edges[from]) / span_ns();
		for (const [key, n] of cells) {
			const p = Math.floor(key / lows.length), left = x(starts[p]), end = p + 1 < starts.length ? starts[p + 1] : to;
			/* one request is seen, too */
			c.fillStyle = 'rgba(' + blue + ', ' + (0.3 + 0.7 * Math.log(n) / Math.log(most + 1)) + ')';
			c.fillRect(left, key % lows.length * HEAT_ROW, Math.max(1, x(end) - left), HEAT_ROW - 1);
		}
	}

	function at(x, y) {
		const ns = edges[from] + span_ns() * (x - picture_left) / (picture.width - picture_left), i = Math.floor(y / HEAT_ROW);
		let bin = from;
		while (bin + 1 < to && edges[bin + 1] <= ns)
			bin++;
		if (x < picture_left || i >= lows.length)
			return '';
		return instant(edges[starts[point_of[bin]]]) + ' s: ' + count(cells.get(point_of[bin] * lows.length + i) || 0) + ' requests of ' +
			duration(lows[i]) + ' .. ' + duration(lows[i] ? 2 * lows[i] : 1);
	}

	const picture = add_picture('Latency of requests', 'requests by power of two of their latency; darker is more', HEAT_ROW, renew, draw, at);
}

/* ---- the lanes: threads on each CPU ---- */

const MOMENTS = { whole: 'this page', wait: 'a long wait for a CPU, ', request: 'a slow request, ', events: 'most events, ' };

/*
 * Moments of which the page has each slice: { kind, ns, begin, end, first, last }, rows [first, last). A moment with more rows
 * than schema/report_page.sql lets through ends with the last one.
 */
function find_moments(r) {
	const found = [];
	for (let i = 0; i < r.cnt; i++) {
		const now = found[found.length - 1], kind = texts[r.kind[i]];
		const rows = now ? i + 1 - now.first : 1, begin = r.from_ns[i] + r.start_ns[i];
		const end = rows < (kind === 'whole' ? 30000 : 3000) ? r.to_ns[i] : begin;
		if (now && now.kind === kind && now.begin === r.from_ns[i]) {
			now.last = i + 1;
			now.end = end;
		} else {
			found.push({ kind, ns: r.ns[i], begin: r.from_ns[i], end, first: i, last: i + 1 });
		}
	}
	return found;
}

function moment_name(m) {
	return m.kind === 'whole' ? MOMENTS.whole : MOMENTS[m.kind] + (m.kind === 'events' ? count(m.ns) + ' in a block' : duration(m.ns)) + ', at ' +
		instant(m.begin) + ' s';
}

function add_lanes() {
	const kinds = Object.keys(MOMENTS);
	const choice = element('select', { 'aria-label': 'moment', onchange: () => { moment = moments[choice.value]; zoomed = null; picture.draw(); } });
	let r, cpus, moments, lane, moment, zoomed = null, held = null, window_drawn = '';

	function renew() {
		r = results.slices;
		cpus = [...new Set(r.cpu)].sort((a, b) => a - b);
		lane = new Map(cpus.map((cpu, i) => [cpu, i]));
		moments = find_moments(r).sort((a, b) => kinds.indexOf(a.kind) - kinds.indexOf(b.kind));
		moment = moments[0];
		window_drawn = '';
		choice.replaceChildren(...moments.map((m, i) => element('option', { value: i }, moment_name(m))));
		return moments.length ? cpus.length * LANE_HEIGHT + 18 : 0;
	}

	/* Another window shows a moment in it, if there is one. */
	function follow_window() {
		if (window_drawn === from + '-' + to)
			return;
		window_drawn = from + '-' + to;
		zoomed = null;
		const is_in = (m) => m.begin < edges[to] && m.end > edges[from];
		moment = is_in(moment) ? moment : moments.find(is_in) || moment;
		choice.value = moments.indexOf(moment);
	}

	/* The shown range: the zoomed one, or the part of the moment inside the page's window, or the whole moment. */
	function range() {
		const begin = Math.max(moment.begin, edges[from]), end = Math.min(moment.end, edges[to]);
		return zoomed || (begin < end ? [begin, end] : [moment.begin, moment.end]);
	}
	const time_at = (x) => range()[0] + (range()[1] - range()[0]) * Math.max(0, x - picture_left) / (picture.width - picture_left);

	function draw(c, width) {
		follow_window();
		const [begin, end] = range(), scale = (width - picture_left) / (end - begin);
		cpus.forEach((cpu, i) => { c.fillText('CPU ' + cpu, 2, i * LANE_HEIGHT + 15); });
		c.fillText(instant(begin) + ' s', picture_left, cpus.length * LANE_HEIGHT + 13);
		c.textAlign = 'right';
		c.fillText(instant(end) + ' s', width, cpus.length * LANE_HEIGHT + 13);
		c.textAlign = 'left';
		for (let i = moment.first; i < moment.last; i++) {
			const start = moment.begin + r.start_ns[i], stop = start + r.dur_ns[i];
			if (stop <= begin || start >= end)
				continue;
			const left = picture_left + Math.max(0, start - begin) * scale, right = picture_left + (Math.min(stop, end) - begin) * scale;
			const top = lane.get(r.cpu[i]) * LANE_HEIGHT;
			c.fillStyle = color_of_slice(r, i);
			c.fillRect(left, top, Math.max(0.5, right - left), LANE_HEIGHT - 3);
			if (right - left < 40)
				continue;
			c.save();
			c.beginPath();
			c.rect(left, top, right - left, LANE_HEIGHT);
			c.clip();
			c.fillStyle = text_on(color_of_slice(r, i));
			c.fillText(r.thread[i] === null ? '?' : texts[r.thread[i]], left + 3, top + 13);
			c.restore();
		}
	}

	function at(x, y) {
		const ns = time_at(x), cpu = cpus[Math.floor(y / LANE_HEIGHT)];
		if (x < picture_left || cpu === undefined)
			return '';
		for (let i = moment.first; i < moment.last; i++) {
			const start = moment.begin + r.start_ns[i];
			if (r.cpu[i] === cpu && start <= ns && ns < start + r.dur_ns[i])
				return 'CPU ' + cpu + ': ' + (r.thread[i] === null ? '?' : texts[r.thread[i]]) + ', thread ' + r.tid[i] + ' of ' + process(r.process[i]).comm + ', ' + duration(r.dur_ns[i]) + ' from ' + instant(start) + ' s';
		}
		return 'CPU ' + cpu + ': idle';
	}

	const picture = add_picture('Who ran on each CPU', '', LANE_HEIGHT, renew, draw, at);
	picture.note.append('each slice of time, in the moments that the page has room for: ', choice, '; drag to zoom, double-click for the whole');
	picture.canvas.addEventListener('mousedown', (event) => { held = event.offsetX; });
	picture.canvas.addEventListener('mouseup', (event) => {
		const [a, b] = [held, event.offsetX].sort((x, y) => x - y).map(time_at);
		if (held !== null && Math.abs(event.offsetX - held) > 4)
			zoomed = [a, b];
		held = null;
		picture.draw();
	});
	picture.canvas.addEventListener('dblclick', () => { zoomed = null; picture.draw(); });
	picture.instant = time_at;
}

/* ---- stacks of allocations, and of running code ---- */

/* Appends the rows of a view of stacks to the box; the frames of one source are below it. */
function draw_flame(box, r, figure, format, what) {
	const stacks = [], plot = element('div', {});
	for (let i = 0; i < r.cnt; i++)
		stacks.push([[...(r.source ? ['[' + texts[r.source[i]] + ']'] : []), texts[r.comm[i]],
			...(r.stack[i] === null ? ['[not recorded]'] : texts[r.stack[i]].split(';'))], r[figure][i]]);
	box.append(element('div', { class: 'note' }, (source === own_data ? 'of the whole page; the ' : 'the ') + count(r.cnt) + ' stacks with most ' + what), plot);
	flame_graph(plot, stacks, format);
}

function add_flame_of(id, result, ...more) {
	let drawn = null;
	parts.push({ box: $(id), has_data: () => results[result].samples.some((n) => n), draw: () => {
		if (drawn !== results) {
			$(id).replaceChildren($(id).firstElementChild);
			draw_flame($(id), results[result], ...more);
		}
		drawn = results;
	} });
}

/* View of stacks -> [its figure, the figure's format, its description]. */
const FLAMES = {
	profile: ['oncpu_ns', duration, 'time: that of each thread on the CPUs, divided among its samples'],
	stacks: ['bytes', bytes, 'bytes, of allocations whose stacks were recorded'],
	offcpu: ['offcpu_ns', duration, 'time, of the waits that were recorded and ended in the window'],
};

function add_flame() {
	add_flame_of('flame-profile', 'profile', ...FLAMES.profile);
	add_flame_of('flame-graph', 'stacks', ...FLAMES.stacks);
}

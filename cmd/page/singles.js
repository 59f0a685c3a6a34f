/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Single events, where a window has few enough of them: what each thread did at each instant, who woke whom, and each block
 * request from its queueing to its completion.
 */
const THREADS_SHOWN = 40, WAKES_SHOWN = 400, REQUEST_ROWS = 40;
const WAITED = '#ef8f87', SLEPT = 'rgba(128, 128, 128, 0.25)', DISK = '#56b4e9';

/* From an instant to a place of a picture. */
function scale_of(width) {
	const by = (width - PICTURE_LEFT) / span_ns();
	return (ns) => PICTURE_LEFT + (Math.max(edges[from], Math.min(ns, edges[to])) - edges[from]) * by;
}
/* What the view lacks below the events, marks above them. */
function draw_around(c, width, height, view, draw) {
	const area = { x: PICTURE_LEFT, y: 0, w: width - PICTURE_LEFT, h: height };
	const x = (ns) => PICTURE_LEFT + (ns - edges[from]) * area.w / span_ns();
	hatch_losses(c, area, lost_of(view), x);
	draw();
	draw_marks(c, area, x);
}
const instant_at = (x, width) => edges[from] + span_ns() * (x - PICTURE_LEFT) / (width - PICTURE_LEFT);

/* Drag, wheel and double-click as in charts. */
function zoom_in_picture(picture) {
	let held = null;
	const at = (event) => instant_at(event.offsetX, picture.width);
	zoom_by_wheel(picture.canvas, at);
	picture.canvas.addEventListener('mousedown', (event) => { held = event.offsetX; });
	picture.canvas.addEventListener('mouseup', (event) => {
		const begin = held;
		held = null;
		if (begin !== null && Math.abs(event.offsetX - begin) > 4)
			go(...[instant_at(begin, picture.width), at(event)].sort((a, b) => a - b));
		else if (begin !== null && picture.click)
			picture.click(event.offsetX, event.offsetY);
	});
	picture.canvas.addEventListener('dblclick', show_whole);
}

const begin_of_slice = (r, i) => r.from_ns[i] + r.start_ns[i];

/* Is a thread of what was selected, to be explained? */
function is_selected(tid, text) {
	const of = { pid: process(text).pid, tid, comm: process(text).comm };
	return selected !== null && selected.options.every(([name, value]) => String(of[name]) === String(value));
}

/* The moment of which the page has each slice, and that the window lies in, as rows [first, last). */
function moment_around(r) {
	const whole = find_moments(r).find((m) => m.kind === 'whole');
	return whole || find_moments(r).find((m) => m.begin <= edges[from] && m.end >= edges[to]) || { first: 0, last: 0 };
}

/*
 * The slices of each thread, in order of time, of windows of which the page has every one: [{ tid, name, process, rows, ns }], those of
 * what was selected first, then those with most.
 */
function threads_of(r) {
	const found = new Map(), moment = moment_around(r);
	for (let i = moment.first; i < moment.last; i++) {
		if (begin_of_slice(r, i) >= edges[to] || begin_of_slice(r, i) + r.dur_ns[i] <= edges[from])
			continue;
		if (!found.has(r.tid[i]))
			found.set(r.tid[i], { tid: r.tid[i], name: r.thread[i] === null ? '?' : texts[r.thread[i]], process: r.process[i], rows: [], ns: 0,
				first: is_selected(r.tid[i], r.process[i]) });
		const t = found.get(r.tid[i]);
		t.rows.push(i);
		t.ns += r.dur_ns[i];
	}
	return [...found.values()].sort((a, b) => b.first - a.first || b.ns - a.ns).slice(0, THREADS_SHOWN);
}

function add_threads() {
	let r, threads = [], lane = new Map(), left = new Map();

	function renew() {
		r = results.slices;
		threads = threads_of(r);
		lane = new Map(threads.map((t, i) => [t.tid, i]));
		left = new Map(results.leaves.at_ns.map((ns, i) => [results.leaves.tid[i] + ' ' + ns, i]));
		return threads.length ? threads.length * LANE_HEIGHT + 18 : 0;
	}
	const begin_of = (i) => begin_of_slice(r, i);
	const end_of = (i) => begin_of(i) + r.dur_ns[i];
	/* what a thread waited for after a slice, as its switch says */
	const leave_of = (t, i) => left.get(t.tid + ' ' + end_of(i));

	function draw_waits(c, t, x, top) {
		t.rows.forEach((i, n) => {
			const waited = r.waited_ns[i] || 0, begin = begin_of(i);
			if (n) {
				box(c, x, end_of(t.rows[n - 1]), begin - waited, top + 6, LANE_HEIGHT - 15, SLEPT);
				write_into(c, slept(t, t.rows[n - 1], ''), x(end_of(t.rows[n - 1])), x(begin - waited), top);
			}
			if (waited)
				box(c, x, begin - waited, begin, top + 4, LANE_HEIGHT - 11, WAITED);
		});
	}

	/* what was waited for, where there is room for it */
	function write_into(c, text, left, right, top) {
		const letters = Math.floor((right - left - 6) / 6);
		c.fillStyle = text_color;
		if (letters >= 6)
			c.fillText(text.length > letters ? text.slice(0, letters - 1) + '\u2026' : text, left + 3, top + 13);
	}

	function draw_wakes(c, x) {
		const w = results.wakes, shown = [];
		for (let i = 0; i < w.cnt; i++)
			if (lane.has(w.waker[i]) && lane.has(w.tid[i]) && w.at_ns[i] >= edges[from] && w.at_ns[i] < edges[to])
				shown.push(i);
		if (shown.length > WAKES_SHOWN)
			return;
		c.strokeStyle = c.fillStyle = text_color;
		c.globalAlpha = 0.6;
		for (const i of shown) {
			const at = x(w.at_ns[i]), a = lane.get(w.waker[i]) * LANE_HEIGHT + 9, b = lane.get(w.tid[i]) * LANE_HEIGHT + 9, down = b > a ? -5 : 5;
			c.beginPath();
			c.moveTo(at, a);
			c.lineTo(at, b);
			c.stroke();
			c.beginPath();
			c.moveTo(at, b);
			c.lineTo(at - 3, b + down);
			c.lineTo(at + 3, b + down);
			c.fill();
		}
		c.globalAlpha = 1;
	}

	function draw_threads(c, x) {
		threads.forEach((t, n) => {
			const top = n * LANE_HEIGHT;
			draw_waits(c, t, x, top);
			for (const i of t.rows)
				box(c, x, begin_of(i), end_of(i), top, LANE_HEIGHT - 3, color_of_slice(r, i));
			c.fillStyle = text_color;
			c.fillText(t.name, 0, top + 13);
		});
		draw_wakes(c, x);
	}

	function draw(c, width) {
		draw_around(c, width, threads.length * LANE_HEIGHT, 'states', () => draw_threads(c, scale_of(width)));
		c.fillStyle = text_color;
		c.fillText(instant(edges[from]) + ' s', PICTURE_LEFT, threads.length * LANE_HEIGHT + 13);
	}

	/* after a slice: what it left its CPU for */
	function slept(t, i, word = 'slept in ') {
		const l = leave_of(t, i), v = results.leaves;
		if (l === undefined)
			return word && 'off the CPU';
		const call = v.call[l] === null ? '' : texts[v.call[l]], object = v.object[l] === null ? '' : ' on ' + texts[v.object[l]];
		return (v.preempted[l] ? 'preempted ' + (call && 'in ' + call) : call ? word + call : word && 'slept') + object;
	}

	const called = (t) => t.name + ', thread ' + t.tid + ' of ' + process(t.process).comm + ' ' + process(t.process).pid;

	function at(px, y) {
		const t = threads[Math.floor(y / LANE_HEIGHT)], ns = instant_at(px, picture.width);
		if (!t || px < PICTURE_LEFT)
			return t ? called(t) + ': click explains it' : '';
		const name = called(t) + ': ';
		for (let n = t.rows.length - 1; n >= 0; n--) {
			const i = t.rows[n], waited = r.waited_ns[i] || 0;
			if (ns >= begin_of(i) && ns < end_of(i))
				return name + 'on CPU ' + r.cpu[i] + ' for ' + duration(r.dur_ns[i]);
			if (ns >= begin_of(i) - waited && ns < begin_of(i))
				return name + 'waited ' + duration(waited) + ' for a CPU (' + (texts[r.wait_reason[i]] || 'not known') + ')';
			if (ns >= end_of(i)) {
				const next = t.rows[n + 1];
				return name + slept(t, i) + (next === undefined ? '' : ' for ' + duration(begin_of(next) - (r.waited_ns[next] || 0) - end_of(i)));
			}
		}
		return name.slice(0, -2);
	}

	const picture = add_picture('What each thread did', 'coloured: on a CPU; red: waited for a CPU; grey: slept; lines are wake-ups; a click explains the thread',
		LANE_HEIGHT, renew, draw, at);
	picture.is_of_window = true;
	picture.click = (px, y) => {
		const t = threads[Math.floor(y / LANE_HEIGHT)];
		if (t)
			select(selection_of_thread(t.tid, t.name));
	};
	picture.box.classList.add('single');
	zoom_in_picture(picture);
}

/* A bar, if any of it can be seen. */
function box(c, x, begin, end, top, height, color) {
	if (end <= edges[from] || begin >= edges[to] || end < begin)
		return;
	c.fillStyle = color;
	c.fillRect(x(begin), top, Math.max(0.7, x(end) - x(begin)), height);
}

function add_requests() {
	let r, row_of = [], rows = 0;

	/* Each in the first row that is free by then. */
	function renew() {
		const free = [];
		r = results.requests;
		row_of = [];
		rows = 0;
		const order = [...Array(r.cnt).keys()].filter((i) => r.end_ns[i] > edges[from]).sort((a, b) => r.queued_ns[a] - r.queued_ns[b]);
		for (const i of order) {
			let n = free.findIndex((ns) => ns <= r.queued_ns[i]);
			if (n < 0)
				n = free.length;
			if (n >= REQUEST_ROWS)
				continue;
			free[n] = r.end_ns[i];
			row_of[i] = n;
			rows = Math.max(rows, n + 1);
		}
		return rows ? rows * 12 + 18 : 0;
	}

	function draw_each(c, x) {
		for (let i = 0; i < r.cnt; i++) {
			if (row_of[i] === undefined)
				continue;
			box(c, x, r.queued_ns[i], r.issue_ns[i] || r.queued_ns[i], row_of[i] * 12, 10, WAITED);
			box(c, x, r.issue_ns[i] || r.queued_ns[i], r.end_ns[i], row_of[i] * 12, 10, texts[r.op[i]] === 'read' ? DISK : PALETTE[0]);
		}
	}

	function draw(c, width) {
		draw_around(c, width, rows * 12, 'io', () => draw_each(c, scale_of(width)));
		c.fillStyle = text_color;
		c.fillText(instant(edges[from]) + ' s', PICTURE_LEFT, rows * 12 + 13);
	}

	function at(px, y) {
		const ns = instant_at(px, picture.width), n = Math.floor(y / 12), near = span_ns() / 400;
		for (let i = 0; i < r.cnt; i++)
			if (row_of[i] === n && r.queued_ns[i] - near <= ns && ns < r.end_ns[i] + near)
				return texts[r.op[i]] + ' of ' + bytes(r.bytes[i]) + ' on ' + device(r.dev[i]) + ' for ' + group_of(r.process[i]).label + ': ' +
					duration(r.end_ns[i] - r.queued_ns[i]) + (r.file[i] === null ? '' : ', ' + texts[r.file[i]]);
		return '';
	}

	const picture = add_picture('Each request', 'red: in the queue; light blue: a read, dark blue: another one, on the device', 12, renew, draw, at);
	picture.box.classList.add('single');
	zoom_in_picture(picture);
}

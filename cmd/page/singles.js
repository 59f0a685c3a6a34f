/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Single events, if a window has few of them: the activity of each thread at each instant, the wake-ups with their wakers, and each block
 * request from its queueing to its completion.
 */
const THREADS_SHOWN = 30, THREADS_FEW = 12, WAKES_SHOWN = 400, REQUEST_ROWS = 40;
const WAITED = '#ef8f87', SLEPT = 'rgba(128, 128, 128, 0.25)', DISK = '#56b4e9';

/* From an instant to a place of a picture. */
function scale_of(width) {
	const by = (width - picture_left) / span_ns();
	return (ns) => picture_left + (Math.max(edges[from], Math.min(ns, edges[to])) - edges[from]) * by;
}
/* Hatches missing events of the view below the picture, and draws marks above it. */
function draw_around(c, width, height, view, draw) {
	const area = { x: picture_left, y: 0, w: width - picture_left, h: height };
	const x = (ns) => picture_left + (ns - edges[from]) * area.w / span_ns();
	hatch_losses(c, area, lost_of(view), x);
	draw();
	draw_marks(c, area, x);
}
const instant_at = (x, width) => edges[from] + span_ns() * (x - picture_left) / (width - picture_left);

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

/* Whether a thread belongs to the selection that is explained. */
function is_selected(tid, text) {
	const of = { pid: process(text).pid, tid, comm: process(text).comm };
	return selected !== null && selected.options.every(([name, value]) => String(of[name]) === String(value));
}

/* The moment that contains the window and of which the page has each slice, as rows [first, last). */
function moment_around(r) {
	const whole = find_moments(r).find((m) => m.kind === 'whole');
	return whole || find_moments(r).find((m) => m.begin <= edges[from] && m.end >= edges[to]) || { first: 0, last: 0 };
}

/*
 * The slices of each thread, in order of time, for windows with every slice in the page: [{ tid, name, process, rows, ns }], threads of the
 * selection first, then those with most time.
 */
function threads_of(r) {
	const found = new Map(), moment = moment_around(r);
	for (let i = moment.first; i < moment.last; i++) {
		if (begin_of_slice(r, i) >= edges[to] || begin_of_slice(r, i) + r.dur_ns[i] <= edges[from])
			continue;
		if (!in_scope(r.process[i]))
			continue;
		if (!found.has(r.tid[i]))
			found.set(r.tid[i], { tid: r.tid[i], name: r.thread[i] === null ? '?' : texts[r.thread[i]], process: r.process[i], rows: [], ns: 0,
				first: is_selected(r.tid[i], r.process[i]) });
		const t = found.get(r.tid[i]);
		t.rows.push(i);
		t.ns += r.dur_ns[i];
	}
	const order = [...found.values()].sort((a, b) => b.first - a.first || is_rest_of(a) - is_rest_of(b) || b.ns - a.ns);
	return [order.slice(0, THREADS_SHOWN), Math.max(0, order.length - THREADS_SHOWN)];
}

/* Threads of others, and those of unknown processes, are last. */
const is_rest_of = (t) => process(t.process).is_rest || !process(t.process).pid;

/* The same for a window with too many events to show each: the activity of each thread per bin; rows are of results.lanes. */
function lanes_of() {
	const r = results.lanes, found = new Map(), o = results.others_of_lanes;
	for (let i = lower(r, from); i < r.cnt && r.bin[i] < to; i++) {
		const p = process(r.process[i]);
		if (!p.tid || !in_scope(r.process[i]))
			continue;
		if (!found.has(r.process[i]))
			found.set(r.process[i], { tid: Number(p.tid), name: p.comm || '?', process: r.process[i], rows: [], ns: 0, first: is_selected(p.tid, r.process[i]) });
		const t = found.get(r.process[i]);
		t.rows.push(i);
		t.ns += LANE_STATES.reduce((sum, [column]) => sum + r[column][i], 0);
	}
	let left_out = 0;
	for (let i = 0; i < o.cnt; i++)
		left_out += in_scope(o.process[i]) ? o.cnt_of[i] : 0;
	return [[...found.values()].sort((a, b) => b.first - a.first || is_rest_of(a) - is_rest_of(b) || b.ns - a.ns), left_out];
}

/* From the bottom of a lane to its top: the states of a thread; the colour of running is the process' colour. */
const LANE_STATES = [['running_ns', null, 'on a CPU'], ['runnable_ns', WAITED, 'waited for a CPU'], ['preempted_ns', WAITED, 'preempted, waited for a CPU'],
	['throttled_ns', '#999933', 'throttled by a quota'], ['disk_ns', DISK, 'waited for a disk'], ['uninterruptible_ns', '#882255', 'other uninterruptible sleep']];

/* The objects that sleeping system calls wait for, in words. */
const WAIT_WORDS = { futex: 'a lock', epoll_wait: 'events', epoll_pwait: 'events', poll: 'events', ppoll: 'events', select: 'events', pselect6: 'events', wait4: 'a child',
	waitid: 'a child', nanosleep: 'a timer', clock_nanosleep: 'a timer', read: 'data', recvfrom: 'data', recvmsg: 'data', accept: 'a connection',
	accept4: 'a connection', connect: 'a connection', fsync: 'a disk', fdatasync: 'a disk', write: 'room to write', rt_sigtimedwait: 'a signal', pause: 'a signal' };

/* Instants below a picture, some 120 px apart. */
function draw_ruler(c, width, y) {
	const power = 10 ** Math.floor(Math.log10(Math.max(1, span_ns() * 120 / (width - picture_left))));
	const step = [1, 2, 5, 10].map((n) => n * power).find((ns) => ns >= span_ns() * 120 / (width - picture_left)), x = scale_of(width);
	c.save();
	c.fillStyle = text_color;
	c.strokeStyle = 'rgba(128, 128, 128, 0.4)';
	for (let ns = Math.ceil(edges[from] / step) * step; ns <= edges[to]; ns += step) {
		c.beginPath();
		c.moveTo(x(ns), 0);
		c.lineTo(x(ns), y + 4);
		c.stroke();
		if (x(ns) < width - 40)
			c.fillText(+(ns / 1e9).toFixed(Math.max(0, Math.ceil(9 - Math.log10(step)))) + ' s', x(ns) + 3, y + 13);
	}
	c.restore();
}

function add_threads() {
	let r, threads = [], lane = new Map(), left = new Map(), left_out = 0, are_exact = false, are_all = location.hash.includes('all');
	const more = element('button', { class: 'open', onclick: () => { are_all = !are_all; picture.data = null; redraw(); } });
	const arrows = element('input', { type: 'checkbox', onchange: () => picture.draw() });

	function renew() {
		r = results.slices;
		const moment = moment_around(r);
		are_exact = moment.last > moment.first || !results.lanes.cnt;
		/* the thread on a CPU is unknown without switches */
		[threads, left_out] = !was_recorded('sched.switch') ? [[], 0] : are_exact ? threads_of(r) : lanes_of();
		more.hidden = threads.length <= THREADS_FEW;
		more.textContent = are_all ? 'fewer lanes' : 'show ' + plural(threads.length - THREADS_FEW, 'more lane');
		if (!are_all)
			threads = threads.slice(0, THREADS_FEW);
		lane = new Map(threads.map((t, i) => [t.tid, i]));
		left = new Map(results.leaves.at_ns.map((ns, i) => [results.leaves.tid[i] + ' ' + ns, i]));
		return threads.length ? threads.length * LANE_HEIGHT + 18 : 0;
	}
	const begin_of = (i) => begin_of_slice(r, i);
	const end_of = (i) => begin_of(i) + r.dur_ns[i];
	/* the wait of a thread after a slice, from its switch */
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

	/* writes the object of a wait if it fits */
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

	/* name, PID and thread */
	function label_of(t) {
		const p = process(t.process), pid = String(p.pid);
		return (t.name.length > 13 ? t.name.slice(0, 12) + '\u2026' : t.name) + ' ' + (pid && pid !== String(t.tid) ? pid + '/' : '') + t.tid;
	}

	function draw_exactly(c, x, t, top) {
		draw_waits(c, t, x, top);
		for (const i of t.rows) {
			const color = color_of_slice(r, i), left = x(begin_of(i)), right = x(end_of(i));
			box(c, x, begin_of(i), end_of(i), top, LANE_HEIGHT - 3, color);
			if (right - left < 60)
				continue;
			c.fillStyle = text_on(color);
			c.fillText('CPU ' + r.cpu[i] + ', ' + duration(r.dur_ns[i]), left + 3, top + 13, right - left - 6);
		}
	}

	/* Bins of a point are one bar, of the parts of its time. */
	function draw_bins(c, x, t, top) {
		const l = results.lanes, color = group_of(process_of_thread(t.process)).color, height = LANE_HEIGHT - 3;
		/* bins next to each other are one bar: twice the same grey would be a darker one */
		const slept_in = t.rows.filter((i) => l.sleeping_ns[i]);
		slept_in.forEach((i, n) => {
			let first = n;
			if (n + 1 < slept_in.length && l.bin[slept_in[n + 1]] === l.bin[i] + 1)
				return;
			while (first && l.bin[slept_in[first - 1]] === l.bin[slept_in[first]] - 1)
				first--;
			box(c, x, edges[l.bin[slept_in[first]]], edges[l.bin[i] + 1], top + 6, LANE_HEIGHT - 15, SLEPT);
		});
		for (const i of t.rows) {
			const begin = edges[l.bin[i]], end = edges[l.bin[i] + 1];
			let bottom = top + height;
			for (const [column, other] of LANE_STATES) {
				const part = height * l[column][i] / (end - begin);
				if (part > 0.2)
					box(c, x, begin, end, bottom -= part, part, other || color);
			}
		}
	}

	function draw_threads(c, x) {
		threads.forEach((t, n) => {
			const top = n * LANE_HEIGHT;
			if (are_exact)
				draw_exactly(c, x, t, top);
			else
				draw_bins(c, x, t, top);
			c.fillStyle = text_color;
			c.fillText(label_of(t), 0, top + 13, picture_left - 6);
		});
		if (arrows.checked && are_exact)
			draw_wakes(c, x);
	}

	function draw(c, width) {
		draw_ruler(c, width, threads.length * LANE_HEIGHT);
		draw_around(c, width, threads.length * LANE_HEIGHT, 'states', () => draw_threads(c, scale_of(width)));
		note.textContent = 'coloured: on a CPU; red: waited for a CPU; light blue: for a disk; grey: slept; a click explains the thread' +
			(left_out ? '; ' + plural(left_out, 'thread') + ' of less time left out' : '') + (more.hidden ? '' : '; ');
		arrows.parentElement.hidden = !are_exact;
	}

	/* after a slice: the reason for leaving the CPU */
	function slept(t, i, word = 'waited ') {
		const l = leave_of(t, i), v = results.leaves;
		if (l === undefined)
			return word && 'off the CPU';
		const call = v.call[l] === null ? '' : texts[v.call[l]], object = v.object[l] === null ? '' : ' on ' + texts[v.object[l]];
		return (v.preempted[l] ? 'preempted ' + (call && 'in ' + call) : call ? word + (WAIT_WORDS[call] ? 'for ' + WAIT_WORDS[call] + ' (' + call + ')' : 'in ' + call) : word && 'slept') + object;
	}

	const called = (t) => t.name + ', thread ' + t.tid + ' of ' + process(t.process).comm + ' ' + process(t.process).pid;

	function in_bin(t, ns) {
		const l = results.lanes, i = t.rows.find((row) => ns >= edges[l.bin[row]] && ns < edges[l.bin[row] + 1]);
		return i === undefined ? 'not there' : LANE_STATES.filter(([column]) => l[column][i]).map(([column, , word]) => word + ' ' + duration(l[column][i])).join(', ') || 'slept';
	}

	function at(px, y) {
		const t = threads[Math.floor(y / LANE_HEIGHT)], ns = instant_at(px, picture.width);
		if (!t || px < picture_left)
			return t ? called(t) + ': click explains it' : '';
		const name = called(t) + ': ';
		if (!are_exact)
			return name + in_bin(t, ns);
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

	const picture = add_picture(LANES_TITLE, '', LANE_HEIGHT, renew, draw, at), note = element('span');
	picture.note.append(note, more, element('label', {}, ' ', arrows, 'wake-ups'));
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
		c.fillText(instant(edges[from]) + ' s', picture_left, rows * 12 + 13);
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

/* Requests of programs: each from its begin to its end, the longer the higher. */
function add_spans() {
	const HEIGHT = 160, BAR = 4;
	let r, shown = [], least = 0, most = 0;
	const length_of = (i) => Math.max(1, r.end_ns[i] - r.start_ns[i]);
	/* 0: the shortest, 1: the longest */
	const share_of = (i) => most > least ? Math.log(length_of(i) / least) / Math.log(most / least) : 0;
	const top_of = (i) => (HEIGHT - BAR) * (1 - share_of(i));
	const name_of = (i) => texts[r.name[i]] + ' ' + texts[r.id[i]];

	function renew() {
		r = results.spans;
		shown = [...Array(r.cnt).keys()].filter((i) => r.end_ns[i] > edges[from] && r.start_ns[i] < edges[to]);
		least = shown.reduce((a, i) => Math.min(a, length_of(i)), Infinity);
		most = shown.reduce((a, i) => Math.max(a, length_of(i)), 0);
		return shown.length ? HEIGHT + 18 : 0;
	}

	function draw_each(c, x) {
		for (const i of shown)
			box(c, x, r.start_ns[i], r.end_ns[i], top_of(i), BAR, 'hsl(' + 220 * (1 - share_of(i)) + ', 75%, 50%)');
	}

	function draw(c, width) {
		draw_around(c, width, HEIGHT, 'states', () => draw_each(c, scale_of(width)));
		c.fillStyle = text_color;
		c.fillText(duration(most), 2, 11);
		c.fillText(duration(least), 2, HEIGHT);
		c.fillText(instant(edges[from]) + ' s', picture_left, HEIGHT + 13);
	}

	function found(px, y) {
		const ns = instant_at(px, picture.width), near = span_ns() / 200;
		return shown.filter((i) => r.start_ns[i] - near <= ns && ns < r.end_ns[i] + near && Math.abs(top_of(i) + BAR / 2 - y) <= 2 * BAR)
			.sort((a, b) => Math.abs(top_of(a) - y) - Math.abs(top_of(b) - y))[0];
	}

	function at(px, y) {
		const i = found(px, y);
		return i === undefined ? '' : name_of(i) + ': ' + duration(length_of(i)) + (r.failed[i] ? ', failed' : '') + '; a click explains it';
	}

	const picture = add_picture('Requests of programs', 'each from its begin to its end, the longer the higher; a click explains it', 12, renew, draw, at);
	picture.is_of_window = true;
	picture.click = (px, y) => {
		const i = found(px, y);
		if (i !== undefined)
			select({ label: 'request ' + name_of(i), options: [['request', texts[r.id[i]]]] });
	};
	picture.box.classList.add('single');
	zoom_in_picture(picture);
}

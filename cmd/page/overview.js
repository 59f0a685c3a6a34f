/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Where in the trace the window is: a strip with the busy CPUs of the whole trace, once it was shown, and the window in it.
 * A drag there shows that part. A page in a file has the range selector of its first chart in place of this.
 */
const OVERVIEW_HEIGHT = 26;

let overview = null;	/* { edges, busy }: of the whole trace */

function keep_overview() {
	if (source === own_data || edges[0] !== 0 || edges[edges.length - 1] < source.whole()[1])
		return;
	const r = results.cpu, busy = new Float64Array(edges.length - 1);
	for (let i = 0; i < r.cnt; i++)
		if (is_known(r, i))
			busy[r.bin[i]] += r.oncpu_ns[i];
	set_overview(edges, busy);
}

function set_overview(at, busy) {
	overview = { edges: at, busy: busy.map((ns, bin) => ns / (at[bin + 1] - at[bin])) };
}

/* A link to a window leads past the whole trace: its CPU time is asked for when the window is drawn. */
async function get_overview() {
	if (overview || source === own_data)
		return;
	try {
		const all = await (await fetch('window?from=0&to=' + source.whole()[1], { signal: source.beside.signal })).json();
		const { bin, process: whose, oncpu_ns } = all.results.cpu, at = all.edges, busy = new Float64Array(at.length - 1);
		for (let i = 1; i < at.length; i++)
			at[i] += at[i - 1];
		for (let i = 0, now = 0; i < oncpu_ns.length; i++) {
			now += bin[i] || 0;
			if (!all.texts[whose[i]].endsWith('  [unknown]'))
				busy[now] += oncpu_ns[i];
		}
		set_overview(at, busy);
		draw_overview();
	} catch (error) { /* another window has overtaken it */ }
}

function draw_overview() {
	const canvas = $('overview').firstElementChild, width = canvas.clientWidth, c = canvas.getContext('2d'), scale = devicePixelRatio || 1;
	const end = source.whole()[1], x = (ns) => width * ns / end;
	keep_overview();
	canvas.width = width * scale;
	canvas.height = OVERVIEW_HEIGHT * scale;
	c.scale(scale, scale);
	c.fillStyle = 'rgba(128, 128, 128, 0.15)';
	c.fillRect(0, 0, width, OVERVIEW_HEIGHT);
	if (overview) {
		const most = overview.busy.reduce((a, b) => Math.max(a, b), 1e-9);
		c.fillStyle = PALETTE[0];
		overview.busy.forEach((v, bin) => {
			const height = OVERVIEW_HEIGHT * v / most, left = x(overview.edges[bin]);
			c.fillRect(left, OVERVIEW_HEIGHT - height, Math.max(0.5, x(overview.edges[bin + 1]) - left), height);
		});
	}
	c.strokeStyle = text_color;
	c.lineWidth = 2;
	c.fillStyle = 'rgba(230, 159, 0, 0.35)';
	const left = x(edges[from]), wide = Math.max(3, x(edges[to]) - left);
	c.fillRect(left, 0, wide, OVERVIEW_HEIGHT);
	c.strokeRect(left, 1, wide, OVERVIEW_HEIGHT - 2);
}

function add_overview() {
	const box = $('overview'), canvas = box.firstElementChild;
	let held = null;
	if (source === own_data)
		return;
	box.hidden = false;
	parts.push({ box, draw: draw_overview });
	const instant_of = (x) => source.whole()[1] * x / canvas.clientWidth, at = (event) => instant_of(event.offsetX);
	const show_around = (ns) => go(Math.max(0, ns - span_ns() / 2), Math.max(0, ns - span_ns() / 2) + span_ns());
	zoom_by_wheel(canvas, at);
	canvas.addEventListener('mousedown', (event) => { held = at(event); });
	canvas.addEventListener('mouseup', (event) => {
		const [a, b] = [held, at(event)].sort((p, q) => p - q);
		/* a click moves the window there */
		if (held !== null && (b - a) * canvas.clientWidth / source.whole()[1] > 3)
			go(a, b);
		else if (held !== null)
			show_around(a);
		held = null;
	});
	const said = $('overview-at');
	steer(box, { area: () => [0, 0, canvas.clientWidth, OVERVIEW_HEIGHT, 1], instant: instant_of, say: (x) => { said.textContent = instant(instant_of(x)) + ' s'; },
		click: (x) => show_around(instant_of(x)), leave: () => { said.textContent = ''; } });
}

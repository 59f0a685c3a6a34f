/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * The shown window, the ways to change it, and the source of its data: a page in a file contains the data of its whole window, and shows
 * whole bins of it; a page served by `ebpfrec view` requests each window, to the nanosecond.
 */
const NARROWEST = 100;	/* ns */

let asked = [0, 0];	/* the window that was asked for last, ns: it may not be here yet */
let steps = 0;		/* windows before this one */
let waiting = 0;

const span_ns = () => edges[to] - edges[from];

const own_data = {
	read: async () => {
		const coded = atob($('data').textContent.trim());
		const raw = new Uint8Array(coded.length);
		for (let i = 0; i < coded.length; i++)
			raw[i] = coded.charCodeAt(i);
		const text = await new Response(new Blob([raw]).stream().pipeThrough(new DecompressionStream('deflate'))).text();
		take_data(JSON.parse(text));
	},
	whole: () => [edges[0], edges[edges.length - 1]],
	/* Snapped to the nearest edges; at least one bin. */
	show: async (a, b) => {
		const nearest = (ns) => {
			let i = 0;
			while (i + 1 < edges.length && Math.abs(edges[i + 1] - ns) <= Math.abs(edges[i] - ns))
				i++;
			return i;
		};
		from = Math.min(nearest(a), edges.length - 2);
		to = Math.max(nearest(b), from + 1);
	},
};

const served_data = {
	under_way: null,
	beside: new AbortController(),	/* of questions about the window that is shown */
	end: 1,		/* of the trace, ns */
	is_live: false,
	is_at_end: false,	/* the requested window ends at the trace's end, and follows it as the trace grows */
	has_threads: false,	/* its rows go by thread */
	is_coarse: false,	/* there are finer bins, or more than CPU time, if the user stays at the window */
	is_partial: false,	/* there is CPU time alone */
	read: () => served_data.show(...(address_window() || [0, Number.MAX_SAFE_INTEGER])),
	whole: () => [0, served_data.end],
	/* A request under way is obsolete: the page aborts it, and the program stops working on it. */
	show: async (a, b, stay) => {
		clearTimeout(staying);
		if (served_data.under_way)
			served_data.under_way.abort();
		served_data.beside.abort();
		served_data.beside = new AbortController();
		served_data.under_way = new AbortController();
		document.body.classList.toggle('asking', !stay);
		const by_thread = by === 'thread';
		const answer = await fetch('window?from=' + a + '&to=' + b + (stay ? '&stay=1' : '') + (by_thread ? '&by=thread' : ''), { signal: served_data.under_way.signal });
		const all = answer.ok ? await answer.json() : await answer.text();
		served_data.under_way = null;
		if (!answer.ok)
			throw new Error(all);
		document.body.classList.remove('asking');
		served_data.end = all.end;
		served_data.has_threads = by_thread;
		served_data.is_live = all.live;
		served_data.is_coarse = all.coarse;
		served_data.is_partial = all.partial;
		take_data(all);
		served_data.is_at_end = stay ? served_data.is_at_end : edges[to] >= all.end;
	},
};

const source = $('app').dataset.served ? served_data : own_data;

/* "#FROM-TO", ns, and more words after commas: the window that an address names. */
function address_window() {
	const named = /^#(\d+)-(\d+)/.exec(location.hash);
	return named && [Number(named[1]), Number(named[2])];
}

/* keep: the address has it already. */
async function go(a, b, keep) {
	const [begin, end] = source.whole();
	a = Math.max(begin, Math.min(Math.round(a), end - 1));
	b = Math.min(end, Math.max(Math.round(b), a + NARROWEST));
	asked = [a, b];
	announce();
	try {
		await source.show(a, b);
	} catch (error) {
		if (error.name !== 'AbortError')
			$('span').textContent = 'The window could not be had: ' + error.message;
		return;
	}
	asked = [edges[from], edges[to]];
	if (!keep)
		name_window();
	if (!waiting)
		waiting = requestAnimationFrame(redraw);
}

/* A page beside another one announces its window: beside.js. */
function announce() {
	if (parent !== window && source !== own_data)
		parent.postMessage(asked, location.origin);
}

/* The address names the window, so that a link to it can be sent, and the browser's Back works. */
function name_window() {
	const hash = '#' + edges[from] + '-' + edges[to] + choices();
	if (hash === location.hash)
		return;
	try {
		history.pushState({ steps: ++steps }, '', hash);
	} catch (error) { /* a page without an address of its own */ }
}

/* The address was changed by hand, or by Back. */
function follow_address() {
	const named = address_window() || source.whole();
	steps = (history.state && history.state.steps) || 0;
	take_choices();
	begin_groups();
	paint();
	regrouped++;
	go(named[0], named[1], true);
}

/* Around an instant, which keeps its position; else around the middle. */
function zoom(factor, at) {
	const [a, b] = asked, middle = at === undefined ? (a + b) / 2 : at;
	go(middle - (middle - a) * factor, middle + (b - middle) * factor);
}

function move(direction) {
	const [begin, end] = source.whole(), [a, b] = asked, length = b - a;
	const next = Math.max(begin, Math.min(a + direction * length / 4, end - length));
	go(next, next + length);
}

const show_whole = () => go(...source.whole());
const show_seconds = (a, b) => go(a * 1e9, b * 1e9);

/* The wheel zooms with Ctrl, around the position of the mouse; without it, the page scrolls. at(event): the instant there. */
function zoom_by_wheel(element, at) {
	element.addEventListener('wheel', (event) => {
		if (!event.ctrlKey)
			return;
		event.preventDefault();
		zoom(event.deltaY < 0 ? 0.6 : 1 / 0.6, at(event));
	}, { passive: false });
}

/* If a step shows only a part, the rest is loaded when the user stays. Returns true if it will be loaded. */
const STAY = 300;	/* ms */
let staying = 0;

function stay_later() {
	const is_coarse = source !== own_data && served_data.is_coarse;
	if (is_coarse && !served_data.under_way)
		staying = setTimeout(stay, STAY);
	return is_coarse;
}

async function stay() {
	try {
		await source.show(edges[from], edges[to], true);
	} catch (error) {
		if (error.name === 'AbortError')
			return;
		served_data.is_coarse = false;
	}
	if (!waiting)
		waiting = requestAnimationFrame(redraw);
}

/* A window at the end of a trace that is still recorded grows with it. */
const LATER = 2000;	/* ms */
let later = 0;

function follow_later() {
	clearTimeout(later);
	if (source !== own_data && served_data.is_live)
		later = setTimeout(follow_trace, LATER);
}

function follow_trace() {
	if (document.hidden || served_data.under_way || !served_data.is_at_end) {
		follow_later();
		return;
	}
	const begin = edges[from];
	served_data.end = Number.MAX_SAFE_INTEGER;
	go(begin, served_data.end, true);
}

/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* The page of a window: charts, pictures and tables, drawn again for each window that is shown. */

function quoted(path) {
	return /^[A-Za-z0-9_.,:\/@%+=-]+$/.test(path) ? path : "'" + path.replace(/'/g, "'\\''") + "'";
}

const command_of = (what, more) => 'ebpfrec ' + what + ' -i ' + quoted($('app').dataset.trace) + (more ? ' ' + more : '') +
	' --from ' + option(edges[from]) + ' --until ' + option(edges[to]);
const command = (view) => command_of('report', view);

/* Visible parts are drawn at once, the others when the page is idle, in steps too short to notice. */
const UNSEEN = 30;	/* ms */
const parts = [];	/* { box, draw, title, has_data } */
let seen = [], unseen = [], timer = 0;

/* Charts of the library follow the width of the window themselves; other canvases are drawn again. */
const RESIZED = 150;	/* ms after the last change */
let resized = 0;

function redraw() {
	const begin = performance.now(), lack = lack_text();
	waiting = 0;
	delete document.body.dataset.step;
	delete document.body.dataset.drawn;
	fold_empty();
	find_unseen();
	text_color = getComputedStyle(document.body).color;
	picture_left = innerWidth < 700 ? 96 : 150;
	$('span').textContent = window_text();
	$('span').title = instant(edges[from]) + ' .. ' + instant(edges[to]) + ' s';
	$('state').hidden = true;
	$('lack').hidden = !lack;
	$('lack').textContent = lack;
	$('command').textContent = command('');
	$('back').disabled = !steps;
	name_beside();
	$('by').value = by;
	$('scope').value = scope;
	draw_seen();
	document.body.dataset.ms = (performance.now() - begin).toFixed(1);
	timer = setTimeout(() => {
		/* with layout and painting */
		document.body.dataset.paintedMs = (performance.now() - begin).toFixed(1);
		draw_unseen();
	});
}

/* With the digits that matter: "12.4 to 12.9 s of 75 s". */
function window_text() {
	const digits = Math.max(0, Math.min(9, Math.ceil(1.5 - Math.log10(span_ns() / 1e9)))), [begin, end] = source.whole();
	const seconds = (ns) => (ns / 1e9).toFixed(digits);
	const all = duration(end - begin);
	return edges[from] === begin && edges[to] === end ? 'all ' + all : seconds(edges[from]) + ' to ' + seconds(edges[to]) + ' s of ' + all;
}

/* The missing events of the window, their number, and the affected figures; '': complete. Unrecorded sources do not count. */
function lack_text() {
	const views = Object.entries({ CPU: 'cpu', 'waits for a CPU': 'sched', states: 'states', memory: 'alloc', 'block I/O': 'io' });
	const wrong = views.filter(([, view]) => missing(view) && was_recorded(NEEDS[view])).map(([name]) => name);
	const bins = lost_of('page').map(([a, b]) => edges[Math.min(b, to)] - edges[Math.max(a, from)]).filter((ns) => ns > 0);
	if (!wrong.length)
		return '';
	return (lost_events() ? plural(lost_events(), 'event') + ' lost' : 'Events may be missing') + ' in ' + duration(bins.reduce((a, b) => a + b, 0)) + ' of ' +
		duration(span_ns()) + ', hatched: figures of ' + wrong.join(', ') + ' may be too low there.';
}

/* A link to this window beside itself, of which either can then be moved. */
function name_beside() {
	const [, token, nr] = /^(\/[0-9a-f]+\/)(?:(\d+)\/)?$/.exec(location.pathname) || [];
	const one = (nr || 1) + ':' + edges[from] + '-' + edges[to];
	$('beside').hidden = source === own_data || parent !== window;
	$('beside').href = token + 'beside#' + one + ';' + one;
}

/* A part without events takes no room, but is named. A part that was shown once stays, so that nothing moves under the mouse. */
function fold_empty() {
	const empty = [], is_partial = source.is_partial;
	for (const part of parts.filter((part) => part.has_data)) {
		part.was_there = part.has_data() || (part.was_there && part.title);
		part.box.hidden = is_partial ? !part.has_data() : !part.was_there;
		if (part.tab)
			part.tab.hidden = part.box.hidden;
		if (part.box.hidden && part.title)
			empty.push(part.title);
	}
	$('tables').hidden = is_partial;
	$('empty').textContent = is_partial ? 'This window is long: waits, memory and block I/O come in a moment.' : empty.length ? 'Without events: ' + empty.join(', ') + '.' : '';
}

/* Looks at places before anything is changed: the layout need not be made twice. */
function find_unseen() {
	clearTimeout(timer);
	seen = [];
	unseen = [];
	for (const part of parts.filter((part) => !part.box.hidden)) {
		const place = part.box.getBoundingClientRect();
		(place.bottom > 0 && place.top < innerHeight ? seen : unseen).push(part);
	}
}

/* Draws a part again and restores the focus. */
function draw_part(part) {
	const held = document.activeElement, name = (e) => e.dataset.name || e.id || e.textContent;
	const is_held = part.box.contains(held), word = name(held);
	part.draw();
	if (!is_held || part.box.contains(document.activeElement))
		return;
	const again = [...part.box.querySelectorAll('button, select, [tabindex]')].find((e) => name(e) === word);
	if (again)
		again.focus({ preventScroll: true });
}

function draw_seen() {
	seen.forEach(draw_part);
}

function draw_unseen() {
	const end = performance.now() + UNSEEN;
	while (unseen.length && performance.now() < end)
		draw_part(unseen.shift());
	if (unseen.length) {
		timer = setTimeout(draw_unseen);
		return;
	}
	document.body.dataset.step = edges[from] + '-' + edges[to];
	if (stay_later())
		return;
	document.body.dataset.drawn = edges[from] + '-' + edges[to];
	show_causes();
	explain();
	find_again();
	get_overview();
	get_spikes_later();
	follow_later();
}

/* Canvases keep their width: before paper cuts them off, all is drawn as wide as paper is. */
function fit_to_paper(is_paper) {
	document.body.classList.toggle('paper', is_paper);
	unseen.splice(0).forEach((part) => part.draw());
	charts.filter((chart) => chart.graph).forEach((chart) => chart.graph.resize());
	pictures.forEach((picture) => picture.draw());
}

function wire() {
	const keys = { '+': () => zoom(0.5), '=': () => zoom(0.5), '-': () => zoom(2), '0': show_whole, ArrowLeft: () => move(-1),
		ArrowRight: () => move(1), Backspace: () => history.back(), '/': () => $('search').focus(), w: () => select(selected), '?': () => $('help').click() };
	/* a window may be given as the address's fragment */
	window.addEventListener('hashchange', follow_address);
	document.addEventListener('keydown', (event) => {
		if (['INPUT', 'SELECT'].includes(event.target.tagName)) {
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
	$('back').onclick = keys.Backspace;
	/* the content of canvases does not follow the style */
	matchMedia('(prefers-color-scheme: dark)').addEventListener('change', redraw);
	window.addEventListener('resize', () => { clearTimeout(resized); resized = setTimeout(redraw, RESIZED); });
	window.addEventListener('beforeprint', () => fit_to_paper(true));
	window.addEventListener('afterprint', () => fit_to_paper(false));
	$('help').onclick = () => {
		$('help-text').hidden = !$('help-text').hidden;
		$('help').setAttribute('aria-expanded', !$('help-text').hidden);
	};
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

async function start() {
	take_choices();
	await source.read();
	add_group_choice();
	add_explain();
	add_search();
	add_figures();
	add_overview();
	$('fallback').hidden = true;
	$('summary').open = false;
	$('app').hidden = false;
	/* the library's own legend looks at the layout of each chart, each time */
	Dygraph.PLUGINS = Dygraph.PLUGINS.filter((plugin) => plugin !== Dygraph.Plugins.Legend);
	for (const def of chart_defs())
		add_chart(def);
	order_charts();
	add_threads();
	add_heat_map();
	add_lanes();
	add_spans();
	add_requests();
	/* the order of Tab is the visible order */
	const order = (box) => Number(getComputedStyle(box).order);
	$('charts').append(...[...$('charts').children].sort((a, b) => order(a) - order(b)));
	for (const def of TABLES)
		add_table(def, draw_table);
	for (const def of EVENTS)
		add_table(def, draw_events, () => events_of(def).length > 0);
	add_flame();
	choose_tab(TABLES[0]);
	wire();
	const named = source === own_data && address_window();
	if (named)
		await source.show(...named);
	asked = [edges[from], edges[to]];
	document.body.classList.toggle('framed', parent !== window);
	announce();
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

/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Tables of the bins that are shown: the figures of `ebpfrec report` for exactly this window. */
const ROWS = 15;	/* of a table, until all are asked for */

const columns = {
	process: [{ name: 'PID', text: true, of: (x) => x.group.pid },
		{ name: 'COMM', heading: () => by === 'process' ? 'COMM' : by.toUpperCase(), text: true, of: (x) => by === 'process' || (x.group.is_single && !x.group.tid) ? x.group.comm : x.group.label,
			color: (x) => x.group.color, open: (x) => opening(x.group) },
		{ name: 'PROCESSES', is_hidden: () => by === 'process' || by === 'thread', of: (x) => x.members && x.members.cnt, format: (v, x) => members_text(x.members) }],
	text: (name, title) => ({ name: title, text: true, of: (x) => x.key[name] === null ? '' : texts[x.key[name]] }),
	sum: (id, name, format) => ({ id, name, format, of: (x) => x.sums[id] }),
};

/* keys: columns that identify rows. max: columns that do not add up. */
const TABLES = [
	{ result: 'cpu', title: 'CPU', keys: ['process'], sums: ['oncpu_ns', 'switches', 'preempted'], max: [], sort: 'oncpu_ns',
		columns: [...columns.process, columns.sum('oncpu_ns', 'ONCPU', duration),
			{ id: 'util_pct', name: '%CPU', format: percent, of: (x) => Math.round(100000 * x.sums.oncpu_ns / span_ns()) / 1000 },
			columns.sum('switches', 'SWITCHES', count), columns.sum('preempted', 'PREEMPTED', count)] },
	{ result: 'waits', title: 'Waits for a CPU', keys: ['process'], sums: ['waits', 'wait_ns'], max: ['wait_max_ns'], sort: 'wait_ns',
		columns: [...columns.process, columns.sum('waits', 'WAITS', count), columns.sum('wait_ns', 'WAIT', duration),
			columns.sum('wait_max_ns', 'WAIT MAX', duration)] },
	{ result: 'states', title: 'States of threads', keys: ['process'], max: [], sort: 'running_ns',
		sums: ['running_ns', 'runnable_ns', 'preempted_ns', 'throttled_ns', 'disk_ns', 'uninterruptible_ns', 'sleeping_ns', 'stopped_ns', 'unknown_ns'],
		columns: [...columns.process,
			{ id: 'life_ns', name: 'LIFE', format: duration, of: (x) => Object.values(x.sums).reduce((a, b) => a + b) },
			columns.sum('running_ns', 'RUNNING', duration), columns.sum('runnable_ns', 'RUNNABLE', duration),
			columns.sum('preempted_ns', 'PREEMPT', duration), columns.sum('throttled_ns', 'THROTTLED', duration),
			{ id: 'disk_ns', name: 'DISK', format: duration, of: (x) => was_recorded('block') ? x.sums.disk_ns : null },
			columns.sum('uninterruptible_ns', 'UNINT', duration), columns.sum('sleeping_ns', 'ASLEEP', duration),
			columns.sum('stopped_ns', 'STOPPED', duration), columns.sum('unknown_ns', 'UNKNOWN', duration)] },
	{ result: 'memory', title: 'Memory', keys: ['process', 'source'], sums: ['allocs', 'frees', 'alloc_bytes', 'free_bytes', 'exit_bytes'],
		max: ['peak_bytes'], sort: 'alloc_bytes',
		columns: [...columns.process, columns.text('source', 'SOURCE'), columns.sum('allocs', 'ALLOCS', count), columns.sum('frees', 'FREES', count),
			columns.sum('alloc_bytes', 'ALLOC BYTES', bytes), columns.sum('free_bytes', 'FREE BYTES', bytes),
			{ id: 'net_bytes', name: 'NET BYTES', format: bytes, of: (x) => x.sums.alloc_bytes - x.sums.free_bytes - x.sums.exit_bytes },
			/* for several processes the highest values are known, not the highest sum */
			{ id: 'peak_bytes', name: 'PEAK BYTES', format: bytes, of: (x) => x.group.is_single ? x.sums.peak_bytes : null },
			columns.sum('exit_bytes', 'EXIT BYTES', bytes)] },
	{ result: 'io', title: 'Block I/O', keys: ['process', 'dev', 'op', 'submitter', 'owner_how'],
		sums: ['ios', 'bytes', 'errors'], max: ['lat_max_ns'], sort: 'bytes',
		columns: [...columns.process, { name: 'DEVICE', text: true, of: (x) => device(x.key.dev) }, columns.text('op', 'OP'), columns.sum('ios', 'IOS', count),
			columns.sum('bytes', 'BYTES', bytes),
			{ id: 'iops', name: 'IOPS', format: rate, of: (x) => Math.round(x.sums.ios * 1e12 / span_ns()) / 1000 },
			columns.sum('lat_max_ns', 'LAT MAX', duration), columns.sum('errors', 'ERRORS', count),
			columns.text('submitter', 'SUBMITTER'), columns.text('owner_how', 'WHY UNKNOWN')] },
];

/* Single events: rows as they are, those that begin in the window. */
const EVENTS = [
	{ result: 'spikes', title: 'Spikes', at: 'start_ns', columns: [
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
		const id = def.keys.map((k) => k === 'process' ? group_of(r[k][i]).key : r[k][i]).join();
		if (!numbers.has(id))
			numbers.set(id, numbers.size);
		def.group[i] = numbers.get(id);
	}
}

function rows_of(def) {
	const r = results[def.result], rows = [];
	if (def.data !== results || def.regrouped !== regrouped)
		number_rows(def);
	def.data = results;
	def.regrouped = regrouped;
	for (let i = lower(r, from); i < r.cnt && r.bin[i] < to; i++) {
		let x = rows[def.group[i]];
		if (!x) {
			x = rows[def.group[i]] = { key: {}, sums: {}, group: group_of(r.process[i]) };
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
	for (const x of rows.filter((y) => y && !y.group.is_other && !y.group.is_rest))
		x.members = count_members(def.result, x.key.source).get(x.group);
	return rows.filter((x) => x);
}

const wanted = () => $('search').value.trim().toLowerCase();
const matches = (word, ...names) => !word || names.some((n) => String(n).toLowerCase().includes(word));

/* Does the view lack events in the bins shown? */
function missing(view) {
	const r = results.loss;
	for (let i = lower(r, from); i < r.cnt && r.bin[i] < to; i++)
		if (texts[r.what[i]] === 'report ' + view)
			return true;
	return false;
}

/* A page that is served can be asked why. */
const why = { name: 'WHY', text: true, select: true, of: (x) => selection_of(x.group) ? 'why?' : null };
const shown_columns = (def) => [...def.columns.filter((c) => !c.is_hidden || !c.is_hidden()), ...(def.keys && source !== own_data ? [why] : [])];

function heading(def, s, redraw) {
	return element('tr', {}, ...shown_columns(def).map((c) => {
		const th = element('th', { scope: 'col', class: c.text ? 'text' : '' }, element('button', { onclick: () => {
			s.down = s.sort === c.name ? !s.down : !c.text;
			s.sort = c.name;
			redraw();
		} }, c.heading ? c.heading() : c.name));
		if (s.sort === c.name)
			th.setAttribute('aria-sort', s.down ? 'descending' : 'ascending');
		return th;
	}));
}

function cell(c, x) {
	const v = c.of(x);
	if (v === null || v === undefined)
		return element('td');
	const open = c.open && c.open(x);
	if (c.select && v)
		return element('td', { class: 'text' }, element('button', { class: 'open', onclick: () => select(selection_of(x.group)) }, v));
	if (open)
		return element('td', { class: 'text', title: v }, element('i', { color: c.color(x) }), element('button', { class: 'open', onclick: open }, v));
	if (c.text)
		return element('td', { class: 'text', title: v }, ...(c.color ? [element('i', { color: c.color(x) })] : []), String(v));
	return element('td', { title: String(v), 'data-column': c.id }, c.format ? c.format(v, x) : String(v));
}

function fill(box, def, rows, note) {
	const s = state.get(def.title);
	const sorted = shown_columns(def).find((c) => c.name === s.sort);
	rows.sort((a, b) => {
		const x = sorted.of(a), y = sorted.of(b);
		const order = typeof x === 'number' && typeof y === 'number' ? x - y : x === y ? 0 : x === null ? -1 : y === null ? 1 : x < y ? -1 : 1;
		/* one line, the last */
		const rest = def.keys ? a.group.is_rest - b.group.is_rest : 0;
		return rest || (s.down ? -order : order);
	});
	const shown = s.all ? rows : rows.slice(0, ROWS);
	const redraw = () => { fill(box, def, rows, note); };
	box.replaceChildren(element('h3', {}, def.title),
		element('div', { class: 'note' }, ...note),
		element('table', { id: 'table-' + def.result }, element('thead', {}, heading(def, s, redraw)),
			element('tbody', {}, ...shown.map((x) => element('tr', {}, ...shown_columns(def).map((c) => cell(c, x)))))));
	if (rows.length > ROWS)
		box.append(element('button', { onclick: () => { s.all = !s.all; redraw(); } },
			s.all ? 'fewer' : (rows.length - ROWS) + ' more'));
}

const by_option = () => by === 'process' ? '' : ' --by ' + (by === 'name' ? 'comm' : by);

function draw_table(def) {
	const word = wanted();
	const rows = rows_of(def).filter((x) => matches(word, x.group.label, x.group.pid));
	fill($('box-' + def.result), def, rows, [element('code', {}, command(VIEW_OF[def.result] + by_option()))]);
}

function events_of(def) {
	const r = results[def.result], rows = [];
	const pids = new Set(scope === 'machine' ? [] : results.who.process.filter(in_scope).map((text) => Number(process(text).pid)));
	const is_of_scope = (i) => scope === 'machine' || (r.process ? in_scope(r.process[i]) : pids.has(r.pid[i]));
	for (let i = 0; i < r.cnt; i++)
		if (r[def.at][i] >= edges[from] && r[def.at][i] < edges[to] && is_of_scope(i))
			rows.push(i);
	return rows;
}

function draw_events(def) {
	const r = results[def.result], rows = events_of(def), box = $('box-' + def.result);
	const value = (name, i, is_text) => {
		const v = r[name][i];
		if (v === null || !is_text)
			return v;
		if (name === 'dev')
			return device(v);
		return name === 'process' ? texts[v].replace(/^r?\d+ /, '') : texts[v];
	};
	const full = { ...def, columns: def.columns.map(([name, id, format, text]) => ({ id, name, format, text, of: (i) => value(id, i, text) })) };
	const word = wanted();
	fill(box, full, rows.filter((i) => matches(word, value(r.process ? 'process' : 'comm', i, true), r.pid ? r.pid[i] : '')),
		[def.note || element('code', {}, command(VIEW_OF[def.result]))]);
}

function add_table(def, draw, has_data) {
	const sort = def.sort ? def.columns.find((c) => c.id === def.sort).name :
		{ spikes: 'BYTES', slow_requests: 'LATENCY', slow_waits: 'WAITED' }[def.result];
	const box = element('div', { class: 'table', role: 'tabpanel', tabindex: 0, 'aria-label': def.title, id: 'box-' + def.result });
	state.set(def.title, { sort, down: true, all: location.hash.includes('all') });
	const tab = element('button', { role: 'tab', 'aria-controls': box.id, onclick: () => choose_tab(def) }, def.title);
	$('tabs').append(tab);
	$('tables').append(box);
	def.tab = tab;
	parts.push({ box, has_data, tab, draw: () => draw(def) });
}

/* One table is seen, and on paper all are. */
function choose_tab(def) {
	for (const other of [...TABLES, ...EVENTS]) {
		$('box-' + other.result).classList.toggle('shown', other === def);
		other.tab.setAttribute('aria-selected', other === def);
	}
}

/* The table of a result, with its tab. */
function show_table(result) {
	choose_tab(TABLES.find((def) => def.result === result));
	$('tabs').scrollIntoView({ block: 'start' });
	$('box-' + result).focus({ preventScroll: true });
}

/* Finding spikes takes long: a served page requests them after everything else is drawn, if the user stays. */
let spikes_of = null;
function get_spikes_later() {
	if (source !== own_data && spikes_of !== results)
		staying = setTimeout(get_spikes, STAY);
}

async function get_spikes() {
	const mine = results;
	spikes_of = mine;
	let rows = [];
	try {
		const answer = await fetch('report?view=spikes&from=' + edges[from] + '&to=' + edges[to], { signal: source.beside.signal });
		rows = answer.ok ? await answer.json() : [];
	} catch (error) { /* another window has overtaken it */ }
	if (mine !== results || !rows.length)
		return;
	mine.spikes = columns_from(rows);
	redraw();
}

/* Rows of a report become columns, whose texts are numbers. */
function columns_from(rows) {
	const r = { cnt: rows.length }, number = (text) => texts.push(text) - 1;
	for (const name of Object.keys(rows[0]))
		r[name] = rows.map((row) => typeof row[name] === 'string' ? number(row[name]) : row[name]);
	return r;
}

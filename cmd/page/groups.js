/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Groups of processes: by name, if a name has many; or each alone; or by container, unit, user or control group; or
 * each thread alone, which only a served page can show. A name can be unfolded: its processes are then shown alone.
 * Processes without rows of their own are in "other", some by name.
 */
const BY = { name: 'name', process: 'process', thread: 'thread', container: 'container', unit: 'unit', user: 'user', cgroup: 'cgroup' };
const MANY = 6;		/* processes of a name */

let by = '';			/* '': as it suits what is shown */
let scope = '';			/* 'command': its processes, and all others as one group; 'machine'; '': as the trace is */
const unfolded = new Set();	/* names */
const colors = new Map();	/* of a group's key: it keeps its colour in other windows */
let groups = new Map();		/* key -> { key, label, comm, pid, color, members, is_other, name } */
let who = new Map();		/* number of a process' text -> row of results.who */
let thread_texts = new Map();	/* tid -> number of its text, where rows go by thread */

function begin_groups() {
	groups = new Map();
	who = new Map(results.who.process.map((text, i) => [text, i]));
	if (!scope || !has_command())
		scope = has_command() ? 'command' : 'machine';
	if (!by)
		by = has_many() ? 'name' : 'process';
	processes.forEach((p) => { p.group = null; });
	thread_texts = new Map(by !== 'thread' ? [] : results.states.process.map((text) => [Number(process(text).tid), text]));
}

function has_many() {
	const cnt = new Map();
	for (const text of results.who.process)
		if (in_scope(text))
			cnt.set(process(text).comm, (cnt.get(process(text).comm) || 0) + 1);
	return [...cnt.values()].some((n) => n >= MANY);
}

/* Whether a row is in the scope: the recorded command's processes, or the machine. */
const in_scope = (text) => scope === 'machine' || !process(text).is_rest;
const has_command = () => info('command') !== '';

function set_scope(wanted) {
	scope = wanted;
	spikes_of = null;
	explained = asked_causes = '';
	pictures.forEach((picture) => { picture.data = null; });
	regroup();
}

/*
 * Processes of each group in the rows of a result in the window, as `report` has them: group -> { cnt, is_least }. is_least: in a
 * part of a page's window it is unknown how many of the processes without rows of their own have a value.
 */
const counted = new Map();
function count_members(name, source) {
	const key = [name, source, from, to, regrouped].join(), r = results[name], o = results['others_of_' + name] || { cnt: 0 };
	const found = new Map(), seen = new Set(), is_whole = from === 0 && to === edges.length - 1;
	const of = (text) => found.get(group_of(text)) || found.set(group_of(text), { cnt: 0, is_least: false }).get(group_of(text));
	if (counted.has(key))
		return counted.get(key);
	for (let i = lower(r, from); i < r.cnt && r.bin[i] < to; i++) {
		if (seen.has(r.process[i]) || (source !== undefined && r.source[i] !== source))
			continue;
		seen.add(r.process[i]);
		of(r.process[i]).cnt += process(r.process[i]).is_other ? 0 : 1;
	}
	for (let i = 0; i < o.cnt; i++)
		if (seen.has(o.process[i]) && (source === undefined || o.source[i] === source)) {
			of(o.process[i]).cnt += is_whole ? o.cnt_of[i] : 1;
			of(o.process[i]).is_least = !is_whole;
		}
	counted.set(key, found);
	return found;
}
const members_text = (m) => count(m.cnt) + (m.is_least ? '+' : '');

/* The group of a process: [key, label, its name if it can be unfolded]. */
function place_of(text) {
	const p = process(text), row = who.get(text);
	if (!in_scope(text))
		return ['rest', 'rest of the machine'];
	if (p.tid && by === 'thread')
		return [texts[text], p.comm + ' ' + p.tid];
	if (by === 'process' || by === 'thread' || (by === 'name' && !p.is_other && unfolded.has(p.comm)))
		return p.is_other ? ['other', 'other'] : [texts[text], p.comm + (p.pid ? ' ' + p.pid : '')];
	if (by === 'name')
		return p.is_other && !p.name ? ['other', 'other'] :
			['name ' + p.comm, unfolded.has(p.comm) ? 'other ' + p.comm : p.comm, p.comm];
	/* a pseudo process has no container either */
	if (row === undefined)
		return ['other', 'other'];
	return p.pid ? [by + ' ' + texts[results.who[by][row]], texts[results.who[by][row]]] : [texts[text], p.comm];
}

/* The group of a process; texts[text] is its text. */
function group_of(text) {
	const p = process(text);
	if (p.group)
		return p.group;
	const [key, label, name] = place_of(text);
	let g = groups.get(key);
	if (!g) {
		g = { key, label, name, comm: label, pid: '', texts: 0, is_other: key === 'other', is_rest: key === 'rest', is_single: false };
		g.color = colors.get(key) || (p.is_other || p.pid ? OTHER : UNKNOWN);
		groups.set(key, g);
	}
	g.texts++;
	/* a single process, according to the rows of this page */
	g.is_single = g.texts === 1 && !p.is_other && !g.is_rest;
	g.pid = g.is_single ? p.pid : '';
	g.tid = p.tid;
	if (key === texts[text])
		g.comm = p.comm;
	p.group = g;
	return g;
}

/* The text of a thread's process, which has the colour: by PID. */
function process_of_thread(text) {
	const p = process(text), whole = results.who.process.find((other) => process(other).pid === p.pid);
	return whole === undefined ? text : whole;
}

/* The colour of a slice of time: its thread's, if each thread is alone. */
function color_of_slice(r, i) {
	const text = thread_texts.get(r.tid[i]);
	return group_of(text === undefined ? r.process[i] : text).color;
}

/* A group has the same colour everywhere: the first colours are for groups with the largest share of any measure. */
function paint() {
	const share = new Map();
	for (const [name, column, source] of [['cpu', 'oncpu_ns'], ['memory', 'now_bytes', 'rss'], ['io', 'bytes'],
		['waits', 'wait_ns'], ['memory', 'alloc_bytes', 'slab']]) {
		const r = results[name], sums = new Map();
		let all = 0;
		for (let i = 0; i < r.cnt; i++) {
			const v = r[column][i], g = group_of(r.process[i]);
			if ((source && texts[r.source[i]] !== source) || g.color === UNKNOWN || g.is_other || g.is_rest || !v)
				continue;
			sums.set(g, (sums.get(g) || 0) + v);
			all += v;
		}
		for (const [g, v] of sums)
			share.set(g, Math.max(share.get(g) || 0, v / all));
	}
	for (const [g] of [...share].sort((a, b) => b[1] - a[1])) {
		if (!colors.has(g.key))
			colors.set(g.key, nth_color(colors.size));
		g.color = colors.get(g.key);
	}
}

/* Draws everything again. */
function regroup() {
	begin_groups();
	paint();
	regrouped++;
	name_window();
	redraw();
}
let regrouped = 0;

function fold(name) {
	if (!unfolded.delete(name))
		unfolded.add(name);
	regroup();
}

/* ---- in the address ---- */

const choices = () => (by ? ',by=' + by : '') + (scope === 'machine' && has_command() ? ',machine' : '') + (unfolded.size ? ',open=' + [...unfolded].map(encodeURIComponent).join('+') : '');

function take_choices() {
	const named = /,by=([a-z]+)/.exec(location.hash), open = /,open=([^,]*)/.exec(location.hash);
	scope = /,machine/.test(location.hash) ? 'machine' : '';
	by = named && BY[named[1]] && (named[1] !== 'thread' || source !== own_data) ? named[1] : by;
	unfolded.clear();
	if (open)
		open[1].split('+').forEach((name) => unfolded.add(decodeURIComponent(name)));
}

function add_group_choice() {
	const choice = $('by');
	$('scope').hidden = !has_command();
	$('scope').onchange = () => set_scope($('scope').value);
	const values = Object.keys(BY).filter((value) => value !== 'thread' || source !== own_data);
	choice.append(...values.map((value) => element('option', { value }, 'by ' + value)));
	choice.onchange = () => {
		by = choice.value;
		/* other rows are asked for */
		if (source !== own_data && served_data.has_threads !== (by === 'thread'))
			go(edges[from], edges[to]);
		else
			regroup();
	};
}

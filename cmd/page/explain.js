/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * What was selected, explained: beside the charts, what `report why` says of the window and of a group or a thread, and the
 * command that says the same in a terminal. A page in a file has no program to ask, and shows the command alone.
 */
let selected = null;	/* { label, options: [[option, value], ...] }; null: all threads */
let explained = '';	/* the question that was answered last */

/* A process has its number; other groups have their name. */
function selection_of(g) {
	if (g.tid)
		return selection_of_thread(g.tid, g.comm);
	if (g.pid)
		return selection_of_process(g.pid, g.comm);
	return by === 'name' && g.name ? { label: g.label, options: [['comm', g.name]] } : null;
}

const selection_of_process = (pid, comm) => ({ label: comm + ' ' + pid, options: [['pid', pid]] });
const selection_of_thread = (tid, comm) => ({ label: comm + ', thread ' + tid, options: [['tid', tid]] });

function selected_command(view) {
	return command(view) + (selected ? selected.options.map(([name, value]) => ' --' + name + ' ' + quoted(String(value))).join('') : '');
}

/* A figure as its column says: ns, bytes, an instant, or as it is. */
function figure(name, v) {
	if (v === null)
		return '';
	if (typeof v !== 'number' || /^(pid|tid|cpu|ino)$/.test(name))
		return String(v);
	if (/^(at|t|start|end)_ns$/.test(name))
		return instant(v) + ' s';
	return name.endsWith('_ns') ? duration(v) : name.endsWith('bytes') ? bytes(v) : v.toLocaleString('en-US', { maximumFractionDigits: 1 });
}

/* open(row): what a click on the first cell of a row does. */
function section_table(title, rows, open) {
	const names = Object.keys(rows[0]).filter((name) => rows.some((row) => row[name] !== null));
	const is_text = (name) => rows.some((row) => typeof row[name] === 'string');
	const part = (tag, name, text) => element(tag, { class: is_text(name) ? 'text' : '', title: text }, text);
	if (names.length === 1)
		return [element('h3', {}, title), ...rows.map((row) => element('p', { class: 'answer' }, String(row[names[0]])))];
	const first = (name, row) => element('td', { class: 'text', title: row[name] },
		element('button', { class: 'open', onclick: open(row) }, String(row[name])));
	const cells = (row) => names.map((name, i) => i || !open ? part('td', name, figure(name, row[name])) : first(name, row));
	const heading = (name) => name.replace(/_(ns|pct)$/, (end) => end === '_pct' ? ' %' : '').replace(/_/g, ' ');
	const lines = (some) => some.map((row) => element('tr', {}, ...cells(row)));
	const body = element('tbody', {}, ...lines(rows.slice(0, ROWS))), rest = rows.slice(ROWS);
	const more = element('button', { onclick: () => { body.append(...lines(rest)); more.remove(); } }, rest.length + ' more');
	return [element('h3', {}, title), element('div', { class: 'table' }, element('table', {},
		element('thead', {}, element('tr', {}, ...names.map((name) => part('th', name, heading(name))))), body), ...(rest.length ? [more] : []))];
}

const selected_question = (view) => 'report?view=' + view + '&from=' + edges[from] + '&to=' + edges[to] +
	(selected ? selected.options.map(([name, value]) => '&' + name + '=' + encodeURIComponent(value)).join('') : '');

/* Asks, unless this question was the last one. */
async function explain() {
	const question = selected_question('why');
	if ($('why').hidden || question === explained)
		return;
	explained = question;
	clear_flame();
	$('why-whom').textContent = 'Why? ' + (selected ? selected.label : 'all threads together') + ', ' + instant(edges[from]) + ' .. ' + instant(edges[to]) + ' s';
	$('why-command').textContent = selected_command('why');
	if (source === own_data) {
		$('why-text').replaceChildren(element('p', { class: 'note' }, 'This command explains it; in `ebpfrec view` the answer stands here.'));
		return;
	}
	$('why-text').replaceChildren(element('p', { class: 'note' }, 'asking ...'));
	try {
		const answer = await fetch(question, { signal: source.beside.signal });
		const text = await answer.text();
		if (question !== explained)
			return;
		if (!answer.ok)
			throw new Error(text);
		const sections = Object.entries(JSON.parse(text)).filter(([, rows]) => rows.length);
		$('why-text').replaceChildren(...sections.flatMap(([title, rows]) => section_table(title, rows)));
		if (!sections.length)
			$('why-text').replaceChildren(element('p', { class: 'note' }, 'There is nothing to explain: nothing of it ran or waited in this window.'));
	} catch (error) {
		/* another window has overtaken it */
		if (error.name === 'AbortError')
			explained = '';
		else
			$('why-text').replaceChildren(element('p', { class: 'incomplete' }, 'It could not be explained: ' + error.message));
	}
}

function select(what) {
	selected = what;
	$('why').hidden = false;
	explained = '';
	explain();
	/* its threads come first now */
	pictures.forEach((picture) => { picture.data = null; });
	redraw();
	$('why').scrollIntoView({ block: 'nearest' });
}

function add_explain() {
	$('explain').onclick = () => select(selected);
	$('why-all').onclick = () => select(null);
	$('why-close').onclick = () => { $('why').hidden = true; selected = null; };
	add_flames_of_selection();
}

/* ---- flame graphs of what was selected ---- */

/* View -> [the word on its button, what to say where it has no rows]. */
const FLAME_BUTTONS = {
	profile: ['Code that ran', 'No samples of it are in this window; `ebpfrec record --profile` records some.'],
	stacks: ['Allocations', 'No stacks of its allocations are in this window; `ebpfrec record --stacks` records some.'],
	offcpu: ['Waits', 'No waits of it with their stacks are in this window; `ebpfrec record --offcpu` records some.'],
};

function clear_flame() {
	$('why-flame').replaceChildren();
}

async function show_flame(view) {
	const question = selected_question(view), box = $('why-flame'), mine = explained;
	box.replaceChildren(element('p', { class: 'note' }, 'asking ...'));
	try {
		const answer = await fetch(question, { signal: source.beside.signal }), text = await answer.text();
		if (mine !== explained)
			return;
		if (!answer.ok)
			throw new Error(text);
		const rows = JSON.parse(text);
		box.replaceChildren(element('code', {}, selected_command(view) + ' --format html > flame.html'));
		/* time without a sample has a row, too */
		if (rows.some((row) => row.samples || row.waits))
			draw_flame(box, columns_from(rows), ...FLAMES[view]);
		else
			box.replaceChildren(element('p', { class: 'note' }, FLAME_BUTTONS[view][1]));
	} catch (error) {
		if (error.name !== 'AbortError')
			box.replaceChildren(element('p', { class: 'incomplete' }, 'It could not be had: ' + error.message));
	}
}

function add_flames_of_selection() {
	$('why-flames').hidden = source === own_data;
	$('why-flames').append('Flame graph:', ...Object.entries(FLAME_BUTTONS).map(([view, [word]]) =>
		element('button', { onclick: () => show_flame(view) }, word)));
}

/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Explains the selection: beside the charts, the output of `report why` for the window, a group or a thread, and the equivalent command. A
 * page in a file has no server to ask, and shows the command alone.
 */
let selected = null;	/* { label, options: [[option, value], ...] }; null: all threads */
let explained = '';	/* the question that was answered last */
let asked_causes = '';	/* the window whose causes are shown */

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
	return command(view) + (selected ? selected.options.map(([name, value]) => ' --' + name + ' ' + quoted(String(value))).join('') : scope === 'command' ? ' --workload' : '');
}

/* A figure in the format of its column: ns, bytes, an instant, or raw. */
function figure(name, v) {
	if (v === null)
		return '';
	if (typeof v !== 'number' || /^(pid|tid|cpu|ino)$/.test(name))
		return String(v);
	if (/^(at|t|start|end)_ns$/.test(name))
		return instant(v) + ' s';
	return name.endsWith('_ns') ? duration(v) : name.endsWith('bytes') ? bytes(v) : v.toLocaleString('en-US', { maximumFractionDigits: 1 });
}

/* open(row): the action of a click on the first cell of a row. */
function section_table(title, rows, open) {
	const names = Object.keys(rows[0]).filter((name) => rows.some((row) => row[name] !== null));
	const is_text = (name) => rows.some((row) => typeof row[name] === 'string');
	const part = (tag, name, text) => element(tag, { class: is_text(name) ? 'text' : '', title: text }, text);
	if (names.length === 1)
		return [element('h3', {}, title), ...rows.map((row) => element('p', { class: 'answer' }, String(row[names[0]])))];
	const first = (name, row, what) => element('td', { class: is_text(name) ? 'text' : '', title: row[name] },
		element('button', { class: 'open', onclick: what }, String(row[name])));
	const cells = (row) => names.map((name, i) => i || !open || !open(row) ? part('td', name, figure(name, row[name])) : first(name, row, open(row)));
	const heading = (name) => name.replace(/_(ns|pct)$/, (end) => end === '_pct' ? ' %' : '').replace(/_/g, ' ');
	const lines = (some) => some.map((row) => element('tr', {}, ...cells(row)));
	const body = element('tbody', {}, ...lines(rows.slice(0, ROWS))), rest = rows.slice(ROWS);
	const more = element('button', { onclick: () => { body.append(...lines(rest)); more.remove(); } }, rest.length + ' more');
	return [element('h3', {}, title), element('div', { class: 'table' }, element('table', {},
		element('thead', {}, element('tr', {}, ...names.map((name) => part('th', name, heading(name))))), body), ...(rest.length ? [more] : []))];
}

/* A row of a thread or a process explains that one. */
const explain_row = (row) => row.tid ? () => select(selection_of_thread(row.tid, row.comm)) : row.pid ? () => select(selection_of_process(row.pid, row.comm)) : null;

const selected_question = (view) => question_of(view, selected);
const question_of = (view, selected) => 'report?view=' + view + '&from=' + edges[from] + '&to=' + edges[to] +
	(selected ? selected.options.map(([name, value]) => '&' + name + '=' + encodeURIComponent(value)).join('') : scope === 'command' ? '&workload=1' : '');

/* Shows the threads that waited for the selected thread or process: elements. */
let waiters = [];
async function show_waiters(question) {
	waiters = [];
	if (!selected)
		return;
	const answer = await fetch(question.replace('view=why', 'view=waiters'), { signal: source.beside.signal });
	const rows = answer.ok ? await answer.json() : [];
	if (rows.length)
		waiters = section_table('Who waited for this one', rows, (row) => () => select(selection_of_thread(row.tid, row.waiter)));
}

/* Asks, unless this question was the last one. */
async function explain() {
	const question = selected_question('why');
	if ($('why').hidden || question === explained)
		return;
	explained = question;
	clear_flame();
	$('why-whom').textContent = 'Why? ' + (selected ? selected.label : scope === 'command' ? 'the command\'s processes' : 'all threads together') + ', ' + window_text();
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
		await show_waiters(question);
		const sections = Object.entries(JSON.parse(text)).filter(([, rows]) => rows.length);
		$('why-text').replaceChildren(...sections.slice(0, 1).flatMap(([title, rows]) => section_table(title, rows)), ...waiters,
			...sections.slice(1).flatMap(([title, rows]) => section_table(title, rows, explain_row)));
		if (!sections.length && !waiters.length)
			$('why-text').replaceChildren(element('p', { class: 'note' }, 'There is nothing to explain: nothing of it ran or waited in this window.'));
	} catch (error) {
		/* another window has overtaken it */
		if (error.name === 'AbortError')
			explained = '';
		else
			$('why-text').replaceChildren(element('p', { class: 'incomplete' }, 'It could not be explained: ' + error.message));
	}
}

/* ---- the causes, which the page opens with ---- */

/* A page in a file has the causes of its whole window; a served page requests them. Drawing does not wait for the sentences. */
async function show_causes() {
	const question = question_of('why', null);
	/* spikes are computed later */
	if (question === asked_causes && causes_found && causes_spikes !== results.spikes)
		draw_causes(causes_found);
	if (question === asked_causes)
		return;
	causes_found = null;
	asked_causes = question;
	let found = results['why_In short'] ? results['why_In short'].answer.map((text) => texts[text]) : [];
	if (source !== own_data) {
		try {
			const answer = await fetch(question, { signal: source.beside.signal });
			found = answer.ok ? (await answer.json())['In short'].map((row) => row.answer) : [];
		} catch (error) {
			asked_causes = '';
			return;
		}
	}
	draw_causes(found);
}

let causes_found = null, causes_spikes = null;	/* sentences that are shown, and with which spikes */

function draw_causes(found) {
	causes_found = found;
	causes_spikes = results.spikes;
	const of_page = source === own_data && (from || to < edges.length - 1) ? ['Of the whole page:'] : [];
	const line = (text, open, word) => element('p', {}, text, ...(open ? [' ', element('button', { class: 'open', onclick: open }, word)] : []));
	/* a burst of memory has a line of its own here, which opens it */
	const others = found.filter((text) => !results.spikes.cnt || !/ of memory within /.test(text));
	const lines = others.length ? others : ['Nothing ran or waited in this window.'];
	$('causes-text').replaceChildren(...of_page.map((text) => element('p', { class: 'note' }, text)),
		...lines.map((text, i) => i ? line(text) : line(text, () => select(null), 'why?')), ...memory_causes(line), ...sampled(line), ...rest_of_machine(line));
}

const GROWN = 16 << 20;	/* bytes: growth of less is not worth a sentence */

/* The processes that grew most, and spikes: [a line each]. */
function memory_causes(line) {
	const r = results.memory, grown = new Map(), s = results.spikes, lines = [], shown = events_of({ result: 'spikes', at: 'start_ns' });
	for (let i = lower(r, from); i < r.cnt && r.bin[i] < to; i++) {
		if (texts[r.source[i]] !== 'rss' || !in_scope(r.process[i]) || process(r.process[i]).is_other)
			continue;
		const g = grown.get(r.process[i]) || { bytes: 0, peak: 0, at: 0 };
		g.bytes += r.alloc_bytes[i];
		if ((r.peak_bytes[i] || 0) > g.peak)
			[g.peak, g.at] = [r.peak_bytes[i], r.bin[i]];
		grown.set(r.process[i], g);
	}
	const [text, most] = [...grown].sort((a, b) => b[1].peak - a[1].peak)[0] || [];
	const around = (a, b) => () => go(a - (b - a), b + (b - a));
	if (most && Math.min(most.peak, most.bytes) >= GROWN)
		lines.push(line(process(text).comm + ' ' + process(text).pid + ' grew by ' + bytes(most.bytes) + ' and had most memory, ' + bytes(most.peak) + ', at ' +
			(edges[most.at] / 1e9).toFixed(2) + ' s', around(edges[most.at], edges[most.at + 1]), 'show'));
	if (shown.length) {
		const largest = shown.reduce((best, i) => s.bytes[i] > s.bytes[best] ? i : best);
		lines.push(line(plural(shown.length, 'spike') + ' of memory, the largest ' + bytes(s.bytes[largest]) + ' in ' + duration(s.dur_ns[largest]) + ' by ' +
			(s.comm[largest] === null ? '[unknown]' : texts[s.comm[largest]]), around(s.start_ns[largest], s.start_ns[largest] + s.dur_ns[largest]), 'show'));
	}
	return lines;
}

/* The flame graph is below the charts. */
const sampled = (line) => $('flame-profile').hidden ? [] :
	[line('What ran was sampled.', () => $('flame-profile').scrollIntoView({ block: 'center' }), 'show the code')];

function rest_of_machine(line) {
	if (!has_command())
		return [];
	if (scope === 'machine')
		return [line('These are figures of the whole machine.', () => set_scope('command'), 'the command alone')];
	const rest = sum_of(results.cpu, ['oncpu_ns'], (r, i) => is_known(r, i) && !in_scope(r.process[i]));
	return [line('The rest of the machine used ' + percent(100 * rest / span_ns() / Math.max(1, count_cpus())) + ' % of the CPUs.', () => set_scope('machine'), 'show the machine')];
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
	$('why-all').onclick = () => select(null);
	$('why-close').onclick = () => { $('why').hidden = true; selected = null; };
	add_flames_of_selection();
}

/* ---- flame graphs of the selection ---- */

/* View -> [the word on its button, the message if it has no rows]. */
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

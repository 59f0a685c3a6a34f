/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Search: the tables show at once the processes that match. After Enter, a page that is served also lists the processes,
 * commands, threads, files and locks of the window that do; a click on one of them explains it.
 */
function search_tables() {
	find_unseen();
	draw_seen();
	timer = setTimeout(draw_unseen);
}

/* Columns of each kind of search result, and the selection that a click on a row explains. */
const FOUND = {
	Commands: [['cmdline', 'comm', 'pid'], (row) => selection_of_process(row.pid, row.comm)],
	Threads: [['comm', 'pid', 'tid', 'running_ns', 'runnable_ns', 'preempted_ns', 'disk_ns', 'sleeping_ns'], (row) => selection_of_thread(row.tid, row.comm)],
	Files: [['file', 'comm', 'pid', 'ios', 'bytes', 'lat_max_ns'], (row) => row.pid === null ? null : selection_of_process(row.pid, row.comm)],
	Locks: [['object', 'comm', 'pid', 'waits', 'waiters', 'wait_ns', 'holder', 'meanwhile'], (row) => selection_of_process(row.pid, row.comm)],
};

function found_processes(word) {
	const rows = results.who.process.map(process).filter((p) => p.pid && matches(word, p.comm, p.pid)).slice(0, ROWS);
	return rows.map((p) => ({ comm: p.comm, pid: Number(p.pid) }));
}

function list_found(title, rows, names, select_row) {
	return rows.length ? section_table(title, rows.map((row) => Object.fromEntries(names.map((name) => [name, row[name]]))),
		(row) => () => select(select_row(row))) : [];
}

function show_found(word, all) {
	const lists = [list_found('Processes', found_processes(word), ['comm', 'pid'], (row) => selection_of_process(row.pid, row.comm)),
		...Object.entries(FOUND).map(([title, [names, select_row]]) => list_found(title, all[title], names, select_row))].flat();
	const close = element('button', { onclick: close_found }, 'Close');
	$('found').replaceChildren(element('div', { class: 'row' }, element('h2', {}, 'Found in this window: ' + word), close), ...lists);
	if (!lists.length)
		$('found').append(element('p', { class: 'note' }, 'No process, command, thread, file or lock of this window has this in its name.'));
	$('found').hidden = false;
	if (document.activeElement === $('search'))
		($('found').querySelector('td .open') || close).focus();
}

/* Another window has other figures. */
function find_again() {
	if (!$('found').hidden)
		find();
}

function close_found() {
	$('found').hidden = true;
	found_of = '';
	$('search').focus();
}

/* The last search: a word and a window. */
let found_of = '';

async function find() {
	const word = wanted(), asked_for = word + ' ' + edges[from] + '-' + edges[to];
	if (!word || source === own_data || asked_for === found_of)
		return;
	found_of = asked_for;
	const answer = await fetch('search?word=' + encodeURIComponent(word) + '&from=' + edges[from] + '&to=' + edges[to]);
	const text = await answer.text();
	if (asked_for !== found_of)
		return;
	if (answer.ok)
		show_found(word, JSON.parse(text));
	else
		$('found').replaceChildren(element('p', { class: 'incomplete' }, 'It could not be searched: ' + text));
	$('found').hidden = false;
}

function add_search() {
	$('search').oninput = search_tables;
	if (source !== own_data)
		Object.assign($('search'), { placeholder: 'command, process, thread, file, lock ( / )', size: 36 });
	$('search').addEventListener('keydown', (event) => {
		if (event.key === 'Enter')
			find();
	});
	$('found').addEventListener('keydown', (event) => {
		if (event.key === 'Escape')
			close_found();
	});
}

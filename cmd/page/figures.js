/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* The figures of the window above the charts, and commands for the same window in other programs. */

/* The sum of columns over the bins shown. */
function sum_of(r, columns, where) {
	let sum = 0;
	for (let i = lower(r, from); i < r.cnt && r.bin[i] < to; i++)
		if (!where || where(r, i))
			for (const c of columns)
				sum += r[c][i] || 0;
	return sum;
}

/* Resident memory of all at the end of the bin in which it was highest. */
function highest_memory() {
	const r = results.memory, sums = new Float64Array(to - from);
	for (let i = lower(r, from); i < r.cnt && r.bin[i] < to; i++)
		if (texts[r.source[i]] === 'rss' && is_in_scope(r, i))
			sums[r.bin[i] - from] += r.now_bytes[i] || 0;
	return sums.reduce((a, b) => Math.max(a, b), 0);
}

function lost_events() {
	return sum_of(results.loss, ['lost_events'], (r, i) => texts[r.what[i]] === 'all');
}

/* [name, value, the table that lists it by process]; without figures that were not recorded. */
function figures() {
	const s = results.states, io = results.io, threads = (...columns) => sum_of(s, columns, is_in_scope);
	const moved = (op) => sum_of(io, ['bytes'], (r, i) => texts[r.op[i]] === op && is_in_scope(r, i));
	const found = [];
	if (was_recorded('sched.switch')) {
		const busy = sum_of(results.cpu, ['oncpu_ns'], (r, i) => is_known(r, i) && is_in_scope(r, i));
		found.push(['CPUs busy', percent(100 * busy / span_ns() / Math.max(1, count_cpus())) + ' % of ' + count_cpus(), 'cpu']);
	}
	if (source.is_partial)
		return found;
	if (was_recorded('sched.switch')) {
		found.push(['Waited for a CPU', duration(threads('runnable_ns', 'preempted_ns')), 'waits']);
		if (threads('throttled_ns'))
			found.push(['Throttled', duration(threads('throttled_ns')), 'states']);
		found.push(['Waited for a disk', duration(threads('disk_ns')), 'states'],
			['Other uninterruptible sleep', duration(threads('uninterruptible_ns')), 'states']);
	}
	if (was_recorded('alloc.rss'))
		found.push(['Resident memory, highest', bytes(highest_memory()), 'memory']);
	if (was_recorded('block'))
		found.push(['Read', bytes(moved('read')), 'io'], ['Written', bytes(moved('write')), 'io'], ['Requests', count(sum_of(io, ['ios'], is_in_scope)), 'io']);
	return found;
}

/* Targets of the window: [name, the command that makes it, the viewer's address of it, the name of the file]. */
function elsewhere() {
	return [['A page that needs no server', command_of('export', '--to html'), 'download?as=page&', 'window.html'],
		['Tables as CSV', command_of('export', '--to csv'), 'download?as=csv&', 'window-csv.zip'],
		['A trace for ui.perfetto.dev', command_of('export', '--to perfetto'), 'download?as=perfetto&', 'window.pftrace'],
		['A trace of this window', command_of('cut', '-o window.ebpfrec')],
		['The same as one file', command_of('bundle', '--max-size 1GB -o window.zip'), 'download?as=cut&', 'window.zip'],
		['For a bug report', command_of('bundle', '-o bug.zip'), 'download?as=bundle&', 'bug.zip'],
		['Questions in SQL', 'ebpfrec sql -i ' + quoted($('app').dataset.trace)]];
}

function draw_figures() {
	$('figures').replaceChildren(...figures().map(([name, value, table]) =>
		element('button', { title: 'by process', onclick: () => show_table(table) }, element('b', {}, value), element('span', {}, name))));
	$('elsewhere').replaceChildren(...elsewhere().map(([name, text, link, file]) => element('tr', {},
		element('td', { class: 'text' }, link && source !== own_data ?
			element('a', { href: link + 'from=' + edges[from] + '&to=' + edges[to], download: file }, name) : name),
		element('td', { class: 'text' }, element('code', {}, text)))));
}

function add_figures() {
	parts.push({ box: $('figures'), draw: draw_figures });
}

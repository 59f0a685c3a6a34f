/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * The data of a window: results, which are columns of rows by bin and process, and their values by process.
 * Names come from the trace and are hostile: they reach the document through textContent alone.
 */
/* Colours that people with any kind of colour blindness tell apart (Okabe and Ito, and Tol). */
const PALETTE = ['#0072b2', '#e69f00', '#009e73', '#cc79a7', '#56b4e9', '#d55e00', '#b8a600', '#882255',
	'#7a7ad1', '#44aa99', '#a0703c', '#6f8f2f'];
const OTHER = '#9a9a9a', UNKNOWN = '#5f6b7a', PEAK = '#808080';

const $ = (id) => document.getElementById(id);

const byteRate = (v) => bytes(v) + '/s';
const rate = (v) => v.toLocaleString('en-US', { maximumFractionDigits: 1 });
const instant = (ns) => (ns / 1e9).toFixed(9).replace(/0{1,6}$/, '');
/* In the exact form of an option's value. */
const option = (ns) => (ns / 1e9).toFixed(9).replace(/\.?0+$/, '') + 's';

let edges = [];		/* of bins, ns from the trace's start */
let results = {}, texts = [];
let from = 0, to = 0;	/* bins shown: [from, to) */
const processes = new Map();	/* number of the text -> { pid, comm, is_other, name, group } */

/* Converts differences to absolute values. */
function take_data(all) {
	texts = all.texts;
	results = all.results;
	edges = all.edges;
	for (let i = 1; i < edges.length; i++)
		edges[i] += edges[i - 1];
	for (const r of Object.values(results)) {
		r.cnt = Object.values(r)[0].length;
		for (const column of Object.values(r).slice(0, -1))
			while (column.length < r.cnt)
				column.push(0);
		for (let i = 1; r.bin && i < r.cnt; i++)
			r.bin[i] += r.bin[i - 1];
	}
	results.spikes = results.spikes || { cnt: 0 };
	counted.clear();
	for (const name of ['stacks', 'profile'])
		results[name] = results[name] || { cnt: 0, samples: [] };
	from = 0;
	to = edges.length - 1;
	processes.clear();
	begin_groups();
	paint();
}

/*
 * "upid pid name", or for a thread "tUTID tid pid name"; "other", or "other" or "rest" and a name, for processes without rows of their own.
 * With a recorded command, "rest", and a number after an r, are for processes outside its process tree.
 */
function process(text) {
	let p = processes.get(text);
	if (!p) {
		const parts = /^r?(\d+) (\d*) (.*)$/s.exec(texts[text]), name = texts[text].replace(/^(other|rest) ?/, '');
		const thread = /^r?t\d+ (\d*) (\d*) (.*)$/s.exec(texts[text]);
		/* [unknown] and [filtered] have no PID, and are not processes */
		p = thread ? { tid: thread[1], pid: thread[2], comm: thread[3] } : parts ? { pid: parts[2], comm: parts[3] } : { pid: '', comm: name || 'other', is_other: true, name };
		p.is_rest = texts[text][0] === 'r';
		processes.set(text, p);
	}
	return p;
}

/* The first row of a bin or later. */
function lower(r, bin) {
	let low = 0, high = r.cnt;
	while (low < high) {
		const mid = (low + high) >> 1;
		if (r.bin[mid] < bin)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* Black or white, the one with the larger contrast to a colour: at least 4.58 (WCAG's relative luminance). */
function text_on(color) {
	const hex = /^#(..)(..)(..)$/.exec(color), rgb = hex ? hex.slice(1).map((v) => parseInt(v, 16)) : color.match(/\d+/g).map(Number);
	const linear = rgb.map((v) => v / 255).map((v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
	return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2] > 0.179 ? '#000000' : '#ffffff';
}

/* The palette, then its colours mixed with white, then with black. */
function nth_color(i) {
	const color = PALETTE[i % PALETTE.length], turn = Math.floor(i / PALETTE.length) % 3;
	const mixed = [1, 3, 5].map((at) => {
		const v = parseInt(color.slice(at, at + 2), 16);
		return Math.round(turn === 1 ? v + (255 - v) * 0.5 : turn === 2 ? v * 0.55 : v);
	});
	return 'rgb(' + mixed.join() + ')';
}

/* A fact about the trace; '': it has none. */
function info(name) {
	const i = results.info.key.findIndex((key) => texts[key] === name);
	return i < 0 || results.info.value[i] === null ? '' : texts[results.info.value[i]];
}

const was_recorded = (source) => info('recorded').split(' ').includes(source);

/* The source without which a view has no figures. */
const NEEDS = { cpu: 'sched.switch', sched: 'sched.switch', states: 'sched.switch', alloc: 'alloc.rss', io: 'block' };

/* Bins in which something is missing that `ebpfrec report VIEW` needs: [from, to). */
function lost_of(view) {
	const r = results.loss, found = [];
	for (let i = 0; i < r.cnt; i++) {
		if (texts[r.what[i]] !== 'report ' + view)
			continue;
		const last = found[found.length - 1];
		if (last && last[1] >= r.bin[i])
			last[1] = r.bin[i] + 1;
		else
			found.push([r.bin[i], r.bin[i] + 1]);
	}
	return found;
}

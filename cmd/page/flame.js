/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * A flame graph: stacks that begin alike share their first frames, and the width of a frame is the sum of its stacks. Rows are elements,
 * placed in percent of the box, so that they follow its width.
 */
const FRAME_HEIGHT = 18, FRAME_MIN = 1;	/* px; narrower frames are left out until they are zoomed into */

function flame_node(name, above) {
	return { name, above, total: 0, below: new Map(), depth: above ? above.depth + 1 : 0 };
}

/* stacks: [["[source]", "process", "outermost", ..., "innermost"], number] */
function flame_tree(stacks) {
	const root = flame_node('all');
	for (const [frames, value] of stacks) {
		let at = root;
		at.total += value;
		for (const name of frames) {
			let next = at.below.get(name);
			if (!next)
				at.below.set(name, next = flame_node(name, at));
			next.total += value;
			at = next;
		}
	}
	return root;
}

/* The same name has the same colour; colours mean nothing else. */
function flame_color(name) {
	let hash = 7;
	for (let i = 0; i < name.length; i++)
		hash = (hash * 31 + name.charCodeAt(i)) | 0;
	return 'hsl(' + (20 + Math.abs(hash) % 40) + ' ' + (70 + Math.abs(hash >> 8) % 25) + '% ' + (62 + Math.abs(hash >> 16) % 14) + '%)';
}

function flame_graph(box, stacks, format) {
	const root = flame_tree(stacks);
	let shown = root, word = '', drawn = [], all = 1;	/* all: the width, which is asked for once: each answer costs a layout */
	const plot = element('div', { class: 'frames', role: 'img' }), about = element('output', { class: 'note' });
	const search = element('input', { type: 'search', placeholder: 'function ( / )', 'aria-label': 'search for a function', oninput: () => {
		word = search.value.trim().toLowerCase();
		draw();
	} });
	const zoom = (node) => { shown = node; draw(); };
	const matches = (node) => word && node.name.toLowerCase().includes(word);

	/* A share refers to the node's source: sources overlap, so that a share of their sum would mean nothing. */
	function share(node, value) {
		let source = node;
		while (source.depth > 1)
			source = source.above;
		return format(value) + (source.depth ? ' (' + percent(100 * value / source.total) + ' % of ' + source.name + ')' : '');
	}

	function place(node, x, width) {
		const text = node === root ? node.name : node.name + ': ' + share(node, node.total);
		const e = element('div', { title: text, color: flame_color(node.name), onclick: () => zoom(node),
			class: (matches(node) ? 'found' : '') + (node.depth < shown.depth ? ' above' : '') }, width > 30 ? node.name : '');
		e.style.left = 100 * x / all + '%';
		e.style.width = 100 * width / all + '%';
		e.style.top = node.depth * FRAME_HEIGHT + 'px';
		drawn.push(e);
	}

	function place_below(node, x, width) {
		let deepest = node.depth;
		place(node, x, width);
		for (const next of [...node.below.values()].sort((a, b) => b.total - a.total)) {
			const part = width * next.total / node.total;
			if (part < FRAME_MIN)
				break;
			deepest = Math.max(deepest, place_below(next, x, part));
			x += part;
		}
		return deepest;
	}

	/* A frame that matches counts with all below it, once. */
	const found = (node) => matches(node) ? node.total : [...node.below.values()].reduce((sum, next) => sum + found(next), 0);

	function draw() {
		all = plot.clientWidth;
		drawn = [];
		for (let node = shown.above; node; node = node.above)
			place(node, 0, all);
		const deepest = place_below(shown, 0, all);
		plot.replaceChildren(...drawn);
		plot.style.height = (deepest + 1) * FRAME_HEIGHT + 'px';
		const parts = shown === root ? [...root.below.values()].sort((a, b) => b.total - a.total).slice(0, 8) : [shown];
		about.textContent = parts.map((node) => node.name + ': ' + (word ? 'found ' + share(node, found(node)) : share(node, node.total))).join(', ');
	}

	box.append(element('div', { class: 'row' }, element('button', { onclick: () => zoom(root) }, 'Whole'),
		element('button', { onclick: () => zoom(shown.above || root) }, 'Up'), search, about), element('div', { class: 'flame' }, plot));
	draw();
	return { out: () => zoom(shown.above || root), whole: () => zoom(root), search };
}

const flame_format = (unit) => unit === 'bytes' ? bytes : unit === 'ns' ? duration : count;

/* The page of a single flame graph, with stacks as lines: "[source];process;outermost;...;innermost number". */
function flame_page() {
	const lines = document.getElementById('stacks'), box = document.getElementById('flame');
	const stacks = lines.textContent.split('\n').filter((line) => line).map((line) => {
		const at = line.lastIndexOf(' ');
		return [line.slice(0, at).split(';'), Number(line.slice(at + 1))];
	});
	document.title = document.querySelector('h1').textContent;
	if (!stacks.length) {
		box.textContent = 'No stacks were recorded in this window.';
		return;
	}
	const graph = flame_graph(box, stacks, flame_format(lines.dataset.unit));
	document.addEventListener('keydown', (event) => {
		const keys = { Backspace: graph.out, 0: graph.whole, '/': () => graph.search.focus() };
		if (event.target === graph.search || !keys[event.key] || event.ctrlKey || event.metaKey || event.altKey)
			return;
		event.preventDefault();
		keys[event.key]();
	});
}

if (document.getElementById('flame'))
	flame_page();

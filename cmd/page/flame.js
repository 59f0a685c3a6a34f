/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * A flame graph: stacks that begin alike share their first frames, and the width of a frame is the sum of its stacks. Rows are elements,
 * placed in percent of the box, so that they follow its width.
 */
const FRAME_HEIGHT = 18, FRAME_MIN = 1;	/* px; narrower frames are left out until they are zoomed into */

function flame_node(name, above) {
	return { name, above, total: 0, before: 0, own: null, below: new Map(), depth: above ? above.depth + 1 : 0 };
}

/* stacks: [["[source]", "process", "outermost", ..., "innermost"], number, own]; own: of a difference, see flame_page() */
function flame_tree(stacks) {
	const root = flame_node('all');
	for (const [frames, value, own] of stacks) {
		let at = root;
		at.total += value;
		at.before += own ? own.before : 0;
		for (const name of frames) {
			let next = at.below.get(name);
			if (!next)
				at.below.set(name, next = flame_node(name, at));
			next.total += value;
			next.before += own ? own.before : 0;
			at = next;
		}
		at.own = own;
	}
	return root;
}

/* Colours of a difference: red is more than before, blue less, grey no change. */
function flame_change(own) {
	const much = own && own.change !== null ? Math.min(1, 0.3 + Math.abs(own.change)) : 0;
	return much ? 'hsl(' + (own.change > 0 ? 8 : 212) + ' 85% ' + (88 - 26 * much) + '%)' : 'hsl(0 0% 84%)';
}

/* The same name has the same colour; colours mean nothing else. */
function flame_color(name) {
	let hash = 7;
	for (let i = 0; i < name.length; i++)
		hash = (hash * 31 + name.charCodeAt(i)) | 0;
	return 'hsl(' + (20 + Math.abs(hash) % 40) + ' ' + (70 + Math.abs(hash >> 8) % 25) + '% ' + (62 + Math.abs(hash >> 16) % 14) + '%)';
}

function flame_graph(box, stacks, format) {
	const root = flame_tree(stacks), is_difference = stacks.some(([, , own]) => own);
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
		const changed = is_difference ? ', A ' + format(node.before) + (node.own ? '; itself ' + format(node.own.now) + ', A ' + format(node.own.before) +
			', ' + node.own.says : '') : '';
		const text = (node === root ? node.name : node.name + ': ' + share(node, node.total)) + changed;
		const e = element('div', { title: text, color: is_difference ? flame_change(node.own) : flame_color(node.name), onclick: () => zoom(node),
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

/*
 * The page of a single flame graph, with stacks as lines: "[source];process;outermost;...;innermost number". Of a difference, a tab and the
 * number of A follow, another and the change if it is significant, another and what is known about it; stacks that only A has make a second graph.
 */
function flame_page() {
	const lines = document.getElementById('stacks'), box = document.getElementById('flame');
	const stacks = lines.textContent.split('\n').filter((line) => line).map((line) => {
		const [stack, before, change, says] = line.split('\t'), at = stack.lastIndexOf(' '), now = Number(stack.slice(at + 1));
		return [stack.slice(0, at).split(';'), now,
			says === undefined ? undefined : { now, before: Number(before), change: change ? Number(change) : null, says }];
	});
	document.title = document.querySelector('h1').textContent;
	if (!stacks.length) {
		box.textContent = 'No stacks were recorded in this window.';
		return;
	}
	const format = flame_format(lines.dataset.unit), gone = stacks.filter(([, now, own]) => own && !now && own.before);
	const graph = flame_graph(box, stacks, format);
	if (gone.length) {
		const below = element('div');
		document.querySelector('details').before(element('h2', {}, 'What only A has'), below);
		flame_graph(below, gone.map(([frames, , own]) => [frames, own.before, own]), format);
	}
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

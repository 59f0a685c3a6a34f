/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Charts, pictures and the strip by keyboard. Tab selects one, arrows move a cross over it, in small steps with Shift.
 * Enter acts like a click there, or shows the surroundings if a click does nothing. Space begins a range, and shows it
 * when pressed again. + and - zoom around the cross. Escape returns to the page.
 */
const STEER_STEP = 12, STEER_CLOSELY = 1;	/* px */

/*
 * box: the steered element, which gets the cross. o: { area() -> [left, top, width, height of a row, rows], in px;
 * instant(x) -> ns;
 * say(x, y): the cross is there; click(x, y), or null; leave() }
 */
function steer(box, o) {
	const cross = element('div', { class: 'cross', hidden: '' });
	let x = null, row = 0, begin = null;

	const middle = () => o.area()[1] + (row + 0.5) * o.area()[3];
	function place() {
		const [left, top, width, height, rows] = o.area();
		x = Math.max(left, Math.min(x === null ? left + width / 2 : x, left + width));
		row = Math.max(0, Math.min(row, rows - 1));
		const first = begin === null ? x : Math.min(x, begin), last = begin === null ? x : Math.max(x, begin);
		cross.style.left = first - 1 + 'px';
		cross.style.width = last - first + 2 + 'px';
		cross.style.top = top + row * height + 'px';
		cross.style.height = height + 'px';
		cross.hidden = false;
		o.say(x, middle());
	}

	function range() {
		if (begin === null) {
			begin = x;
			return;
		}
		const [a, b] = [begin, x].sort((p, q) => p - q).map(o.instant);
		begin = null;
		if (a < b)
			go(a, b);
	}

	const step = (event) => event.shiftKey ? STEER_CLOSELY : STEER_STEP;
	const keys = {
		ArrowLeft: (event) => { x -= step(event); }, ArrowRight: (event) => { x += step(event); },
		ArrowUp: () => { row--; }, ArrowDown: () => { row++; }, ' ': range,
		Enter: () => { if (o.click) o.click(x, middle()); else zoom(0.2, o.instant(x)); },
		'+': () => zoom(0.5, o.instant(x)), '=': () => zoom(0.5, o.instant(x)), '-': () => zoom(2, o.instant(x)),
		Escape: () => { if (begin === null) box.blur(); begin = null; },
	};
	box.tabIndex = 0;
	box.classList.add('steered');
	box.append(cross);
	box.addEventListener('keydown', (event) => {
		if (event.target !== box || !keys[event.key] || event.ctrlKey || event.metaKey || event.altKey)
			return;
		event.preventDefault();
		event.stopPropagation();
		keys[event.key](event);
		if (document.activeElement === box)
			place();
	});
	/* a mouse needs no cross */
	box.addEventListener('focus', () => { if (box.matches(':focus-visible')) place(); });
	box.addEventListener('blur', () => { cross.hidden = true; begin = null; o.leave(); });
}

/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* What all scripts of the pages use: elements, and numbers as `ebpfrec report` writes them. */
/* Names from a trace are hostile: as attributes and as text they are never markup. */
function element(name, attributes, ...inside) {
	const e = document.createElement(name);
	for (const [key, value] of Object.entries(attributes || {})) {
		if (key === 'color')
			e.style.backgroundColor = value;
		else if (key.startsWith('on'))
			e.addEventListener(key.slice(2), value);
		else
			e.setAttribute(key, value);
	}
	e.append(...inside.map((x) => x instanceof Node ? x : document.createTextNode(x)));
	return e;
}

function scaled(v, units, step, unit) {
	let n = Math.abs(v), i = 0;
	while (i + 1 < units.length && n >= step * 0.9995) {
		n /= step;
		i++;
	}
	const digits = i === 0 ? (Number.isInteger(n) ? 0 : 1) : n < 9.995 ? 2 : n < 99.95 ? 1 : 0;
	/* a tenth is the last digit of larger ones: small ones would all be 0.0 */
	return (v < 0 ? '-' : '') + (n > 0 && n < 0.1 ? n.toPrecision(2) : n.toFixed(digits)) + ' ' + units[i] + (unit || '');
}
const count = (v) => Math.round(v).toLocaleString('en-US');
const plural = (n, what) => count(n) + ' ' + what + (n === 1 ? '' : 's');
const bytes = (v) => scaled(v, ['B', 'KiB', 'MiB', 'GiB', 'TiB'], 1024);
function duration(ns) {
	return Math.abs(ns) < 999500000 ? scaled(ns, ['ns', 'us', 'ms'], 1000) : (ns / 1e9).toFixed(2) + ' s';
}
const percent = (v) => v.toFixed(1);

// SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
//
// trace_processor.mjs: Perfetto's trace_processor, which npm has as WebAssembly, asked from node.
//
//     const tp = await openTrace(dirOfTheWasm, fileOfTheTrace);
//     const rows = await tp.query("SELECT name, value FROM stats");   // arrays of objects
//
// The glue is made for a browser's worker: it reads its module with XMLHttpRequest and is
// talked to through a port. This gives it both.
import { readFileSync } from "node:fs";
import { runInThisContext } from "node:vm";
import { pathToFileURL } from "node:url";
import path from "node:path";

/* The glue talks of its own affairs. */
console.warn = () => {};

export async function openTrace(dir, file)
{
	const wasm = readFileSync(path.join(dir, "trace_processor.wasm"));

	globalThis.self = globalThis;
	globalThis.WorkerGlobalScope = function WorkerGlobalScope() {};
	globalThis.location = { href: pathToFileURL(dir).href + "/" };
	globalThis.XMLHttpRequest = class {
		open() {}
		send() { this.response = wasm; }
	};
	runInThisContext(readFileSync(path.join(dir, "engine_bundle.node.js"), "utf8"));

	const { EngineBase } = await import(pathToFileURL(path.join(dir, "engine.mjs")).href);
	const channel = new MessageChannel();

	class Engine extends EngineBase {
		mode = "WASM";
		id = "test";
		constructor(port)
		{
			super();
			this.port = port;
			port.onmessage = (m) => this.onRpcResponseBytes(m.data);
		}
		rpcSendRequestBytes(bytes) { this.port.postMessage(bytes); }
		[Symbol.dispose]() { this.port.close(); }
	}

	self.onmessage({ data: channel.port1 });
	const engine = new Engine(channel.port2);

	await engine.parse(new Uint8Array(readFileSync(file)));
	await engine.notifyEof();
	return {
		async query(sql)
		{
			const result = await engine.query(sql), columns = result.columns(), rows = [];

			for (const it = result.iter({}); it.valid(); it.next())
				rows.push(Object.fromEntries(columns.map((c) => [c, it.get(c)])));
			return rows;
		},
		close() { engine[Symbol.dispose](); },
	};
}

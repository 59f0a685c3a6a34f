// SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
//
// mcp_client.mjs EBPFREC DIR TRACE: the protocol's official client asks every tool of `ebpfrec mcp DIR` about TRACE.
// Then it finds out, from what the tools answer and the name of a thread alone, which lock req-0 waits for, who holds
// it and what the holder does. Prints "ok NAME" or "not ok NAME: what it saw".

import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";

const BYTES_MAX = 8192;
const [program, dir, trace] = process.argv.slice(2);
const client = new Client({ name: "mcp_client", version: "1.0.0" });
const args = {
	list: {}, views: {}, schema: {}, summary: { trace }, why: { trace }, view: { trace, view: "cpu" },
	sql: { trace, statement: "SELECT count(*) FROM threads" }, diff: { a: [trace], b: [trace] }, view_link: { trace },
};
let calls = 0, largest = 0;

function check(name, holds, saw) {
	console.log(holds ? `ok client: ${name}` : `not ok client: ${name}: ${String(saw).replaceAll("\n", " / ")}`);
}

async function ask(name, given) {
	const answer = await client.callTool({ name, arguments: given });
	calls++;
	largest = Math.max(largest, Buffer.byteLength(JSON.stringify(answer)));
	return [answer.content[0].text, answer.isError];
}

await client.connect(new StdioClientTransport({ command: program, args: ["mcp", dir] }));
const { tools } = await client.listTools();
const names = tools.map((tool) => tool.name).sort().join();
check("all tools are known", names === Object.keys(args).sort().join(), names);
for (const { name } of tools) {
	const [text, isError] = await ask(name, args[name]);
	const allowed = !isError || (name === "view_link" && text.includes("built without"));
	check(name, text.length > 0 && largest <= BYTES_MAX && allowed, text);
}

calls = largest = 0;
const found = (await ask("list", {}))[0].split("\n").find((line) => line.includes("causes requests"));
const [why] = await ask("why", { trace: found.slice(0, found.indexOf(":")), thread: "req-0" });
const lock = /of that was for (\w+) \(causes\) \(futex\)/.exec(why);
const holder = /^(\w+) ended .* of that; what it did meanwhile: (\w+)/m.exec(why);
check("req-0 waits for audit_lock, which audit holds while it sleeps",
      lock?.[1] === "audit_lock" && holder?.[1] === "audit" && holder?.[2] === "timer", why);
check(`that took ${calls} calls, at most 4, of at most 8 KB`, calls <= 4 && largest <= BYTES_MAX, [calls, largest]);
await client.close();

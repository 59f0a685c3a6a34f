// SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
//
// mcp_client.mjs EBPFREC DIR TRACE: the protocol's official client asks every tool of `ebpfrec mcp DIR` about TRACE. Prints "ok NAME" or
// "not ok NAME: what it saw". Run by hand, since npm has to be asked for about a hundred packages; mcp.py is part of the suite:
//
//     npm install @modelcontextprotocol/sdk && node mcp_client.mjs build/ebpfrec /var/lib/traces night.ebpfrec

import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";

const [program, dir, trace] = process.argv.slice(2);
const client = new Client({ name: "mcp_client", version: "1.0.0" });
const args = {
	list: {}, views: {}, schema: {}, summary: { trace }, why: { trace }, view: { trace, view: "cpu" },
	sql: { trace, statement: "SELECT count(*) FROM threads" }, diff: { a: [trace], b: [trace] }, view_link: { trace },
};

await client.connect(new StdioClientTransport({ command: program, args: ["mcp", dir] }));
for (const tool of (await client.listTools()).tools) {
	const answer = await client.callTool({ name: tool.name, arguments: args[tool.name] });
	const text = answer.content[0].text;
	console.log(!answer.isError && text.length > 0 && text.length <= 8192 ? `ok ${tool.name}` : `not ok ${tool.name}: ${text}`);
}
await client.close();

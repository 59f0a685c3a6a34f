// SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
//
// ask.mjs chdb|duckdb|hyparquet DIR: answers queries with an engine of DIR (install.sh); one of hyparquet is the path
// of a file, whose rows are the answer. Each line of stdin is a query as JSON, each line of stdout
// {"rows": [[...], ...]}, 64-bit integers as text, or {"error": "..."}.
import { createRequire } from "node:module";
import { createInterface } from "node:readline";
import path from "node:path";

const [, , name, dir] = process.argv;
const require = createRequire(path.resolve(dir, "node_modules") + "/");

const engines = {
	chdb()
	{
		const session = new (require("chdb").Session)();

		session.query("SET output_format_json_quote_64bit_integers = 1");
		return (query) => session.query(query, "JSONCompactEachRow").split("\n").filter(Boolean)
			.map((line) => JSON.parse(line));
	},
	async duckdb()
	{
		/* nothing is fetched: extensions that are not built in are not there */
		const config = { autoinstall_known_extensions: "false" };
		const connection = await (await require("@duckdb/node-api").DuckDBInstance.create(":memory:", config)).connect();

		return async (query) => (await connection.runAndReadAll(query)).getRows()
			.map((row) => row.map((v) => typeof v === "bigint" ? String(v) : v));
	},
	async hyparquet()
	{
		const modules = path.resolve(dir, "node_modules");
		const { asyncBufferFromFile, parquetReadObjects } = await import(modules + "/hyparquet/src/node.js");
		const { compressors } = await import(modules + "/hyparquet-compressors/src/index.js");
		const parsers = { timestampFromNanoseconds: String };

		return async (name) => (await parquetReadObjects({ file: await asyncBufferFromFile(name), compressors, parsers }))
			.map((row) => Object.values(row).map((v) => typeof v === "bigint" ? String(v) : v));
	},
};

const ask = await engines[name]();

for await (const line of createInterface({ input: process.stdin })) {
	let answer;

	try {
		answer = { rows: await ask(JSON.parse(line)) };
	} catch (e) {
		answer = { error: e.message };
	}
	process.stdout.write(JSON.stringify(answer) + "\n");
}
process.exit(0);

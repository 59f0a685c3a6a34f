// SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
//
// check.mjs EBPFREC TRACE_PROCESSOR_DIR TRACE PFTRACE [FROM_NS UNTIL_NS]: what trace_processor makes of an exported
// trace is what ebpfrec itself says about it. Prints "ok NAME" or "not ok NAME: what it saw".
import { execFileSync } from "node:child_process";
import { openTrace } from "./trace_processor.mjs";

const [ebpfrec, dir, trace, pftrace, from, until] = process.argv.slice(2);
const window = from ? ["--from", `${from}ns`, "--to", `${until}ns`] : [];
const label = from ? `, ${from} to ${until} ns` : "";
const tp = await openTrace(dir, pftrace);
let failed = 0;

function run(...args)
{
	const options = { encoding: "utf8", maxBuffer: 1 << 30, stdio: ["ignore", "pipe", "ignore"] };

	return JSON.parse(execFileSync(ebpfrec, args, options));
}

/* All rows of a view, those of the recorder included. */
function report(view, by, ...args)
{
	return run("report", view, "-i", trace, "--format", "json", "--by", by, "--with-recorder", "--limit", "0", ...window,
		   ...args);
}

function sql(text) { return run("sql", "-i", trace, "--format", "json", text); }

/* Sums of rows by a key, as {key: [sum, ...]}. */
function sums(rows, key, ...values)
{
	const all = {};

	for (const row of rows) {
		const sum = all[key(row)] ??= values.map(() => 0);
		values.forEach((value, i) => sum[i] += Number(value(row)));
	}
	return all;
}

function same(name, got, want)
{
	const keys = new Set([...Object.keys(got), ...Object.keys(want)]);
	const wrong = [...keys].filter((k) => String(got[k]) !== String(want[k]));

	failed += wrong.length > 0 || (!keys.size && !from);
	if (!keys.size && from)
		console.log(`ok perfetto, ${name}${label}: there are none`);
	else if (!keys.size)
		console.log(`not ok perfetto, ${name}${label}: nothing to compare`);
	else if (wrong.length)
		console.log(`not ok perfetto, ${name}${label}: ${wrong.length} of ${keys.size} differ; ` +
			    `${wrong[0]} is ${got[wrong[0]]}, not ${want[wrong[0]]}`);
	else
		console.log(`ok perfetto, ${name}${label} (${keys.size})`);
}

const end = "(SELECT max(ts) FROM slice WHERE name = 'the window ends')";
const nonzero = (all) => Object.fromEntries(Object.entries(all).filter(([, v]) => v[0]));
/* Threads that are none: those have ids above the kernel's. */
const thread_of = (tid, comm) => tid > 4194304 ? comm : String(tid);

async function check_cpu()
{
	const slices = await tp.query(`SELECT tid, thread.name AS comm, iif(dur < 0, ${end} - ts, dur) AS dur
		FROM sched JOIN thread USING (utid)`);
	const rows = report("cpu", "thread", "--with-idle");

	same("time of each thread on the CPUs", nonzero(sums(slices, (r) => thread_of(Number(r.tid), r.comm), (r) => r.dur)),
	     nonzero(sums(rows, (r) => r.comm === "[idle]" ? "0" : String(r.tid ?? r.comm), (r) => r.oncpu_ns)));
}

/*
 * What trace_processor sees otherwise: a thread waits from its birth on, in report from its first wake-up, which comes
 * a little later; a wake-up that comes before a thread has left its CPU does not count, so the wait becomes a sleep; a
 * thread that the kernel hides from BPF waits forever, and one that loses its CPU to such a thread, which is unknown in
 * report, waits until it leaves the CPU itself. It knows nothing of a thread before its first event, so whole traces
 * are compared, without the states that the recorder found at its start.
 */
async function check_states()
{
	if (from || sql("SELECT count(*) AS n FROM losses WHERE class IN ('sched', 'task')")[0].n)
		return;
	const groups = { Running: "running", R: "waiting", "R+": "waiting", D: "uninterruptible",
			 S: "sleeping", I: "sleeping", P: "sleeping", T: "stopped", t: "stopped" };
	const states = await tp.query(`SELECT tid, state, iif(dur < 0, ${end} - ts, dur) AS dur
		FROM thread_state JOIN thread USING (utid) WHERE tid > 0`);
	const rows = report("states", "thread").filter((r) => r.tid > 0);
	const births = sql(`SELECT w.tid AS tid, w.ts_ns - e.ts_ns AS ns FROM task_events AS e JOIN
		(SELECT target_utid AS utid, tid, ts_ns FROM wakeups JOIN threads AS t ON t.utid = target_utid
		 WHERE is_new) AS w USING (utid)
		WHERE e.type = 'new'`);
	const early = sql(`SELECT t.tid AS tid, thread_state(s.end_state) AS state, s.gap_ns AS ns FROM
		(SELECT utid, end_ns, end_reason, end_state, lead(start_ns) OVER w - end_ns AS gap_ns,
			lead(wait_ns) OVER w AS wait_ns
		 FROM sched_slices WINDOW w AS (PARTITION BY utid ORDER BY start_ns)) AS s JOIN threads AS t USING (utid)
		WHERE s.end_reason = 'slept' AND s.wait_ns >= s.gap_ns AND NOT EXISTS (SELECT 1 FROM wakeups
			WHERE target_utid = s.utid AND ts_ns BETWEEN s.end_ns AND s.end_ns + s.gap_ns)`);
	const at_start = sql(`WITH f AS (SELECT utid, min(ts_ns) AS ns FROM
			(SELECT utid, ts_ns FROM switches UNION ALL SELECT next_utid, ts_ns FROM switches
			 UNION ALL SELECT target_utid, ts_ns FROM wakeups) GROUP BY utid)
		SELECT t.tid AS tid, s.preempted_ns + s.throttled_ns AS waiting, s.uninterruptible_ns AS uninterruptible,
			s.sleeping_ns AS sleeping, s.stopped_ns AS stopped, s.unknown_ns AS unknown
		FROM threads AS t LEFT JOIN f USING (utid)
		JOIN thread_states(0, coalesce(f.ns, (SELECT max(to_ns) FROM blocks)), 0, 'thread') AS s ON s.utid = t.utid
		WHERE t.at_start AND t.tid > 0`);
	const hidden = new Set(rows.filter((r) => !r.running_ns && r.unknown_ns).map((r) => String(r.tid)));
	const want = [];

	for (const r of rows)
		want.push([r.tid, "running", r.running_ns],
			  [r.tid, "waiting", r.runnable_ns + r.preempted_ns + r.throttled_ns],
			  [r.tid, "uninterruptible", (r.disk_ns ?? 0) + r.uninterruptible_ns],
			  [r.tid, "sleeping", r.sleeping_ns], [r.tid, "stopped", r.stopped_ns]);
	for (const r of at_start)
		for (const state of ["waiting", "uninterruptible", "sleeping", "stopped"])
			want.push([r.tid, state, -r[state]]);
	for (const r of births)
		want.push([r.tid, "waiting", r.ns]);
	for (const r of early)
		want.push([r.tid, "waiting", -r.ns], [r.tid, r.state, r.ns]);
	const seen = states.filter((r) => groups[r.state] && Number(r.tid) <= 4194304 && !hidden.has(String(r.tid)));
	same("states of threads", nonzero(sums(seen, (r) => `${r.tid} ${groups[r.state]}`, (r) => r.dur)),
	     nonzero(sums(want.filter((r) => !hidden.has(String(r[0]))), (r) => `${r[0]} ${r[1]}`, (r) => r[2])));
}

/* What each thread slept for, as often as it left a CPU so. */
async function check_waits()
{
	if (from || sql("SELECT count(*) AS n FROM losses WHERE class IN ('sched', 'task')")[0].n)
		return;
	const states = await tp.query("SELECT tid, blocked_function AS text FROM thread_state JOIN thread USING (utid) " +
				      "WHERE blocked_function IS NOT NULL");
	const rows = sql(`SELECT tid, call_name(call) || coalesce(' ' || object_name(call, object, utid, ts_ns), '') AS text
		FROM switches JOIN threads USING (utid)
		WHERE NOT preempted AND prev_state > 0 AND prev_state & 176 = 0 AND call_name(call) NOT NULL AND tid > 0`);
	const count = (all) => sums(all, (r) => `${r.tid} ${r.text}`, () => 1);

	same("what threads slept for", count(states), count(rows));
}

async function check_requests()
{
	const slices = await tp.query(`SELECT d.name AS device, s.name AS op, s.dur AS dur,
			extract_arg(s.arg_set_id, 'debug.bytes') AS bytes
		FROM slice s JOIN track l ON s.track_id = l.id JOIN track d ON l.parent_id = d.id
		WHERE s.depth = 0 AND l.name GLOB 'lane *' AND d.name != 'Missing'`);
	const rows = report("io", "device");

	const window_of = from ? `end_ns >= ${from} AND end_ns < ${until}` : "end_ns NOT NULL";
	const latencies = sql(`SELECT device_name(dev) AS device, op, coalesce(latency_ns, 0) AS ns
		FROM block_requests WHERE ${window_of}`);

	same("lengths of requests", nonzero(sums(slices, (r) => `${r.device} ${r.op}`, (r) => r.dur)),
	     nonzero(sums(latencies, (r) => `${r.device} ${r.op}`, (r) => r.ns)));
	same("requests and bytes", sums(slices, (r) => `${r.device} ${r.op}`, () => 1, (r) => r.bytes),
	     nonzero(sums(rows, (r) => `${r.device} ${r.op}`, (r) => r.ios, (r) => r.bytes)));
}

/* Bins of windows up to ten seconds are 10 ms long, so rates are sums times 100. */
async function check_rates()
{
	const bounds = (await tp.query("SELECT max(ts) - min(ts) AS ns FROM slice WHERE name GLOB 'the window *'"))[0];
	/* values are whole numbers, rounded down */
	const bin_s = Math.max(10000000, Math.floor(Number(bounds.ns) / 1000)) / 1e9;
	const counters = await tp.query("SELECT t.name AS name, value FROM counter c JOIN counter_track t " +
					"ON c.track_id = t.id WHERE t.name IN ('slab', 'page') OR t.name GLOB '* requests'");
	const rows = sums(report("io", "device"), (r) => `${r.device} requests`, (r) => r.ios);
	const sources = sums(report("alloc", "process").filter((r) => ["slab", "page"].includes(r.source)),
			     (r) => r.source, (r) => r.alloc_bytes);
	const shown = sums(counters, (r) => r.name, (r) => Math.ceil(r.value * bin_s - 1e-6));

	same("rates of requests and allocations", nonzero(shown), nonzero({ ...rows, ...sources }));
}

async function check_memory()
{
	const bounds = (await tp.query("SELECT min(ts) AS a, max(ts) AS b FROM slice WHERE name GLOB 'the window *'"))[0];
	const start = Number(bounds.a), length = Number(bounds.b) - start;
	const offset = Number(from ?? 0);
	const got = {}, want = {};

	for (let i = 1; i <= 5; i++) {
		const at = Math.floor(length * i / 6);
		const counters = await tp.query("SELECT pid, t.name AS name, (SELECT value FROM counter c WHERE c.track_id = t.id " +
			`AND c.ts < ${start + at} ORDER BY c.ts DESC LIMIT 1) AS bytes FROM process_counter_track t ` +
			"JOIN process p USING (upid) WHERE t.name = 'mem.rss.anon' " +
			`AND (p.end_ts IS NULL OR p.end_ts > ${start + at}) AND (p.start_ts IS NULL OR p.start_ts < ${start + at})`);
		const rows = sql(`SELECT pid, anon_bytes FROM memory_levels(${offset}, ${offset + at}, ${at})
			JOIN processes USING (upid) WHERE (end_ns IS NULL OR end_ns > ${offset + at})`);

		/* in Perfetto a process that has exited ends with its last switch */
		const exited = new Set(sql("SELECT pid FROM processes GROUP BY pid " +
					   `HAVING max(coalesce(end_ns, 9e18)) <= ${offset + at}`).map((r) => r.pid));

		const alive = counters.filter((r) => !exited.has(Number(r.pid)));

		Object.assign(got, nonzero(sums(alive, (r) => `${r.pid} at ${at} ns`, (r) => r.bytes)));
		Object.assign(want, nonzero(sums(rows, (r) => `${r.pid} at ${at} ns`, (r) => r.anon_bytes)));
	}
	same("resident memory at five instants", got, want);
}

/* Samples of each process, source and stack; what a CPU had counted last is what its samples have together. */
async function check_stacks()
{
	const frames = await tp.query(`SELECT c.id AS id, c.parent_id AS parent, f.name AS name
		FROM stack_profile_callsite c JOIN stack_profile_frame f ON f.id = c.frame_id`);
	const sites = Object.fromEntries(frames.map((r) => [r.id, r]));
	const text = (id) => id === null ? "" : `${text(sites[id].parent)};${sites[id].name}`;
	const samples = await tp.query(`SELECT DISTINCT s.id AS id, p.pid AS pid, t.name AS source, s.callsite_id AS site
		FROM perf_sample s JOIN perf_counter_track t USING (perf_session_id)
		JOIN thread USING (utid) JOIN process p USING (upid)`);
	const counts = await tp.query(`SELECT name, sum(value) AS value FROM
		(SELECT t.name AS name, max(c.value) AS value
		 FROM counter c JOIN perf_counter_track t ON t.id = c.track_id GROUP BY t.id) GROUP BY name`);
	const rows = [...report("stacks", "process").map((r) => ({ ...r, name: `${r.source} bytes`, cnt: r.samples })),
		      ...report("offcpu", "process")
			      .map((r) => ({ ...r, name: "off-CPU ns", cnt: r.waits, bytes: r.offcpu_ns }))];

	same("stacks", { ...sums(samples, (r) => `${r.source} ${r.pid} ${text(r.site)}`, () => 1),
			 ...sums(counts, (r) => r.name, (r) => r.value) },
	     { ...sums(rows, (r) => `${r.name} ${r.pid} ;${r.stack}`, (r) => r.cnt),
	       ...sums(rows, (r) => r.name, (r) => r.bytes) });
}

async function check_tasks()
{
	if (sql("SELECT count(*) AS n FROM losses WHERE class = 'task'")[0].n)
		return;		/* whose thread it was may be among what was lost */
	const threads = await tp.query(`SELECT t.tid AS tid, t.name AS comm, p.pid AS pid
		FROM thread t LEFT JOIN process p USING (upid)
		WHERE t.tid BETWEEN 1 AND 4194304 AND t.name IS NOT NULL`);
	const rows = sql("SELECT tid, pid FROM threads t JOIN processes p USING (upid) WHERE tid > 0");
	const known = new Set(rows.map((r) => `${r.tid} of ${r.pid}`));

	same("threads and their processes", Object.fromEntries(threads.map((r) => [`${r.tid} of ${r.pid}`, true])),
	     Object.fromEntries(threads.map((r) => [`${r.tid} of ${r.pid}`, known.has(`${r.tid} of ${r.pid}`)])));
}

async function check_stats()
{
	const within = from ? `WHERE to_ns > ${from} AND from_ns < ${until}` : "";
	const lost = sql(`SELECT count(*) AS n FROM losses ${within}`)[0].n;
	const rows = await tp.query(`SELECT name, idx, value FROM stats WHERE severity IN ('error', 'data_loss')
		AND value != 0 AND name NOT IN ('ftrace_cpu_has_data_loss', 'task_state_invalid')`);
	/* a state that is not known is invalid, and has no name */
	const [{ flagged, invalid, unknown, over }] = await tp.query(`SELECT
		(SELECT count(*) FROM stats WHERE name = 'ftrace_cpu_has_data_loss' AND value > 0) AS flagged,
		(SELECT sum(value) FROM stats WHERE name = 'task_state_invalid') AS invalid,
		(SELECT count(*) FROM thread_state WHERE state IS NULL) AS unknown,
		(SELECT max(ts) FROM counter) > ${end} AS over`);
	const faults = JSON.stringify(rows, (k, v) => typeof v === "bigint" ? Number(v) : v);

	same("losses, unknown states and the end",
	     { flagged: flagged > 0, unknown: String(unknown), over: String(over ?? 0) },
	     { flagged: lost > 0, unknown: String(invalid), over: "0" });
	same("trace_processor finds no fault", { faults }, { faults: "[]" });
}

await check_cpu();
await check_states();
await check_waits();
await check_requests();
await check_rates();
await check_memory();
await check_stacks();
await check_tasks();
await check_stats();
process.exit(failed ? 1 : 0);

-- The tables of a trace as an exported database has them. `ebpfrec sql` sees the same ones, computed from the trace.
-- Times ("_ns" instants) count from the trace's start. Every column: schema/TABLES.md.
-- The tables are declared in schema/tables.decl and schema/events/.

-- made from schema/tables.decl by `make documents`: sql_lists
-- Processes.
CREATE TABLE processes (
	upid INTEGER PRIMARY KEY,
	pid INTEGER,
	ns_pid INTEGER,
	ppid INTEGER,
	parent_upid INTEGER REFERENCES processes (upid),
	uid INTEGER,
	comm TEXT NOT NULL,
	exe TEXT NOT NULL,
	cmdline TEXT NOT NULL,
	cgroup_id INTEGER,
	cgroup TEXT,
	start_ns INTEGER,
	end_ns INTEGER,
	exit_code INTEGER,
	is_kthread INTEGER NOT NULL,
	is_recorder INTEGER NOT NULL,
	is_workload INTEGER NOT NULL,
	at_start INTEGER NOT NULL,
	container TEXT,
	unit TEXT,
	user TEXT
) STRICT;

-- Threads.
CREATE TABLE threads (
	utid INTEGER PRIMARY KEY,
	upid INTEGER NOT NULL REFERENCES processes (upid),
	tid INTEGER,
	ns_tid INTEGER,
	comm TEXT NOT NULL,
	start_ns INTEGER,
	end_ns INTEGER,
	sum_exec_start_ns INTEGER,
	sum_exec_end_ns INTEGER,
	is_kthread INTEGER NOT NULL,
	is_recorder INTEGER NOT NULL,
	is_workload INTEGER NOT NULL,
	at_start INTEGER NOT NULL,
	policy TEXT,
	nice INTEGER,
	rt_priority INTEGER,
	allowed_cpus INTEGER,
	cpu_mask INTEGER,
	container TEXT,
	unit TEXT,
	user TEXT
) STRICT;

-- CPUs with events.
CREATE TABLE cpus (
	cpu INTEGER PRIMARY KEY
) STRICT;

-- Block devices.
CREATE TABLE devices (
	dev INTEGER PRIMARY KEY,
	major INTEGER NOT NULL,
	minor INTEGER NOT NULL,
	name TEXT NOT NULL,
	sectors INTEGER
) STRICT;

-- Names of numbers that appear in events.
CREATE TABLE names (
	type TEXT NOT NULL,
	id INTEGER NOT NULL,
	arg INTEGER NOT NULL,
	name TEXT NOT NULL
) STRICT;

-- Names of user-space addresses: of code that allocated memory or was on a stack (heap_allocs.call_site, stack_frames), and of variables in mapped files that are locks for which threads waited (switches.object).
CREATE TABLE user_sites (
	upid INTEGER NOT NULL,
	addr INTEGER NOT NULL,
	from_ns INTEGER NOT NULL,
	symbol TEXT,
	symbol_offset INTEGER,
	module TEXT,
	module_offset INTEGER,
	build_id TEXT,
	unresolved TEXT
) STRICT;

-- Frames of stacks.
CREATE TABLE stack_frames (
	stack INTEGER NOT NULL,
	nth INTEGER NOT NULL,
	upid INTEGER,
	addr INTEGER NOT NULL
) STRICT;

-- Events of tasks: forks, execs, renames, exits, moves between cgroups, and rows of the start and end snapshots.
CREATE TABLE task_events (
	ts_ns INTEGER NOT NULL,
	cpu INTEGER NOT NULL,
	utid INTEGER NOT NULL REFERENCES threads (utid),
	upid INTEGER NOT NULL REFERENCES processes (upid),
	type TEXT NOT NULL,
	exit_code INTEGER,
	cgroup_id INTEGER,
	comm TEXT,
	exe TEXT,
	cmdline TEXT,
	policy TEXT,
	nice INTEGER,
	rt_priority INTEGER,
	allowed_cpus INTEGER,
	cpu_mask INTEGER
) STRICT;

-- Memory of each process when the recording began.
CREATE TABLE rss_baselines (
	ts_ns INTEGER NOT NULL,
	upid INTEGER NOT NULL REFERENCES processes (upid),
	file_bytes INTEGER NOT NULL,
	anon_bytes INTEGER NOT NULL,
	swap_bytes INTEGER NOT NULL,
	shmem_bytes INTEGER NOT NULL,
	total_vm_bytes INTEGER NOT NULL
) STRICT;

-- Lost events: lost_cnt events were lost somewhere in [from_ns, to_ns).
CREATE TABLE losses (
	from_ns INTEGER NOT NULL,
	to_ns INTEGER NOT NULL,
	cpu INTEGER,
	class TEXT,
	source TEXT,
	hook TEXT,
	lost_cnt INTEGER NOT NULL,
	full_cnt INTEGER NOT NULL,
	other_cnt INTEGER NOT NULL,
	missed_cnt INTEGER NOT NULL,
	inferred_cnt INTEGER NOT NULL
) STRICT;

-- Resources that the recorder used in [from_ns, to_ns).
CREATE TABLE cost (
	from_ns INTEGER NOT NULL,
	to_ns INTEGER NOT NULL,
	user_ns INTEGER NOT NULL,
	sys_ns INTEGER NOT NULL,
	bytes_written INTEGER NOT NULL,
	ring_used_max_bytes INTEGER NOT NULL,
	ring_size_bytes INTEGER NOT NULL,
	rss_bytes INTEGER NOT NULL,
	queue_max_bytes INTEGER NOT NULL,
	queue_size_bytes INTEGER NOT NULL,
	cpu_cnt INTEGER
) STRICT;

-- Figures per kernel hook in [from_ns, to_ns).
CREATE TABLE hook_stats (
	from_ns INTEGER NOT NULL,
	to_ns INTEGER NOT NULL,
	class TEXT,
	source TEXT,
	hook TEXT,
	attempted_cnt INTEGER NOT NULL,
	read_cnt INTEGER NOT NULL,
	run_cnt INTEGER NOT NULL,
	run_time_ns INTEGER NOT NULL,
	sampled_ns INTEGER NOT NULL,
	sampled_cnt INTEGER NOT NULL,
	cost_ns INTEGER NOT NULL
) STRICT;

-- Intervals in which a source was off on purpose (record --max-overhead): the source has no events in [from_ns, to_ns).
CREATE TABLE source_gaps (
	from_ns INTEGER NOT NULL,
	to_ns INTEGER NOT NULL,
	class TEXT,
	source TEXT NOT NULL,
	reason TEXT NOT NULL,
	cost_pct REAL NOT NULL,
	budget_pct REAL NOT NULL
) STRICT;

-- Intervals in which a quota of CPU time was valid for a control group with recorded processes: the group's own quota, or that of its nearest ancestor with a quota.
CREATE TABLE quotas (
	from_ns INTEGER NOT NULL,
	to_ns INTEGER NOT NULL,
	cgroup_id INTEGER NOT NULL,
	cgroup TEXT,
	limit_id INTEGER NOT NULL,
	quota_of TEXT,
	quota_ns INTEGER NOT NULL,
	period_ns INTEGER NOT NULL
) STRICT;

-- Instants that were named during the recording.
CREATE TABLE marks (
	ts_ns INTEGER NOT NULL,
	name TEXT NOT NULL,
	nr INTEGER NOT NULL,
	origin TEXT
) STRICT;

-- Readings of the machine's clocks at one instant.
CREATE TABLE clocks (
	ts_ns INTEGER NOT NULL,
	mono_ns INTEGER NOT NULL,
	boot_ns INTEGER NOT NULL,
	real_ns INTEGER NOT NULL,
	tai_ns INTEGER NOT NULL,
	uncertainty_ns INTEGER NOT NULL
) STRICT;

-- The trace's manifest.
CREATE TABLE info (
	key TEXT PRIMARY KEY NOT NULL,
	value TEXT NOT NULL
) STRICT;

-- Blocks of the trace's files.
CREATE TABLE blocks (
	block INTEGER PRIMARY KEY,
	from_ns INTEGER NOT NULL,
	to_ns INTEGER NOT NULL,
	file TEXT NOT NULL,
	offset_bytes INTEGER NOT NULL,
	bytes INTEGER NOT NULL,
	event_cnt INTEGER NOT NULL
) STRICT;

-- Parts of files that readers skip because they are damaged.
CREATE TABLE damages (
	file TEXT NOT NULL,
	offset_bytes INTEGER NOT NULL,
	bytes INTEGER NOT NULL,
	reason TEXT NOT NULL
) STRICT;

-- end

-- made from schema/events/ by `make documents`: sql
-- Context switches: utid leaves the CPU, next_utid gets it.
CREATE TABLE switches (
	ts_ns INTEGER NOT NULL,
	cpu INTEGER NOT NULL,
	utid INTEGER NOT NULL REFERENCES threads (utid),
	preempted INTEGER NOT NULL,
	next_utid INTEGER NOT NULL REFERENCES threads (utid),
	prev_state INTEGER NOT NULL,
	prev_prio INTEGER NOT NULL,
	next_prio INTEGER NOT NULL,
	steal_ns INTEGER NOT NULL,
	stay_ns INTEGER NOT NULL,
	call INTEGER NOT NULL,
	object INTEGER NOT NULL
) STRICT;

-- Wake-ups: thread utid makes target_utid runnable.
CREATE TABLE wakeups (
	ts_ns INTEGER NOT NULL,
	cpu INTEGER NOT NULL,
	utid INTEGER NOT NULL REFERENCES threads (utid),
	irq INTEGER NOT NULL,
	target_utid INTEGER NOT NULL REFERENCES threads (utid),
	target_cpu INTEGER NOT NULL,
	prio INTEGER NOT NULL,
	is_new INTEGER NOT NULL,
	call INTEGER NOT NULL
) STRICT;

-- Slab allocations: kmalloc and kmem_cache.
CREATE TABLE slab_allocs (
	ts_ns INTEGER NOT NULL,
	cpu INTEGER NOT NULL,
	utid INTEGER NOT NULL REFERENCES threads (utid),
	irq INTEGER NOT NULL,
	addr INTEGER NOT NULL,
	bytes_req INTEGER NOT NULL,
	bytes INTEGER NOT NULL,
	call_site INTEGER NOT NULL,
	cache INTEGER NOT NULL
) STRICT;

-- Slab frees: kfree and kmem_cache.
CREATE TABLE slab_frees (
	ts_ns INTEGER NOT NULL,
	cpu INTEGER NOT NULL,
	utid INTEGER NOT NULL REFERENCES threads (utid),
	irq INTEGER NOT NULL,
	addr INTEGER NOT NULL,
	cache INTEGER NOT NULL
) STRICT;

-- Page allocations.
CREATE TABLE page_allocs (
	ts_ns INTEGER NOT NULL,
	cpu INTEGER NOT NULL,
	utid INTEGER NOT NULL REFERENCES threads (utid),
	irq INTEGER NOT NULL,
	pfn INTEGER NOT NULL,
	page_order INTEGER NOT NULL,
	gfp INTEGER NOT NULL,
	migratetype INTEGER NOT NULL
) STRICT;

-- Page frees.
CREATE TABLE page_frees (
	ts_ns INTEGER NOT NULL,
	cpu INTEGER NOT NULL,
	utid INTEGER NOT NULL REFERENCES threads (utid),
	irq INTEGER NOT NULL,
	pfn INTEGER NOT NULL,
	page_order INTEGER NOT NULL
) STRICT;

-- Changes of the resident memory counters of processes.
CREATE TABLE rss_points (
	ts_ns INTEGER NOT NULL,
	cpu INTEGER NOT NULL,
	utid INTEGER NOT NULL REFERENCES threads (utid),
	irq INTEGER NOT NULL,
	upid INTEGER NOT NULL REFERENCES processes (upid),
	member TEXT NOT NULL,
	bytes INTEGER NOT NULL
) STRICT;

-- Changes of the mapped size of processes.
CREATE TABLE vm_points (
	ts_ns INTEGER NOT NULL,
	cpu INTEGER NOT NULL,
	utid INTEGER NOT NULL REFERENCES threads (utid),
	irq INTEGER NOT NULL,
	upid INTEGER NOT NULL REFERENCES processes (upid),
	op TEXT NOT NULL,
	addr INTEGER NOT NULL,
	len_bytes INTEGER NOT NULL,
	total_vm_bytes INTEGER NOT NULL
) STRICT;

-- Steps in the life of block requests.
CREATE TABLE block_events (
	ts_ns INTEGER NOT NULL,
	cpu INTEGER NOT NULL,
	utid INTEGER NOT NULL REFERENCES threads (utid),
	irq INTEGER NOT NULL,
	action TEXT NOT NULL,
	rq INTEGER NOT NULL,
	dev INTEGER NOT NULL,
	sector INTEGER NOT NULL,
	bytes INTEGER NOT NULL,
	cmd_flags INTEGER NOT NULL,
	done_bytes INTEGER NOT NULL,
	status INTEGER NOT NULL,
	part INTEGER NOT NULL,
	ino INTEGER NOT NULL,
	ino_dev INTEGER NOT NULL,
	pages TEXT NOT NULL,
	owner_upid INTEGER REFERENCES processes (upid),
	owner_how TEXT,
	path INTEGER
) STRICT;

-- User-space heap allocations (alloc.heap).
CREATE TABLE heap_allocs (
	ts_ns INTEGER NOT NULL,
	cpu INTEGER NOT NULL,
	utid INTEGER NOT NULL REFERENCES threads (utid),
	irq INTEGER NOT NULL,
	addr INTEGER NOT NULL,
	bytes INTEGER NOT NULL,
	call_site INTEGER NOT NULL
) STRICT;

-- User-space heap frees (alloc.heap).
CREATE TABLE heap_frees (
	ts_ns INTEGER NOT NULL,
	cpu INTEGER NOT NULL,
	utid INTEGER NOT NULL REFERENCES threads (utid),
	irq INTEGER NOT NULL,
	addr INTEGER NOT NULL
) STRICT;

-- Processes that dirty pages of files.
CREATE TABLE dirty_events (
	ts_ns INTEGER NOT NULL,
	cpu INTEGER NOT NULL,
	utid INTEGER NOT NULL REFERENCES threads (utid),
	irq INTEGER NOT NULL,
	ino INTEGER NOT NULL,
	ino_dev INTEGER NOT NULL
) STRICT;

-- Beginnings and ends of interrupts, in the time of thread utid (sched.irq).
CREATE TABLE irq_events (
	ts_ns INTEGER NOT NULL,
	cpu INTEGER NOT NULL,
	utid INTEGER NOT NULL REFERENCES threads (utid),
	irq INTEGER NOT NULL,
	action TEXT NOT NULL,
	type TEXT NOT NULL,
	vector INTEGER NOT NULL,
	handled INTEGER NOT NULL
) STRICT;

-- Stacks of the allocations that record --stacks selected.
CREATE TABLE stack_samples (
	ts_ns INTEGER NOT NULL,
	cpu INTEGER NOT NULL,
	utid INTEGER NOT NULL REFERENCES threads (utid),
	irq INTEGER NOT NULL,
	source TEXT NOT NULL,
	stack INTEGER NOT NULL,
	addr INTEGER NOT NULL,
	bytes INTEGER NOT NULL
) STRICT;

-- Moves of thread target_utid from the run queue of one CPU to another (sched.migrate).
CREATE TABLE migrations (
	ts_ns INTEGER NOT NULL,
	cpu INTEGER NOT NULL,
	utid INTEGER NOT NULL REFERENCES threads (utid),
	irq INTEGER NOT NULL,
	target_utid INTEGER NOT NULL REFERENCES threads (utid),
	from_cpu INTEGER NOT NULL,
	to_cpu INTEGER NOT NULL
) STRICT;

-- Waits off the CPU that take at least the time of --offcpu: thread utid gets the CPU at ts_ns (sched.offcpu).
CREATE TABLE offcpu (
	ts_ns INTEGER NOT NULL,
	cpu INTEGER NOT NULL,
	utid INTEGER NOT NULL REFERENCES threads (utid),
	preempted INTEGER NOT NULL,
	waker_utid INTEGER NOT NULL REFERENCES threads (utid),
	state INTEGER NOT NULL,
	stack INTEGER NOT NULL,
	waker_stack INTEGER,
	dur_ns INTEGER NOT NULL,
	runnable_ns INTEGER NOT NULL
) STRICT;

-- Samples of the code that ran on a CPU (record --profile): one per profile.period_ns of the manifest, except on idle CPUs (cpu.sample).
CREATE TABLE cpu_samples (
	ts_ns INTEGER NOT NULL,
	cpu INTEGER NOT NULL,
	utid INTEGER NOT NULL REFERENCES threads (utid),
	irq INTEGER NOT NULL,
	stack INTEGER NOT NULL
) STRICT;

-- Begins and ends of reclaim, compaction and kswapd's runs.
CREATE TABLE pressure_events (
	ts_ns INTEGER NOT NULL,
	cpu INTEGER NOT NULL,
	utid INTEGER NOT NULL REFERENCES threads (utid),
	irq INTEGER NOT NULL,
	action TEXT NOT NULL,
	pages INTEGER NOT NULL
) STRICT;

-- Processes that the kernel killed because memory, or a memory cgroup, was full.
CREATE TABLE oom_kills (
	ts_ns INTEGER NOT NULL,
	cpu INTEGER NOT NULL,
	utid INTEGER NOT NULL REFERENCES threads (utid),
	irq INTEGER NOT NULL,
	victim_utid INTEGER NOT NULL REFERENCES threads (utid),
	limit_cgroup_id INTEGER,
	limit_pages INTEGER
) STRICT;

-- Begins, ends and steps of requests, and changes of the thread that works for a request.
CREATE TABLE span_events (
	ts_ns INTEGER NOT NULL,
	cpu INTEGER NOT NULL,
	utid INTEGER NOT NULL REFERENCES threads (utid),
	irq INTEGER NOT NULL,
	action TEXT NOT NULL,
	name INTEGER,
	id INTEGER NOT NULL
) STRICT;

-- end

-- made from schema/tables.decl by `make documents`: sql_made
-- Stays of threads on CPUs, each from a switch to the thread until the next switch.
CREATE TABLE sched_slices (
	start_ns INTEGER NOT NULL,
	end_ns INTEGER NOT NULL,
	dur_ns INTEGER NOT NULL,
	cpu INTEGER NOT NULL,
	utid INTEGER NOT NULL REFERENCES threads (utid),
	end_reason TEXT NOT NULL,
	end_state INTEGER,
	wait_ns INTEGER,
	wait_reason TEXT
) STRICT;

-- Allocations and their frees, paired by address over the whole trace.
CREATE TABLE allocations (
	source TEXT NOT NULL,
	addr INTEGER NOT NULL,
	bytes INTEGER NOT NULL,
	bytes_req INTEGER NOT NULL,
	alloc_ns INTEGER NOT NULL,
	free_ns INTEGER,
	life_ns INTEGER,
	utid INTEGER NOT NULL REFERENCES threads (utid),
	upid INTEGER NOT NULL REFERENCES processes (upid),
	free_utid INTEGER REFERENCES threads (utid),
	free_lost INTEGER NOT NULL,
	irq INTEGER NOT NULL,
	call_site INTEGER,
	symbol TEXT,
	cache TEXT,
	page_order INTEGER,
	gfp INTEGER,
	unsure INTEGER NOT NULL,
	stack INTEGER
) STRICT;

-- Block requests from queueing to completion.
CREATE TABLE block_requests (
	queued_ns INTEGER,
	issue_ns INTEGER,
	complete_ns INTEGER,
	end_ns INTEGER,
	dev INTEGER NOT NULL,
	part INTEGER,
	sector INTEGER NOT NULL,
	op TEXT NOT NULL,
	cmd_flags INTEGER NOT NULL,
	bytes INTEGER NOT NULL,
	status INTEGER NOT NULL,
	error TEXT,
	latency_ns INTEGER,
	queue_ns INTEGER,
	device_ns INTEGER,
	submitter_utid INTEGER NOT NULL REFERENCES threads (utid),
	submitter_upid INTEGER NOT NULL REFERENCES processes (upid),
	owner_upid INTEGER NOT NULL REFERENCES processes (upid),
	owner TEXT NOT NULL,
	requeues INTEGER NOT NULL,
	parts INTEGER NOT NULL,
	owner_how TEXT NOT NULL,
	ino INTEGER,
	ino_dev INTEGER,
	file TEXT,
	pages TEXT
) STRICT;

-- Requests of programs (record --spans, --span-fd, --request), with their whole length.
CREATE TABLE requests (
	name TEXT NOT NULL,
	id INTEGER NOT NULL,
	utid INTEGER NOT NULL REFERENCES threads (utid),
	upid INTEGER NOT NULL REFERENCES processes (upid),
	start_ns INTEGER NOT NULL,
	end_ns INTEGER,
	dur_ns INTEGER NOT NULL,
	failed INTEGER NOT NULL,
	is_call INTEGER NOT NULL,
	end_utid INTEGER REFERENCES threads (utid)
) STRICT;

-- Steps of the requests in requests; request_steps(from_ns, to_ns) returns those of a window.
CREATE TABLE request_steps (
	name TEXT NOT NULL,
	id INTEGER NOT NULL,
	request_ns INTEGER NOT NULL,
	step TEXT NOT NULL,
	utid INTEGER NOT NULL REFERENCES threads (utid),
	start_ns INTEGER NOT NULL,
	dur_ns INTEGER NOT NULL
) STRICT;

-- end

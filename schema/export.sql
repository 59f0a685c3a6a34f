-- What only an export of a whole trace has: the blocks it was made of. When the trace has grown, another export adds
-- what is new; a block that is not the same is of another trace.

CREATE TABLE export_blocks (
	block INTEGER PRIMARY KEY,
	file INTEGER NOT NULL,
	offset_bytes INTEGER NOT NULL,
	bytes INTEGER NOT NULL,
	mono_from_ns INTEGER NOT NULL,
	mono_to_ns INTEGER NOT NULL,
	crc INTEGER NOT NULL,
	is_damaged INTEGER NOT NULL
) STRICT;

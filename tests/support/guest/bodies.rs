//! What a hostile guest's tool does, as instructions in text.

/// Never ends.
pub const SPIN: &str = "(loop $for_ever (br $for_ever))";

/// Hits an instruction that stops it.
pub const TRAP: &str = "unreachable";

/// Takes memory until there is no more, then stops.
pub const TAKE_MEMORY: &str =
    "(loop $more (br_if $more (i32.ne (memory.grow (i32.const 16)) (i32.const -1)))) unreachable";

/// Makes a table longer until it cannot be, then stops.
pub const GROW_TABLE: &str = "(loop $more (br_if $more (i32.ne (table.grow $table (ref.null func) (i32.const 100)) (i32.const -1)))) unreachable";

/// Calls itself without an end.
pub const RECUR: &str = "(drop (call $deeper (i32.const 0)))";

/// Divides by zero.
pub const DIVIDE: &str = "(drop (i32.div_s (i32.const 1) (local.get $n)))";

/// Reads where there is no memory.
pub const READ_OUTSIDE: &str = "(drop (i32.load (i32.const -8)))";

/// Ends the process, as it thinks.
pub const EXIT: &str = "(call $exit (i32.const 1))";

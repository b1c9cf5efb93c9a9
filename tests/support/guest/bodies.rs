//! Bodies of hostile tools, as instructions in text, from `tests/guests/hostile`.

macro_rules! body {
    ($name:ident, $file:literal) => {
        pub const $name: &str = include_str!(concat!("../../guests/hostile/", $file, ".wat"));
    };
}

body!(SPIN, "spin");
body!(TAKE_MEMORY, "take-memory");
body!(GROW_TABLE, "take-table");
body!(TRAP, "trap");
body!(RECUR, "recur");
body!(EXIT, "exit");

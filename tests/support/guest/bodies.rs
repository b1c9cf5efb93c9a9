//! What a hostile guest's tool does, as instructions in text.

macro_rules! body {
    ($name:ident, $file:literal) => {
        pub const $name: &str = include_str!(concat!("../../guests/hostile/", $file, ".wat"));
    };
}

body!(SPIN, "spin");
body!(SPIN_CALLING, "spin-calling");
body!(FILL, "fill");
body!(TAKE_MEMORY, "take-memory");
body!(TAKE_TABLE, "take-table");
body!(TRAP, "trap");
body!(RECUR, "recur");
body!(DIVIDE, "divide");
body!(READ_OUTSIDE, "read-outside");
body!(EXIT, "exit");
body!(ALIASES, "aliases");
body!(NOT_UTF8, "not-utf8");
body!(SURROGATE, "surrogate");
body!(MISALIGNED, "misaligned");
body!(OUTSIDE, "outside");

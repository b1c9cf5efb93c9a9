//! What a hostile guest's tool does, as instructions in text. More of them are where these come
//! from.

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

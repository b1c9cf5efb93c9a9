//! Listings that depend on the environment or differ.

use super::{GIVEN, Guest};

impl Guest {
    /// Its listing traps without an environment variable.
    pub fn listing_needs_variable(mut self) -> Self {
        let found = format!("(i32.load (i32.const {}))", GIVEN + 4);
        self.listing = format!("(call $environment (i32.const {GIVEN})) (if (i32.eqz {found}) (then unreachable))");
        self
    }

    /// Adds a tool whose description is `N variables`, the number of environment variables at the
    /// listing, up to nine.
    pub fn lists_variable_count(mut self, name: &str) -> Self {
        let at = self.describe(name, "? variables").at;
        let found = format!("(i32.load (i32.const {}))", GIVEN + 4);
        self.listing += &format!(
            "(call $environment (i32.const {GIVEN})) (i32.store8 (i32.const {at}) (i32.add (i32.const 48) {found}))"
        );
        self
    }

    /// Adds a tool whose description differs at each listing.
    pub fn lists_differently(mut self, name: &str) -> Self {
        let at = self.describe(name, "8 random").at;
        // Each byte is a letter or a backquote.
        self.listing += &format!(
            "(i64.store (i32.const {at})
               (i64.or (i64.and (call $random) (i64.const 0x0f0f0f0f0f0f0f0f)) (i64.const 0x6060606060606060)))"
        );
        self
    }
}

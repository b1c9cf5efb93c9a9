//! What plugins do when they are asked for their tools.

use super::{GIVEN, Guest};

impl Guest {
    /// Whose list of tools cannot be had where there is no variable in its environment.
    pub fn listing_with_a_variable(mut self) -> Self {
        let found = format!("(i32.load (i32.const {}))", GIVEN + 4);
        self.listing = format!("(call $environment (i32.const {GIVEN})) (if (i32.eqz {found}) (then unreachable))");
        self
    }

    /// With one tool more whose description is `N variables`: those in its environment when it is
    /// asked for its tools, up to nine.
    pub fn counting_variables_in_list(mut self, name: &str) -> Self {
        let at = self.describe(name, "? variables").at;
        let found = format!("(i32.load (i32.const {}))", GIVEN + 4);
        self.listing += &format!(
            "(call $environment (i32.const {GIVEN})) (i32.store8 (i32.const {at}) (i32.add (i32.const 48) {found}))"
        );
        self
    }

    /// With one tool more whose description is another one each time it is asked for its tools.
    pub fn differing_in_list(mut self, name: &str) -> Self {
        let at = self.describe(name, "8 random").at;
        // A letter, or the one before them, in each byte.
        self.listing += &format!(
            "(i64.store (i32.const {at})
               (i64.or (i64.and (call $random) (i64.const 0x0f0f0f0f0f0f0f0f)) (i64.const 0x6060606060606060)))"
        );
        self
    }
}

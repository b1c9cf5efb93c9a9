//! What else tools say: schemas and `_meta` of any text, long answers, logs with data, news of
//! their own lists.
//! It knows where the canonical ABI puts the members of a `tool-result`.

use super::{CALL_RESULT, CONTENT, GIVEN, Guest, Text, Tool};

const PAGE: usize = 65_536;

impl Guest {
    /// The tool that was added last takes arguments of this schema.
    pub fn taking(mut self, schema: &str) -> Self {
        self.last().schema = schema.into();
        self
    }

    /// The tool that was added last promises this schema.
    pub fn promising(mut self, schema: &str) -> Self {
        self.last().output_schema = Some(schema.into());
        self
    }

    /// The tool that was added last has this `_meta`.
    pub fn marked(mut self, meta: &str) -> Self {
        self.last().meta = Some(meta.into());
        self
    }

    /// With one tool more that has this `_meta` in its result.
    pub fn gives_meta(mut self, name: &str, meta: &str) -> Self {
        let Text { at, len } = self.text(meta);
        let body = format!(
            "(i32.store8 (i32.const {}) (i32.const 1))
             (i32.store (i32.const {}) (i32.const {at}))
             (i32.store (i32.const {}) (i32.const {len}))",
            CALL_RESULT + 32,
            CALL_RESULT + 36,
            CALL_RESULT + 40
        );
        self.does(name, &body)
    }

    /// With one tool more whose answer is a text of that many letters `x`.
    pub fn fills(self, name: &str, letters: usize) -> Self {
        let body = format!(
            "(local.set $n (i32.mul (memory.grow (i32.const {})) (i32.const {PAGE})))
             (memory.fill (local.get $n) (i32.const 120) (i32.const {letters}))
             (i32.store (i32.const {}) (local.get $n))
             (i32.store (i32.const {}) (i32.const {letters}))",
            letters.div_ceil(PAGE),
            CONTENT + 8,
            CONTENT + 12
        );
        self.does(name, &body)
    }

    /// With one tool more that says that the list of tools has changed, then does the rest.
    pub fn announces(self, name: &str, rest: &str) -> Self {
        self.does(name, &format!("(call $list_changed (i32.const 0)) {rest}"))
    }

    /// With one tool more that says that the list of tools has changed, and puts how many
    /// variables are in its environment, up to nine, into the first byte of the answer.
    pub fn counts_variables(self, name: &str) -> Self {
        let (at, found) = (self.answer.at, GIVEN + 4);
        let body = format!(
            "(call $environment (i32.const {GIVEN}))
             (i32.store8 (i32.const {at}) (i32.add (i32.const 48) (i32.load (i32.const {found}))))"
        );
        self.announces(name, &body)
    }

    /// With one tool more that tells of one step of progress in these words.
    pub fn step(mut self, name: &str, message: &str) -> Self {
        let Text { at, len } = self.text(message);
        let body = format!(
            "(call $progress (f64.const 1) (i32.const 0) (f64.const 0) (i32.const 1) (i32.const {at}) (i32.const {len}))"
        );
        self.does(name, &body)
    }

    /// With one tool more that logs data as a warning, under the name of a logger.
    pub fn data(mut self, name: &str, logger: &str, data: &str) -> Self {
        let (logger, data) = (self.text(logger), self.text(data));
        let body = format!(
            "(call $log_data (i32.const 3) (i32.const {}) (i32.const {}) (i32.const {}) (i32.const {}))",
            logger.at, logger.len, data.at, data.len
        );
        self.does(name, &body)
    }

    fn last(&mut self) -> &mut Tool {
        self.tools.last_mut().expect("a tool was added")
    }
}

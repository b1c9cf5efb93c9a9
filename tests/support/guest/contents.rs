//! Schemas and `_meta` of any text, long answers, structured logs, and notifications of changed lists.

use super::{CALL_RESULT, CONTENT, GIVEN, Guest, Text, Tool};

const PAGE: usize = 65_536;

impl Guest {
    /// Sets the input schema of the last tool.
    pub fn input_schema(mut self, schema: &str) -> Self {
        self.last().schema = schema.into();
        self
    }

    /// Sets the output schema of the last tool.
    pub fn output_schema(mut self, schema: &str) -> Self {
        self.last().output_schema = Some(schema.into());
        self
    }

    /// Sets the `_meta` of the last tool.
    pub fn meta(mut self, meta: &str) -> Self {
        self.last().meta = Some(meta.into());
        self
    }

    /// Adds a tool with this `_meta` in its result.
    pub fn returns_meta(mut self, name: &str, meta: &str) -> Self {
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

    /// Adds a tool whose answer has that many letters `x`.
    pub fn returns_letters(self, name: &str, letters: usize) -> Self {
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

    /// Adds a tool that notifies a change of the list of tools, then runs `rest`.
    pub fn notifies_list_changed(self, name: &str, rest: &str) -> Self {
        self.does(name, &format!("(call $list_changed (i32.const 0)) {rest}"))
    }

    /// Adds a tool that notifies a change of the list of tools, and writes the number of its environment
    /// variables, up to nine, into the first byte of the answer.
    pub fn counts_variables(self, name: &str) -> Self {
        let (at, found) = (self.answer.at, GIVEN + 4);
        let body = format!(
            "(call $environment (i32.const {GIVEN}))
             (i32.store8 (i32.const {at}) (i32.add (i32.const 48) (i32.load (i32.const {found}))))"
        );
        self.notifies_list_changed(name, &body)
    }

    /// Adds a tool that reports progress once, with this message.
    pub fn reports_progress(mut self, name: &str, message: &str) -> Self {
        let Text { at, len } = self.text(message);
        let body = format!(
            "(call $progress (f64.const 1) (i32.const 0) (f64.const 0) (i32.const 1) (i32.const {at}) (i32.const {len}))"
        );
        self.does(name, &body)
    }

    /// Adds a tool that logs data as a warning, with the name of a logger.
    pub fn logs_data(mut self, name: &str, logger: &str, data: &str) -> Self {
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

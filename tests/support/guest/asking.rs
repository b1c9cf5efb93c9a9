//! Tools that ask questions, including invalid ones that the SDK would not produce.

use super::{CALL_RESULT, Guest, failing, pair};

/// Bytes of a `question`, and the offsets of its `ask` and of the payload.
const QUESTION: usize = 160;
const ASK: usize = 8;
const ASKED: usize = 16;

/// An `ask`: its discriminant, and its two texts if it has any.
pub type Ask<'a> = (u8, Option<(&'a str, &'a str)>);

pub const ROOTS: Ask<'static> = (3, None);

/// A form with that schema.
pub fn form(schema: &str) -> Ask<'_> {
    (0, Some(("Please", schema)))
}

/// A page to visit.
pub fn page(url: &str) -> Ask<'_> {
    (1, Some(("Please", url)))
}

impl Guest {
    /// Adds a tool that asks these questions, each with its key, in every round.
    pub fn asks(mut self, name: &str, questions: &[(&str, Ask<'_>)]) -> Self {
        let body = self.asking(questions);
        self.does(name, &body)
    }

    /// Adds a tool that asks these questions, and fails in the next round whatever the replies are.
    pub fn asks_once(mut self, name: &str, questions: &[(&str, Ask<'_>)]) -> Self {
        let (body, failing) = (self.asking(questions), failing());
        // The number of replies.
        self.does(name, &format!("(if (local.get 9) (then {failing}) (else {body}))"))
    }

    /// Instructions whose outcome is these questions.
    fn asking(&mut self, questions: &[(&str, Ask<'_>)]) -> String {
        let mut list = Vec::new();
        for (key, (case, texts)) in questions {
            let mut question = [0; QUESTION];
            question[..8].copy_from_slice(&self.place(key));
            question[ASK] = *case;
            if let Some((message, other)) = texts {
                question[ASKED..ASKED + 8].copy_from_slice(&self.place(message));
                question[ASKED + 8..ASKED + 16].copy_from_slice(&self.place(other));
            }
            list.extend_from_slice(&question);
        }
        while !self.texts.len().is_multiple_of(8) {
            self.texts.push(0);
        }
        let at = super::TEXTS + self.texts.len();
        self.texts.extend_from_slice(&list);
        format!(
            "(i32.store8 (i32.const {}) (i32.const 1))
             (i32.store (i32.const {}) (i32.const {at}))
             (i32.store (i32.const {}) (i32.const {}))
             (i32.store8 (i32.const {}) (i32.const 0))",
            CALL_RESULT + 4,
            CALL_RESULT + 8,
            CALL_RESULT + 12,
            questions.len(),
            CALL_RESULT + 16,
        )
    }

    /// Puts a text into the guest's memory, and returns its pointer and length.
    fn place(&mut self, text: &str) -> [u8; 8] {
        let text = self.text(text);
        pair(text.at, text.len)
    }
}

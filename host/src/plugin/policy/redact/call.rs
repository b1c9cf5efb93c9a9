//! What is redacted in one call.

use std::sync::{Arc, Mutex};

use super::Redactor;
use crate::plugin::policy::secret::Secret;
use crate::sync::lock;

/// Maximum tokens that one call has had: an issuer may give another one for each request.
const MOST: usize = 64;

/// The secrets of its grants, and tokens that it gets while it runs.
#[derive(Clone, Default)]
pub(in crate::plugin) struct Redaction {
    known: Option<Arc<Redactor>>,
    late: Arc<Mutex<Late>>,
}

#[derive(Default)]
struct Late {
    secrets: Vec<Secret>,
    redactor: Option<Arc<Redactor>>,
}

impl Redaction {
    pub(in crate::plugin) fn new(known: Option<Arc<Redactor>>) -> Self {
        Self { known, late: Arc::default() }
    }

    /// From now on, that token too. It is long, so that it is found only as it is.
    pub(in crate::plugin) fn add(&self, name: &str, token: &str) {
        let mut late = lock(&self.late);
        if late.secrets.iter().any(|secret| secret.expose() == Some(token)) {
            return;
        }
        if late.secrets.len() == MOST {
            late.secrets.remove(0);
        }
        late.secrets.push(Secret::new(name.to_owned(), false, Ok(token.to_owned())));
        late.redactor = Redactor::verbatim(&late.secrets).map(Arc::new);
    }

    /// A text without them.
    pub(in crate::plugin) fn text(&self, text: &str) -> String {
        self.each().fold(text.to_owned(), |text, redactor| redactor.text(&text))
    }

    /// What finds them, one after the other.
    pub(in crate::plugin) fn each(&self) -> impl Iterator<Item = Arc<Redactor>> {
        self.known.clone().into_iter().chain(lock(&self.late).redactor.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_redacted_once_they_are_had() {
        let redaction = Redaction::default();
        let text = |text: &str| redaction.text(text);
        assert_eq!(text("a token-0"), "a token-0");
        for number in 0..=MOST {
            redaction.add("upstream", &format!("token-{number:03}"));
            redaction.add("upstream", &format!("token-{number:03}"));
        }
        assert_eq!(lock(&redaction.late).secrets.len(), MOST);
        assert_eq!(text("a token-001 b token-064"), "a [redacted upstream] b [redacted upstream]");
        assert_eq!(text("token-000"), "token-000", "the oldest made place");
    }
}

//! An LRU cache of the compiled schemas of a plugin's forms: compiled when the plugin asks, and not
//! again for each answer, or for the same form in another call.
//!
//! Shared by all callers. An evicted schema is compiled again when needed.

use std::collections::VecDeque;

use super::Schema;
use super::allowance::Allowance;
use crate::sync::{Mutex, lock};

/// Maximum forms: as many as one round may have.
const MAX_FORMS: usize = 32;
/// Maximum bytes of all schemas of one plugin, as [`Allowance`] counts them, with their texts.
const MAX_BYTES: usize = 1 << 20;

/// The forms of one plugin under its current settings.
#[derive(Default)]
pub(in crate::plugin) struct Forms(Mutex<VecDeque<Form>>);

struct Form {
    text: String,
    schema: Schema,
    bytes: usize,
}

impl Forms {
    /// A form's schema, from the cache or compiled.
    ///
    /// # Errors
    /// As [`Schema::compile_within`].
    pub(in crate::plugin) fn compile(&self, text: &str, allowance: &mut Allowance) -> Result<Schema, String> {
        if let Some(schema) = self.find(text) {
            return Ok(schema);
        }
        let before = allowance.bytes();
        let schema = Schema::compile_within(text, allowance)?;
        let bytes = before.saturating_sub(allowance.bytes()) + 2 * text.len();
        self.keep(Form { text: text.to_owned(), schema: schema.clone(), bytes });
        Ok(schema)
    }

    /// Moves the form found to the end, as the last used.
    fn find(&self, text: &str) -> Option<Schema> {
        let mut forms = lock(&self.0);
        let at = forms.iter().position(|form| form.text == text)?;
        let form = forms.remove(at)?;
        let schema = form.schema.clone();
        forms.push_back(form);
        Some(schema)
    }

    fn keep(&self, form: Form) {
        if form.bytes > MAX_BYTES {
            return;
        }
        let mut forms = lock(&self.0);
        // Another call may have added it meanwhile.
        forms.retain(|other| other.text != form.text);
        forms.push_back(form);
        while forms.len() > MAX_FORMS || forms.iter().map(|form| form.bytes).sum::<usize>() > MAX_BYTES {
            forms.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Forms, MAX_BYTES, MAX_FORMS};
    use crate::plugin::schema::allowance::Allowance;

    fn form(n: usize) -> String {
        format!(r#"{{"type":"object","properties":{{"n":{{"const":{n}}}}}}}"#)
    }

    /// Whether it is cached: the allowance leaves no time to compile it.
    fn has(forms: &Forms, text: &str) -> bool {
        forms.compile(text, &mut Allowance::late()).is_ok()
    }

    #[test]
    fn cached_forms_are_not_compiled_again() {
        let forms = Forms::default();
        assert!(!has(&forms, &form(1)));
        let first = forms.compile(&form(1), &mut Allowance::new()).expect("a schema");
        let mut allowance = Allowance::new();
        let before = allowance.bytes();
        let again = forms.compile(&form(1), &mut allowance).expect("it is cached");
        assert_eq!((allowance.bytes(), again.source()), (before, first.source()));
        assert!(!has(&forms, &form(2)));
        assert!(forms.compile("{", &mut Allowance::new()).is_err() && !has(&forms, "{"));
    }

    #[test]
    fn the_least_recently_used_form_is_evicted() {
        let forms = Forms::default();
        for n in 0..MAX_FORMS {
            forms.compile(&form(n), &mut Allowance::new()).expect("a schema");
        }
        assert!(has(&forms, &form(0)));
        forms.compile(&form(MAX_FORMS), &mut Allowance::new()).expect("a schema");
        assert!(has(&forms, &form(0)) && !has(&forms, &form(1)) && has(&forms, &form(2)));
    }

    #[test]
    fn their_bytes_are_bounded() {
        let forms = Forms::default();
        let kept = || forms.0.lock().expect("not poisoned").iter().map(|form| form.bytes).collect::<Vec<_>>();
        let large = |n: usize, letters: usize| format!(r#"{{"const":{n},"description":"{}"}}"#, "x".repeat(letters));
        for n in 0..MAX_FORMS {
            forms.compile(&large(n, 40_000), &mut Allowance::new()).expect("a schema");
        }
        let bytes = kept();
        assert!(bytes.len() > 2 && bytes.len() < MAX_FORMS && bytes.iter().sum::<usize>() <= MAX_BYTES, "{bytes:?}");
        // A form larger than the whole cache evicts nothing.
        let field = |times: usize| format!(r#"{{"pattern":"^(a|b|[0-9a-z]{{200}}){{{times}}}$"}}"#);
        let pattern = format!(r#"{{"allOf":[{},{},{}]}}"#, field(20), field(19), field(18));
        let mut allowance = Allowance::new();
        let before = allowance.bytes();
        forms.compile(&pattern, &mut allowance).expect("a schema");
        assert!(before - allowance.bytes() > MAX_BYTES, "{} bytes", before - allowance.bytes());
        assert_eq!(kept(), bytes);
        assert!(!has(&forms, &pattern));
    }
}

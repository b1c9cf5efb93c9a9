//! What a call gives to a command: the arguments of the tool, read.

use std::iter;

use serde::Deserialize;

use crate::json;
use crate::plugin::abi::InvalidInput;

/// Maximum arguments. Each is a value in the guest, of tens of bytes besides its text.
pub(super) const MAX_ARGUMENTS: usize = 4096;

#[derive(Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Given {
    args: Vec<String>,
    pub(super) stdin: String,
}

impl Given {
    /// Reads the text of an object. The configuration may have given the tool a schema that allows anything.
    ///
    /// # Errors
    /// What a command cannot be started with.
    pub(super) fn read(text: &str) -> Result<Self, InvalidInput> {
        let wrong = |path: String, reason: String| InvalidInput { path, reason };
        let given: Self = json::read(text).map_err(|error| wrong(String::new(), error.to_string()))?;
        if given.args.len() > MAX_ARGUMENTS {
            return Err(wrong("/args".into(), format!("it has more than {MAX_ARGUMENTS} arguments")));
        }
        // To a C library a text ends there: the program would be started with another argument than was checked.
        if let Some(at) = given.args.iter().position(|argument| argument.contains('\0')) {
            return Err(wrong(format!("/args/{at}"), "an argument cannot contain the character U+0000".into()));
        }
        Ok(given)
    }

    pub(super) fn arguments(&self, name: String) -> Vec<String> {
        iter::once(name).chain(self.args.iter().cloned()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_and_stdin_are_read() {
        let given = Given::read(r#"{"args":["-r",".a","é"],"stdin":"{}\n"}"#).expect("valid");
        assert_eq!(given.arguments("jaq".into()), ["jaq", "-r", ".a", "é"]);
        assert_eq!(given.stdin, "{}\n");
        assert_eq!(Given::read("{}"), Ok(Given::default()));
    }

    #[test]
    fn what_no_program_can_have_is_refused() {
        let place = |text: &str| Given::read(text).expect_err(text).path;
        assert_eq!(place(r#"{"args":["a","b\u0000c"]}"#), "/args/1");
        assert_eq!(place(r#"{"args":"a"}"#), "");
        assert_eq!(place(r#"{"args":[],"cwd":"/"}"#), "");
        let many = |count: usize| format!(r#"{{"args":[{}]}}"#, vec!["\"\""; count].join(","));
        assert_eq!(Given::read(&many(MAX_ARGUMENTS)).map(|given| given.args.len()), Ok(MAX_ARGUMENTS));
        assert_eq!(place(&many(MAX_ARGUMENTS + 1)), "/args");
    }
}

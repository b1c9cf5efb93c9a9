//! How a command ended, as the result of its tool.

use crate::json;
use crate::plugin::abi::{Content, TextContent, ToolResult};

/// A command that ended by itself.
pub(super) struct Ended {
    /// 0: it succeeded.
    pub(super) code: i32,
    pub(super) stdout: Vec<u8>,
    pub(super) stderr: String,
}

impl Ended {
    /// `json`: output that is JSON is structured content.
    pub(super) fn result(self, json: bool) -> ToolResult {
        let Self { code, stdout, stderr } = self;
        let stderr = stderr.trim_end();
        let stdout = match String::from_utf8(stdout) {
            Ok(stdout) => stdout,
            Err(error) => return failed(vec![not_text(code, error.as_bytes().len(), stderr)]),
        };
        match code {
            0 if json && json::check(&stdout, json::MAX_DEPTH).is_ok() => {
                ToolResult { content: Vec::new(), structured: Some(stdout), is_error: false, meta: None }
            }
            0 => {
                // What a program without a result says is better than nothing.
                let text = if stdout.is_empty() { stderr.to_owned() } else { stdout };
                ToolResult { content: vec![block(text)], structured: None, is_error: false, meta: None }
            }
            code => {
                let mut texts = vec![failure(code, stderr, stdout.is_empty())];
                texts.extend((!stdout.is_empty()).then_some(stdout));
                failed(texts)
            }
        }
    }
}

fn failure(code: i32, stderr: &str, is_silent: bool) -> String {
    let says = match (stderr, is_silent) {
        ("", true) => " and printed nothing.".to_owned(),
        ("", false) => "; what it printed to stdout follows.".to_owned(),
        (stderr, true) => format!(":\n{stderr}"),
        (stderr, false) => format!("; what it printed to stdout follows. On stderr:\n{stderr}"),
    };
    format!("The program failed with exit code {code}{says}")
}

fn not_text(code: i32, bytes: usize, stderr: &str) -> String {
    let says = if stderr.is_empty() { String::new() } else { format!(" On stderr:\n{stderr}") };
    format!(
        "The program ended with exit code {code}, and its {bytes} bytes of output are not text in UTF-8. Let it write them \
         to a file in a granted folder, or encode them.{says}"
    )
}

fn failed(texts: Vec<String>) -> ToolResult {
    ToolResult { content: texts.into_iter().map(block).collect(), structured: None, is_error: true, meta: None }
}

fn block(text: String) -> Content {
    Content::Text(TextContent::new(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(code: i32, stdout: &[u8], stderr: &str, json: bool) -> (Vec<String>, Option<String>, bool) {
        let result = Ended { code, stdout: stdout.to_vec(), stderr: stderr.to_owned() }.result(json);
        let text = |content| match content {
            Content::Text(text) => text.text,
            other => panic!("{other:?}"),
        };
        (result.content.into_iter().map(text).collect(), result.structured, result.is_error)
    }

    #[test]
    fn output_is_text_or_structured() {
        assert_eq!(texts(0, b"[1]\n", "a warning\n", false), (vec!["[1]\n".into()], None, false));
        assert_eq!(texts(0, b"[1]\n", "", true), (vec![], Some("[1]\n".into()), false));
        assert_eq!(texts(0, b"1 2", "", true), (vec!["1 2".into()], None, false));
        assert_eq!(texts(0, b"", "done\n", true), (vec!["done".into()], None, false));
        assert_eq!(texts(0, b"", "", true), (vec![String::new()], None, false));
    }

    #[test]
    fn failures_have_what_was_printed() {
        let (found, structured, is_error) = texts(2, b"{}", "no such key\n", true);
        assert_eq!(
            found[0],
            "The program failed with exit code 2; what it printed to stdout follows. On stderr:\nno such key"
        );
        assert_eq!((found[1].as_str(), structured, is_error), ("{}", None, true));
        assert_eq!(texts(1, b"", "", false).0, ["The program failed with exit code 1 and printed nothing."]);
        assert_eq!(texts(1, b"", "no\n", false).0, ["The program failed with exit code 1:\nno"]);
        let (found, _, is_error) = texts(0, b"\xff\xfe", "", false);
        assert!(is_error && found[0].contains("2 bytes of output are not text"), "{found:?}");
    }
}

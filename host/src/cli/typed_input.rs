//! The stdin of `wharf serve` on a terminal, where a person may type words in place of a client's messages.

use std::io::{self, Read};

/// Reads from a terminal, which gives a line at a time, and calls `on_words` if the first line is not JSON.
pub(super) struct TypedInput<R, F> {
    input: R,
    /// `None` once it was called.
    on_words: Option<F>,
    at_line_start: bool,
}

impl<R: Read, F: FnOnce()> TypedInput<R, F> {
    pub(super) fn new(input: R, on_words: F) -> Self {
        Self { input, on_words: Some(on_words), at_line_start: true }
    }
}

impl<R: Read, F: FnOnce()> Read for TypedInput<R, F> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.input.read(buffer)?;
        let line = buffer[..read].trim_ascii();
        if self.at_line_start
            && !matches!(line.first(), None | Some(b'{' | b'['))
            && let Some(on_words) = self.on_words.take()
        {
            on_words();
        }
        self.at_line_start = buffer[..read].ends_with(b"\n");
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::TypedInput;

    /// Gives one line at a time, as a terminal does.
    struct Lines(Vec<&'static str>);

    impl std::io::Read for Lines {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            if self.0.is_empty() {
                return Ok(0);
            }
            self.0.remove(0).as_bytes().read(buffer)
        }
    }

    #[test]
    fn words_are_noticed_once_and_json_is_not() {
        for (lines, expected) in [
            (vec!["{\"a\":1}\n", "\n", " [1]\n", "{\"long\":", "1}\n"], 0),
            (vec!["help\n"], 1),
            (vec!["{}\n", "help\n", "quit\n"], 1),
        ] {
            let (mut noticed, mut text) = (0, String::new());
            TypedInput::new(Lines(lines.clone()), || noticed += 1).read_to_string(&mut text).expect("a text");
            assert_eq!((noticed, text), (expected, lines.concat()));
        }
    }
}

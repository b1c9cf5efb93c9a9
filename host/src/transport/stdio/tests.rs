use std::io::{BufReader, Cursor, Write};
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};

use tokio::sync::mpsc;

use super::writer::{Output, Writer};
use super::{Line, read_lines};
use crate::server::{MessageKind, Outgoing};

/// The lines, read with a buffer of `chunk` bytes, so that lines are split in every way. A line that
/// is too long is `!`; one after which the next is already available ends in `+`.
fn lines(input: &[u8], limit: usize, chunk: usize) -> Vec<String> {
    let mut lines = Vec::new();
    read_lines(BufReader::with_capacity(chunk, Cursor::new(input.to_vec())), limit, |line, more| {
        let text = match line {
            Line::Whole(line) => String::from_utf8(line.to_vec()).expect("text"),
            Line::TooLong => "!".to_owned(),
        };
        lines.push(if more { text + "+" } else { text });
        ControlFlow::Continue(())
    });
    lines
}

/// Shared memory as output.
#[derive(Clone, Default)]
struct Written {
    bytes: Arc<Mutex<Vec<u8>>>,
    ready: bool,
}

impl Write for Written {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.bytes.lock().expect("nobody panics").extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Output for Written {
    fn is_ready(&self) -> bool {
        self.ready
    }
}

fn message(text: &str) -> Outgoing {
    Outgoing::new(text.to_owned(), MessageKind::ServerInitiated)
}

#[test]
fn lines_are_complete_however_they_are_split() {
    for chunk in [1, 2, 3, 7, 64] {
        assert_eq!(
            lines(b"{\"a\":1}\r\n\n  \n{\"b\":2}\n{\"last\":3}", 64, chunk)
                .iter()
                .map(|line| line.trim_end_matches('+'))
                .collect::<Vec<_>>(),
            ["{\"a\":1}\r", "{\"b\":2}", "{\"last\":3}"]
        );
    }
}

#[test]
fn a_line_over_the_limit_is_dropped_and_the_next_one_read() {
    for chunk in [1, 5, 64] {
        assert_eq!(
            lines(b"123456789\n12345678\nx\n123456789", 8, chunk)
                .iter()
                .map(|line| line.trim_end_matches('+'))
                .collect::<Vec<_>>(),
            ["!", "12345678", "x", "!"]
        );
    }
}

#[test]
fn lines_report_whether_the_next_one_is_available() {
    assert_eq!(lines(b"1\n2\n3\n", 8, 64), ["1+", "2+", "3"]);
    assert_eq!(lines(b"1\n2\n3", 8, 64), ["1+", "2", "3"]);
}

#[test]
fn a_message_is_written_as_one_line() {
    let (sender, receiver) = mpsc::channel(4);
    for text in ["{\"a\":\n{\"jsonrpc\":\"2.0\"}\r}", "{}"] {
        sender.blocking_send(message(text)).expect("there is room");
    }
    drop(sender);
    let written = Written { ready: true, ..Written::default() };
    let writer = Writer::new(written.clone());
    writer.write_all(receiver).expect("memory can be written to");
    writer.try_write(&message("[\n]")).expect("nobody else writes").expect("memory can be written to");
    let text = String::from_utf8(written.bytes.lock().expect("nobody panics").clone()).expect("text");
    assert_eq!(text, "{\"a\": {\"jsonrpc\":\"2.0\"} }\n{}\n[ ]\n");
}

#[test]
fn nothing_is_written_directly_if_it_might_block() {
    let writer = Writer::new(Written::default());
    assert!(writer.try_write(&message("{}")).is_none());
    let writer = Writer::new(Written { ready: true, ..Written::default() });
    assert!(writer.try_write(&message(&" ".repeat(5000))).is_none());
}

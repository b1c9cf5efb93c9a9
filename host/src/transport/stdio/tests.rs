use std::io::{BufReader, Cursor};

use tokio::sync::mpsc;

use super::{Frame, read_frames, write_messages};
use crate::server::{Kind, Outgoing};

/// Reads with a buffer of `chunk` bytes, so that lines are cut in every way.
fn frames(input: &[u8], limit: usize, chunk: usize) -> Vec<Frame> {
    let (sender, mut receiver) = mpsc::channel(64);
    read_frames(BufReader::with_capacity(chunk, Cursor::new(input.to_vec())), limit, &sender);
    drop(sender);
    std::iter::from_fn(|| receiver.blocking_recv()).collect()
}

#[test]
fn lines_come_whole_however_they_are_cut() {
    for chunk in [1, 2, 3, 7, 64] {
        assert_eq!(
            frames(b"{\"a\":1}\r\n\n  \n{\"b\":2}\n{\"last\":3}", 64, chunk),
            [
                Frame::Line(b"{\"a\":1}\r".to_vec()),
                Frame::Line(b"{\"b\":2}".to_vec()),
                Frame::Line(b"{\"last\":3}".to_vec())
            ]
        );
    }
}

#[test]
fn a_line_over_the_limit_is_dropped_and_the_next_one_read() {
    for chunk in [1, 5, 64] {
        assert_eq!(
            frames(b"123456789\n12345678\nx\n123456789", 8, chunk),
            [Frame::TooLong, Frame::Line(b"12345678".to_vec()), Frame::Line(b"x".to_vec()), Frame::TooLong]
        );
    }
}

#[test]
fn a_message_can_never_be_two_lines() {
    let (sender, receiver) = mpsc::channel(4);
    for text in ["{\"a\":\n{\"jsonrpc\":\"2.0\"}\r}", "{}"] {
        let message = Outgoing { text: text.to_owned(), kind: Kind::Said };
        sender.blocking_send(message).expect("there is room");
    }
    drop(sender);
    let mut output = Vec::new();
    write_messages(&mut output, receiver).expect("memory can be written to");
    assert_eq!(String::from_utf8(output).expect("text"), "{\"a\": {\"jsonrpc\":\"2.0\"} }\n{}\n");
}

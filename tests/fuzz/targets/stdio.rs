//! Whatever is read from stdin, each line of output is a message, and the next request is served.

use std::io::{self, Cursor, Write};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value;
use tokio::runtime::Builder;
use wharf::catalog::Catalog;
use wharf::server::{Server, Settings};
use wharf::transport::stdio;

use super::{JSON_WORDS, MESSAGES, Target};

/// An id that is longer than any input can generate.
const LAST: &str = "the last request, which is answered whatever came before";

pub(super) fn target() -> Target {
    let mut seeds: Vec<Vec<u8>> = MESSAGES.iter().map(|message| format!("{message}\n").into_bytes()).collect();
    seeds.push(MESSAGES.join("\n").into_bytes());
    Target { name: "stdio", seeds, words: JSON_WORDS.to_vec(), run }
}

/// Fails with the last answer, which ends the connection at once.
#[derive(Clone, Default)]
struct Output(Arc<Mutex<Vec<u8>>>);

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("no writer panicked").extend_from_slice(bytes);
        let last = bytes.windows(LAST.len()).any(|piece| piece == LAST.as_bytes());
        if last { Err(io::ErrorKind::BrokenPipe.into()) } else { Ok(bytes.len()) }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl stdio::Output for Output {}

fn run(input: &[u8]) {
    let mut sent = input.to_vec();
    sent.extend_from_slice(format!("\n{{\"jsonrpc\":\"2.0\",\"id\":\"{LAST}\",\"method\":\"ping\"}}\n").as_bytes());
    let output = Output::default();
    let bounds =
        stdio::Settings { max_message: 1024, after_eof: Duration::from_millis(50), ..stdio::Settings::default() };
    let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let catalog = Arc::new(Catalog::default());
        // There is no folder to wait for.
        catalog.set_files_known();
        catalog.set_ready();
        let server = Server::new(catalog, Settings::default());
        stdio::serve(server, Cursor::new(sent), output.clone(), bounds, std::future::pending()).await;
    });
    let written = output.0.lock().expect("no writer panicked").clone();
    let written = String::from_utf8(written).expect("UTF-8 output");
    assert!(written.is_empty() || written.ends_with('\n'));
    let mut answered = 0;
    for line in written.lines() {
        let message: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        for message in message.as_array().unwrap_or(&vec![message.clone()]) {
            assert_eq!(message["jsonrpc"], "2.0", "{line}");
            answered += usize::from(message["id"] == LAST);
        }
    }
    assert_eq!(answered, 1, "{written}");
}

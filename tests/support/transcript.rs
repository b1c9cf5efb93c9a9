//! Plays a transcript against a host and fails at the first difference.
//!
//! A line `> …` is sent unchanged, JSON or not; a line `< …` is expected; `#` starts a comment. The
//! messages expected after a run of sent lines may arrive in any order, and no others may arrive until
//! the end of the connection. After a line `# in order` they must arrive in the order of the lines,
//! until `# in any order`. `# plugins: a b=c` names the guests, `c` as the plugin `b`; `# settings: …`
//! is a line of `wharf.toml`; `# folder: NAME` creates an empty folder beside that file; `# file: PATH TEXT` creates a
//! file in the plugin folder, with line ends for `\\n`. `# not over
//! http: …` gives the reason why the lines up to the next comment or empty line (or all lines, if it
//! precedes the first) do not apply over HTTP. Placeholders: see [`super::compare`].

use std::collections::HashMap;

use serde_json::Value;

use super::TIMEOUT;
use super::compare::{difference, put, save};
use super::wire::{Received, Wire};

pub struct Transcript {
    name: String,
    pub plugins: Vec<String>,
    pub settings: String,
    pub folders: Vec<String>,
    /// Paths in the plugin folder, and texts.
    pub files: Vec<(String, String)>,
    blocks: Vec<Block>,
}

/// Lines to send, and the expected messages.
#[derive(Default)]
struct Block {
    sent: Vec<String>,
    expected: Vec<(usize, Value)>,
    in_order: bool,
    not_over_http: bool,
}

impl Transcript {
    /// # Panics
    /// On an invalid line, with its number.
    pub fn parse(name: &str, text: &str) -> Self {
        let mut transcript = Self {
            name: name.to_owned(),
            plugins: Vec::new(),
            settings: String::new(),
            folders: Vec::new(),
            files: Vec::new(),
            blocks: Vec::new(),
        };
        let (mut in_order, mut not_over_http, mut never_over_http) = (false, false, false);
        for (number, line) in (1..).zip(text.lines()) {
            if let Some(frame) = line.strip_prefix("> ") {
                let goes_on = |block: &Block| block.expected.is_empty() && block.not_over_http == not_over_http;
                if !transcript.blocks.last().is_some_and(goes_on) {
                    transcript.blocks.push(Block { in_order, not_over_http, ..Block::default() });
                }
                transcript.blocks.last_mut().expect("just pushed").sent.push(frame.to_owned());
            } else if let Some(json) = line.strip_prefix("< ") {
                let value = serde_json::from_str(json).unwrap_or_else(|error| panic!("{name}:{number}: {error}"));
                let block = transcript.blocks.last_mut();
                block
                    .unwrap_or_else(|| panic!("{name}:{number}: expected before anything is sent"))
                    .expected
                    .push((number, value));
            } else if let Some(plugins) = line.strip_prefix("# plugins:") {
                transcript.plugins.extend(plugins.split_whitespace().map(str::to_owned));
            } else if let Some(setting) = line.strip_prefix("# settings:") {
                transcript.settings.push_str(setting.trim());
                transcript.settings.push('\n');
            } else if let Some(folder) = line.strip_prefix("# folder:") {
                transcript.folders.push(folder.trim().to_owned());
            } else if let Some((path, text)) = line.strip_prefix("# file: ").and_then(|file| file.split_once(' ')) {
                transcript.files.push((path.to_owned(), text.replace("\\n", "\n")));
            } else if line.starts_with("# not over http:") {
                not_over_http = true;
            } else if line == "# in order" || line == "# in any order" {
                in_order = line == "# in order";
            } else {
                never_over_http |= not_over_http && transcript.blocks.is_empty();
                not_over_http = never_over_http;
                let other = !line.trim().is_empty() && !line.starts_with('#');
                assert!(!other, "{name}:{number}: neither sent, expected nor a comment");
            }
        }
        assert!(!transcript.blocks.is_empty(), "{name}: an empty transcript");
        transcript
    }

    /// The part of it that applies over HTTP, if any.
    pub fn over_http(mut self) -> Option<Self> {
        self.name += " over HTTP";
        self.blocks.retain(|block| !block.not_over_http);
        for (_, expected) in self.blocks.iter_mut().flat_map(|block| &mut block.expected) {
            // An error without a request may omit the id (basic/transports, "Sending Messages to the Server").
            if expected.get("id").is_some_and(Value::is_null) {
                expected["id"] = "<maybe>".into();
            }
        }
        (!self.blocks.is_empty()).then_some(self)
    }

    /// # Panics
    /// At the first missing or unexpected message.
    pub fn play(&self, wire: &mut impl Wire) {
        let mut saved = HashMap::new();
        for block in &self.blocks {
            for frame in &block.sent {
                wire.send(&put(frame, &saved));
            }
            let mut open: Vec<&(usize, Value)> = block.expected.iter().collect();
            while !open.is_empty() {
                match wire.receive(TIMEOUT) {
                    Received::Frame(frame) => self.take(&mut open, block.in_order, &frame, &mut saved),
                    ended => panic!("{}:{}: {ended:?} instead of {}", self.name, open[0].0, open[0].1),
                }
            }
        }
        wire.close();
        match wire.receive(TIMEOUT) {
            Received::Closed => {}
            Received::Frame(frame) => panic!("{}: came at the end, unexpected: {frame}", self.name),
            Received::TimedOut => panic!("{}: the host does not close after the end of its input", self.name),
        }
    }

    /// Removes the message from those expected.
    fn take(&self, open: &mut Vec<&(usize, Value)>, in_order: bool, frame: &str, saved: &mut HashMap<String, Value>) {
        let actual: Value =
            serde_json::from_str(frame).unwrap_or_else(|error| panic!("{}: {error} in {frame:?}", self.name));
        let next = if in_order { &open[..1] } else { &open[..] };
        if let Some(at) = next.iter().position(|(_, expected)| difference(expected, &actual).is_none()) {
            save(&open.remove(at).1, &actual, saved);
            return;
        }
        // Report the difference from the expected message with the same id and method, if there is one.
        let alike = |expected: &Value| ["id", "method"].iter().all(|name| expected.get(name) == actual.get(name));
        let nearest = next.iter().find(|(_, expected)| alike(expected)).unwrap_or(&next[0]);
        let why = difference(&nearest.1, &actual).expect("else it would have matched");
        panic!("{}:{}: {why}\n  expected {}\n  received {frame}", self.name, nearest.0, nearest.1);
    }
}

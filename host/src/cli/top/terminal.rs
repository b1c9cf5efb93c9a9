//! The screen and the keys.

use std::io::{self, IsTerminal as _, Read as _, Write as _};
use std::thread;

use anstream::{AutoStream, ColorChoice};
use tokio::sync::mpsc;

use crate::os::terminal::{self, SingleKeys};
use crate::report::Failure;

/// Another screen, whose content goes when it is left, without a cursor.
const ENTER: &str = "\u{1b}[?1049h\u{1b}[?25l";
const LEAVE: &str = "\u{1b}[?25h\u{1b}[?1049l";
/// To the upper left corner, to the end of a line, and to the end of the screen.
const HOME: &str = "\u{1b}[H";
const REST_OF_LINE: &str = "\u{1b}[K";
const REST: &str = "\u{1b}[J";
/// Columns and lines of a terminal that does not say.
const SIZE: (usize, usize) = (80, 24);
/// Keys that were typed and not handled yet.
const KEYS: usize = 64;

/// Whether tables can be shown one over the other.
pub(super) fn is_there() -> bool {
    io::stdout().is_terminal()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Key {
    Left,
    Right,
    Char(char),
}

/// The terminal, which is as it was before once this is dropped.
pub(super) struct Screen {
    is_coloured: bool,
    _keys: Option<SingleKeys>,
}

impl Screen {
    /// With the keys that are typed from now on, if there is a keyboard.
    ///
    /// # Errors
    /// If stdout cannot be written, or no thread can be started.
    pub(super) fn enter() -> Result<(Self, mpsc::Receiver<Key>), Failure> {
        let (sender, keys) = mpsc::channel(KEYS);
        let single = SingleKeys::begin();
        if single.is_some() {
            let started = thread::Builder::new().name("keys".to_owned()).spawn(move || send_keys(&sender));
            started.map_err(|error| Failure::new(format!("start a thread for keys: {error}")))?;
        }
        let is_coloured = AutoStream::choice(&io::stdout()) != ColorChoice::Never;
        let screen = Self { is_coloured, _keys: single };
        write(ENTER)?;
        Ok((screen, keys))
    }

    /// Columns and lines.
    pub(super) fn size(&self) -> (usize, usize) {
        let (width, height) = (terminal::width(io::stdout()), terminal::height(io::stdout()));
        (width.unwrap_or(SIZE.0), height.unwrap_or(SIZE.1))
    }

    /// Shows lines, which fit, in place of those before.
    pub(super) fn show(&self, lines: &[String]) -> Result<(), Failure> {
        let mut frame = HOME.to_owned();
        for (at, line) in lines.iter().enumerate() {
            frame += if at > 0 { "\r\n" } else { "" };
            match self.is_coloured {
                true => frame += line,
                false => frame += &anstream::adapter::strip_str(line).to_string(),
            }
            frame += REST_OF_LINE;
        }
        write(&(frame + REST))
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        let _ = write(LEAVE);
    }
}

fn write(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    written.map_err(|error| Failure::new(format!("write to stdout: {error}")))
}

/// Until there are no more, or nobody wants them.
fn send_keys(sender: &mpsc::Sender<Key>) {
    let mut typed = [0; 64];
    while let Ok(bytes @ 1..) = io::stdin().read(&mut typed) {
        for key in keys(&typed[..bytes]) {
            if sender.blocking_send(key).is_err() {
                return;
            }
        }
    }
}

/// The keys that a terminal sends as these bytes: an arrow is three of them, which come together.
fn keys(mut bytes: &[u8]) -> Vec<Key> {
    let mut keys = Vec::new();
    loop {
        bytes = match bytes {
            [] => return keys,
            [0x1b, b'[' | b'O', letter, rest @ ..] => {
                keys.extend(match letter {
                    b'D' => Some(Key::Left),
                    b'C' => Some(Key::Right),
                    _ => None,
                });
                rest
            }
            [byte, rest @ ..] => {
                keys.extend((0x20..0x7f).contains(byte).then(|| Key::Char(char::from(*byte))));
                rest
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Key, keys};

    #[test]
    fn bytes_are_letters_and_arrows() {
        assert_eq!(keys(b"q\x1b[Dx\x1bOC"), [Key::Char('q'), Key::Left, Key::Char('x'), Key::Right]);
        assert_eq!(keys(b"\x1b[A\r\n\xc3\x1b"), []);
        assert_eq!(keys(b""), []);
    }
}

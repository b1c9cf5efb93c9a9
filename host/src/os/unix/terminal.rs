//! The terminal of a command.

use std::io;
use std::os::fd::AsFd;

use rustix::termios::{
    LocalModes, OptionalActions, QueueSelector, SpecialCodeIndex, Termios, tcflush, tcgetattr, tcgetwinsize, tcsetattr,
};

/// The byte that stands for no key.
const DISABLED: u8 = 0;

/// Columns of the terminal that a stream is, if it is one and knows.
pub(crate) fn width(stream: impl AsFd) -> Option<usize> {
    tcgetwinsize(stream).ok().map(|size| usize::from(size.ws_col)).filter(|columns| *columns > 0)
}

/// Lines of the terminal that a stream is, if it is one and knows.
pub(crate) fn height(stream: impl AsFd) -> Option<usize> {
    tcgetwinsize(stream).ok().map(|size| usize::from(size.ws_row)).filter(|lines| *lines > 0)
}

/// While it lives, each key that is typed can be read at once, and is not shown. Ctrl-C is a signal as ever; Ctrl-Z does
/// nothing, since the terminal would stay so.
pub(crate) struct SingleKeys(Termios);

impl SingleKeys {
    /// `None`: stdin is no terminal.
    pub(crate) fn begin() -> Option<Self> {
        let before = tcgetattr(io::stdin()).ok()?;
        let mut keys = before.clone();
        keys.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO);
        keys.special_codes[SpecialCodeIndex::VMIN] = 1;
        keys.special_codes[SpecialCodeIndex::VTIME] = 0;
        keys.special_codes[SpecialCodeIndex::VSUSP] = DISABLED;
        tcsetattr(io::stdin(), OptionalActions::Now, &keys).ok()?;
        Some(Self(before))
    }
}

impl Drop for SingleKeys {
    fn drop(&mut self) {
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, &self.0);
    }
}

/// Discards what was typed and not read yet, if stdin is a terminal.
pub(crate) fn discard_input() {
    let _ = tcflush(io::stdin(), QueueSelector::IFlush);
}

//! The terminal of a command.

/// Unknown: lines are broken by the terminal.
pub(crate) fn width<S>(_: S) -> Option<usize> {
    None
}

/// Does nothing: what was typed before stays to be read.
pub(crate) fn discard_input() {}

/// Unknown.
pub(crate) fn height<S>(_: S) -> Option<usize> {
    None
}

/// Changes nothing: a key can be read once Enter is pressed.
pub(crate) struct SingleKeys;

impl SingleKeys {
    pub(crate) fn begin() -> Option<Self> {
        Some(Self)
    }
}

//! The decision table: whether a version of a plugin may run, given what was pinned.
//!
//! Pure; docs/approval.md describes it.

use std::collections::BTreeSet;
use std::fmt;

use super::pin::{Pin, names};
use crate::plugin::{Access, Digest, Signer};

/// How much runs without approval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Trust {
    /// All but revoked versions; nothing is pinned. For a folder that its developer builds into.
    Dev,
    /// First versions, and updates that do not use existing grants under changed tool descriptions.
    #[default]
    Default,
    /// Approved versions only.
    Strict,
}

/// The trust rules of one plugin.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rules {
    pub trust: Trust,
    /// The only digest that may run, pinned in the configuration.
    pub by_hand: Option<Digest>,
    /// The pinned content may change its surface at any time.
    pub free_words: bool,
}

/// What is known of a version before it may run.
#[derive(Clone, Debug, PartialEq)]
pub struct Seen {
    pub content: Digest,
    pub signer: Option<Signer>,
    /// Kinds of access that the plugin holds.
    pub grants: BTreeSet<Access>,
    /// `None`: it has not been listed yet, and counts as unchanged.
    pub surface: Option<Digest>,
    /// Of its imports; known as soon as the surface is.
    pub needs: BTreeSet<Access>,
}

/// Why a version is held. Reads after "held: ".
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    Revoked,
    /// The configuration pins another content.
    NotTheOnePinned,
    /// It has not been approved, and trust is strict.
    Unapproved,
    SignatureLost,
    SignerChanged {
        from: String,
        to: String,
    },
    /// Its surface differs from the pinned one, and the plugin holds grants.
    OtherWords,
    /// Its surface differs from the approved one, and trust is strict.
    UnapprovedWords,
    /// It needs kinds of access that the pinned version did not, and the plugin holds grants.
    NeedsMore(BTreeSet<String>),
    /// It cannot be listed without its grants, and the plugin holds some.
    Silent,
    /// The pins cannot be read.
    NoLock,
    /// It cannot be pinned, and the plugin holds grants.
    NotKept,
}

impl Reason {
    /// The machine-readable code.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Revoked => "revoked",
            Self::NotTheOnePinned => "not_the_one_pinned",
            Self::Unapproved => "unapproved",
            Self::SignatureLost => "signature_lost",
            Self::SignerChanged { .. } => "signer_changed",
            Self::OtherWords | Self::UnapprovedWords => "other_words",
            Self::NeedsMore(_) => "needs_more",
            Self::Silent => "silent",
            Self::NoLock => "no_lock",
            Self::NotKept => "not_kept",
        }
    }

    /// Whether it also applies to versions in service.
    pub fn stops_service(&self) -> bool {
        matches!(self, Self::Revoked | Self::NotTheOnePinned)
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Revoked => "it was revoked",
            Self::NotTheOnePinned => "the configuration pins another version",
            Self::Unapproved => "it has not been approved",
            Self::SignatureLost => "it is not signed, but the previous version was",
            Self::SignerChanged { from, to } => {
                return write!(f, "it is signed by {to}, but the previous version by {from}");
            }
            Self::UnapprovedWords => "its tool descriptions are not the approved ones",
            Self::OtherWords => "the plugin holds grants, and its tool descriptions have changed",
            Self::NeedsMore(kinds) => {
                let kinds: Vec<&str> = kinds.iter().map(String::as_str).collect();
                return write!(f, "the plugin holds grants, and imports more than before: {}", kinds.join(", "));
            }
            Self::Silent => "the plugin holds grants, and cannot list what it offers without them",
            Self::NoLock => "the plugin holds grants, and the approved version is unknown",
            Self::NotKept => "the plugin holds grants, and the pin file cannot be written",
        })
    }
}

/// Whether a version may run. `pin` is that of its plugin, if there is one; `revoked`, whether
/// its content was.
///
/// # Errors
/// Why it is held.
pub fn decide(rules: &Rules, pin: Option<&Pin>, revoked: bool, seen: &Seen) -> Result<(), Reason> {
    if revoked {
        return Err(Reason::Revoked);
    }
    match (rules.by_hand, rules.trust) {
        (Some(content), _) if content != seen.content => return Err(Reason::NotTheOnePinned),
        (Some(_), _) | (None, Trust::Dev) => return Ok(()),
        (None, Trust::Default | Trust::Strict) => {}
    }
    let strict = rules.trust == Trust::Strict;
    let Some(pin) = pin else { return if strict { Err(Reason::Unapproved) } else { Ok(()) } };
    if strict && !(pin.approved && pin.content == seen.content) {
        return Err(Reason::Unapproved);
    }
    if let Some(from) = &pin.signer {
        match seen.signer.as_ref().map(Signer::to_string) {
            None => return Err(Reason::SignatureLost),
            Some(to) if to != *from => return Err(Reason::SignerChanged { from: from.clone(), to }),
            Some(_) => {}
        }
    }
    if seen.grants.is_empty() && !strict {
        return Ok(());
    }
    let free = rules.free_words && pin.content == seen.content;
    if !free && seen.surface.is_some_and(|surface| surface != pin.surface) {
        return Err(if seen.grants.is_empty() { Reason::UnapprovedWords } else { Reason::OtherWords });
    }
    let known: BTreeSet<String> = pin.needs.union(&names(&seen.grants)).cloned().collect();
    let more: BTreeSet<String> = names(&seen.needs).difference(&known).cloned().collect();
    if more.is_empty() { Ok(()) } else { Err(Reason::NeedsMore(more)) }
}

/// Whether a version may use its plugin's grants while it is listed: it is the pinned one, or there is
/// nothing to compare its surface with.
pub(super) fn is_known(rules: &Rules, pin: Option<&Pin>, content: Digest) -> bool {
    let free = rules.trust == Trust::Dev || rules.by_hand == Some(content);
    free || pin.is_none_or(|pin| pin.content == content)
}

#[cfg(test)]
mod tests;

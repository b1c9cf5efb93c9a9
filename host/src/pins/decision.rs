//! The decision table: whether a version of a plugin may run, given its pin.
//!
//! Pure; documented in docs/approval.md.

use std::collections::BTreeSet;
use std::fmt;

use wharf_report::{bounded, line};

use super::pin::{Pin, Revocation, names};
use crate::plugin::{Access, Digest, Grants, Signer, Surface};

/// Which versions run without approval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Trust {
    /// All but revoked versions; nothing is pinned. For a folder that a developer builds into.
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
    pub configured_pin: Option<Digest>,
    /// A version with the pinned digest may change its surface at any time (`change-lists`).
    pub surface_may_change: bool,
    /// It is a skill: it holds no grants, but tells a model what to do with those of all plugins.
    pub is_skill: bool,
}

impl Rules {
    /// Whether a version that differs from the pinned one waits for approval also where trust is not strict.
    pub(super) fn guard_changes(&self, version: &PluginVersion) -> bool {
        self.is_skill || version.has_skills || !version.grants.is_empty()
    }
}

/// What is known about a version before it may run.
#[derive(Clone, Debug, PartialEq)]
pub struct PluginVersion {
    pub content: Digest,
    pub signer: Option<Signer>,
    /// Kinds of access that are granted to the plugin.
    pub grants: BTreeSet<Access>,
    /// The same in full: [`Grants::texts`].
    pub granted: BTreeSet<String>,
    /// `None`: not listed yet; treated as unchanged.
    pub surface: Option<Digest>,
    /// Kinds of access that its imports need; set together with the surface.
    pub needs: BTreeSet<Access>,
    /// It tells a model what to do with the tools of all plugins; set together with the surface.
    pub has_skills: bool,
}

impl PluginVersion {
    /// A version that was not listed yet.
    pub fn unlisted(content: Digest, signer: Option<Signer>, grants: &Grants) -> Self {
        let (grants, granted) = (grants.kinds(), grants.texts());
        Self { content, signer, grants, granted, surface: None, needs: BTreeSet::new(), has_skills: false }
    }

    /// A version of a skill. `text`: all that a person approves; a skill has no grants.
    pub fn of_skill(text: &str) -> Self {
        let content = Digest::of(text.as_bytes());
        Self { surface: Some(content), ..Self::unlisted(content, None, &Grants::default()) }
    }

    /// Records what it lists, and returns that as text.
    pub fn set_surface(&mut self, surface: &Surface) -> String {
        let text = surface.canonical();
        self.surface = Some(Digest::of(text.as_bytes()));
        self.has_skills = !surface.skills.is_empty();
        text
    }

    /// The same version with these grants.
    pub fn with_grants(&self, grants: &Grants) -> Self {
        Self { grants: grants.kinds(), granted: grants.texts(), ..self.clone() }
    }
}

/// Why a version is held. Reads after "held: ".
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    Revoked,
    /// Another version of the plugin was revoked, no version is pinned, and the plugin has grants.
    FollowsRevoked,
    /// The configuration pins another digest.
    PinMismatch,
    /// Not approved, and trust is strict.
    Unapproved,
    SignatureLost,
    SignerChanged {
        from: String,
        to: String,
    },
    /// The surface differs from the pinned one, and the plugin has grants.
    SurfaceChanged,
    /// The surface differs from the pinned one, and the plugin carries skills.
    SurfaceOfSkillsChanged,
    /// The files of a skill differ from the pinned ones.
    SkillChanged,
    /// The surface differs from the approved one, and trust is strict.
    SurfaceUnapproved,
    /// It needs kinds of access that the pinned version did not, and the plugin has grants.
    NeedsMoreAccess(BTreeSet<String>),
    /// It was approved for other grants: the configuration also has these.
    ApprovedForOtherGrants(BTreeSet<String>),
    /// It cannot be listed without its grants.
    ListingNeedsGrants,
    /// The pins cannot be read.
    PinsUnreadable,
    /// The pin cannot be written, and the plugin has grants.
    PinsUnwritable,
}

impl Reason {
    /// The machine-readable code.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Revoked => "revoked",
            Self::FollowsRevoked => "follows_revoked",
            Self::PinMismatch => "not_the_one_pinned",
            Self::Unapproved => "unapproved",
            Self::SignatureLost => "signature_lost",
            Self::SignerChanged { .. } => "signer_changed",
            Self::SurfaceChanged | Self::SurfaceOfSkillsChanged | Self::SkillChanged | Self::SurfaceUnapproved => {
                "other_words"
            }
            Self::NeedsMoreAccess(_) => "needs_more",
            Self::ApprovedForOtherGrants(_) => "other_grants",
            Self::ListingNeedsGrants => "silent",
            Self::PinsUnreadable => "no_lock",
            Self::PinsUnwritable => "not_kept",
        }
    }

    /// Whether it waits for a person, who has not decided on it. What a person revoked does not, although an approval takes
    /// that back.
    pub fn needs_approval(&self) -> bool {
        !matches!(self, Self::Revoked | Self::PinMismatch | Self::PinsUnreadable | Self::PinsUnwritable)
    }

    /// Whether it also stops versions that are already in service.
    pub fn stops_service(&self) -> bool {
        matches!(self, Self::Revoked | Self::FollowsRevoked | Self::PinMismatch | Self::ApprovedForOtherGrants(_))
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Revoked => "it was revoked",
            Self::FollowsRevoked => "the plugin holds grants or carries skills, and another version of it was revoked",
            Self::PinMismatch => "the configuration pins another version",
            Self::Unapproved => "it has not been approved",
            Self::SignatureLost => "it is not signed, but the previous version was",
            Self::SignerChanged { from, to } => {
                let from = line(&bounded(from));
                return write!(f, "it is signed by {to}, but the previous version by {from}");
            }
            Self::SurfaceUnapproved => "its lists are not the approved ones",
            Self::SkillChanged => "a model follows it, and its files have changed",
            Self::SurfaceOfSkillsChanged => {
                "the plugin carries skills, which a model follows, and they or its lists have changed"
            }
            Self::SurfaceChanged => "the plugin holds grants, and its lists have changed",
            Self::NeedsMoreAccess(kinds) => {
                let kinds: Vec<&str> = kinds.iter().map(String::as_str).collect();
                return write!(f, "the plugin holds grants, and imports more than before: {}", kinds.join(", "));
            }
            Self::ApprovedForOtherGrants(more) => {
                let more: Vec<&str> = more.iter().map(String::as_str).collect();
                let more = more.join("; ");
                return write!(f, "it was approved without these grants, which the configuration has: {more}");
            }
            Self::ListingNeedsGrants => "the plugin holds grants, and cannot list what it offers without them",
            Self::PinsUnreadable => "the pin file cannot be read",
            Self::PinsUnwritable => "it must be pinned, and the pin file cannot be written",
        })
    }
}

/// Whether a version may run. `pin` is its plugin's.
///
/// # Errors
/// Why it is held.
pub fn decide(rules: &Rules, pin: Option<&Pin>, revocation: Revocation, version: &PluginVersion) -> Result<(), Reason> {
    if revocation == Revocation::OfContent {
        return Err(Reason::Revoked);
    }
    match (rules.configured_pin, rules.trust) {
        (Some(content), _) if content != version.content => return Err(Reason::PinMismatch),
        (Some(_), _) | (None, Trust::Dev) => return Ok(()),
        (None, Trust::Default | Trust::Strict) => {}
    }
    let strict = rules.trust == Trust::Strict;
    let Some(pin) = pin else {
        // What follows a version that a person did not want is no first use.
        let follows = revocation == Revocation::OfPlugin && rules.guard_changes(version);
        return match (strict, follows) {
            (true, _) => Err(Reason::Unapproved),
            (false, true) if rules.is_skill => Err(Reason::Unapproved),
            (false, true) => Err(Reason::FollowsRevoked),
            (false, false) => Ok(()),
        };
    };
    if strict && !(pin.approved && pin.content == version.content) {
        return Err(Reason::Unapproved);
    }
    if let Some(from) = &pin.signer {
        match version.signer.as_ref().map(Signer::to_string) {
            None => return Err(Reason::SignatureLost),
            Some(to) if to != *from => return Err(Reason::SignerChanged { from: from.clone(), to }),
            Some(_) => {}
        }
    }
    if !rules.guard_changes(version) && !strict {
        return Ok(());
    }
    if let Some(approved) = pin.approved_grants.as_ref().filter(|_| pin.content == version.content) {
        let more: BTreeSet<String> = version.granted.difference(approved).cloned().collect();
        if !more.is_empty() {
            return Err(Reason::ApprovedForOtherGrants(more));
        }
    }
    let may_change = rules.surface_may_change && pin.content == version.content;
    if !may_change && version.surface.is_some_and(|surface| surface != pin.surface) {
        return Err(match version.grants.is_empty() {
            _ if rules.is_skill => Reason::SkillChanged,
            true if version.has_skills && !strict => Reason::SurfaceOfSkillsChanged,
            true => Reason::SurfaceUnapproved,
            false => Reason::SurfaceChanged,
        });
    }
    let known: BTreeSet<String> = pin.needs.union(&names(&version.grants)).cloned().collect();
    let more: BTreeSet<String> = names(&version.needs).difference(&known).cloned().collect();
    if more.is_empty() { Ok(()) } else { Err(Reason::NeedsMoreAccess(more)) }
}

/// Whether a version may use its plugin's grants while it is listed: it has the pinned digest, or there
/// is no pin to compare it with.
pub(super) fn may_list_with_grants(rules: &Rules, pin: Option<&Pin>, content: Digest) -> bool {
    let needs_no_pin = rules.trust == Trust::Dev || rules.configured_pin == Some(content);
    needs_no_pin || pin.is_none_or(|pin| pin.content == content)
}

#[cfg(test)]
mod tests;

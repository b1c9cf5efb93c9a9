//! The decision on a version, as text for users and for the audit log.

use std::path::Path;

use wharf_report::shell_word;

use super::decision::{PluginVersion, Reason};
use crate::plugin::{Digest, PluginId, Signer};

/// On which ground a version was admitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AdmittedAs {
    /// There is no pin to compare it with: auto-approved on first use, or nothing is pinned.
    FirstUse,
    /// It is the pinned version.
    Unchanged,
    /// It differs from the pinned version in a way that needs no approval.
    Updated { surface_changed: bool },
}

/// The decision on a version.
#[derive(Clone, Debug)]
pub struct Decision {
    pub plugin: PluginId,
    pub content: Digest,
    /// `None`: the version was not listed.
    pub surface: Option<Digest>,
    pub signer: Option<Signer>,
    /// How it was admitted, or why it is held.
    pub outcome: Result<AdmittedAs, Reason>,
}

impl Decision {
    pub fn new(plugin: PluginId, version: &PluginVersion, outcome: Result<AdmittedAs, Reason>) -> Self {
        Self { plugin, content: version.content, surface: version.surface, signer: version.signer.clone(), outcome }
    }

    /// The same, if it replaces another version in service: compared with that one, unless it was compared with the pinned
    /// one, which is what was approved.
    pub fn replacing(self, served: &PluginVersion) -> Self {
        if self.outcome != Ok(AdmittedAs::FirstUse) || served.content == self.content {
            return self;
        }
        Self { outcome: Ok(AdmittedAs::Updated { surface_changed: served.surface != self.surface }), ..self }
    }

    /// The code for logs.
    pub fn event(&self) -> &'static str {
        match &self.outcome {
            Ok(AdmittedAs::FirstUse) => "first_use",
            Ok(AdmittedAs::Unchanged) => "same",
            Ok(AdmittedAs::Updated { surface_changed: false }) => "followed",
            Ok(AdmittedAs::Updated { surface_changed: true }) => "followed_with_other_words",
            Err(_) => "hold",
        }
    }

    /// Why it is held; reads after "failed to".
    pub fn refusal(&self) -> String {
        let Err(reason) = &self.outcome else { return String::new() };
        match reason {
            Reason::Revoked => "run this version, which was revoked".to_owned(),
            reason if reason.needs_approval() => {
                format!("run this version, which is held (pending approval): {reason}")
            }
            reason => format!("run this version, which is held: {reason}"),
        }
    }

    /// A hint for the operator. `program` is how commands begin, and `folder` where the plugin's file is.
    pub fn hint(&self, program: &str, folder: &Path) -> String {
        let command = self.command(program, folder);
        match &self.outcome {
            Err(reason) if !reason.needs_approval() => command,
            _ => format!("to see the changes: {program} status {}; {command}", shell_word(folder)),
        }
    }

    /// The hint where the changes are already shown.
    pub fn command(&self, program: &str, folder: &Path) -> String {
        let id = &self.plugin;
        match &self.outcome {
            Err(Reason::PinMismatch) => format!("change or remove `pin` under [plugins.{id}] in the configuration"),
            Err(Reason::PinsUnreadable) => "repair the pin file; the log says what is wrong with it".into(),
            Err(Reason::PinsUnwritable) => format!(
                "free disk space for $XDG_STATE_HOME/wharf, or make that folder writable by this user: the version then \
                 runs within seconds; or add pin = \"blake3:{}\" under [plugins.{id}] in the configuration",
                self.content
            ),
            Err(Reason::Revoked) => format!("to undo that: {}", approve_command(program, id, Some(folder))),
            outcome => {
                let approve = format!("to approve it: {}", approve_command(program, id, Some(folder)));
                match outcome {
                    Err(Reason::SurfaceUnapproved) => format!(
                        "{approve}; if what it offers changes by itself: {program} grant {id} {} change-lists",
                        shell_word(folder)
                    ),
                    _ => approve,
                }
            }
        }
    }
}

/// The command that approves the version in a folder; `None` is the user's default folder.
pub fn approve_command(program: &str, id: &PluginId, folder: Option<&Path>) -> String {
    let folder = folder.map_or_else(String::new, |folder| format!(" {}", shell_word(folder)));
    format!("{program} approve {id}{folder}")
}

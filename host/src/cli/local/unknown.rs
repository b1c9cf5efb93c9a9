//! What a command says of a name that no plugin serves.

use wharf_report::{ShowPath as _, shell_text, shell_word};

use super::{Local, SUGGESTIONS, is_of, prompt_of, tool_of};
use crate::catalog::{Held, MAX_NAMED, Naming, PublicName, plugin_of};
use crate::cli::wiring;
use crate::pins::Reason;
use crate::plugin::PluginId;
use crate::protocol::nearest::near;
use crate::report::{self, Failure};

impl Local {
    /// The failure for a name that no plugin has. A plugin that is not served may be the one with it.
    pub(super) fn unknown<'n>(&self, kind: &str, name: &str, names: impl Iterator<Item = &'n str>) -> Failure {
        if let Some(failure) = self.unserved(kind, name).or_else(|| self.of_another_kind(kind, name)) {
            return failure;
        }
        self.report_refused_owners(name);
        let (program, path) = (&self.program, shell_word(&self.path));
        let mut list = format!("{program} list {path} shows what there is");
        let named = |held: &[&Held]| {
            let names: Vec<&str> = held.iter().map(|held| held.decision.plugin.as_ref()).take(MAX_NAMED).collect();
            format!("{}; to see why: {program} status {path}", names.join(", "))
        };
        match (self.held_owners(name).as_slice(), self.held.as_slice()) {
            ([], []) => {}
            ([], held) => list = format!("{list}, but not what is held: {}", named(&held.iter().collect::<Vec<_>>())),
            ([one], _) => report::held(one),
            (several, _) => list = format!("it may be of a plugin that is held: {}", named(several)),
        }
        let hint = match near(name, names, SUGGESTIONS).as_slice() {
            [] => list,
            near => format!("did you mean {}? {list}", near.join(", ")),
        };
        Failure::usage(format!("find the {kind} {name}")).hint(hint)
    }

    /// The failure for a tool that is named as a prompt, and the like.
    fn of_another_kind(&self, kind: &str, name: &str) -> Option<Failure> {
        let snapshot = self.catalog.snapshot();
        let path = &self.path;
        let (is, command) = if tool_of(&snapshot, path, name).is_some() {
            ("tool", "call")
        } else if prompt_of(&snapshot, path, name).is_some() {
            ("prompt", "prompt")
        } else if snapshot.provider_of(name).is_some() {
            ("resource", "read")
        } else {
            return None;
        };
        let (path, word) = (shell_word(path), shell_text(name));
        Some(
            Failure::usage(format!("find the {kind} {name}: it is a {is}"))
                .hint(format!("run: {} {command} {path} {word}", self.program)),
        )
    }

    /// The failure for a name that begins with that of a plugin which is not served.
    fn unserved(&self, kind: &str, name: &str) -> Option<Failure> {
        let id = PluginId::parse(PublicName::prefix(name)).ok()?;
        if wiring::plugin_settings(&self.config, &id).naming != Naming::Prefixed {
            return None;
        }
        let failed =
            |why: String| Failure::usage(format!("use the {kind} {name}: it is of the plugin {id}, which {why}"));
        let held = self.held.iter().find(|held| held.decision.plugin == id);
        if let Some((reason, hint)) = held.and_then(|held| Some((held.decision.outcome.as_ref().err()?, &held.hint))) {
            let why = match reason {
                Reason::Revoked => "was revoked".to_owned(),
                reason if reason.needs_approval() => format!("waits for approval: {reason}"),
                reason => format!("is held: {reason}"),
            };
            return Some(failed(why).hint(hint.clone()));
        }
        let refused = self.refusals.iter().find(|refusal| is_of(refusal, &id))?;
        let hint = refused.hint.clone();
        Some(failed(format!("is refused: failed to {}: {}", refused.reason, refused.path.shown())).hint(hint))
    }

    /// Whether a plugin with this id may have an entry of this name. A URI does not say of which plugin it is.
    fn may_have(&self, id: &PluginId, name: &str) -> bool {
        name.contains(':') || wiring::plugin_settings(&self.config, id).naming != Naming::Prefixed
    }

    /// Reports refused files that may have an entry of this name.
    fn report_refused_owners(&self, name: &str) {
        let may_have = |id: &PluginId| self.may_have(id, name);
        let is_owner = |path| plugin_of(path).is_some_and(|named| named.is_ok_and(|id| may_have(&id)));
        self.refusals.iter().filter(|refusal| is_owner(&refusal.path)).for_each(report::refusal);
    }

    /// Held versions that may have an entry of this name.
    fn held_owners(&self, name: &str) -> Vec<&Held> {
        self.held.iter().filter(|held| self.may_have(&held.decision.plugin, name)).collect()
    }
}

//! The status of a skill, as that of a plugin without code.

use super::{Examiner, NotRunning, Status};
use crate::cli::changes::changes;
use crate::cli::skills::{FoundSkill, SkillVersion};
use crate::cli::survey::Survey;
use crate::plugin::Grants;

impl Examiner<'_> {
    pub(super) fn skill_status(&self, skill: FoundSkill) -> Status {
        let Survey { pins, lock, .. } = self.survey;
        let pin = pins.get(&skill.id).cloned();
        let revoked = pin.as_ref().and_then(|pin| pins.revoked_at(pin.content));
        let mut status = Status {
            id: skill.id,
            pin,
            grants: Grants::default(),
            may_change: false,
            seen: None,
            origin: None,
            changes: Vec::new(),
            offers: Vec::new(),
            revoked,
            warnings: Vec::new(),
            state: Ok(()),
        };
        match skill.version {
            Ok(version) => {
                status.offers = vec![("has", version.extent())];
                let SkillVersion { listed, .. } = version;
                if status.pin.as_ref().is_none_or(|pin| pin.content != listed.version.content) {
                    let pinned = status.pin.as_ref().and_then(|pin| lock.surface(pin.surface));
                    status.changes = changes(pinned.as_deref(), &listed.surface_text);
                }
                let served = self.guard.may_serve(&status.id, &listed.version);
                status.state = served.map(|_| ()).map_err(NotRunning::Held);
                status.seen = Some(listed.version);
            }
            Err(error) => status.state = Err(NotRunning::Refused((error.to_string(), error.hint))),
        }
        status
    }
}

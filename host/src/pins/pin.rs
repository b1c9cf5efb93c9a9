//! The pins of plugins, as stored in the file. No decisions here.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

use crate::plugin::{Access, Digest, PluginId};

/// Version of the file format. A file of another version is left unchanged.
pub(super) const FORMAT: u32 = 1;
/// How long a pin is kept after its plugin file was removed. Deleting a file before replacing it must
/// not make the new version a first use.
const RETENTION: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// The content of the pin file.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Pins {
    pub(super) version: u32,
    /// By plugin name.
    #[serde(default)]
    pub(super) plugins: BTreeMap<String, Pin>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) revoked: Vec<Revoked>,
    /// Revocations that approvals have taken back, where several nodes have these pins: the files of machines may have
    /// them still.
    #[serde(default, rename = "taken-back", skip_serializing_if = "Vec::is_empty")]
    pub(super) taken_back: Vec<TakenBack>,
    /// What the file of this machine revokes besides.
    #[serde(skip)]
    pub(super) own: Vec<Revoked>,
}

/// The version of a plugin that was last run or approved.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Pin {
    /// Digest of the component.
    #[serde(with = "hash")]
    pub content: Digest,
    /// Digest of its surface.
    #[serde(with = "hash")]
    pub surface: Digest,
    /// Kinds of access that its imports need, by name. Unknown names are preserved.
    pub needs: BTreeSet<String>,
    /// Kinds of access that were granted.
    pub grants: BTreeSet<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signer: Option<String>,
    /// Approved by a person; otherwise auto-approved, on first use or as an update that needs no approval.
    pub approved: bool,
    /// The grants that the person was shown: [`Grants::texts`]. `None`: not approved by a person, or by an
    /// earlier Wharf, which recorded none.
    ///
    /// [`Grants::texts`]: crate::plugin::Grants::texts
    #[serde(default, rename = "approved-grants", skip_serializing_if = "Option::is_none")]
    pub approved_grants: Option<BTreeSet<String>>,
    /// The plugin folder for which it was pinned, absolute. `None`: its path is not Unicode, it was pinned by an earlier
    /// Wharf, or the pin is that of several nodes. It decides nothing: a pin is for all folders.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
    /// The path of its file in that folder: where a server looks first for that content. `None`: as the first
    /// two above.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    #[serde(with = "moment")]
    pub time: SystemTime,
    /// When the plugin file was found removed.
    #[serde(default, with = "moment", skip_serializing_if = "Option::is_none")]
    pub gone: Option<SystemTime>,
}

/// A digest that must not run again, under any name.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub(super) struct Revoked {
    pub(super) plugin: String,
    #[serde(with = "hash")]
    pub(super) content: Digest,
    #[serde(with = "moment")]
    pub(super) time: SystemTime,
}

/// A digest whose revocations until then do not count.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub(super) struct TakenBack {
    #[serde(with = "hash")]
    pub(super) content: Digest,
    #[serde(with = "moment")]
    pub(super) time: SystemTime,
}

/// What was revoked that concerns a version of a plugin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Revocation {
    None,
    /// Another version of that name.
    OfPlugin,
    /// Its content, under any name.
    OfContent,
}

impl Default for Pins {
    fn default() -> Self {
        Self { version: FORMAT, plugins: BTreeMap::new(), revoked: Vec::new(), taken_back: Vec::new(), own: Vec::new() }
    }
}

impl Pins {
    pub fn get(&self, id: &PluginId) -> Option<&Pin> {
        self.plugins.get(id.as_ref())
    }

    /// All pins, ordered by plugin name.
    pub fn all(&self) -> impl Iterator<Item = (&str, &Pin)> {
        self.plugins.iter().map(|(name, pin)| (name.as_str(), pin))
    }

    pub fn is_revoked(&self, content: Digest) -> bool {
        self.revocations(content).next().is_some()
    }

    /// When a content was revoked last.
    pub fn revoked_at(&self, content: Digest) -> Option<SystemTime> {
        self.revocations(content).map(|revoked| revoked.time).max()
    }

    /// What was revoked that concerns a version of a plugin.
    pub(super) fn revocation(&self, id: &PluginId, content: Digest) -> Revocation {
        if self.is_revoked(content) {
            Revocation::OfContent
        } else if self.all_revoked().any(|revoked| revoked.plugin == id.as_ref()) {
            Revocation::OfPlugin
        } else {
            Revocation::None
        }
    }

    pub(super) fn revocations(&self, content: Digest) -> impl Iterator<Item = &Revoked> {
        self.all_revoked().filter(move |revoked| revoked.content == content)
    }

    fn all_revoked(&self) -> impl Iterator<Item = &Revoked> {
        self.revoked.iter().chain(&self.own)
    }

    pub fn insert(&mut self, id: &PluginId, pin: Pin) {
        self.plugins.insert(id.to_string(), pin);
    }

    /// Also undoes a revocation of that digest.
    pub fn approve(&mut self, id: &PluginId, pin: Pin) {
        for revoked in [&mut self.revoked, &mut self.own] {
            revoked.retain(|revoked| revoked.content != pin.content);
        }
        self.insert(id, Pin { approved: true, ..pin });
    }

    /// Extends the approval of that version by grants.
    pub(super) fn extend_approval(&mut self, id: &PluginId, content: Digest, grants: &BTreeSet<String>) {
        let pin = self.plugins.get_mut(id.as_ref()).filter(|pin| pin.content == content);
        if let Some(approved) = pin.and_then(|pin| pin.approved_grants.as_mut()) {
            approved.extend(grants.iter().cloned());
        }
    }

    pub fn revoke(&mut self, id: &PluginId, content: Digest) {
        // Under each name: the next version of that plugin is not its first.
        if !self.revoked.iter().any(|revoked| revoked.content == content && revoked.plugin == id.as_ref()) {
            self.revoked.push(Revoked { plugin: id.to_string(), content, time: now() });
        }
    }

    /// With what the file of a machine revokes, unless an approval has taken that back since.
    pub(super) fn and_revoked_by(self, file: Self) -> Self {
        let counts = |revoked: &Revoked| {
            let taken_back = self.taken_back.iter().find(|taken| taken.content == revoked.content);
            !self.revoked.iter().any(|known| (&known.plugin, known.content) == (&revoked.plugin, revoked.content))
                && taken_back.is_none_or(|taken| revoked.time > taken.time)
        };
        let own = file.revoked.into_iter().filter(counts).collect();
        Self { own, ..self }
    }

    /// Records which revocations have been taken back since, for machines whose files have them.
    pub(super) fn note_taken_back(&mut self, before: &Self) {
        let taken: BTreeSet<Digest> =
            before.all_revoked().map(|revoked| revoked.content).filter(|content| !self.is_revoked(*content)).collect();
        let stays = |content| !taken.contains(&content) && !self.is_revoked(content);
        let mut all: Vec<TakenBack> = self.taken_back.iter().filter(|old| stays(old.content)).cloned().collect();
        all.extend(taken.iter().map(|content| TakenBack { content: *content, time: now() }));
        self.taken_back = all;
    }

    /// Records that the plugin's file was removed.
    pub(super) fn mark_missing(&mut self, id: &PluginId) {
        if let Some(pin) = self.plugins.get_mut(id.as_ref()) {
            pin.gone.get_or_insert(now());
        }
    }

    /// Drops the pins of plugins that were removed more than [`RETENTION`] ago. A time in the future
    /// (the clock was set back) does not count as expired.
    pub(super) fn drop_expired(&mut self, now: SystemTime) {
        let is_expired = |gone: SystemTime| now.duration_since(gone).is_ok_and(|age| age > RETENTION);
        self.plugins.retain(|_, pin| !pin.gone.is_some_and(is_expired));
    }

    /// Drops half of the pins that no person approved and whose files were removed, those that were removed first. False
    /// if there is none.
    pub(super) fn drop_half_of_gone(&mut self) -> bool {
        let gone = self.plugins.iter().filter(|(_, pin)| !pin.approved);
        let mut gone: Vec<(SystemTime, String)> =
            gone.filter_map(|(name, pin)| Some((pin.gone?, name.clone()))).collect();
        gone.sort_unstable();
        gone.truncate(gone.len().div_ceil(2));
        gone.iter().for_each(|(_, name)| drop(self.plugins.remove(name)));
        !gone.is_empty()
    }
}

/// The names of kinds of access.
pub(super) fn names(kinds: &BTreeSet<Access>) -> BTreeSet<String> {
    kinds.iter().map(|kind| kind.name().to_owned()).collect()
}

/// Truncated to seconds, the precision of the file.
pub(super) fn now() -> SystemTime {
    let now = SystemTime::now();
    let past = now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    SystemTime::UNIX_EPOCH + Duration::from_secs(past.as_secs())
}

/// `blake3:` and 64 hexadecimal digits.
mod hash {
    use serde::{Deserialize as _, Deserializer, Serializer};

    use crate::plugin::Digest;

    pub(super) fn serialize<S: Serializer>(digest: &Digest, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("blake3:{digest}"))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Digest, D::Error> {
        let text = String::deserialize(deserializer)?;
        Digest::parse(&text).ok_or_else(|| serde::de::Error::custom("a hash must be blake3: and 64 hexadecimal digits"))
    }
}

/// RFC 3339, in UTC.
mod moment {
    use std::time::SystemTime;

    use serde::{Deserialize as _, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(
        moment: &(impl Copy + Into<Option<SystemTime>>),
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match (*moment).into() {
            Some(moment) => serializer.collect_str(&humantime::format_rfc3339_seconds(moment)),
            None => serializer.serialize_none(),
        }
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>, T: From<SystemTime>>(deserializer: D) -> Result<T, D::Error> {
        let text = String::deserialize(deserializer)?;
        humantime::parse_rfc3339(&text).map(T::from).map_err(serde::de::Error::custom)
    }
}

//! The grants of one loaded plugin with the resources behind them; shared by all its calls.
//!
//! Logs denials for the operator, with the configuration lines that would grant the access. What a
//! grant allows in detail is decided where it is used.

use std::collections::{BTreeSet, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use arc_swap::ArcSwapOption;
use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;
use wasmtime_wasi_config::WasiConfigVariables;

use super::filesystem::{Folders, Opened, ProtectedFolders};
use super::keyvalue::Keyvalue;
use super::outbound::{Outbound, PluginOutbound};
use super::people::{FRESH, People};
use crate::identity::Identity;
use crate::plugin::events::Events;
use crate::plugin::id::PluginId;
use crate::plugin::policy::access::Access;
use crate::plugin::policy::denial::{Denial, GrantProblem};
use crate::plugin::policy::extra::Holding;
use crate::plugin::policy::grants::Grants;
use crate::plugin::policy::outbound::grant::HttpGrant;
use crate::plugin::policy::personal::PersonalSecrets;
use crate::plugin::policy::redact::Redactor;
use crate::plugin::policy::secret::Secret;
use crate::sync::lock;

/// Maximum distinct denials logged per load; a plugin may invent new ones without end.
const MAX_REPORTED: usize = 32;
/// Maximum bytes of a note of another process.
const MAX_NOTE: usize = 4 << 10;
/// The log targets of missing grants and of those that cannot be used, which `wharf call` reports itself.
const MISSING_GRANT: &str = "wharf::missing_grant";
const UNUSABLE_GRANT: &str = "wharf::unusable_grant";

/// The resources behind grants, shared by all plugins.
pub(in crate::plugin) struct Resources {
    pub(in crate::plugin) keyvalue: Keyvalue,
    pub(in crate::plugin) outbound: Arc<Outbound>,
    /// Folders that must not be granted.
    pub(in crate::plugin) protected: Arc<ProtectedFolders>,
    /// Limit of open files and folders, over all calls of all plugins.
    pub(in crate::plugin) files: Arc<Semaphore>,
    /// The runtime on which folders are opened.
    pub(in crate::plugin) runtime: Handle,
    /// What callers have of their own.
    pub(in crate::plugin) personal: Arc<dyn PersonalSecrets>,
    pub(in crate::plugin) people: Arc<People>,
}

pub(in crate::plugin) struct Granted {
    plugin: PluginId,
    pub(in crate::plugin) grants: Arc<Grants>,
    /// What all callers have, which hints add to, and what some have in addition.
    base: Arc<Grants>,
    pub(in crate::plugin) keyvalue: Keyvalue,
    pub(in crate::plugin) http: PluginOutbound,
    /// Of all that callers of the plugin have, but for what is another caller's own: a secret may come back through what
    /// they share. `None` for a plugin without secrets.
    pub(in crate::plugin) redactor: Option<Arc<Redactor>>,
    /// As in [`Resources`].
    pub(in crate::plugin) files: Arc<Semaphore>,
    /// All that are granted to callers of the plugin.
    folders: Arc<Folders>,
    /// Where its own are among them.
    places: Vec<usize>,
    /// As the only caller has them; `None`: there are several, or they were not opened.
    folders_of_caller: ArcSwapOption<Opened>,
    /// Its entries in `wasi:config/store`.
    pub(in crate::plugin) config: WasiConfigVariables,
    reported: Arc<Mutex<HashSet<String>>>,
    noted: Arc<Noted>,
    pub(in crate::plugin) personal: Arc<dyn PersonalSecrets>,
    people: Arc<People>,
    /// Under which its callers are kept; `None`: it is one caller's.
    number: Option<u64>,
}

/// What happened since a plugin was loaded, for all its callers.
#[derive(Default)]
struct Noted {
    /// Grants that were missing, as words for `wharf grant`.
    missing: Mutex<Vec<String>>,
    /// Why others could not be used.
    unusable: Mutex<Vec<String>>,
    /// A call failed that looked for a file, without any folder.
    lacked_folder: AtomicBool,
    /// What it asked of clients, of what it may ask.
    asked: Mutex<BTreeSet<Access>>,
}

/// What [`Granted::notes`] returns.
#[derive(Debug, Default, PartialEq)]
pub(in crate::plugin) struct Notes {
    pub(in crate::plugin) missing: Vec<String>,
    pub(in crate::plugin) unusable: Vec<String>,
    pub(in crate::plugin) lacked_folder: bool,
}

impl Granted {
    /// What is wrong with secrets and folders is logged.
    pub(in crate::plugin) fn new(plugin: PluginId, grants: Grants, resources: &Resources) -> Arc<Self> {
        for secret in grants.parts().flat_map(|part| &part.secrets) {
            if let Some(GrantProblem { logged, hint, .. }) = secret.problem() {
                tracing::warn!(target: UNUSABLE_GRANT, %plugin, hint = &*hint, "secret unavailable, access that needs it is denied: {logged}");
            }
        }
        let folders = Folders::new(plugin.clone(), &grants, resources.protected.clone());
        // At load, so that problems are in the log before the first call.
        if !folders.is_empty() {
            let folders = folders.clone();
            resources.runtime.spawn(async move { folders.open().await });
        }
        Self::with_folders(plugin, grants, folders, resources)
    }

    /// For a plugin in another process, which opens the folders, and logs what [`Self::new`] does.
    pub(in crate::plugin) fn elsewhere(plugin: PluginId, grants: Grants, resources: &Resources) -> Arc<Self> {
        let folders = Folders::new(plugin.clone(), &Grants::default(), resources.protected.clone());
        Self::with_folders(plugin, grants, folders, resources)
    }

    fn with_folders(plugin: PluginId, grants: Grants, folders: Arc<Folders>, resources: &Resources) -> Arc<Self> {
        let grants = Arc::new(grants);
        Arc::new(Self {
            plugin,
            keyvalue: resources.keyvalue.clone(),
            http: PluginOutbound::new(&grants, resources.outbound.clone()),
            redactor: Redactor::of(&grants.all_secrets()).map(Arc::new),
            files: resources.files.clone(),
            places: folders.places(&grants.folders),
            folders,
            folders_of_caller: ArcSwapOption::empty(),
            config: grants.configured().collect(),
            reported: Arc::default(),
            noted: Arc::default(),
            personal: resources.personal.clone(),
            people: resources.people.clone(),
            number: Some(resources.people.number()),
            base: grants.clone(),
            grants,
        })
    }

    /// The same plugin with what callers have for whom some of its extras hold.
    pub(in crate::plugin) fn with_extras(&self, holding: Holding) -> Arc<Self> {
        self.with_grants(self.grants.with_extras(holding), Some(self.people.number()), self.redactor.clone())
    }

    /// The same as that caller has it, with their own secrets and folders. They are looked at again every few seconds.
    pub(in crate::plugin) async fn of_caller(self: &Arc<Self>, caller: Option<&Arc<Identity>>) -> Arc<Self> {
        let (Some(caller), Some(number)) = (caller, self.number.filter(|_| self.grants.are_personal())) else {
            return self.clone();
        };
        let person = self.people.person(number, caller.name());
        let mut known = person.lock().await;
        if let Some((own, _)) = known.as_ref().filter(|(_, seen)| seen.elapsed() < FRESH) {
            return own.clone();
        }
        let mut grants = Grants::clone(&self.grants);
        for secret in &mut grants.secrets {
            if secret.is_personal() {
                let value = self.personal.value(&secret.name, false, caller).await.map(|text| text.expose().to_owned());
                *secret = Secret::new(std::mem::take(&mut secret.name), secret.readable, value);
            }
        }
        // Making what finds secrets in texts takes long, and so does opening folders.
        let (base, caller, before) = (self.clone(), caller.clone(), known.take());
        let own = spawn_blocking(move || {
            let own = match before {
                Some((own, _)) if *own.grants == grants => own,
                _ => {
                    let secrets = base.base.all_secrets_with(&grants.secrets);
                    base.with_grants(grants, None, Redactor::of(&secrets).map(Arc::new))
                }
            };
            own.folders_of_caller.store(base.folders().map(|opened| Arc::new(opened.of_caller(&caller))));
            own
        });
        let own = own.await.unwrap_or_else(|error| {
            tracing::error!(plugin = %self.plugin, "failed to prepare a caller's grants: {error}");
            self.with_grants(self.grants.none(), None, self.redactor.clone())
        });
        *known = Some((own.clone(), Instant::now()));
        own
    }

    /// The same plugin with grants that some callers have, or one.
    fn with_grants(&self, grants: Grants, number: Option<u64>, redactor: Option<Arc<Redactor>>) -> Arc<Self> {
        Arc::new(Self {
            plugin: self.plugin.clone(),
            keyvalue: self.keyvalue.clone(),
            http: self.http.with_secrets(&grants),
            redactor,
            files: self.files.clone(),
            folders: self.folders.clone(),
            places: self.folders.places(&grants.folders),
            folders_of_caller: ArcSwapOption::empty(),
            config: grants.configured().collect(),
            // What one caller lacks is reported beside what others do.
            reported: if number.is_some() { self.reported.clone() } else { Arc::default() },
            noted: self.noted.clone(),
            personal: self.personal.clone(),
            people: self.people.clone(),
            number,
            base: self.base.clone(),
            grants: Arc::new(grants),
        })
    }

    /// What all callers of the plugin have, and what some have in addition.
    pub(in crate::plugin) fn base(&self) -> &Arc<Grants> {
        &self.base
    }

    /// Its grants, with the extras of all callers of the plugin.
    pub(in crate::plugin) fn whole(&self) -> Grants {
        Grants { extras: self.base.extras.clone(), ..Grants::clone(&self.grants) }
    }

    /// What was noted since the plugin was loaded.
    pub(in crate::plugin) fn notes(&self) -> Notes {
        Notes { missing: self.missing(), unusable: self.unusable(), lacked_folder: self.lacked_folder() }
    }

    /// Adds what was noted in another process, which has logged it.
    pub(in crate::plugin) fn add_notes(&self, notes: Notes) {
        let Notes { missing, unusable, lacked_folder } = notes;
        let is_line = |text: &String| text.len() <= MAX_NOTE && !text.contains(char::is_control);
        missing.into_iter().filter(is_line).for_each(|word| note(&self.noted.missing, word));
        unusable.into_iter().filter(is_line).for_each(|why| note(&self.noted.unusable, why));
        self.noted.lacked_folder.fetch_or(lacked_folder, Ordering::Relaxed);
    }

    /// Records a denied access. The line of the plugin's grants, and the word for `wharf grant`, would allow it.
    pub(in crate::plugin) fn deny(
        &self,
        events: Option<&Events>,
        access: Access,
        remedy: impl FnOnce() -> (String, String),
    ) {
        self.deny_unless(|grants| grants.allow(access), events, access, remedy);
    }

    /// The same, if other callers may have it: whether grants allow it.
    pub(in crate::plugin) fn deny_unless(
        &self,
        has: impl Fn(&Grants) -> bool,
        events: Option<&Events>,
        access: Access,
        remedy: impl FnOnce() -> (String, String),
    ) {
        // A listing may do without the access; only calls fail because of it.
        if let Some(events) = events {
            events.deny(Denial::without_grant(access));
            let (line, word) = remedy();
            self.report_missing_grant(access, &self.remedy_unless(has, &line, &word), Some(&word));
        }
    }

    /// How to grant to all callers what is missing; the arguments are as in [`Granted::deny`].
    fn remedy(&self, access: Access, line: &str, word: &str) -> String {
        self.remedy_unless(|grants| grants.allow(access), line, word)
    }

    /// The same, and which callers have it, if this one has not.
    fn remedy_unless(&self, has: impl Fn(&Grants) -> bool, line: &str, word: &str) -> String {
        let remedy = self.base.remedy(line, word);
        let extras = self.base.extras.all().iter().filter(|extra| has(&extra.grants));
        let names: Vec<&str> = extras.map(|extra| &*extra.name).collect();
        if names.is_empty() || has(&self.grants) {
            return remedy;
        }
        let (plugin, names) = (&self.plugin, names.join(", "));
        format!(
            "only callers have it for whom {names} of `[[plugins.{plugin}.extra]]` holds; to grant it to all, {remedy}"
        )
    }

    /// The configuration line with the entries for all callers and this one.
    pub(in crate::plugin) fn line_with(&self, entry: &HttpGrant) -> String {
        let entries = self.base.http.iter().filter(|grant| **grant != entry.clone().private(false));
        let entries: Vec<String> = entries.chain([entry]).map(HttpGrant::to_string).collect();
        format!("http = [{}]", entries.join(", "))
    }

    /// Records that a change of a folder was denied, which the plugin may only read.
    pub(in crate::plugin) fn deny_change(&self, events: Option<&Events>, guest: &str) {
        let Some(events) = events else { return };
        events.deny(Denial::without_grant(Access::Fs));
        let of = |grants: &Grants| {
            grants.folders.iter().find(|folder| folder.guest == guest).map(|folder| folder.host.clone())
        };
        // An extra may have put another folder in its place.
        if of(&self.base).is_some() && of(&self.base) == of(&self.grants) {
            let (line, word) = self.base.remedy_of_change(guest);
            let hint = self.remedy_unless(|grants| grants.may_change(guest), &line, &word);
            self.report_missing_grant(Access::Fs, &hint, Some(&word));
        } else {
            let plugin = &self.plugin;
            let hint = format!("put `mode = \"write\"` into the entry of {guest} in `[[plugins.{plugin}.extra]]`");
            self.report_missing_grant(Access::Fs, &hint, None);
        }
    }

    /// Records that a call failed for lack of a file, while no folder is granted: that may be the reason.
    pub(in crate::plugin) fn suspect_missing_folder(&self) {
        if !self.noted.lacked_folder.swap(true, Ordering::Relaxed) {
            let hint = self.remedy(Access::Fs, &Access::Fs.line(), &Access::Fs.word());
            tracing::warn!(target: MISSING_GRANT, plugin = %self.plugin, access = Access::Fs.name(), %hint, "a call failed for lack of a file, and no folder is granted");
        }
    }

    /// Whether that was recorded since the plugin was loaded.
    pub(in crate::plugin) fn lacked_folder(&self) -> bool {
        self.noted.lacked_folder.load(Ordering::Relaxed)
    }

    /// Whether the plugin may ask clients for that. A missing grant is logged.
    pub(in crate::plugin) fn may_ask(&self, access: Access) -> bool {
        let may = self.grants.allow(access);
        if may {
            lock(&self.noted.asked).insert(access);
        } else {
            let word = access.word();
            self.report_missing_grant(access, &self.remedy(access, &access.line(), &word), Some(&word));
        }
        may
    }

    /// What it asked of clients since it was loaded, without what it may not ask.
    pub(in crate::plugin) fn asked(&self) -> BTreeSet<Access> {
        lock(&self.noted.asked).clone()
    }

    /// Records that an access was denied although granted, since the grant cannot be used.
    pub(in crate::plugin) fn deny_unusable(&self, events: Option<&Events>, access: Access, problem: &GrantProblem) {
        if let Some(events) = events {
            events.deny(problem.denial(access));
            if self.is_new(&problem.logged) {
                let GrantProblem { logged, hint, .. } = problem;
                note(&self.noted.unusable, format!("{logged}; {hint}"));
                tracing::warn!(target: UNUSABLE_GRANT, plugin = %self.plugin, access = access.name(), hint = &**hint, "access denied: grant cannot be used: {logged}");
            }
        }
    }

    /// The same for unavailable secrets that the guest itself may read.
    pub(in crate::plugin) fn deny_unavailable_secrets(&self, events: Option<&Events>) {
        for problem in self.grants.secrets.iter().filter(|secret| secret.readable).filter_map(Secret::problem) {
            self.deny_unusable(events, Access::Secrets, &problem);
        }
    }

    /// The same for unavailable secrets of environment variables.
    pub(in crate::plugin) fn deny_unavailable_environment(&self, events: Option<&Events>) {
        for problem in self.grants.problems_of_environment() {
            self.deny_unusable(events, Access::Env, &problem);
        }
    }

    /// The same for granted folders that could not be opened.
    pub(in crate::plugin) fn deny_unavailable_folders(&self, events: Option<&Events>) {
        for problem in self.folders().iter().flat_map(|opened| opened.problems()) {
            self.deny_unusable(events, Access::Fs, problem);
        }
    }

    /// Opens the granted folders that have to be opened; a call does so before it begins.
    pub(in crate::plugin) async fn open_folders(&self) {
        self.folders.open().await;
    }

    /// Whether no folder has to be opened, for the first time or again.
    pub(in crate::plugin) fn has_all_folders(&self) -> bool {
        self.folders.are_open()
    }

    /// The granted folders; `None` if they are not opened yet.
    pub(in crate::plugin) fn folders(&self) -> Option<Arc<Opened>> {
        self.folders_of_caller.load_full().or_else(|| self.folders.at(&self.places))
    }

    /// Logs a missing grant, once per load, with what to do. The word is for `wharf grant`, if that can grant it.
    fn report_missing_grant(&self, access: Access, hint: &str, word: Option<&str>) {
        // They may contain a host name, which is text of the guest.
        let redacted = |text: &str| self.redactor.as_ref().map_or_else(|| text.to_owned(), |own| own.text(text));
        let hint = redacted(hint);
        if self.is_new(&hint) {
            word.into_iter().for_each(|word| note(&self.noted.missing, redacted(word)));
            tracing::warn!(target: MISSING_GRANT, plugin = %self.plugin, access = access.name(), %hint, "access denied: missing grant `{}`", access.name());
        }
    }

    /// The grants that were missing since the plugin was loaded, as words for `wharf grant`.
    pub(in crate::plugin) fn missing(&self) -> Vec<String> {
        lock(&self.noted.missing).clone()
    }

    /// Why grants could not be used since the plugin was loaded: what is wrong, and what to do.
    pub(in crate::plugin) fn unusable(&self) -> Vec<String> {
        lock(&self.noted.unusable).clone()
    }

    /// Whether it was not reported yet, and the maximum is not reached.
    fn is_new(&self, what: &str) -> bool {
        let mut reported = lock(&self.reported);
        reported.len() < MAX_REPORTED && reported.insert(what.to_owned())
    }
}

impl Drop for Granted {
    fn drop(&mut self) {
        if let Some(number) = self.number.filter(|_| self.grants.are_personal()) {
            self.people.forget(number);
        }
    }
}

/// Notes something, unless there is much already.
fn note(noted: &Mutex<Vec<String>>, what: String) {
    let mut noted = lock(noted);
    if noted.len() < MAX_REPORTED && !noted.contains(&what) {
        noted.push(what);
    }
}

#[cfg(test)]
impl Resources {
    /// For a host without configuration.
    pub(in crate::plugin) fn for_tests() -> Self {
        use super::keyvalue::KeyvaluePlace;
        use crate::plugin::threads::Threads;

        static THREADS: std::sync::OnceLock<Threads> = std::sync::OnceLock::new();
        let threads = THREADS.get_or_init(|| Threads::start("test", 1, 1).expect("a thread"));
        Self {
            keyvalue: Keyvalue::new(KeyvaluePlace::Memory),
            outbound: Outbound::start(Default::default()).expect("a thread"),
            protected: Arc::default(),
            files: Arc::new(Semaphore::new(1)),
            runtime: threads.handle().clone(),
            personal: Arc::new(crate::plugin::policy::personal::NoPersonalSecrets),
            people: Arc::default(),
        }
    }
}

//! The granted folders of one plugin: opened once for all its calls, and given to each as far as they are granted to
//! its caller.

use std::sync::Arc;
use std::time::{Duration, Instant};

use arc_swap::ArcSwapOption;
use tokio::sync::Mutex as AsyncMutex;
use tokio::task::spawn_blocking;
use wharf_report::{ShowPath as _, bounded};

use super::folder::{Folder, FolderError};
use super::personal::Homes;
use super::protected::ProtectedFolders;
use crate::identity::Identity;
use crate::plugin::id::PluginId;
use crate::plugin::policy::denial::GrantProblem;
use crate::plugin::policy::grants::{FolderGrant, Grants, PrivateFile};

/// Minimum time until folders are opened again that could not be opened because of the system.
const REOPEN_INTERVAL: Duration = Duration::from_secs(1);

/// All folders that are granted to callers of a plugin.
pub(in crate::plugin) struct Folders {
    plugin: PluginId,
    /// Each once.
    granted: Vec<FolderGrant>,
    private: Vec<PrivateFile>,
    protected: Arc<ProtectedFolders>,
    /// In the order of `granted`; `None` until they are opened.
    opened: ArcSwapOption<Opened>,
    /// When they were opened last; locked meanwhile.
    opening: AsyncMutex<Option<Instant>>,
}

impl Folders {
    /// Those of the grants with all extras, not opened yet.
    pub(in crate::plugin) fn new(plugin: PluginId, grants: &Grants, protected: Arc<ProtectedFolders>) -> Arc<Self> {
        let mut granted: Vec<FolderGrant> = Vec::new();
        for folder in grants.parts().flat_map(|part| &part.folders) {
            if !granted.contains(folder) {
                granted.push(folder.clone());
            }
        }
        let private = grants.private_files().to_vec();
        let (opened, opening) = Default::default();
        Arc::new(Self { plugin, granted, private, protected, opened, opening })
    }

    /// Opens those that have to be opened. May take seconds.
    pub(in crate::plugin) async fn open(self: &Arc<Self>) {
        if self.are_open() {
            return;
        }
        let mut last = self.opening.lock().await;
        if last.is_some_and(|last| last.elapsed() < REOPEN_INTERVAL) {
            return;
        }
        let (own, before) = (self.clone(), self.opened.load_full());
        let opened = spawn_blocking(move || own.opened_since(before.as_deref())).await.unwrap_or_else(|error| {
            tracing::error!(plugin = %self.plugin, "failed to open the granted folders: {error}");
            Opened::default()
        });
        self.opened.store(Some(Arc::new(opened)));
        *last = Some(Instant::now());
    }

    /// Whether none has to be opened, for the first time or again.
    pub(in crate::plugin) fn are_open(&self) -> bool {
        self.granted.is_empty() || self.opened.load().as_ref().is_some_and(|opened| !opened.is_incomplete())
    }

    pub(in crate::plugin) fn is_empty(&self) -> bool {
        self.granted.is_empty()
    }

    /// Where those of some callers are among all.
    pub(in crate::plugin) fn places(&self, of: &[FolderGrant]) -> Vec<usize> {
        of.iter().filter_map(|folder| self.granted.iter().position(|granted| granted == folder)).collect()
    }

    /// Those in these places; `None` if they are not opened yet.
    pub(in crate::plugin) fn at(&self, places: &[usize]) -> Option<Arc<Opened>> {
        let opened = self.opened.load_full()?;
        // Usually all of them.
        if places.len() == opened.0.len() {
            return Some(opened);
        }
        Some(Arc::new(Opened(places.iter().filter_map(|at| opened.0.get(*at).cloned()).collect())))
    }

    /// Opens the folders that are not open since `before`, unless opening them again is of no use. Logs those that
    /// cannot be opened, once for each reason.
    fn opened_since(&self, before: Option<&Opened>) -> Opened {
        let plugin = &self.plugin;
        let open = |(at, grant): (usize, &FolderGrant)| {
            let before = before.and_then(|before| before.0.get(at));
            if let Some(known) = before.filter(|before| !before.as_ref().is_err_and(|not_opened| not_opened.temporary))
            {
                return known.clone();
            }
            let folder = grant.host.shown();
            match Folder::open(plugin, grant, &self.private, &self.protected) {
                Ok((opened, remark)) => {
                    if let Some(remark) = remark {
                        tracing::warn!(%plugin, %folder, "granted, but {remark}");
                    }
                    Ok(opened)
                }
                Err(FolderError { why, hint, temporary, .. }) => {
                    let logged = format!("the folder {folder} {why}");
                    let is_known = |before: &Result<_, NotOpened>| {
                        before.as_ref().is_err_and(|not_opened| not_opened.problem.logged == logged)
                    };
                    if !before.is_some_and(is_known) {
                        tracing::warn!(%plugin, hint, "not granted: {logged}");
                    }
                    let message = format!("its folder '{}' is not available", grant.guest);
                    Err(NotOpened { problem: GrantProblem { logged, message, hint: hint.into() }, temporary })
                }
            }
        };
        Opened(self.granted.iter().enumerate().map(open).collect())
    }
}

/// The granted folders in the order of the grants, as far as they are given.
#[derive(Default)]
pub(in crate::plugin) struct Opened(Vec<Result<Given, NotOpened>>);

#[derive(Clone)]
pub(super) enum Given {
    /// To all callers.
    Shared(Arc<Folder>),
    /// One to each.
    Each(Arc<Homes>),
}

#[derive(Clone)]
struct NotOpened {
    problem: GrantProblem,
    /// As in [`FolderError`].
    temporary: bool,
}

impl Opened {
    pub(in crate::plugin) fn given(&self) -> impl Iterator<Item = &Arc<Folder>> {
        self.0.iter().flatten().filter_map(|given| match given {
            Given::Shared(folder) => Some(folder),
            Given::Each(_) => None,
        })
    }

    /// As one caller has them. May take seconds.
    pub(in crate::plugin) fn of_caller(&self, who: &Identity) -> Self {
        let own = |given: &Result<Given, NotOpened>| match given {
            Ok(Given::Each(homes)) => homes.of(who).map(Given::Shared).map_err(|(path, error)| {
                let logged = format!("the folder {path} of {} {}", bounded(who.name()), error.why);
                let message = format!("its folder '{}' of this user is not available", homes.grant.guest);
                let problem = GrantProblem { logged, message, hint: error.hint.into() };
                NotOpened { problem, temporary: error.temporary }
            }),
            given => given.clone(),
        };
        Self(self.0.iter().map(own).collect())
    }

    pub(in crate::plugin) fn problems(&self) -> impl Iterator<Item = &GrantProblem> {
        self.0.iter().filter_map(|folder| folder.as_ref().err()).map(|not_opened| &not_opened.problem)
    }

    /// Whether a folder has to be opened again.
    pub(in crate::plugin) fn is_incomplete(&self) -> bool {
        self.0.iter().any(|folder| folder.as_ref().is_err_and(|not_opened| not_opened.temporary))
    }
}

//! What `wharf call`, `read` and `prompt` do about a version that waits for approval: the person at the terminal may approve
//! it at once.

use std::path::{Path, PathBuf};
use std::slice;
use std::sync::Arc;

use super::approve;
use super::candidate::Candidate;
use super::confirm::can_ask;
use super::examine::Examination;
use super::folder::folder_at;
use super::load_file::id_of;
use super::local::{Local, prompt_of, tool_of};
use super::options::Options;
use super::wiring::{plugin_settings, read_only_guard};
use crate::audit::Audit;
use crate::catalog::{Catalog, Member, Naming, PublicName, Snapshot};
use crate::config::Config;
use crate::pins::{Reason, approve_command};
use crate::plugin::{PluginId, Sandbox};
use crate::report::{Failure, Screen};

/// What a command uses, by its name or URI.
#[derive(Clone, Copy)]
pub(super) enum Wanted<'a> {
    Tool(&'a str),
    Prompt(&'a str),
    Resource(&'a str),
}

impl Wanted<'_> {
    fn is_in(self, snapshot: &Snapshot, path: &Path) -> bool {
        match self {
            Self::Tool(name) => tool_of(snapshot, path, name).is_some(),
            Self::Prompt(name) => prompt_of(snapshot, path, name).is_some(),
            Self::Resource(uri) => snapshot.provider_of(uri).is_some(),
        }
    }

    /// Whether a plugin with such names can have it. A URI does not say of which plugin it is.
    fn may_be_of(self, id: &PluginId, naming: Naming) -> bool {
        match self {
            Self::Tool(name) | Self::Prompt(name) => {
                naming != Naming::Prefixed || PublicName::prefix(name) == id.as_ref()
            }
            Self::Resource(_) => true,
        }
    }
}

/// Loads what has the tool, prompt or resource. If its version waits for approval, the person at the terminal is asked
/// first.
pub(super) async fn load(
    options: &Options,
    path: &Path,
    wanted: Wanted<'_>,
    screen: &Screen,
) -> Result<Local, Failure> {
    let loaded = Local::load(options, path, screen).await;
    if !can_ask() || loaded.as_ref().is_ok_and(|local| wanted.is_in(&local.snapshot(), path)) {
        return loaded;
    }
    let waiting = loaded.as_ref().ok().map(Local::waiting);
    if offer(options, path, wanted, waiting.as_deref(), screen).await? {
        return Local::load(options, path, screen).await;
    }
    loaded
}

/// Asks for the approval of the version that has what is wanted. `waiting`: the files in question if `path` is a folder.
/// Returns whether it was approved; not, if none of them has it.
async fn offer(
    options: &Options,
    path: &Path,
    wanted: Wanted<'_>,
    waiting: Option<&[(PluginId, PathBuf)]>,
    screen: &Screen,
) -> Result<bool, Failure> {
    let config = Arc::new(options.config()?);
    let single = id_of(&config, path).ok().map(|id| (id, path.to_owned()));
    let waiting = waiting.or(single.as_ref().map(slice::from_ref)).unwrap_or_default();
    let sandbox = options.sandbox(&config, &[path.to_owned()], Audit::default()).await?;
    let search = Search { config: &config, sandbox: &sandbox, path, wanted };
    let files = waiting.iter().enumerate().map(|(at, (id, _))| (id.to_string(), at)).collect();
    let one = async |at: usize| search.finds(&waiting[at].0, &waiting[at].1).await.then_some(at);
    let (found, _) = Examination::begin(screen, "loading").of(files, one, |_| false).await;
    let Some((id, file)) = found.into_iter().flatten().min().map(|at| &waiting[at]) else { return Ok(false) };
    let folder = folder_at(path);
    let again = approve_command(&options.program(), id, Some(folder));
    let file = approve::File { id, path: file, place: file, folder, published: None, again: &again };
    approve::Reviewer { options, config: &config, sandbox: &sandbox, screen }.decide(file, false).await
}

struct Search<'a> {
    config: &'a Arc<Config>,
    sandbox: &'a Arc<Sandbox>,
    path: &'a Path,
    wanted: Wanted<'a>,
}

impl Search<'_> {
    /// Whether a file waits for approval, and has what is wanted. One that cannot be listed without its grants may have it.
    async fn finds(&self, id: &PluginId, file: &Path) -> bool {
        let settings = plugin_settings(self.config, id);
        let naming = settings.naming;
        if !self.wanted.may_be_of(id, naming) && file != self.path {
            return false;
        }
        let Ok(mut candidate) = Candidate::read(self.config, file, id).await else { return false };
        let loaded = candidate.load(self.config, self.sandbox, id, settings.grants.none()).await;
        let Ok(guard) = read_only_guard(self.config) else { return false };
        let served = guard.may_serve(id, &candidate.seen);
        let waits = served.as_ref().is_err_and(Reason::needs_approval);
        match loaded {
            Ok((plugin, _)) => {
                let catalog = Catalog::default();
                catalog.put(Member { provider: Arc::new(plugin), naming, pinned_surface: None });
                waits && self.wanted.is_in(&catalog.snapshot(), self.path)
            }
            Err(error) => error.is_of_listing() && !candidate.seen.grants.is_empty() && (waits || served == Ok(false)),
        }
    }
}

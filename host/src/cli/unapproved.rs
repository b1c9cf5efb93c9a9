//! What `wharf call` does about a version that waits for approval: the person at the terminal may approve it at once.

use std::path::{Path, PathBuf};
use std::slice;
use std::sync::Arc;

use super::approve;
use super::candidate::Candidate;
use super::folder::folder_at;
use super::load_file::id_of;
use super::local::tool_of;
use super::options::Options;
use super::wiring::{plugin_settings, read_only_guard};
use crate::audit::Audit;
use crate::catalog::{Catalog, Member, Naming, PublicName};
use crate::config::Config;
use crate::pins::Reason;
use crate::plugin::{PluginId, Sandbox};
use crate::report::{Failure, Screen};

/// Asks for the approval of the version that has the tool. `waiting`: the files in question if `path` is a folder.
/// Returns whether it was approved; not, if none of them has the tool.
pub(super) async fn offer(
    options: &Options,
    path: &Path,
    tool: &str,
    waiting: Option<&[(PluginId, PathBuf)]>,
    screen: &Screen,
) -> Result<bool, Failure> {
    let single = id_of(path).ok().map(|id| (id, path.to_owned()));
    let waiting = waiting.or(single.as_ref().map(slice::from_ref)).unwrap_or_default();
    let config = Arc::new(options.config()?);
    let sandbox = options.sandbox(&config, &[path.to_owned()], Audit::default()).await?;
    let search = Search { config: &config, sandbox: &sandbox, path, tool };
    let folder = folder_at(path);
    for (id, file) in waiting {
        if screen.timed(&format!("loading {id}"), search.finds(id, file)).await {
            let file = approve::File { id, path: file, folder };
            let reviewer = approve::Reviewer { options, config: &config, sandbox: &sandbox, screen };
            return reviewer.decide(file, false).await;
        }
    }
    Ok(false)
}

struct Search<'a> {
    config: &'a Arc<Config>,
    sandbox: &'a Arc<Sandbox>,
    path: &'a Path,
    tool: &'a str,
}

impl Search<'_> {
    /// Whether a file waits for approval, and has the tool. One that cannot be listed without its grants may have it.
    async fn finds(&self, id: &PluginId, file: &Path) -> bool {
        let settings = plugin_settings(self.config, id);
        let naming = settings.naming;
        let is_of_other = naming == Naming::Prefixed && PublicName::prefix(self.tool) != id.as_ref();
        if is_of_other && file != self.path {
            return false;
        }
        let Ok(mut candidate) = Candidate::read(self.config, file, id).await else { return false };
        let loaded = candidate.load(self.config, self.sandbox, id, settings.grants.none()).await;
        let served = read_only_guard(self.config).may_serve(id, &candidate.seen);
        let waits = served.as_ref().is_err_and(Reason::needs_approval);
        match loaded {
            Ok((plugin, _)) => {
                let catalog = Catalog::default();
                catalog.put(Member { provider: Arc::new(plugin), naming, pinned_surface: None });
                waits && tool_of(&catalog.snapshot(), self.path, self.tool).is_some()
            }
            Err(error) => error.is_of_listing() && !candidate.seen.grants.is_empty() && (waits || served == Ok(false)),
        }
    }
}

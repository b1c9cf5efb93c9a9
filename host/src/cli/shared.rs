//! Where what servers and commands share is: in the state folder of this machine, or, if the configuration names a store
//! for several nodes, there.

use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use tokio::runtime::{Builder, Handle, Runtime};
use tokio::time::timeout;
use wharf_report::ShowPath as _;

use crate::approvals::{self, Approvals};
use crate::config::{self, Config, StoreConfig};
use crate::migration::{MARK, is_whole};
use crate::pins::{self, PinFile};
use crate::plugin::KeyvaluePlace;
use crate::proposals::{self, Proposals};
use crate::report::Failure;
use crate::store::{Document, Place, Store};
use crate::sync::lock;

/// How long it is looked whether all is there that was copied.
const LOOK: Duration = Duration::from_secs(2);

/// The store of a process, connected when it is first needed: a command looks at many things in it.
struct Opened {
    config: StoreConfig,
    store: Arc<dyn Store>,
    place: String,
    /// Of its own: those who ask for a document block their threads, which may be all of another runtime.
    /// It ends with the store.
    _running: Background,
    runtime: Handle,
}

/// A runtime that may be dropped by a task of another one, which must not wait for its end.
struct Background(Option<Runtime>);

impl Background {
    fn start() -> Result<(Self, Handle), Failure> {
        let runtime = Builder::new_multi_thread().worker_threads(1).thread_name("wharf-store").enable_all().build();
        let runtime = runtime.map_err(|error| Failure::new(format!("start a thread for the store: {error}")))?;
        let handle = runtime.handle().clone();
        Ok((Self(Some(runtime)), handle))
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

static OPENED: Mutex<Option<Arc<Opened>>> = Mutex::new(None);

/// Where the configuration keeps what processes share.
pub(super) fn place(config: &Config) -> Result<Option<Place>, Failure> {
    config.store().map_err(|error| Failure::usage(error.to_string()).hint(error.hint))
}

/// The store for several nodes, if there is one.
fn opened(config: &Config) -> Result<Option<Arc<Opened>>, Failure> {
    if !config.store.is_shared() {
        return Ok(None);
    }
    let mut opened = lock(&OPENED);
    let known = opened.clone().filter(|known| known.config == config.store);
    Ok(Some(match known {
        Some(known) => known,
        None => {
            let Some(place) = place(config)? else { return Ok(None) };
            let (running, runtime) = Background::start()?;
            let (config, store, place) = (config.store.clone(), place.open(), place.to_string());
            // Where it does not answer, it is found out by those who need it.
            let is_whole = thread::scope(|scope| {
                scope.spawn(|| runtime.block_on(async { timeout(LOOK, is_whole(&*store)).await })).join()
            });
            if let Ok(Ok(Ok(false))) = is_whole {
                return Err(unfinished(&place));
            }
            opened.insert(Arc::new(Opened { config, store, place, _running: running, runtime })).clone()
        }
    }))
}

/// After a copy that was not finished.
fn unfinished(place: &str) -> Failure {
    Failure::new(format!("use {place}: what is copied there or from there is not all there")).hint(
        "wait until wharf store migrate has ended; if it was stopped, run the same again: it goes on where it was"
            .to_owned(),
    )
}

/// The same if all is there that was copied, also of one machine.
fn whole(config: &Config) -> Result<Option<Arc<Opened>>, Failure> {
    let opened = opened(config)?;
    match config::base().map(|base| base.state).filter(|_| opened.is_none()) {
        Some(state) if state.join(MARK).exists() => Err(unfinished(&state.shown().to_string())),
        _ => Ok(opened),
    }
}

/// Where the configuration keeps what processes share.
///
/// # Errors
/// Also if it is a copy that was not finished.
pub(super) fn whole_place(config: &Config) -> Result<Option<Place>, Failure> {
    whole(config)?;
    place(config)
}

/// An entry of the store. `None`: there is no store for several nodes.
fn document(config: &Config, key: &'static str) -> Result<Option<Document>, Failure> {
    let Some(opened) = whole(config)? else { return Ok(None) };
    Ok(Some(Document::new(opened.store.clone(), key, &opened.place, opened.runtime.clone())))
}

/// A store, and the runtime in which it is used.
type UsedStore = (Arc<dyn Store>, Handle);

/// The store for several nodes.
pub(super) fn store(config: &Config) -> Result<Option<UsedStore>, Failure> {
    Ok(opened(config)?.map(|opened| (opened.store.clone(), opened.runtime.clone())))
}

/// Where plugins keep values.
pub(super) fn keyvalue(config: &Config) -> Result<KeyvaluePlace, Failure> {
    Ok(match store(config)? {
        Some((store, runtime)) => KeyvaluePlace::Shared(store, runtime),
        None => config::base().map_or(KeyvaluePlace::NoFolder, |base| KeyvaluePlace::File(base.store)),
    })
}

/// The pins. `None`: there is no home folder.
pub(super) fn pins(config: &Config) -> Result<Option<PinFile>, Failure> {
    let Some(base) = config::base() else { return Ok(None) };
    Ok(Some(match document(config, pins::KEY)? {
        Some(document) => PinFile::in_store(base.state, document),
        None => PinFile::new(base.state),
    }))
}

/// What operators decided on calls, and which answers of users were used.
pub(super) fn approvals(config: &Config) -> Result<Approvals, Failure> {
    Ok(match document(config, approvals::KEY)? {
        Some(document) => Approvals::in_store(document),
        None => config::base().map(|base| Approvals::in_folder(base.state)).unwrap_or_default(),
    })
}

/// What models proposed. `None`: there is no home folder.
pub(super) fn proposals(config: &Config) -> Result<Option<Proposals>, Failure> {
    Ok(match document(config, proposals::KEY)? {
        Some(document) => Some(Proposals::in_store(document)),
        None => config::base().map(|base| Proposals::in_folder(base.state)),
    })
}

//! `wharf serve`: the plugins of a folder, over MCP on stdin and stdout or over HTTP.

use std::future::pending;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::process::ExitCode;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use tokio::sync::{Notify, mpsc};
use tokio::time::timeout;
use wharf_report::{ShowPath as _, column, shell_word};

use super::http::HttpOptions;
use super::left_behind::left_behind;
use super::metrics::Parts;
use super::options::Options;
use super::page::{self, Desk, Page, PageOptions};
use super::personal::Secrets;
use super::reloadable::Reloadable;
use super::signals::Signals;
use super::survey::choice_in;
use super::typed_input::TypedInput;
use super::wiring::{self, needed_files, plugin_settings, server_settings};
use super::{absent, audit, budgets, nodes, recorder, shared, summary, tasks};
use crate::audit::Audit;
use crate::budgets::Budgets;
use crate::catalog::{Catalog, Folder, FolderEvent, Snapshot};
use crate::config::{self, Config, Live};
use crate::idle::IdleHook;
use crate::in_use::{self, InUse};
use crate::metrics::Metrics;
use crate::oauth::Exchanges;
use crate::os::paths::absolute;
use crate::os::{limits, memory, service};
use crate::pins::{Guard, Reason, Trust};
use crate::plugin::{PluginId, Sandbox};
use crate::random_id::random_id;
use crate::report::{self, Failure, NAME};
use crate::server::{Server, Settings};
use crate::state_keys::{self, StateKey};
use crate::store::now;
use crate::sync::lock;
use crate::transport::http::OAuth;
use crate::transport::{self, stdio};
use crate::{shared_budgets, shared_changes};

/// Is told of what happens in the plugin folder.
type Watcher = Box<dyn Fn(&FolderEvent) + Send + Sync>;

/// From the start to the log of versions that wait for approval, if the first scan takes longer.
const WAITING_DELAY: Duration = Duration::from_secs(3);

/// How long the store may take to record that this server has ended.
const LEAVING: Duration = Duration::from_secs(2);

/// How long the end waits for recordings to be written.
const RECORDING: Duration = Duration::from_secs(2);

/// Shown on a terminal: how clients connect.
const ON_STDIN: &str = "Waiting for an MCP client on stdin.";
const ON_HTTP: &str = "Waiting for MCP clients at the address above: add it to their configuration.";

pub(super) async fn run(
    options: Options,
    config: Config,
    dir: PathBuf,
    (http, page, is_for_people): (&HttpOptions, &PageOptions, bool),
    author: Author,
) -> Result<ExitCode, Failure> {
    // The default soft limit may be less than connections and plugins' files may use.
    let files = limits::raise_open_files();
    memory::start_trimming();
    let signals = Signals::listen()?;
    // In a thread that nothing waits for: another process may hold the log's lock.
    let audited = config.clone();
    let opening = tokio::task::spawn_blocking(move || audit::open(&audited));
    let (audit, writer) = tokio::select! {
        opened = opening => opened.map_err(|error| Failure::new(format!("open the audit log: {error}")))??,
        () = signals.shutdown() => return Ok(ExitCode::SUCCESS),
    };
    let state_key = config.state_key().map_err(|error| Failure::usage(error.to_string()).hint(error.hint))?;
    let recorder = recorder::open(&config)?;
    let options = Options { recorder: recorder.clone(), ..options };
    let mut http = super::http::listen(http, &config)?;
    if let (Some((_, settings)), Some(files)) = (&http, files) {
        warn_of_low_file_limit(files, settings.connections);
    }
    // Of this process, among those that share a store, or export telemetry.
    let id = random_id::<8>().map_err(|error| Failure::new(format!("draw a random number: {error}")))?;
    let telemetry = super::telemetry::prepare(&config, &id)?;
    let metered = super::metrics::listen(&config, telemetry.wants_metrics()).await?;
    let metrics = metered.metrics.clone();
    let page = page::listen(page, &config, &dir).await?;
    let audit = page.as_ref().map_or_else(|| audit.clone(), |page| page.observing(audit.clone()));
    let watcher = page.as_ref().map(Page::watcher);
    let trust = config.trust(http.as_ref().is_some_and(|(listener, _)| !listener.is_local()));
    let on_http = http.is_some();
    if author.is_dev && on_http {
        signals.shut_down_at_end_of(io::stdin())?;
    }
    let catalog = Arc::new(Catalog::default());
    let rights = Arc::new(config.rights());
    let spent = Arc::new(Budgets::default());
    let (built, implied) = config.budgets();
    spent.replace(built, implied);
    if let Some((store, runtime)) = shared::store(&config)? {
        runtime.spawn(shared_budgets::exchange(spent.clone(), store, id.clone()));
    }
    let settings = Settings {
        metrics: metrics.clone(),
        traces: telemetry.traces.clone(),
        state_key,
        audit: audit.clone(),
        rights,
        budgets: spent.clone(),
        ..server_settings(&config)?
    };
    let told_apart = http.as_ref().is_none_or(|(_, settings)| settings.has_authentication());
    let place = shared::place(&config)?.filter(|place| config.server.tasks || place.is_shared());
    let _held = hold(&config)?;
    let store = place.as_ref().map(|place| (place, place.open()));
    let of_tasks = store.as_ref().filter(|_| config.server.tasks).map(|(place, store)| (*place, store));
    if let (Some((_, http)), Some(nodes), Some((_, store))) = (&mut http, &config.server.http.nodes, &store) {
        http.nodes = Some(nodes::join(nodes, store.clone())?);
    }
    let own = http.as_ref().and_then(|(_, http)| http.nodes.as_ref()).map(|own| own.nodes.clone());
    let leaving = own.clone();
    let node = own.as_ref().map(|own| own.own().0);
    let approvals = settings.approvals.clone();
    let settings = Settings { node, tasks: tasks::settings(of_tasks, &dir, told_apart), ..settings };
    let server = Server::new(catalog.clone(), settings);
    let shared_store = store.filter(|(place, _)| place.is_shared()).map(|(_, store)| store);
    if let Some(store) = &shared_store {
        tokio::spawn(shared_changes::exchange(server.clone(), store.clone(), id.clone()));
        let (config, dir) = (config.clone(), dir.clone());
        tokio::task::spawn_blocking(move || {
            let files = choice_in(&config, &dir).unwrap_or_default();
            if let Some(text) = wiring::lock(&config).ok().and_then(|lock| left_behind(&lock, &files)) {
                tracing::warn!("{text}");
            }
        });
    }
    let unannounced = shared_store.clone().filter(|_| own.is_none());
    if let Some(store) = &unannounced {
        tokio::spawn(in_use::announce(store.clone(), id.clone()));
    }
    let known = Arc::new(Notify::new());
    if let Some(store) = shared_store.filter(|_| state_key.is_none()) {
        let (keyed, known) = (server.clone(), known.clone());
        let share = move |keys: &[StateKey]| {
            keyed.keys().replace(keys);
            known.notify_one();
        };
        tokio::spawn(state_keys::share(store, now, share));
    } else {
        known.notify_one();
    }
    tokio::spawn(server.clone().tend_tasks());
    let idle = IdleHook::default();
    let config = Live::new(config);
    tokio::spawn(follow_rights(config.clone(), server.clone()));
    tokio::spawn(recorder::follow_secrets(config.clone(), recorder.clone()));
    let oauth = http.as_ref().and_then(|(_, settings)| settings.oauth.clone());
    let exchanges = oauth.as_ref().map(|oauth| Exchanges::new(oauth.verifier.clone()));
    if let Some(oauth) = oauth {
        tokio::spawn(follow_exchanges(config.clone(), oauth));
    }
    tokio::spawn(budgets::follow(config.clone(), spent.clone()));
    let reloadable = http.as_ref().map(|(_, settings)| Reloadable::of(settings));
    let shutdown = signals.shutdown_or_reload(config.clone(), reloadable);
    // Where the log is for programs, nothing else is written to stderr.
    let is_greeted = is_for_people && io::stdin().is_terminal();
    if !on_http && is_greeted {
        report::message(&meant_for_a_client(&config.get().program(), &dir));
    }
    // As running calls have: a client that ends the server waits two seconds, if that.
    let grace = if on_http { Duration::from_secs(5) } else { Duration::from_secs(1) };
    let words = not_a_message(&config.get().program(), &dir);
    let running = Arc::new(OnceLock::new());
    let parts = Arc::new(Parts { catalog: catalog.clone(), budgets: spent.clone(), sandbox: running.clone() });
    let exporter = telemetry.start(metered.text(&parts))?;
    let scraped = metered.serve(parts);
    let desk = Desk {
        config: config.clone(),
        catalog: catalog.clone(),
        dir: dir.clone(),
        sandbox: running.clone(),
        audit: audit.clone(),
        approvals,
    };
    let of_page = server.clone();
    let shown = async move {
        match page {
            Some(page) => page.serve(desk, of_page).await,
            None => pending().await,
        }
    };
    let reporting = budgets::report(spent, dir.clone());
    // The first response must not wait for the sandbox or for compilation.
    let (failed_sender, mut failed) = mpsc::channel::<Failure>(1);
    let hook = idle.clone();
    tokio::spawn(async move {
        let folder = std::slice::from_ref(&dir);
        let secrets = Secrets::Live(config.clone(), exchanges);
        let failure = match options.sandbox_for(&config.get(), folder, audit.clone(), on_http, secrets).await {
            Ok(sandbox) => {
                let ready = sandbox.clone();
                let _ = running.set(sandbox.clone());
                hook.set(move || ready.on_idle());
                let client = is_greeted.then_some(if on_http { ON_HTTP } else { ON_STDIN });
                match follow_folder(config, (trust, author), dir, catalog, sandbox, (audit, metrics, watcher), client)
                    .await
                {
                    Ok(never) => match never {},
                    Err(failure) => failure,
                }
            }
            Err(failure) => failure,
        };
        // An error means that the process is ending.
        let _ = failed_sender.send(failure).await;
    });
    let serving = server.clone();
    let serve = async {
        let Some((listener, settings)) = http else {
            let settings = stdio::Settings { idle, ..stdio::Settings::default() };
            if io::stdin().is_terminal() {
                let explain = move || {
                    if is_for_people {
                        report::message(&words)
                    }
                };
                let input = TypedInput::new(io::stdin(), explain);
                stdio::serve(server, input, io::stdout(), settings, shutdown).await;
            } else {
                stdio::serve(server, io::stdin(), io::stdout(), settings, shutdown).await;
            }
            return Ok(None);
        };
        if let Some(own) = &own {
            nodes::until_known(own, &known).await;
        }
        service::ready();
        let shutdown = async {
            shutdown.await;
            service::stopping();
        };
        let settings = transport::http::Settings { idle, ..settings };
        let served = transport::http::serve(server, listener, settings, shutdown).await;
        served.map(Some).map_err(|error| Failure::new(format!("start the connection threads: {error}")))
    };
    let serve = async {
        let served = serve.await;
        serving.stop_tasks(grace).await;
        if let Some(own) = leaving {
            nodes::leave(&own).await;
        }
        if let Some(store) = unannounced {
            // Otherwise it counts for a few seconds.
            let _ = timeout(LEAVING, in_use::leave(&*store, &id)).await;
        }
        // Not before: these have run the tasks, and connections to the store.
        served.map(drop)
    };
    let ended = tokio::select! {
        served = serve => served.map(|()| ExitCode::SUCCESS),
        Some(failure) = failed.recv() => Err(failure),
        never = reporting => match never {},
        never = scraped => match never {},
        never = shown => match never {},
    };
    exporter.close();
    recorder.finish(RECORDING);
    if let Some(writer) = writer {
        writer.close(audit::CLOSING);
    }
    ended
}

/// Keeps what this machine has from being moved away. Where that cannot be said, the server runs all the same.
fn hold(config: &Config) -> Result<Option<InUse>, Failure> {
    let Some(base) = config::base().filter(|_| !config.store.is_shared()) else { return Ok(None) };
    match InUse::by_server(&base.state) {
        Ok(Some(held)) => Ok(Some(held)),
        Ok(None) => Err(Failure::new(format!("serve while {} is moved", base.state.shown()))
            .hint("wait until wharf store migrate has ended".to_owned())),
        Err(error) => {
            tracing::debug!(%error, "nobody is told that this server runs");
            Ok(None)
        }
    }
}

/// Replaces the rights of the server whenever those of the configuration change.
async fn follow_rights(config: Live, server: Arc<Server>) {
    let follow = |new: Option<&Config>| match new {
        None => tracing::error!(
            hint = "to allow everything without a restart, write [rights] with default = \"everything\"",
            "rights unchanged: the configuration has none"
        ),
        Some(new) => {
            server.set_rights(new.rights());
            let rules = new.rights.as_ref().map_or(0, |rights| rights.rules.len());
            tracing::info!(rules, "rights changed");
        }
    };
    config.follow_part(|config| config.rights.clone(), follow).await;
}

/// Keeps users' tokens with their requests while something is to be had for them.
async fn follow_exchanges(config: Live, oauth: Arc<OAuth>) {
    let mut changed = config.changed();
    loop {
        oauth.carries_tokens.store(config.get().has_exchanges(), Ordering::Relaxed);
        if changed.changed().await.is_err() {
            return;
        }
    }
}

/// Warns at start if the limit of open files is too low for the configured connections.
fn warn_of_low_file_limit(files: u64, connections: usize) {
    if files < needed_files(connections) {
        tracing::warn!(
            files,
            connections,
            "open file limit too low for server.http.connections: raise the hard limit (ulimit -Hn, LimitNOFILE), or lower it"
        );
    }
}

/// What the author of a plugin wants, with `wharf dev`.
#[derive(Default)]
pub(super) struct Author {
    /// Every version of this plugin runs without approval.
    pub(super) trusts: Option<PluginId>,
    /// What each plugin offers is named when it is loaded, and a server over HTTP ends when stdin does, as it does if
    /// `wharf dev` is killed.
    pub(super) is_dev: bool,
}

async fn follow_folder(
    config: Live,
    (trust, author): (Trust, Author),
    dir: PathBuf,
    catalog: Arc<Catalog>,
    sandbox: Arc<Sandbox>,
    (audit, metrics, watcher): (Audit, Metrics, Option<Watcher>),
    client: Option<&'static str>,
) -> Result<std::convert::Infallible, Failure> {
    let (events_sender, mut events) = mpsc::unbounded_channel();
    let program = config.get().program();
    let (shown_config, is_dev) = (config.clone(), author.trusts.is_some());
    let (shown_program, shown_dir, shown_catalog) = (program.clone(), dir.clone(), catalog.clone());
    let recording = audit.clone();
    tokio::spawn(async move {
        // Of the first scan: how many versions wait is logged before each of them is named.
        let waiting = Mutex::new(Some(Vec::new()));
        let report_event = |event: &FolderEvent| {
            let mut waiting = lock(&waiting);
            match &mut *waiting {
                Some(waiting) if waits(event) => waiting.push(event.clone()),
                _ => report::log(event),
            }
            drop(waiting);
            if let (true, FolderEvent::Loaded { id, .. }) = (author.is_dev, event) {
                let offers = summary::served(&shown_catalog.snapshot(), id);
                let offers: Vec<String> = offers.into_iter().map(|(kind, names)| format!("{kind} {names}")).collect();
                tracing::info!("{id} offers {}", offers.join("; "));
            }
            super::metrics::count(&metrics, event);
            if let Some(watcher) = &watcher {
                watcher(event);
            }
            if let Some(record) = audit::folder_record(event) {
                audit.record(&record);
            }
        };
        let report_waiting = || {
            let Some(held) = lock(&waiting).take() else { return };
            warn_of_waiting(held.len(), &shown_program, &shown_dir, &shown_catalog.snapshot());
            held.iter().for_each(report::log);
        };
        {
            let mut first_scan = pin!(report::first_scan(&mut events, &report_event));
            // Something may take long to compile.
            if timeout(WAITING_DELAY, &mut first_scan).await.is_err() {
                report_waiting();
                first_scan.await;
            }
        }
        report_waiting();
        let (absent_dir, absent_config) = (shown_dir.clone(), shown_config.get());
        let has_skills = shown_catalog.offers_skills();
        // The folder of `wharf dev` has one plugin, or none yet.
        let absent = tokio::task::spawn_blocking(move || {
            if is_dev {
                return Vec::new();
            }
            let Ok(files) = choice_in(&absent_config, &absent_dir) else { return Vec::new() };
            if files.is_empty() && !has_skills && client.is_none() {
                warn_of_empty(&absent_dir);
            }
            absent::warnings(&absent_config, &absent_dir, files.names())
        });
        absent.await.unwrap_or_default().iter().for_each(|absent| tracing::warn!("{}", absent.text));
        if let Some(client) = client {
            greet(&shown_program, &shown_dir, &shown_catalog.snapshot(), client);
        }
        while let Some(event) = events.recv().await {
            report_event(&event);
        }
    });
    let shown = dir.shown().to_string();
    let failed = |error: io::Error| Failure::new(format!("watch the plugin folder: {error}: {shown}"));
    tokio::spawn(config.clone().follow(report::reconfigured(&config.get())));
    let changed = config.changed();
    let guard = wiring::guard(
        {
            let config = config.clone();
            move || config.get()
        },
        trust,
    )?;
    let guard = author.trusts.into_iter().fold(guard.for_plugins(&dir), Guard::trusting);
    let settings = move |id: &PluginId| plugin_settings(&config.get(), id);
    let folder = Folder::new(dir, catalog, sandbox, settings, events_sender).with_guard(guard).with_program(program);
    match folder.with_gate(move || Box::pin(recording.recording())).follow(changed).await {
        Ok(never) => Ok(never),
        Err(error) => Err(failed(error)),
    }
}

/// Whether an event is a version that waits for approval.
fn waits(event: &FolderEvent) -> bool {
    matches!(event, FolderEvent::Held(held) if held.decision.outcome.as_ref().is_err_and(Reason::needs_approval))
}

/// Says at the start that versions wait for approval: a list without tools would not.
fn warn_of_waiting(count: usize, program: &str, dir: &Path, snapshot: &Snapshot) {
    let served = snapshot.members().iter().filter(|member| !member.provider.is_host()).count();
    let who = match count {
        0 => return,
        1 => "1 plugin waits".to_owned(),
        count => format!("{count} plugins wait"),
    };
    let rest = if served == 0 { "nothing is served" } else { "the others are served" };
    let dir = absolute(dir);
    tracing::warn!("{who} for approval; {rest}: run {program} approve --all {}", shell_word(&dir));
}

/// Logs that the folder has no plugins. [`greet`] shows it to a person at the terminal.
fn warn_of_empty(dir: &Path) {
    let dir = absolute(dir);
    tracing::warn!(
        "nothing is served yet: no .wasm files in {0}, which is watched; to serve one: cp plugin.wasm {1}",
        dir.shown(),
        shell_word(&dir)
    );
}

/// Shows a person at the terminal what is served, and how to try it.
fn greet(program: &str, dir: &Path, snapshot: &Snapshot, client: &str) {
    let mut text = format!("wharf {} serves {}:\n", env!("CARGO_PKG_VERSION"), dir.shown());
    let ids = || snapshot.members().iter().map(|member| member.provider.id());
    let width = column(ids().map(PluginId::as_ref));
    for id in ids() {
        let tools = summary::served(snapshot, id).into_iter().find(|(kind, _)| *kind == "tools");
        text += &format!("  {NAME}{:<width$}{NAME:#}  {}\n", id.as_ref(), tools.unwrap_or_default().1);
    }
    if snapshot.members().is_empty() {
        text += "  no plugins yet; copy a .wasm file into that folder to serve it\n";
    }
    text += &format!("{client} To call a tool from a shell:\n");
    text += &format!("  {}\n", example(program, dir, snapshot));
    text += "Stop with Ctrl-C.";
    report::message(&text);
}

/// For a person at the terminal, before anything is loaded.
fn meant_for_a_client(program: &str, dir: &Path) -> String {
    let dir = shell_word(dir);
    format!(
        "This server speaks JSON-RPC on stdin, and is meant to be started by an MCP client: {program} install CLIENT \
         {dir} sets that up; {program} list {dir} shows the tools."
    )
}

/// For a person who types words where clients send messages.
fn not_a_message(program: &str, dir: &Path) -> String {
    let dir = shell_word(dir);
    format!(
        "An MCP client sends JSON-RPC messages here, one to a line; stop with Ctrl-C. To try the plugins yourself:\n  \
         {program} list {dir}\n  {program} call {dir} TOOL …"
    )
}

fn example(program: &str, dir: &Path, snapshot: &Snapshot) -> String {
    let tool = snapshot.tools.entries().first().map_or("TOOL", |tool| tool.name.as_str());
    let dir = shell_word(dir);
    format!("{program} call {dir} {tool} …    ({program} list {dir} {tool} shows the arguments)")
}

//! `wharf dev`: rebuilds a plugin on each change of its sources, into a folder that is being served.
//!
//! The server is `wharf serve` in a separate process with its own OS sandbox. This process starts
//! compilers, which a server must not.

mod address;
mod lock;
mod sources;

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, IsTerminal as _};
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::process::{ExitCode, ExitStatus, Stdio};
use std::time::{Duration, Instant, SystemTime};

use blake3::Hash;
use clap::Args;
use tokio::process::{ChildStdin, Command};
use tokio::task::JoinHandle;
use tokio::time::timeout;
use wharf_report::ShowPath as _;
use wharf_report::{Failure, NAME, Screen, failure, is_coloured, message, time_of_day, warning};

use self::lock::Lock;
use self::sources::{Contents, Sources};
use crate::build::{LAST_LINES_WITHIN, build, install, output_folder, read};
use crate::child::{Group, interrupted};
use crate::name::PluginName;
use crate::project::Project;
use crate::{Server, files, wrapper};

const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(5);
/// So many builds in a row, during each of which a file changed, are taken to write that file.
const WRITING_BUILDS: usize = 3;

#[derive(Args)]
pub struct DevOptions {
    /// Folder to install the component into and to serve, with the plugins that are in it [default:
    /// dist/.dev in the project, with this plugin only]
    #[arg(long, value_name = "FOLDER")]
    serve: Option<PathBuf>,
    /// Address to listen on, as for serve [default: the first free port of 127.0.0.1 from 8080]
    #[arg(long, value_name = "ADDR")]
    http: Option<String>,
    /// Install missing build tools
    #[arg(long)]
    install: bool,
}

pub(crate) async fn run(
    server: &impl Server,
    dir: &Path,
    how: DevOptions,
    screen: &Screen,
) -> Result<ExitCode, Failure> {
    let mut interrupted = pin!(interrupted()?);
    let project = Project::read(dir)?;
    // Before anything is written or removed there.
    let dist = output_folder(&project)?;
    let mut lock = if how.serve.is_none() { Some(Lock::acquire(&dist)?) } else { None };
    wrapper::warn(&project);
    // Its files are sources too.
    wrapper::restore(&project)?;
    // In another folder, a file with the plugin's name may be somebody else's.
    let (folder, is_own) = match how.serve {
        Some(folder) => (server.folder(folder)?, false),
        None => (own_folder(&dist)?, true),
    };
    let written = server.written()?;
    let mut address = address::choose(how.http.as_deref())?;
    let shown = folder.shown().to_string();
    let approval = if is_own {
        "needs no approval there, since you build it"
    } else {
        "needs approval there, as every plugin does"
    };
    let mut name = project.name;
    let printed = format!(" is rebuilt into {shown} on each change");
    message(&format!("{NAME}{name}{NAME:#}{printed}, and {approval}; stop with Ctrl-C"));
    let sources = Sources::watch(&project.dir, &folder, &written, printed)
        .map_err(|error| Failure::new(format!("watch {}: {error}", project.dir.shown())))?;
    for folder in sources.unwatched() {
        message(&format!("{} is not watched, since the server writes there", folder.shown()));
    }
    let mut builds = Builds {
        sources,
        dir: project.dir,
        folder,
        is_own,
        install: how.install,
        screen,
        last: None,
        during: BTreeMap::new(),
        served: None,
    };
    loop {
        if let Some(lock) = &mut lock {
            // Only a message would lack it.
            let _ = lock.note(&address.written);
        }
        if let Some(socket) = address.socket {
            server.clients(&name, socket)?.iter().for_each(|client| message(client));
        }
        let command = |address: &str| server.serve_command(&builds.folder, address, is_own.then_some(&name));
        let mut process = address.start(command, |command| Serving::start(command, screen))?;
        tokio::select! {
            renamed = builds.follow(&name) => {
                process.stop().await;
                builds.remove_file(&name);
                builds.install(&renamed)?;
                message(&format!("{NAME}{name}{NAME:#} is now {NAME}{renamed}{NAME:#}: the server starts again"));
                name = renamed;
            }
            ended = process.ended() => {
                let status = ended.map_err(|error| Failure::new(format!("wait for the server: {error}")))?;
                // Another program may have bound the port since it was chosen.
                let next = if address.is_bound() { None } else { Some(address::choose(how.http.as_deref())?) };
                let Some(next) = next.filter(|next| next.written != address.written) else {
                    // The server has logged why.
                    return Err(Failure::new(format!("serve {shown}: the server exited with {status}"))
                        .hint("choose another address with --http, or 127.0.0.1:0 for a free port".to_owned()));
                };
                address = next;
            }
            () = &mut interrupted => {
                process.stop().await;
                return Ok(ExitCode::SUCCESS);
            }
        }
    }
}

/// The server's process.
struct Serving {
    group: Group,
    /// The server ends with it, also if this process is killed.
    stdin: Option<ChildStdin>,
    /// Passes on what it logs, so that no line is written into that of the progress.
    log: Option<JoinHandle<io::Result<()>>>,
}

impl Serving {
    fn start(mut command: Command, screen: &Screen) -> io::Result<Self> {
        command.stdin(Stdio::piped());
        if io::stderr().is_terminal() {
            command.stderr(Stdio::piped());
            if is_coloured() {
                command.env("CLICOLOR_FORCE", "1");
            }
        }
        let mut group = Group::spawn(command)?;
        let screen = screen.clone();
        // Waiting for a child closes the one that it has.
        let stdin = group.child.stdin.take();
        let stderr = group.child.stderr.take();
        let log =
            stderr.map(|stderr| tokio::spawn(async move { read(Some(stderr), Some(&screen), &mut Vec::new()).await }));
        Ok(Self { group, stdin, log })
    }

    /// Waits for its exit, and for what it logged.
    async fn ended(&mut self) -> io::Result<ExitStatus> {
        let status = self.group.wait().await?;
        if let Some(log) = self.log.take() {
            // Another process may have inherited the pipe.
            let _ = timeout(LAST_LINES_WITHIN, log).await;
        }
        Ok(status)
    }

    async fn stop(&mut self) {
        drop(self.stdin.take());
        // Its exit status does not matter.
        let _ = timeout(SHUTDOWN_TIMEOUT, self.ended()).await;
    }
}

/// A folder that only this plugin is served from, without what an earlier run left there.
fn own_folder(dist: &Path) -> Result<PathBuf, Failure> {
    let folder = dist.join(".dev");
    let failed = |error| Failure::new(format!("create {}: {error}", folder.shown()));
    match fs::remove_dir_all(&folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
        _ => {}
    }
    fs::create_dir_all(&folder).map_err(failed)?;
    Ok(folder)
}

/// Builds of the project, and what is served of them.
struct Builds<'s> {
    sources: Sources,
    dir: PathBuf,
    /// Where components are installed.
    folder: PathBuf,
    /// Whether nothing but builds of this plugin is in that folder.
    is_own: bool,
    install: bool,
    screen: &'s Screen,
    /// The sources of the last build, which may have failed.
    last: Option<Contents>,
    /// The files that changed during the last build, and during how many builds in a row.
    during: BTreeMap<PathBuf, usize>,
    served: Option<Served>,
}

/// The last successful build.
struct Served {
    name: PluginName,
    sources: Contents,
    component: Hash,
    at: SystemTime,
}

impl Served {
    /// Whether a file has the component that was built.
    fn is_at(&self, path: &Path) -> bool {
        files::read(path, files::MAX_SIZE).is_ok_and(|component| blake3::hash(&component) == self.component)
    }
}

impl Builds<'_> {
    /// Builds once, and again whenever the sources differ from those that were built. Returns the plugin's name if it
    /// is another one than `trusted`, which the server was started for.
    async fn follow(&mut self, trusted: &PluginName) -> PluginName {
        let mut current = self.sources.contents();
        loop {
            // A failed build too is tried again only with other sources: what it prints may go to a file of the project.
            if self.last.as_ref() == Some(&current) {
                self.sources.changed().await;
                current = self.sources.contents();
                continue;
            }
            match self.served.as_ref().filter(|served| served.sources == current) {
                Some(served) => message(&format!("unchanged; still serving the version of {}", time_of_day(served.at))),
                None => match self.build(current.clone(), trusted).await {
                    Ok(summary) => message(&summary),
                    Err(why) => failure(&why),
                },
            }
            // Discard events of the build itself; source changes are detected by their contents.
            self.sources.discard_events();
            let built = std::mem::replace(&mut current, self.sources.contents());
            let is_done = self.writes(&built, &current);
            self.last = Some(if is_done { current.clone() } else { built });
            if let Some(served) = self.served.as_ref().filter(|served| self.is_own && served.name != *trusted) {
                return served.name.clone();
            }
        }
    }

    /// Whether all that changed during the last build changed during those before it too, as files do that builds write.
    /// Another build would be followed by the next one.
    fn writes(&mut self, before: &Contents, after: &Contents) -> bool {
        let earlier = std::mem::take(&mut self.during);
        let times = |path: &PathBuf| 1 + earlier.get(path).copied().unwrap_or_default();
        self.during = after.changed_since(before).into_iter().map(|path| (path.clone(), times(&path))).collect();
        let is_written = self.during.values().all(|times| *times >= WRITING_BUILDS);
        let Some(path) = self.during.keys().next().filter(|_| is_written) else { return false };
        let more = match self.during.len() - 1 {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        warning(&format!(
            "builds seem to write {}{more}, which changed during each of the last {WRITING_BUILDS}: what changes during a \
             build is not built until the next change",
            path.shown()
        ));
        true
    }

    async fn build(&mut self, sources: Contents, trusted: &PluginName) -> Result<String, Failure> {
        let started = Instant::now();
        let project = Project::read(&self.dir)?;
        let name = project.name.clone();
        self.require_own(&name, trusted)?;
        let component = build(&project, self.install, self.screen).await?;
        install(&component, &self.built(&name))?;
        // Under a name that it does not trust, the server must not find it.
        if !self.is_own || name == *trusted {
            install(&component, &self.installed(&name))?;
        }
        let served = Served { name: name.clone(), sources, component: blake3::hash(&component), at: SystemTime::now() };
        if let Some(before) = self.served.replace(served).filter(|before| before.name != name) {
            self.remove_built(&before);
            if !self.is_own {
                self.remove(&before);
            }
        }
        Ok(format!("built {NAME}{name}{NAME:#} in {:.1} s", started.elapsed().as_secs_f64()))
    }

    /// Fails if a new name of the project is that of a file which this command did not put there. `first` is the name at
    /// the start, which the person has seen.
    fn require_own(&self, name: &PluginName, first: &PluginName) -> Result<(), Failure> {
        let is_own = name == self.served.as_ref().map_or(first, |served| &served.name);
        let installed = self.installed(name);
        if self.is_own || is_own || installed.symlink_metadata().is_err() {
            return Ok(());
        }
        Err(Failure::new(format!("serve it as {name}: another plugin has that name: {}", installed.shown()))
            .hint("choose another name in plugin.toml, or remove that file if nobody needs it".to_owned()))
    }

    fn built(&self, name: &PluginName) -> PathBuf {
        self.dir.join(format!("dist/{name}.wasm"))
    }

    /// Copies what was built into the folder that is served.
    fn install(&self, name: &PluginName) -> Result<(), Failure> {
        let built = self.built(name);
        let component = files::read(&built, files::MAX_SIZE)
            .map_err(|error| Failure::new(format!("read the component: {error}: {}", built.shown())))?;
        install(&component, &self.installed(name))
    }

    fn installed(&self, name: &PluginName) -> PathBuf {
        self.folder.join(format!("{name}.wasm"))
    }

    /// Removes the component of a former name from `dist`, unless it is no longer what this command built.
    fn remove_built(&self, before: &Served) {
        let built = self.built(&before.name);
        if before.is_at(&built)
            && let Err(error) = fs::remove_file(&built)
        {
            warning(&format!("{} is of the former name, and is not removed: {error}", built.shown()));
        }
    }

    /// Removes the component of a former name from the folder that is served, unless somebody has replaced it.
    fn remove(&self, before: &Served) {
        if before.is_at(&self.installed(&before.name)) {
            self.remove_file(&before.name);
        }
    }

    fn remove_file(&self, name: &PluginName) {
        let installed = self.installed(name);
        if let Err(error) = fs::remove_file(&installed) {
            warning(&format!("{} is still served: {error}", installed.shown()));
        }
    }
}

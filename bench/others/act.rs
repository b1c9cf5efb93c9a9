//! The tools of the measured servers as a component of ACT, another host of WebAssembly
//! components that speaks MCP:
//!
//!     pip install act-cli==0.14.6 act-build==0.14.6
//!     act-build init rust echo && cd echo      # then this file is its src/lib.rs
//!     cargo add serde --features derive
//!     cargo +stable build --release
//!     wasm=$PWD/target/wasm32-wasip2/release/echo.wasm
//!     act-build pack $wasm
//!     path/to/bench/run.sh --others --other "ACT=$(command -v act) run --mcp $wasm"
//!
//! `act-build init` fetches the interface `act:tools` from the repository of its specification;
//! the crate act-runtime 0.14.6 has it too, in `wit/deps`.

use act_sdk::prelude::*;

#[derive(serde::Serialize)]
struct Sum {
    sum: i64,
}

#[act_component]
mod component {
    use super::*;

    /// Says back what it is told.
    #[act_tool(description = "Says back what it is told.", read_only)]
    fn echo(
        /// The text to return.
        message: String,
    ) -> ActResult<String> {
        Ok(message)
    }

    /// Adds two integers.
    #[act_tool(description = "Adds two integers.", read_only)]
    fn add(
        /// The first number.
        a: i64,
        /// The second number.
        b: i64,
    ) -> ActResult<Json<Sum>> {
        Ok(Json(Sum { sum: a + b }))
    }
}

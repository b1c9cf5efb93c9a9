//! Hostile use of WASI and of the SDK. What needs WebAssembly text is in the `.wat` files of this
//! folder.

mod crashes;
mod leaks;
mod sockets;
mod waits;
mod words;

use wharf_plugin::*;

struct Hostile;

impl Plugin for Hostile {
    fn tools(&self, tools: &mut Tools<'_>) {
        crashes::tools(tools);
        leaks::tools(tools);
        sockets::tools(tools);
        waits::tools(tools);
        words::tools(tools);
    }

    fn resources(&self) -> Result<Vec<Resource>> {
        Ok(vec![crashes::resource()])
    }

    fn read_resource(&self, uri: &str, _: &Call) -> Result<ReadResult> {
        crashes::read(uri)
    }

    fn prompts(&self, prompts: &mut Prompts<'_>) {
        crashes::prompts(prompts);
    }

    fn complete(&self, typed: &Typed) -> Result<Completion> {
        crashes::complete(typed)
    }
}

export!(Hostile: tools, resources, prompts, completions);

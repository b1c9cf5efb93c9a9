//! A plugin that means harm, by all that WASI and the SDK offer. What takes an engine's own
//! words to say is in the `.wat` files beside it.

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

//! H18, H19: crashes in every export, with terminal control sequences in the message.

use wharf_plugin::*;

const WORDS: &str = "\u{1b}[2J\u{202e}panicked on purpose\nERROR wharf: forged";

pub(crate) fn tools(tools: &mut Tools<'_>) {
    tools.add("panic", "Panics.", |_, _: NoArguments| panics::<&str>());
    tools.add("sane", "Answers.", |_, _: NoArguments| Ok("sane"));
}

pub(crate) fn resource() -> Resource {
    Resource::new("hostile://panic", "Panics when it is read")
}

pub(crate) fn read(_: &str) -> Result<ReadResult> {
    panics()
}

#[derive(Deserialize, JsonSchema)]
#[expect(dead_code, reason = "it panics before it looks at it")]
struct Topic {
    topic: String,
}

pub(crate) fn prompts(prompts: &mut Prompts<'_>) {
    prompts.add("panic", "Panics.", |_, _: Topic| panics());
}

pub(crate) fn complete(_: &Typed) -> Result<Completion> {
    panics()
}

fn panics<T>() -> Result<T> {
    panic!("{WORDS}")
}

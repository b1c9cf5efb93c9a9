//! Echoes its input: the default plugin of the tests. Its version is set at build time, so that a
//! reload can be observed.

use wharf_plugin::*;

#[derive(Deserialize, JsonSchema)]
struct Echo {
    /// What to say back.
    message: String,
}

#[derive(Deserialize, JsonSchema)]
struct Add {
    /// The first number.
    a: i64,
    /// The second number.
    b: i64,
}

#[derive(Serialize, JsonSchema)]
struct Sum {
    /// Both numbers together.
    sum: i64,
}

/// The plugin.
pub struct EchoPlugin;

impl Plugin for EchoPlugin {
    fn tools(&self, tools: &mut Tools<'_>) {
        tools.add("echo", "Says back what it is told.", |_, args: Echo| Ok(args.message)).read_only();
        tools
            .add("add", "Adds two integers.", |_, args: Add| match args.a.checked_add(args.b) {
                Some(sum) => Ok(Json(Sum { sum })),
                None => Err(Error::invalid("/b", "the sum does not fit in 64 bits")),
            })
            .read_only();
        if let Some(version) = option_env!("WHARF_ECHO_VERSION") {
            tools.add("version", "Says which build this is.", |_, _: NoArguments| Ok(version)).read_only();
        }
    }
}

export!(EchoPlugin);

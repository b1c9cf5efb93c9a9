//! The smallest plugin: two tools.

use wharf_plugin::*;

#[derive(Deserialize, JsonSchema)]
struct Greet {
    /// Whom to greet.
    name: String,
}

struct Hello;

impl Plugin for Hello {
    fn tools(&self, tools: &mut Tools) {
        tools.add("greet", "Greets somebody.", |_, args: Greet| Ok(format!("Hello, {}!", args.name)));
        tools.add("shout", "Greets loudly.", |_, args: Greet| Ok(args.name.to_uppercase() + "!"));
    }
}

export!(Hello);

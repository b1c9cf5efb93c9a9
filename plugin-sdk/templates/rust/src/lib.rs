//! The plugin `{{name}}`: its tools, and a test that runs them without a host.

use wharf_plugin::*;

#[derive(Deserialize, JsonSchema)]
struct Greet {
    /// Whom to greet.
    name: String,
}

#[derive(Deserialize, JsonSchema)]
struct Count {
    /// Any text.
    text: String,
}

#[derive(Serialize, JsonSchema)]
struct Counted {
    /// Words in the text.
    words: usize,
}

struct Tool;

impl Plugin for Tool {
    fn tools(&self, tools: &mut Tools) {
        tools.add("greet", "Greets somebody.", |_, args: Greet| Ok(format!("Hello, {}!", args.name)));
        tools
            .add("count", "Counts the words of a text.", |_, args: Count| {
                Ok(Json(Counted { words: args.text.split_whitespace().count() }))
            })
            .read_only();
    }
}

export!(Tool);

#[cfg(test)]
mod tests {
    use wharf_plugin::*;

    use super::Tool;

    #[test]
    fn greets() {
        let answer = testing::call(&Tool, "greet", json!({ "name": "Ada" })).unwrap();
        assert_eq!(answer.as_text(), "Hello, Ada!");
    }

    #[test]
    fn counts() {
        let answer = testing::call(&Tool, "count", json!({ "text": "one two  three" })).unwrap();
        assert_eq!(answer.as_json().unwrap(), json!({ "words": 3 }));
    }

    #[test]
    fn wants_arguments() {
        assert!(testing::call(&Tool, "greet", json!({})).is_err());
    }
}

//! Prompts of every kind.

use wharf_plugin::*;

use crate::PIXEL;

pub(crate) fn add(prompts: &mut Prompts) {
    prompts
        .add("test_simple_prompt", "A prompt without arguments.", |_, _: NoArguments| {
            Ok(PromptResult::user("This is a simple prompt for testing."))
        })
        .title("Simple prompt")
        .icon(Icon::new("https://example.org/prompt.svg"))
        .meta(&json!({ "example.org/first": true }));
    prompts.add("test_prompt_with_arguments", "A prompt with two arguments.", |_, args: Two| {
        let Two { arg1, arg2 } = args;
        Ok(PromptResult::user(format!("Prompt with arguments: arg1='{arg1}', arg2='{arg2}'")))
    });
    prompts.add("test_prompt_with_optional", "A prompt with an argument that may be left out.", |_, args: Optional| {
        let name = args.name.as_deref().unwrap_or("nobody");
        Ok(PromptResult::user(format!("Greet {name}")).and_assistant("Hello!").description("A greeting"))
    });
    prompts.add("test_prompt_with_embedded_resource", "A prompt with a resource in it.", |_, args: Embedded| {
        let contents = ResourceContents::text(args.uri, "Embedded resource content for testing.");
        Ok(PromptResult::user(Content::embedded(contents.mime_type("text/plain")))
            .and_user("Please process the embedded resource above."))
    });
    prompts.add("test_prompt_with_image", "A prompt with a picture in it.", |_, _: NoArguments| {
        Ok(PromptResult::user(Content::image(PIXEL, "image/png")).and_user("Please look at the picture above."))
    });
    prompts.add("test_input_required_result_prompt", "A prompt that asks the user first.", |ask, _: NoArguments| {
        let context = ask.key("user_context").form::<Context>("What is it about?")?;
        let topic = context.map_or("anything".into(), |context| context.context);
        Ok(PromptResult::user(format!("Talk about {topic}")))
    });
    prompts.add("test_failing_prompt", "A prompt that cannot be made.", |_, _: NoArguments| {
        Err(Error::failed("there is nothing to say"))
    });
    prompts.add("test_listed_prompt", &crate::listed(), |_, _: NoArguments| Ok(PromptResult::user("Listed")));
}

#[derive(Deserialize, JsonSchema)]
struct Two {
    /// The first argument.
    arg1: String,
    /// The second argument.
    arg2: String,
}

#[derive(Deserialize, JsonSchema)]
struct Optional {
    /// Whom to greet.
    name: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
struct Embedded {
    /// The URI of the resource.
    #[serde(rename = "resourceUri")]
    uri: String,
}

#[derive(Deserialize, JsonSchema)]
struct Context {
    /// The topic.
    context: String,
}

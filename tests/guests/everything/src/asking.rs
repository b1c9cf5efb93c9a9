//! Tools that ask questions: elicitation, sampling and roots.

use std::cell::Cell;

use wharf_plugin::*;

use crate::{PIXEL, SILENCE};

pub(crate) fn add(tools: &mut Tools) {
    tools.add("test_sampling", "Asks the client's model.", |ask, args: Question| {
        let said = ask.sample(Sampling::new(args.prompt).max_tokens(100))?;
        Ok(format!("LLM response: {}", said.text()))
    });
    tools.add("test_missing_capability", "Cannot do without the client's model.", |ask, _: NoArguments| {
        Ok(ask.sample("Anything")?.text())
    });
    tools.add("test_sampling_tools", "Asks the client's model and lends it a tool.", sample_tools);
    tools.add("test_sampling_hints", "Asks the client's model in every way.", |ask, _: NoArguments| {
        let question = Sampling::new("Look")
            .image(PIXEL, "image/png")
            .audio(SILENCE, "audio/wav")
            .assistant("I see")
            .system("Be short")
            .max_tokens(5)
            .temperature(0.5)
            .stop_at("\n")
            .model("fast")
            .priorities(0.1, 0.2, 0.3)
            .context(ContextScope::ThisServer);
        let said = ask.sample(question)?;
        Ok(format!("{} ({} media)", said.text(), said.media().count()))
    });
    tools.add("test_elicitation", "Asks the user for a name and an address.", |ask, args: Message| {
        Ok(match ask.form::<Account>(args.message)? {
            Some(account) => format!("User response: {} <{}>", account.username, account.email),
            None => "User response: none".into(),
        })
    });
    tools.add("test_streaming_elicitation", "Asks the user.", |ask, _: NoArguments| {
        Ok(format!("User response: {}", ask.confirm("Go on?")?))
    });
    tools.add(
        "test_elicitation_sep1034_defaults",
        "Asks with a form that is filled in already.",
        |ask, _: NoArguments| {
            let schema = json!({ "type": "object", "properties": {
            "name": { "type": "string", "default": "John Doe" },
            "age": { "type": "integer", "default": 30 },
            "score": { "type": "number", "default": 95.5 },
            "status": { "type": "string", "enum": ["active", "inactive", "pending"], "default": "active" },
            "verified": { "type": "boolean", "default": true },
        }, "required": [] });
            filled_in(ask.form_of("Please look over these", &schema)?)
        },
    );
    tools.add("test_elicitation_sep1330_enums", "Asks with every kind of choice.", |ask, _: NoArguments| {
        let titled = json!([{ "const": "value1", "title": "First" }, { "const": "value2", "title": "Second" }]);
        let plain = json!(["option1", "option2", "option3"]);
        let schema = json!({ "type": "object", "properties": {
            "untitledSingle": { "type": "string", "enum": plain },
            "titledSingle": { "type": "string", "oneOf": titled },
            "legacyEnum": { "type": "string", "enum": ["opt1", "opt2"], "enumNames": ["Option One", "Option Two"] },
            "untitledMulti": { "type": "array", "items": { "type": "string", "enum": plain } },
            "titledMulti": { "type": "array", "items": { "anyOf": titled } },
        }, "required": [] });
        filled_in(ask.form_of("Please choose", &schema)?)
    });
    tools.add("test_elicitation_fields", "Asks with every kind of field.", |ask, _: NoArguments| {
        let schema = json!({ "type": "object", "additionalProperties": false, "properties": {
            "name": { "type": "string", "title": "Name", "description": "In full", "minLength": 2, "maxLength": 20,
                "pattern": "^[A-Z]", "default": "Ada" },
            "mail": { "type": "string", "format": "email" },
            "page": { "type": "string", "format": "uri" },
            "born": { "type": "string", "format": "date" },
            "seen": { "type": "string", "format": "date-time" },
            "host": { "type": "string", "format": "ipv4" },
            "age": { "type": "integer", "minimum": 0, "maximum": 150, "default": 30 },
            "height": { "type": "number", "exclusiveMinimum": 0 },
            "member": { "type": "boolean", "default": true },
            "size": { "type": "string", "enum": ["s", "l"], "enumNames": ["Small", "Large"] },
            "colour": { "type": "string", "oneOf": [{ "const": "r", "title": "Red" }, { "const": "g", "title": "Green" }] },
        }, "required": ["name", "age"] });
        filled_in(ask.form_of("Who are you?", &schema)?)
    });
    tools.add("test_url_visit", "Asks the user to visit a page.", |ask, _: NoArguments| {
        let agreed = ask.visit("Please sign in", "https://example.org/login")?;
        Ok(if agreed { "on the way" } else { "stayed" })
    });
    tools.add("test_roots", "Asks for the client's folders.", |ask, _: NoArguments| {
        let roots = ask.roots()?;
        Ok(roots.into_iter().map(|root| root.uri + "\n").collect::<String>())
    });
    rounds(tools);
}

/// Rounds of questions, with the keys that the conformance suite expects.
fn rounds(tools: &mut Tools) {
    tools.add("test_input_required_result_elicitation", "Asks for a name.", |ask, _: NoArguments| {
        let user = ask.key("user_name").form::<User>("What is your name?")?;
        Ok(format!("Hello, {}!", user.map_or("stranger".into(), |user| user.name)))
    });
    tools.add("test_input_required_result_sampling", "Asks the model.", |ask, _: NoArguments| {
        Ok(ask.key("capital_question").sample("What is the capital of France?")?.text())
    });
    tools.add("test_input_required_result_list_roots", "Asks for folders.", |ask, _: NoArguments| {
        Ok(format!("{} folders", ask.key("client_roots").roots()?.len()))
    });
    tools.add("test_input_required_result_request_state", "Remembers over a round.", |ask, _: NoArguments| {
        confirmed(ask)
    });
    tools.add("test_input_required_result_tampered_state", "Remembers over a round.", |ask, _: NoArguments| {
        confirmed(ask)
    });
    tools.add("test_input_required_result_multiple_inputs", "Asks three things at once.", |ask, _: NoArguments| {
        ask.once(|| Ok(3))?;
        let (user, greeting, roots) = ask.together(|ask| {
            let user = ask.key("user_name").form::<User>("What is your name?");
            (user, ask.key("greeting").sample("Say hello"), ask.key("client_roots").roots())
        })?;
        let name = user?.map_or("stranger".into(), |user| user.name);
        Ok(format!("{}, {name}! {} folders", greeting?.text(), roots?.len()))
    });
    tools.add("test_input_required_result_multi_round", "Asks twice, one after the other.", |ask, _: NoArguments| {
        ask.once(|| Ok(1))?;
        let name = ask.key("step1").form::<User>("What is your name?")?.map_or("stranger".into(), |user| user.name);
        let sure = ask.key("step2").confirm(format!("Is it really {name}?"))?;
        Ok(format!("{name}: {sure}"))
    });
    tools.add(
        "test_input_required_result_capabilities",
        "Asks only for what the client can.",
        |ask, _: NoArguments| {
            if ask.can(Feature::Form) {
                return Ok(format!("form: {}", ask.confirm("Go on?")?));
            }
            if ask.can(Feature::Sample) {
                return Ok(format!("model: {}", ask.sample("Go on?")?.text()));
            }
            Ok("nothing to ask".into())
        },
    );
}

fn confirmed(ask: &Call) -> Result<&'static str> {
    let forgot = Cell::new(false);
    ask.once(|| {
        forgot.set(true);
        Ok(7)
    })?;
    ask.key("confirm").confirm("Go on?")?;
    Ok(if forgot.get() { "state-lost" } else { "state-ok" })
}

fn filled_in(content: Option<Map<String, Value>>) -> Result<String> {
    Ok(match content {
        Some(content) => format!("User response: {}", Value::Object(content)),
        None => "User response: none".into(),
    })
}

fn sample_tools(ask: &Call, _: NoArguments) -> Result<String> {
    let schema = json!({ "type": "object", "properties": { "city": { "type": "string" } }, "required": ["city"] });
    let question = Sampling::new("How is the weather in Paris?")
        .system("Use the tool")
        .tool("weather", "The weather in a city", &schema)
        .tool_choice(ToolChoice::Auto);
    let said = ask.sample(question.clone())?;
    let used: Vec<_> =
        said.tool_uses().map(|(id, name, input)| (id.to_owned(), format!("{name} {input}: fine"))).collect();
    if used.is_empty() {
        return Ok(said.text());
    }
    Ok(ask.sample(question.used(&said, used))?.text())
}

#[derive(Deserialize, JsonSchema)]
struct Question {
    /// What to ask the model.
    prompt: String,
}

#[derive(Deserialize, JsonSchema)]
struct Message {
    /// What to tell the user.
    message: String,
}

#[derive(Deserialize, JsonSchema)]
struct Account {
    /// The name to sign in with.
    username: String,
    /// Where to write to.
    email: String,
}

#[derive(Deserialize, JsonSchema)]
struct User {
    /// Your name.
    name: String,
}

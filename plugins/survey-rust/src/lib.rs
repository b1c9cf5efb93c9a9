//! Tools that ask: the user by form and by link, the client's model, and the client itself.

#[cfg(test)]
mod tests;

use wharf_plugin::*;

struct Survey;

impl Plugin for Survey {
    fn tools(&self, tools: &mut Tools) {
        tools.add("ask", "Asks the user for a name, and greets whoever it is.", ask).title("Ask for a name");
        tools
            .add("summarise", "Has the client's own model summarise a text in one sentence.", summarise)
            .title("Summarise")
            .read_only();
        tools.add("roots", "Lists the folders that the client works in.", roots).title("List folders").read_only();
        tools
            .add("link", "Asks the user to fill in a survey on the web.", link)
            .title("Open a survey")
            .open_world(true);
    }
}

export!(Survey);

/// A form: doc comments become what the user reads.
#[derive(Deserialize, JsonSchema)]
struct Who {
    /// Your name.
    name: String,
}

#[derive(Deserialize, JsonSchema)]
struct Confirm {
    /// Greet this person?
    #[serde(default = "yes")]
    confirm: bool,
}

fn yes() -> bool {
    true
}

/// Each question ends the call, which is made again from here once the answer is there; what
/// is answered already is not asked again.
fn ask(call: &Call, _: NoArguments) -> Result<String> {
    let Some(Who { name }) = call.key("name").form("What is your name?")? else {
        return Ok("The user would not give a name.".into());
    };
    match call.key("confirm").form(format!("Shall I greet {name}?"))? {
        Some(Confirm { confirm: true }) => Ok(format!("hello {name}")),
        _ => Ok(format!("The user would not have {name} greeted.")),
    }
}

#[derive(Deserialize, JsonSchema)]
struct Summarise {
    /// What to summarise.
    text: String,
}

fn summarise(call: &Call, args: Summarise) -> Result<String> {
    let question = Sampling::new(args.text).system("Summarise what the user sends in one sentence.").max_tokens(200);
    Ok(call.sample(question)?.text())
}

fn roots(call: &Call, _: NoArguments) -> Result<String> {
    let folders: Vec<String> = call
        .roots()?
        .into_iter()
        .map(|root| match root.name {
            Some(name) => format!("{name}: {}", root.uri),
            None => root.uri,
        })
        .collect();
    Ok(if folders.is_empty() { "The client works in no folder.".into() } else { folders.join("\n") })
}

#[derive(Deserialize, JsonSchema)]
struct Link {
    /// Where the survey is; it must begin with https://.
    #[serde(default = "example")]
    url: String,
}

fn example() -> String {
    "https://example.org/survey".into()
}

/// A client that cannot be asked is no reason to fail here: the model can pass the link on.
fn link(call: &Call, Link { url }: Link) -> Result<String> {
    if !url.starts_with("https://") {
        return Err(Error::invalid("/url", "must begin with https://"));
    }
    match call.visit("Please fill in the survey", &url) {
        Ok(true) => Ok(format!("The user is on the way to {url}.")),
        Ok(false) => Ok("The user would not go there.".into()),
        Err(error) if error.is_unavailable() => Ok(format!("Please tell the user to open {url}.")),
        Err(error) => Err(error),
    }
}

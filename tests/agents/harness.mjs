// What each agent library for Node is asked to do: take all of Wharf's tools, convert them for a
// model, and call them. The counterpart of harness.py.

import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";

const CALLS = JSON.parse(readFileSync(new URL("calls.json", import.meta.url), "utf8"));
export const [COMMAND, FOLDER] = process.argv.slice(2);
export const ARGUMENTS = ["serve", FOLDER];

/** The checks of one library. */
export class Check {
  failed = false;

  constructor(name) {
    const manifest = readFileSync(new URL(`node_modules/${name}/package.json`, import.meta.url), "utf8");
    this.name = `${name} ${JSON.parse(manifest).version}`;
    const { tools } = JSON.parse(execFileSync(COMMAND, ["list", FOLDER, "--json"], { encoding: "utf8" }));
    /** The listed parameters by tool. */
    this.listed = new Map(tools.map(({ name, inputSchema }) => [name, inputSchema]));
  }

  report(what, problem) {
    console.log(`${this.name}: ${what}: ${problem ? `FAILED: ${problem}` : "ok"}`);
    if (problem) this.failed = true;
  }

  /** Checks the parameters of all tools in the form for a model: pairs of a tool's name and JSON Schema. */
  converted(form, pairs) {
    const schemas = new Map(pairs);
    const problems = [];
    for (const name of schemas.keys()) if (!this.listed.has(name)) problems.push(`${name} is unexpected`);
    for (const [name, listed] of this.listed) {
      const found = schemas.has(name) ? compared(listed, schemas.get(name)) : ["it is missing"];
      problems.push(...found.map((problem) => `${name}: ${problem}`));
    }
    this.report(`${schemas.size} tools converted for ${form}`, problems.join("; "));
  }

  /** Makes all calls, and compares the results as text. `without` has reasons by tool. */
  async call(call, without = {}) {
    for (const wanted of CALLS) {
      const reason = without[wanted.tool];
      if (reason) console.log(`${this.name}: ${wanted.what}: not checked: ${reason}`);
      else this.report(wanted.what, await made(wanted, call));
    }
  }
}

/** What is wrong with the result of a call, if anything. */
async function made({ tool, arguments: values, expected, times = 1, occurrences = 1 }, call) {
  for (let time = 0; time < times; time++) {
    let text;
    try {
      const result = await call(tool, { ...values });
      text = typeof result === "string" ? result : JSON.stringify(result);
    } catch (error) {
      console.log(error);
      return `${tool}: ${error}`;
    }
    const found = text.match(new RegExp(expected, "g")) ?? [];
    if (found.length < occurrences) return `the result of ${tool} is ${text}`;
  }
}

/** How the parameters that a model is shown differ from those that Wharf lists. */
function compared(listed, shown) {
  if (!listed.properties) return ["it is listed without properties"];
  const names = (schema) => Object.keys(schema.properties ?? {}).sort().join(", ");
  if (names(listed) !== names(shown)) return [`its parameters are ${names(shown)}, listed are ${names(listed)}`];
  const problems = [];
  for (const [name, parameter] of Object.entries(listed.properties)) {
    const { types, values } = alternatives(shown.properties[name]);
    types.delete("null");
    values.delete(null);
    // A parameter of any type has none in the list.
    if (parameter.type && [...types].join() !== parameter.type) {
      problems.push(`${name} has the types ${[...types]}, listed is ${parameter.type}`);
    }
    const missing = new Set(parameter.enum ?? []).symmetricDifference(values);
    if (missing.size) problems.push(`${name} has the values ${[...values]}, listed are ${parameter.enum}`);
  }
  return problems;
}

/** The types and the constants of a parameter; the types of Gemini are in capitals. */
function alternatives({ type = [], enum: constants = [], anyOf = [] }) {
  const types = new Set([type].flat().map((kind) => kind.toLowerCase()));
  const values = new Set(constants);
  for (const part of anyOf.map(alternatives)) {
    part.types.forEach((kind) => types.add(kind));
    part.values.forEach((value) => values.add(value));
  }
  return { types, values };
}

/** Runs the checks of a library, and prints a line for each; the exit code is 0 if all passed. */
export async function run(name, use) {
  const check = new Check(name);
  try {
    await use(check);
  } catch (error) {
    console.log(error);
    check.report("all tools taken", String(error));
  }
  process.exit(check.failed ? 1 : 0);
}

// The plugin as a component: the functions that the host calls. Only the entry that
// `wharf build` writes imports this, before it imports the plugin.

import { Asked } from "./ask.js";
import { Call } from "./call.js";
import { InvalidArguments, NotFound, errorText } from "./errors.js";
import { install } from "./globals.js";
import { after, isLater } from "./later.js";
import * as log from "./log.js";
import { drain, runUntil, start } from "./loop.js";
import * as lower from "./lower.js";
import { Plugin } from "./plugin.js";
import { unhandled } from "./promise.js";
import * as stacks from "./stacks.js";

/** What the build knows: the lines of the author's files. */
const built = globalThis.wharfBuild;
// Not in Node, where the wrapper's tests load this.
if (built) {
  install(globalThis);
  stacks.install(globalThis, built);
}

/** An error in plugin.toml or the plugin, with what to change. The build looks for the prefix. */
const refused = (text) => new Error(`BuildError: ${text}`);

/** The exports of the component, one per interface of its world. If they were not `stated` in
    plugin.toml, the build tries again with those that the plugin has. */
export function component(plugin, { exports: interfaces, stated }) {
  if (!(plugin instanceof Plugin)) {
    throw refused("the default export is not a plugin: write `export default plugin()…`");
  }
  drain();
  for (const reason of unhandled.values()) throw reason;
  const offers = plugin.offers();
  if (!stated && offers.join() !== interfaces.join()) {
    if (!offers.length) throw refused("the plugin has nothing to call: add a tool, a resource or a prompt");
    throw new Error(`OtherWorld: ${JSON.stringify(offers)}`);
  }
  for (const offered of offers) {
    if (!interfaces.includes(offered)) {
      throw refused(`this plugin has ${offered}: add "${offered}" to \`exports\` in plugin.toml, or remove the line`);
    }
  }
  return Object.fromEntries(interfaces.map((name) => [name, EXPORTS[name](plugin)]));
}

const EXPORTS = {
  tools(plugin) {
    const tools = plugin.tools.map(lower.tool);
    return {
      listTools: () => tools,
      callTool: (name, args, context) =>
        ended(context, (call) => after(plugin.callTool(name, args, call), lower.toolResult), true),
    };
  },
  resources(plugin) {
    const templates = plugin.templates().map(lower.resourceTemplate);
    return {
      listResources: () => listed(() => after(plugin.listed(), (found) => found.map(lower.resource))),
      listResourceTemplates: () => templates,
      readResource: (uri, context) =>
        ended(context, (call) => after(plugin.readResource(uri, call), lower.readResult), true),
    };
  },
  prompts(plugin) {
    const prompts = plugin.prompts.map(lower.prompt);
    return {
      listPrompts: () => prompts,
      getPrompt: (name, args, context) =>
        ended(context, (call) => after(plugin.getPrompt(name, Object.fromEntries(args), call), lower.promptResult), true),
    };
  },
  completions: (plugin) => ({
    complete: (subject, name, value, given, context) =>
      ended(context, (call) =>
        after(plugin.complete(subject.val, name, value, Object.fromEntries(given), call), lower.completion),
      ),
  }),
  extensions(plugin) {
    const offer = lower.offer(plugin);
    return {
      describe: () => offer,
      callMethod: (name, params, context) =>
        ended(context, (call) => after(plugin.callMethod(name, params, call), lower.json)),
    };
  },
};

/** Runs a call. Every exception becomes one of the interface's errors: anything else would
    end the whole instance. */
function ended(context, work, asks = false) {
  try {
    const call = new Call(lower.context(context));
    const outcome = run(() => call.attempt(() => work(call)), call);
    if (!outcome.required) return asks ? { tag: "complete", val: outcome.value } : outcome.value;
    if (asks) return { tag: "input-required", val: lower.inputRequired(outcome.required) };
    throw new Error("questions are not supported here");
  } catch (error) {
    throw failure(error);
  }
}

/** Runs a function, and the loop until what it returns is there. The questions of the call are its outcome,
    also those of a promise that nothing waits for. */
function run(work, call) {
  start();
  let outcome;
  const made = work();
  if (isLater(made)) {
    // Not awaited: this is what runs the loop.
    Promise.resolve(made).then(
      (value) => (outcome = { value }),
      (error) => (outcome = { error }),
    );
  } else {
    outcome = { value: made };
  }
  try {
    if (!runUntil(() => outcome)) outcome = { error: new Error(NEVER) };
  } catch (error) {
    outcome = { error };
  }
  if (call?.required) outcome = { value: { required: call.required } };
  for (const reason of unhandled.values()) {
    if (!(reason instanceof Asked)) log.error(`unhandled rejection: ${described(reason)}`);
  }
  if ("error" in outcome) throw outcome.error;
  return outcome.value;
}

const NEVER = "the function waits for a promise that nothing settles: no timer is left, and nothing else can run";

/** An error with its stack, for the plugin's author. */
const described = (error) => `${errorText(error)}\n${error instanceof Error ? (error.stack ?? "") : ""}`.trimEnd();

function failure(error) {
  if (error instanceof NotFound) return { tag: "not-found" };
  if (error instanceof InvalidArguments) {
    return { tag: "invalid-input", val: { path: String(error.path).toWellFormed(), reason: String(error.reason).toWellFormed() } };
  }
  if (error?.expected) return { tag: "failed", val: error.message.toWellFormed() };
  // Clients get this level only if they ask for it.
  if (error instanceof Error && error.stack) log.debug(described(error));
  return { tag: "failed", val: errorText(error).toWellFormed() };
}

function listed(work) {
  try {
    return run(work);
  } catch (error) {
    throw errorText(error).toWellFormed();
  }
}

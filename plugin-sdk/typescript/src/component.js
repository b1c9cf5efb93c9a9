// The plugin as a component: the functions that the host calls. Only the entry that
// `wharf build` writes imports this, before it imports the plugin.

import { Call } from "./call.js";
import { InvalidArguments, NotFound, errorText } from "./errors.js";
import { install, start } from "./globals.js";
import { debug } from "./log.js";
import * as lower from "./lower.js";
import { Plugin } from "./plugin.js";

install(globalThis);

/** An error in plugin.toml or the plugin, with the line to change. */
class BuildError extends Error {}

/** The exports of the component, one per interface. */
export function component(plugin, interfaces) {
  if (!(plugin instanceof Plugin)) {
    throw new BuildError("the default export is not a plugin: write `export default plugin()…`");
  }
  for (const offered of plugin.offers()) {
    if (!interfaces.includes(offered)) {
      throw new BuildError(`this plugin has ${offered}: add "${offered}" to \`exports\` in plugin.toml`);
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
        ended(context, (call) => lower.toolResult(plugin.callTool(name, args, call)), true),
    };
  },
  resources(plugin) {
    const templates = plugin.templates().map(lower.resourceTemplate);
    return {
      listResources: () => listed(() => plugin.listed().map(lower.resource)),
      listResourceTemplates: () => templates,
      readResource: (uri, context) =>
        ended(context, (call) => lower.readResult(plugin.readResource(uri, call)), true),
    };
  },
  prompts(plugin) {
    const prompts = plugin.prompts.map(lower.prompt);
    return {
      listPrompts: () => prompts,
      getPrompt: (name, args, context) =>
        ended(context, (call) => lower.promptResult(plugin.getPrompt(name, Object.fromEntries(args), call)), true),
    };
  },
  completions: (plugin) => ({
    complete: (subject, name, value, given, context) =>
      ended(context, (call) =>
        lower.completion(plugin.complete(subject.val, name, value, Object.fromEntries(given), call)),
      ),
  }),
  extensions(plugin) {
    const offer = lower.offer(plugin);
    return {
      describe: () => offer,
      callMethod: (name, params, context) =>
        ended(context, (call) => lower.json(plugin.callMethod(name, params, call))),
    };
  },
};

/** Runs a call. Every exception becomes one of the interface's errors: anything else would
    end the whole instance. */
function ended(context, work, asks = false) {
  start();
  try {
    const call = new Call(lower.context(context));
    const outcome = call.attempt(() => work(call));
    if (!outcome.required) return asks ? { tag: "complete", val: outcome.value } : outcome.value;
    if (asks) return { tag: "input-required", val: lower.inputRequired(outcome.required) };
    throw new Error("questions are not supported here");
  } catch (error) {
    throw failure(error);
  }
}

function failure(error) {
  if (error instanceof NotFound) return { tag: "not-found" };
  if (error instanceof InvalidArguments) {
    return { tag: "invalid-input", val: { path: String(error.path).toWellFormed(), reason: String(error.reason).toWellFormed() } };
  }
  if (error?.expected) return { tag: "failed", val: error.message.toWellFormed() };
  // For the plugin's author: clients get this level only if they ask for it.
  if (error instanceof Error && error.stack) debug(`${errorText(error)}\n${error.stack}`.trimEnd());
  return { tag: "failed", val: errorText(error).toWellFormed() };
}

function listed(work) {
  start();
  try {
    return work();
  } catch (error) {
    throw errorText(error).toWellFormed();
  }
}

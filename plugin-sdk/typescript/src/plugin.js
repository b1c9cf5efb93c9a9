// The plugin class, with which authors register their functions.

import { Content, toResult } from "./content.js";
import { NotFound } from "./errors.js";
import { after, isLater } from "./later.js";
import { refuseMisspelt } from "./names.js";
import * as options from "./options.js";
import * as pages from "./page.js";
import { inputJson, readText, s, shapeOf, toSchema } from "./schema.js";
import { UriTemplate } from "./templates.js";

const EMPTY = s.object({});

/** A plugin. Every call gets a fresh instance of the whole component: what a call changes in
    memory is gone after it. What a module does at its top is done once, when it is built. */
export class Plugin {
  tools = [];
  prompts = [];
  methods = new Map();
  capabilities = [];
  #families = [];
  #lists = [];
  #completions = new Map();
  #pages = new Map();

  tool(name, given, run) {
    unused(this.tools, name, "tool");
    options.check("tool", `tool ${name}`, given);
    isFunction(run, `tool ${name}`);
    const { input = EMPTY, output, readOnly, destructive, idempotent, openWorld, tasks = "forbidden", ...rest } = given;
    const { page, appOnly, ...about } = rest;
    if (page !== undefined) this.#page(page, `tool ${name}`);
    const hints = readOnly
      ? { readOnly, destructive: destructive ?? false, idempotent: idempotent ?? true, openWorld: openWorld ?? false }
      : { readOnly, destructive, idempotent, openWorld };
    const schema = toSchema(input);
    this.tools.push({
      ...about,
      meta: pages.toolMeta(about.meta, page, appOnly),
      name,
      hints,
      tasks,
      schema,
      inputSchema: JSON.stringify(inputJson(schema)),
      outputSchema: output === undefined ? undefined : JSON.stringify(toSchema(output).json),
      run,
    });
    return this;
  }

  prompt(name, given, run) {
    unused(this.prompts, name, "prompt");
    options.check("prompt", `prompt ${name}`, given);
    isFunction(run, `prompt ${name}`);
    const { arguments: shape = {}, ...about } = given;
    this.prompts.push({ ...about, name, shape: shapeOf(`prompt ${name}`, shape), run });
    return this;
  }

  resource(uri, given, run) {
    if (this.#families.some((family) => family.uri === uri)) throw new TypeError(`duplicate resource: ${uri}`);
    options.check("resource", `resource ${uri}`, given);
    isFunction(run, `resource ${uri}`);
    const { variables = {}, ...about } = given;
    const template = uri.includes("{") ? new UriTemplate(uri) : null;
    for (const name of Object.keys(shapeOf(`resource ${uri}`, variables))) {
      if (!template?.variables.includes(name)) throw new TypeError(`${uri} has no {${name}}`);
    }
    this.#families.push({ name: uri, ...about, uri, variables, template, run });
    return this;
  }

  resources(list) {
    isFunction(list, "resources");
    this.#lists.push(list);
    return this;
  }

  completion(subject, argument, suggest) {
    isFunction(suggest, `completion of ${subject}`);
    this.#completions.set(JSON.stringify([subject, argument]), suggest);
    return this;
  }

  method(name, run) {
    isFunction(run, `method ${name}`);
    this.methods.set(name, run);
    return this;
  }

  extension(name, settings = {}) {
    this.capabilities.push({ kind: "extension", name, settings });
    return this;
  }

  experimental(name, settings = {}) {
    this.capabilities.push({ kind: "experimental", name, settings });
    return this;
  }

  /** Adds the page of a tool, which several tools may have. */
  #page(page, what) {
    pages.check(page, what);
    const known = this.#pages.get(page.uri);
    if (known === undefined) {
      this.resource(page.uri, ...pages.resourceOf(page));
      this.#pages.set(page.uri, page);
    } else if (known.html !== page.html) {
      throw new TypeError(`another page has the URI ${page.uri}`);
    }
  }

  /** The interfaces that it implements. */
  offers() {
    return [
      this.tools.length && "tools",
      (this.#families.length || this.#lists.length) && "resources",
      this.prompts.length && "prompts",
      this.#completions.size && "completions",
      (this.methods.size || this.capabilities.length) && "extensions",
    ].filter(Boolean);
  }

  /** The URIs and templates of its resources. */
  uris() {
    return this.#families.map(({ uri }) => uri);
  }

  /** Whether it was told how to read a URI. */
  has(uri) {
    return this.#families.some((family) => (family.template ? family.template.match(uri) : family.uri === uri));
  }

  /** Runs a tool; `args` is JSON text. */
  callTool(name, args, call) {
    const tool = this.tools.find((tool) => tool.name === name);
    if (!tool) throw new NotFound();
    const made = tool.run(tool.schema.read(JSON.parse(args), ""), call);
    return after(made, (value) => {
      const hasOutput = tool.outputSchema !== undefined;
      if (hasOutput && value === undefined) {
        throw new TypeError(`${name} returned nothing, but has an output schema: return its value`);
      }
      return toResult(value, hasOutput);
    });
  }

  /** Makes a prompt. */
  getPrompt(name, args, call) {
    const prompt = this.prompts.find((prompt) => prompt.name === name);
    if (!prompt) throw new NotFound();
    return after(prompt.run(readTexts(prompt.shape, args), call), (made) => {
      if (Array.isArray(made)) return { messages: made };
      return typeof made === "object" && Array.isArray(made?.messages) ? made : { messages: [made] };
    });
  }

  /** The resources of the list. */
  listed() {
    const named = this.#families.filter((family) => !family.template);
    const lists = this.#lists.map((list) => list());
    return after(lists.some(isLater) ? Promise.all(lists) : lists, (lists) => [...named, ...lists.flat()]);
  }

  templates() {
    return this.#families.filter((family) => family.template);
  }

  /** Reads a resource: one with exactly that URI, else of the matching template with the most literal
      characters. */
  readResource(uri, call) {
    const exact = this.#families.find((family) => !family.template && family.uri === uri);
    const ranked = this.templates().sort((a, b) => b.template.literals - a.template.literals);
    const family = exact ?? ranked.find((family) => family.template.match(uri));
    if (!family) throw new NotFound();
    const found = family.template?.match(uri) ?? {};
    return after(family.run({ ...found, ...readTexts(family.variables, found) }, call, uri), (made) => {
      const { contents, ...rest } = Array.isArray(made?.contents) ? made : { contents: [made].flat() };
      return { ...rest, contents: contents.map((one) => contentsOf(one, uri, family)) };
    });
  }

  /** Suggests values; none without a completion function. */
  complete(subject, argument, typed, given, call) {
    const suggest = this.#completions.get(JSON.stringify([subject, argument]));
    return after(suggest?.(typed, given, call) ?? [], (found) => (Array.isArray(found) ? { values: found } : found));
  }

  /** Runs an extension method; `params` is JSON text. */
  callMethod(name, params, call) {
    const run = this.methods.get(name);
    if (!run) throw new NotFound();
    return run(JSON.parse(params), call);
  }
}

// Without those that only the component and tests call.
const REGISTERING = ["tool", "prompt", "resource", "resources", "completion", "method", "extension", "experimental"];
refuseMisspelt(Plugin, "a plugin", REGISTERING);

function isFunction(run, what) {
  if (typeof run !== "function") throw new TypeError(`${what} needs a function as its last argument`);
}

function contentsOf(made, uri, family) {
  if (typeof made === "string") return { uri, mimeType: family.mimeType, text: made };
  if (made instanceof Uint8Array) return { uri, mimeType: family.mimeType, bytes: made };
  if (made instanceof Content || (made?.text === undefined && made?.bytes === undefined)) {
    throw new TypeError(`the resource ${uri} returned neither text nor bytes`);
  }
  return { uri, mimeType: family.mimeType, ...made };
}

/** Arguments, which are always strings, converted to the types of their schemas. */
function readTexts(shape, given) {
  const texts = s.object(
    Object.fromEntries(Object.entries(shape).map(([name, schema]) => [name, asText(schema)])),
  );
  return texts.read(given, "");
}

const asText = (schema) => Object.assign(schema.with({}), { read: (value, path) => readText(schema, value, path) });

function unused(found, name, kind) {
  if (found.some((one) => one.name === name)) throw new TypeError(`duplicate ${kind}: ${name}`);
}

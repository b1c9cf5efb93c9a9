// Tries a tool, reads a resource, gets a prompt, as any client would; and answers what the plugin asks.

import { ask, post } from "./api.js";
import { content, cost } from "./answer.js";
import { confirm, failure, fill, h, notice, pairs } from "./dom.js";
import { form } from "./form.js";

/** Questions of one call. */
const MAX_ROUNDS = 100;

export function tool(main, state, name) {
  const body = h("div", {}, h("p", {}, "Reading"));
  fill(main, h("h1", {}, `Try ${name}`), body);
  const run = runner();
  post("tool", { tool: name })
    .then((tool) => {
      const ready = async (values) => {
        const text = tool.declared ? "Its author says that it may destroy something." : "Its author does not say that it destroys nothing.";
        if (tool.destructive && !(await confirm(`Call ${name}?`, text, "Call"))) return;
        await run.start("tools/call", { name, arguments: values });
      };
      fill(
        body,
        pairs([["Plugin", h("a", { href: `#/plugin/${encodeURIComponent(tool.plugin)}` }, tool.plugin)], ["Title", tool.title]]),
        tool.description ? h("p", { class: "note" }, tool.description) : undefined,
        tool.denied ? notice(`It is denied to local clients, and so here: ${tool.denied}`, undefined, true) : form(tool.schema ?? {}, "Call", ready),
        run.element,
      );
    })
    .catch((error) => fill(body, failure(error)));
  return run;
}

export function resource(main, state, uri) {
  const run = runner();
  const schema = { properties: { uri: { type: "string", title: "URI", default: uri } }, required: ["uri"] };
  fill(
    main,
    h("h1", {}, "Read a resource"),
    uri.includes("{") ? notice("This is a template: write a value in place of each name in braces.") : undefined,
    form(schema, "Read", ({ uri }) => run.start("resources/read", { uri })),
    run.element,
  );
  return run;
}

/** `path`: the plugin and the prompt, whose name may have a slash, too. */
export function prompt(main, state, path) {
  const run = runner();
  const [plugin, ...rest] = path.split("/");
  const name = rest.join("/");
  const body = h("div", {}, h("p", {}, "Reading"));
  fill(main, h("h1", {}, `Get ${name}`), body, run.element);
  post("plugin", { plugin })
    .then(({ offers }) => {
      const own = offers?.prompts.entries.find((prompt) => prompt.name === name);
      if (!own) throw new Error(`${plugin} has no prompt of that name any more`);
      fill(body, asked(own, (values) => run.start("prompts/get", { name, arguments: values })));
    })
    .catch((error) => fill(body, failure(error)));
  return run;
}

/** The form of a prompt, whose arguments are all texts. */
function asked({ description, arguments: all }, onready) {
  const properties = Object.fromEntries(
    all.map(({ name, title, description }) => [name, { type: "string", title: title ?? name, description: description ?? undefined }]),
  );
  const required = all.filter(({ required }) => required).map(({ name }) => name);
  return [description ? h("p", { class: "note" }, description) : undefined, form({ properties, required }, "Get", onready)];
}

/** Runs one request at a time, and shows what comes of it. */
function runner() {
  const element = h("section", { "aria-label": "Result" });
  let running;

  async function start(method, params) {
    running?.abort();
    const own = (running = new AbortController());
    try {
      for (let round = 0; round < MAX_ROUNDS; round += 1) {
        const stop = h("button", { onclick: () => own.abort() }, "Cancel");
        fill(element, h("p", { role: "status" }, "Running"), stop);
        const result = await ask(method, params, own.signal);
        if (result.resultType !== "input_required") return fill(element, h("h2", {}, "Result"), content(result), cost(result));
        const inputResponses = {};
        for (const [key, { params: question }] of Object.entries(result.inputRequests)) {
          inputResponses[key] = await answered(element, key, question, own.signal);
        }
        params = { ...params, inputResponses, requestState: result.requestState };
      }
    } catch (error) {
      fill(element, error.name === "AbortError" ? notice("Cancelled") : failure(error));
    }
  }

  return { element, start, close: () => running?.abort() };
}

/** Asks what a plugin asks, or the server itself, whose keys no plugin can have. */
function answered(element, key, question, signal) {
  const who = key.startsWith("wharf/") ? "The server asks before it calls" : "The plugin asks";
  return new Promise((resolve, reject) => {
    signal.addEventListener("abort", () => reject(new DOMException("", "AbortError")));
    const decline = h("button", { onclick: () => resolve({ action: "decline" }) }, "Decline");
    const accept = (values) => resolve(question.mode === "url" ? { action: "accept" } : { action: "accept", content: values });
    const page = question.mode === "url" ? address(question.url) : undefined;
    const fields = form(question.requestedSchema ?? {}, "Accept", accept);
    fill(element, h("h2", {}, who), h("p", { class: "note" }, question.message), page, fields, decline);
    (fields.querySelector("input, select, textarea") ?? fields.querySelector("button")).focus();
  });
}

/** A page that a plugin wants to be visited: its address is shown in full. */
function address(url) {
  const isWeb = URL.canParse(url) && new URL(url).protocol === "https:";
  if (!isWeb) return h("p", {}, h("code", {}, url));
  const link = h("a", { target: "_blank", rel: "noopener noreferrer" }, url);
  link.href = url;
  return h("p", {}, link);
}

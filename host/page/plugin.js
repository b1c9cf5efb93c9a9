// One plugin: its version, its powers, what it offers, and what may be done about it.

import { post } from "./api.js";
import { confirm, failure, fill, h, notice, pairs } from "./dom.js";
import { count, short } from "./format.js";

export function plugin(main, state, name) {
  const body = h("div", {}, h("p", {}, "Reading"));
  fill(main, h("h1", {}, name), body);
  let shown = "";

  async function read() {
    try {
      const detail = await post("plugin", { plugin: name });
      const text = JSON.stringify(detail);
      // What is the same stays, with its focus.
      if (text !== shown) fill(body, sections(detail, read));
      shown = text;
    } catch (error) {
      shown = "";
      fill(body, failure(error));
    }
  }

  read();
  return { update: ({ changed }) => changed && read() };
}

function sections(detail, again) {
  return [unserved(detail), version(detail, again), powers(detail), offers(detail)];
}

function unserved({ name, unserved }) {
  if (!unserved) return undefined;
  const look = h("a", { href: `#/review/${encodeURIComponent(name)}` }, "Look at the version, and decide");
  const what = unserved.state === "held" ? `Held: ${unserved.reason}` : `Refused: failed to ${unserved.reason}`;
  return [notice(what, unserved.hint), unserved.approvable ? h("p", {}, look) : undefined];
}

function version({ name, content, pin, pin_error, revocable }, again) {
  const decided = pin && (pin.revoked ? "revoked" : pin.approved ? "approved by a person" : "approved automatically");
  const result = h("div");
  const onclick = async () => {
    const text = `Calls end, and ${short(revocable)} does not run again until a person approves it.`;
    if (!(await confirm(`Revoke this version of ${name}?`, text, "Revoke"))) return;
    try {
      await post("revoke", { plugin: name, content: revocable });
      await again();
    } catch (error) {
      fill(result, failure(error));
    }
  };
  const button = revocable ? h("button", { onclick }, "Revoke") : undefined;
  return [
    h("h2", {}, "Version"),
    pairs([
      ["In service", content ? h("code", {}, `blake3:${content}`) : "none"],
      ["Pinned", pin ? h("code", {}, `blake3:${pin.content}`) : "nothing"],
      ["Decision", decided && `${decided}, ${pin.time}`],
      ["Signer", pin && (pin.signer ?? "none")],
      ["Pins", pin_error && `failed to ${pin_error}`],
    ]),
    button,
    result,
  ];
}

function powers({ granted, extra, missing, unusable, change }) {
  if (!change) return undefined;
  const item = (text) => h("li", {}, h("code", {}, text));
  return [
    h("h2", {}, "Powers"),
    granted.length ? h("ul", {}, granted.map(item)) : h("p", {}, "It may compute and log, and nothing else."),
    extra.map(({ name, grants }) => h("p", {}, `Callers of ${name} also have: ${grants.join(", ")}`)),
    missing.map(({ grant, command }) => notice(`It was denied ${grant}, which is not granted. To grant it:`, command)),
    unusable.map((text) => notice(text)),
    h("p", { class: "note" }, "To change them, on the machine of the server:"),
    h("pre", { tabindex: "0", "aria-label": "Commands that change the grants" }, `${change.grant}\n${change.ungrant}`),
  ];
}

function offers({ name: plugin, offers }) {
  if (!offers) return undefined;
  const { tools, prompts, resources, templates } = offers;
  return [
    list("Tools", tools, ({ name }) => ["tool", name, "Try"]),
    list("Prompts", prompts, ({ name }) => ["prompt", `${plugin}/${name}`, "Get"]),
    list("Resources", resources, ({ uri }) => ["resource", uri, "Read"]),
    list("Templates of resources", templates, ({ uri }) => ["resource", uri, "Read"]),
  ];
}

function list(title, { entries, more }, link) {
  if (!entries.length) return undefined;
  const items = entries.map((entry) => {
    const [view, what, label] = link(entry);
    const name = entry.name ?? entry.uri;
    const href = `#/${view}/${encodeURIComponent(what)}`;
    return h(
      "li",
      {},
      h("div", { class: "row" }, h("code", {}, name), entry.denied ? undefined : h("a", { href, "aria-label": `${label} ${name}` }, label)),
      entry.denied ? h("p", { class: "warning" }, `Denied to local clients, and so here: ${entry.denied}`) : undefined,
      entry.title && entry.title !== name ? h("p", { class: "note" }, entry.title) : undefined,
      entry.description ? h("p", { class: "note" }, entry.description) : undefined,
    );
  });
  const rest = more ? h("p", { class: "note" }, `and ${count(more)} more`) : undefined;
  return [h("h2", {}, title), h("ul", { class: "plain" }, items), rest];
}

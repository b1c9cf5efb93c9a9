// Calls that wait for the operator, and decisions that hold. What is sent back names what was shown, so that nothing else
// is decided.

import { post } from "./api.js";
import { confirm, failure, fill, h, notice, pairs } from "./dom.js";
import { count } from "./format.js";

export function approvals(main, state, path, reread) {
  const [problem, outcome, list] = [h("div"), h("div"), h("div")];
  const empty = h("p", { role: "status" }, "Reading");
  fill(main, h("h1", {}, "Decisions on calls"), problem, outcome, empty, list);
  /** By what was shown of them: what is the same stays, with its focus. */
  const sections = new Map();

  async function decide({ id, terms }, allow) {
    fill(outcome);
    try {
      await post("decide", { id, terms, allow });
    } catch (error) {
      fill(outcome, failure(error));
    }
    reread();
  }

  function update({ approvals }) {
    if (!approvals || !state.approvals) return;
    const { calls, error } = state.approvals;
    fill(problem, error && failure(error));
    if (!calls) return;
    const terms = new Set(calls.map(({ terms }) => terms));
    for (const [own, section] of sections) {
      if (terms.has(own)) continue;
      section.remove();
      sections.delete(own);
    }
    for (const call of calls) {
      if (sections.has(call.terms)) continue;
      sections.set(call.terms, section(call, decide));
      list.append(sections.get(call.terms));
    }
    empty.hidden = calls.length > 0;
    fill(empty, "No call waits for a decision, and no decision holds.");
  }

  update({ approvals: true });
  reread();
  return { update };
}

function section(call, decide) {
  const { id, plugin, tool, user, state, by, once } = call;
  const scope = once ? "this call, once" : "all calls of this tool by this user, with any arguments";
  const allow = async () => {
    if (await confirm(`Allow ${plugin}/${tool} for ${user}?`, `It is for ${scope}. ${call.arguments}`, "Allow")) await decide(call, true);
  };
  const isCut = call.arguments.includes("…");
  return h(
    "section",
    { "aria-label": `${plugin}/${tool} for ${user}` },
    h("h2", {}, `${plugin}/${tool}`),
    pairs([
      ["State", by ? `${state} by the ${by}` : state],
      ["User", user],
      ["Arguments", h("code", {}, call.arguments)],
      ["Digest", `${call.argumentDigest} of ${count(call.argumentBytes)} bytes`],
      ["Plugin", h("a", { href: `#/plugin/${encodeURIComponent(plugin)}` }, plugin)],
      ["Version", h("code", {}, call.version)],
      ["Extra grants and limits", call.extra],
      ["Is for", state === "denied" ? "this call" : scope],
      ["Since", call.since],
      ["Expires", call.expires],
      ["Id", id],
    ]),
    isCut ? notice("These are not all of the arguments: the digest is of what was sent.") : undefined,
    h(
      "div",
      { class: "row" },
      state === "allowed" ? undefined : h("button", { class: "strong", onclick: allow }, "Allow"),
      state === "denied" ? undefined : h("button", { onclick: () => decide(call, false) }, "Deny"),
    ),
  );
}

// A version that waits for a person: what it is, what has changed, and the decision. What is sent back names what was
// shown, so that nothing else is approved.

import { post } from "./api.js";
import { confirm, failure, fill, h, notice, pairs } from "./dom.js";
import { short } from "./format.js";

export function review(main, state, name) {
  const body = h("div", {}, h("p", { role: "status" }, "Loading the version, to see what it offers"));
  fill(main, h("h1", {}, `Decide on ${name}`), body);

  async function read() {
    try {
      fill(body, version(await post("review", { plugin: name })));
    } catch (error) {
      fill(body, failure(error), h("p", {}, h("a", { href: `#/plugin/${encodeURIComponent(name)}` }, `Back to ${name}`)));
    }
  }

  function version(shown) {
    const { content, signer, pinned_signer, granted, needs = [], compared, revoked, diff, needs_grants, with_grants } = shown;
    const result = h("div");
    const onclick = async ({ currentTarget: button }) => {
      const text = needs_grants
        ? `It may use its grants to list what it offers, which you are shown before it serves: ${short(content)}`
        : `It may then run with these grants: ${granted.length ? granted.join("; ") : "none"}. ${short(content)}`;
      if (!(await confirm(`Approve this version of ${name}?`, text, needs_grants ? "Continue" : "Approve"))) return;
      button.disabled = true;
      fill(result, h("p", { role: "status" }, "Approving"));
      try {
        await post("approve", { plugin: name, content, terms: shown.terms, surface: shown.surface ?? null });
        location.hash = `#/plugin/${encodeURIComponent(name)}`;
      } catch (error) {
        if (error.shown) return fill(body, version(error.shown));
        fill(result, failure(error), h("button", { onclick: read }, "Look at it again"));
      }
    };
    return [
      shown.held ? notice(`It is held: ${shown.held}`) : undefined,
      revoked ? notice("This version was revoked. To approve it takes that back.") : undefined,
      needs_grants ? notice("It cannot list what it offers without its grants.", needs_grants) : undefined,
      with_grants ? notice("With its grants, what it lists is different. Nothing is approved yet.") : undefined,
      pairs([
        ["File", h("code", {}, `blake3:${content}`)],
        ["Signer", signer ?? "none"],
        ["Signer of the pinned version", pinned_signer && pinned_signer !== signer ? pinned_signer : undefined],
        ["Its imports need", needs.length ? needs.join(", ") : "nothing"],
      ]),
      h("h2", {}, "What it may do"),
      granted.length ? h("ul", {}, granted.map((grant) => h("li", {}, h("code", {}, grant)))) : h("p", {}, "Nothing is granted."),
      diff === undefined ? undefined : changes(diff, compared),
      shown.summary ? h("details", {}, h("summary", {}, "In the words of wharf approve"), h("pre", { tabindex: "0", "aria-label": "Summary" }, shown.summary)) : undefined,
      h("div", { class: "row" }, h("button", { class: "strong", onclick }, needs_grants ? "Let it list, and show me" : "Approve")),
      result,
    ];
  }

  read();
  return {};
}

/** Lines of what changed, those that were removed and added marked by more than their colour. */
function changes(diff, compared) {
  const kind = (line) => (/^\s+- |^ {4}\S.*: removed$/.test(line) ? "removed" : /^\s+\+ /.test(line) ? "added" : undefined);
  const lines = diff.split("\n").map((line) => [kind(line) ? h("span", { class: kind(line) }, line) : line, "\n"]);
  const title = compared ? "What has changed since the pinned version" : "What it offers";
  return [h("h2", {}, title), diff ? h("pre", { class: "whole", tabindex: "0", "aria-label": title }, lines) : h("p", {}, "Nothing")];
}

// Elements of the document. All that plugins say becomes text nodes, and nothing else.

import { visible } from "./format.js";

/** An element with attributes, handlers (`onclick`) and children: elements, or text. `undefined` is left out. */
export function h(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === undefined || value === false) continue;
    if (typeof value === "function") element.addEventListener(key.slice(2), value);
    else element.setAttribute(key, value === true ? "" : visible(String(value)));
  }
  append(element, children);
  return element;
}

/** Replaces what is in an element. */
export function fill(element, ...children) {
  element.replaceChildren();
  append(element, children);
}

/** Changes a text only if it is another one: a reader of the screen would begin again. */
export function setText(element, text) {
  const shown = visible(String(text));
  if (element.textContent !== shown) element.textContent = shown;
}

function append(element, children) {
  for (const child of children.flat(Infinity)) {
    if (child === undefined || child === null || child === false) continue;
    element.append(child instanceof Node ? child : document.createTextNode(visible(String(child))));
  }
}

/** Names and values side by side. */
export function pairs(entries) {
  const present = entries.filter(([, value]) => value !== undefined && value !== null && value !== "");
  return h("dl", { class: "pairs" }, present.map(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]));
}

/** A box that a person should read; `is_bad` for what failed. */
export function notice(text, hint, isBad = false) {
  const box = h("div", { class: isBad ? "notice bad" : "notice", role: isBad ? "alert" : undefined }, h("p", {}, text));
  if (hint) box.append(h("p", { class: "note" }, hint));
  return box;
}

/** What failed, as the server says it. */
export function failure(error) {
  const text = error.isRefusal ? `Failed to ${error.message}` : `Failed: ${error.message}`;
  return notice(text, error.hint, true);
}

/** A table that scrolls by itself where it is too wide. */
export function scrolling(label, table) {
  return h("div", { class: "scroll", role: "region", "aria-label": label, tabindex: "0" }, table);
}

/** Asks for a confirmation; resolves to whether the person agrees. */
export function confirm(question, text, yes) {
  const dialog = document.getElementById("confirm");
  setText(document.getElementById("confirm-question"), question);
  setText(document.getElementById("confirm-text"), text);
  setText(document.getElementById("confirm-yes"), yes);
  dialog.returnValue = "no";
  dialog.showModal();
  document.getElementById("confirm-no").focus();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => resolve(dialog.returnValue === "yes"), { once: true });
  });
}

// All plugins: their state, what they offer, what they may do, and what their calls cost.

import { failure, fill, h, notice, scrolling, setText } from "./dom.js";
import { bytes, count, micros, plural } from "./format.js";

/** Columns: heading, class, text of an entry. */
const COLUMNS = [
  ["State", "", ({ state, newer }) => (newer ? `${state}; a newer version is ${newer.state}` : state)],
  ["Tools", "number", ({ tools }) => count(tools)],
  ["Powers", "", ({ powers = [] }) => powers.join(", ")],
  ["Calls", "number", ({ cost }) => count(cost?.calls)],
  ["Errors", "number", ({ cost }) => count(cost?.errors)],
  ["Faults", "number", ({ cost }) => count(cost?.faults)],
  ["CPU per call", "number wide", ({ cost }) => (cost?.calls ? micros(cost.cpu_us / cost.calls) : "")],
  ["Time per call", "number wide", ({ cost }) => (cost?.calls ? micros(cost.took_us / cost.calls) : "")],
  ["Memory", "number wide", ({ cost }) => (cost?.memory_bytes ? bytes(cost.memory_bytes) : "")],
];

export function plugins(main, state) {
  const rows = new Map();
  const body = h("tbody");
  const heads = COLUMNS.map(([name, kind]) => h("th", { class: kind, scope: "col" }, name));
  const table = h("table", {}, h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Plugin"), heads)), body);
  const filter = h("input", { type: "search", id: "filter", oninput: () => update({ overview: true }) });
  const total = h("p", { role: "status" }, "Reading what runs");
  const problem = h("div");
  const find = h("div", { class: "field" }, h("label", { for: "filter" }, "Find a plugin"), filter);
  fill(main, h("h1", {}, "Plugins"), problem, total, find, scrolling("Plugins", table));

  /** The row of a plugin, which stays the same element: what has the focus keeps it. */
  function row(name) {
    const known = rows.get(name);
    if (known) return known;
    const link = h("a", { href: `#/plugin/${encodeURIComponent(name)}` }, name);
    const cells = COLUMNS.map(([, kind]) => h("td", { class: kind }));
    const made = { element: h("tr", {}, h("th", { scope: "row" }, link), cells), cells };
    rows.set(name, made);
    return made;
  }

  function update({ overview, error }) {
    if (error) return fill(problem, failure(error));
    if (!overview || !state.overview) return;
    const { folder, has_folder } = state.overview.server;
    fill(problem, has_folder ? undefined : notice(`The plugin folder is missing: ${folder}`, "Put it back, and what is in it is served again.", true));
    const wanted = filter.value.trim().toLowerCase();
    const all = state.overview.plugins;
    // What waits for a person comes first.
    const waits = ({ state, newer }) => (newer ?? {}).state === "held" || state === "held";
    const shown = all.filter(({ name }) => name.toLowerCase().includes(wanted));
    shown.sort((one, other) => waits(other) - waits(one) || (one.name < other.name ? -1 : 1));
    shown.forEach((entry, at) => {
      const { element, cells } = row(entry.name);
      COLUMNS.forEach(([, , text], column) => setText(cells[column], text(entry)));
      const kind = entry.state === "runs" ? (entry.newer ? "warning" : "good") : entry.state === "held" ? "warning" : "bad";
      if (cells[0].className !== kind) cells[0].className = kind;
      if (body.children[at] !== element) body.insertBefore(element, body.children[at] ?? null);
    });
    while (body.children.length > shown.length) body.lastChild.remove();
    const names = new Set(all.map(({ name }) => name));
    for (const name of rows.keys()) if (!names.has(name)) rows.delete(name);
    const held = all.filter(waits).length;
    const waiting = held ? `; ${plural(held, "waits", "wait")} for approval` : "";
    const { memory_bytes, running } = state.overview.server;
    setText(total, `${plural(all.length, "plugin")}${waiting}; ${plural(running, "call")} running; ${bytes(memory_bytes)} of memory`);
  }

  update({ overview: true });
  return { update };
}

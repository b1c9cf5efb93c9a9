// Calls as they come, the newest first.

import { fill, h, scrolling, setText } from "./dom.js";
import { bytes, count, micros, timeOfDay } from "./format.js";

/** Rows of the table. */
const MAX_ROWS = 200;
const NO_ERRORS = ["ok", "asks", "answered", "cancelled", undefined];

const COLUMNS = ["Time", "Plugin", "What", "Who", "Result", "Took", "CPU", "Queue", "Other services", "Memory", "Bytes in, out"];
const WIDE = ["Who", "Queue", "Other services", "Memory", "Bytes in, out"];
const kindOf = (name) => [name === "Time" ? "time" : COLUMNS.indexOf(name) >= 5 ? "number" : "", WIDE.includes(name) ? "wide" : ""].join(" ").trim();

export function calls(main, state) {
  let paused = false;
  const body = h("tbody");
  const find = h("input", { type: "search", id: "find", oninput: refill });
  const only = h(
    "select",
    { id: "only", onchange: refill },
    h("option", { value: "all" }, "Everything"),
    h("option", { value: "errors" }, "Errors and faults"),
    h("option", { value: "decisions" }, "Versions and decisions"),
  );
  const pause = h("button", { "aria-pressed": "false", onclick: toggle }, "Pause");
  const skipped = h("p", { class: "note" });
  const field = (id, label, control) => h("div", { class: "field" }, h("label", { for: id }, label), control);
  const head = COLUMNS.map((name) => h("th", { scope: "col", class: kindOf(name) }, name));
  fill(
    main,
    h("h1", {}, "Calls"),
    h("div", { class: "row" }, field("find", "Plugin, tool or user", find), field("only", "Show", only), pause),
    skipped,
    scrolling("Calls", h("table", {}, h("thead", {}, h("tr", {}, head)), body)),
  );

  function toggle() {
    paused = !paused;
    pause.setAttribute("aria-pressed", String(paused));
    setText(pause, paused ? "Continue" : "Pause");
    if (!paused) refill();
  }

  function isShown(record) {
    const isCall = record.took_us !== undefined;
    if (only.value === "errors" && !(record.event === "fault" || (isCall && !NO_ERRORS.includes(record.code)))) return false;
    if (only.value === "decisions" && isCall) return false;
    const wanted = find.value.trim().toLowerCase();
    const text = `${record.plugin ?? ""} ${record.tool ?? ""} ${record.principal ?? ""} ${record.trace ?? ""}`;
    return text.toLowerCase().includes(wanted);
  }

  function refill() {
    body.replaceChildren();
    add(state.records);
  }

  function add(records) {
    const rows = records.filter(isShown).slice(-MAX_ROWS).reverse().map(row);
    body.prepend(...rows);
    while (body.children.length > MAX_ROWS) body.lastChild.remove();
    const text = `${count(state.skipped)} more came faster than they can be shown`;
    setText(skipped, state.skipped ? text : "");
  }

  refill();
  return { update: ({ records }) => records && !paused && add(records) };
}

function row(record) {
  const { at, event, plugin, tool, method, principal, peer, code, took_us, cpu_us, queue_us, upstream_us } = record;
  const isCall = took_us !== undefined;
  const result = isCall && event === "call" ? (code ?? "") : [event, code].filter(Boolean).join(": ");
  const kind = event === "fault" || event === "reject" ? "bad" : NO_ERRORS.includes(code) && event === "call" ? "good" : "warning";
  const more = ["reason", "rule", "access", "via", "task", "trace"].filter((name) => record[name]);
  const notes = more.map((name) => h("p", { class: "note" }, `${name}: ${record[name]}`));
  const sizes = record.in_bytes === undefined ? "" : `${bytes(record.in_bytes)}, ${bytes(record.out_bytes ?? 0)}`;
  const cells = [
    timeOfDay(at),
    plugin,
    [tool ?? method ?? "", notes],
    principal ?? peer,
    h("span", { class: kind }, result),
    micros(took_us),
    micros(cpu_us),
    micros(queue_us),
    micros(upstream_us),
    bytes(record.memory_bytes),
    sizes,
  ];
  return h("tr", {}, cells.map((cell, at) => h("td", { class: kindOf(COLUMNS[at]) }, cell)));
}

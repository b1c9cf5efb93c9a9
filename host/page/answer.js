// Results of plugins as text, whatever they are.

import { fill, h, notice, pairs } from "./dom.js";
import { bytes, count, micros } from "./format.js";
import { shown } from "./json.js";

/** Characters of a text that are shown at first. */
const MAX_TEXT = 100_000;

/** Parts of a result that are shown. */
const MAX_PARTS = 200;

/** The parts of a result of any kind. */
export function content(result) {
  const parts = shownParts(result);
  const rest = parts.length - MAX_PARTS;
  return rest > 0 ? [parts.slice(0, MAX_PARTS).map((part) => part()), notice(`and ${count(rest)} more parts`)] : parts.map((part) => part());
}

/** What makes each part. */
function shownParts(result) {
  const parts = [];
  if (result.isError) parts.push(() => notice("The plugin says that this is an error.", undefined, true));
  for (const block of result.content ?? []) parts.push(() => shownBlock(block));
  for (const file of result.contents ?? []) parts.push(() => shownFile(file));
  for (const { role, content } of result.messages ?? []) parts.push(() => [h("h3", {}, role), shownBlock(content)]);
  const { structuredContent: own } = result;
  if (own !== undefined) {
    parts.push(() => [h("h3", {}, "Structured"), text(shown(own, 2), "Structured result")]);
  }
  return parts;
}

/** What the call cost, if the result says it. */
export function cost(result) {
  const own = result._meta?.["wharf/cost"];
  if (!own) return undefined;
  return [
    h("h3", {}, "Cost"),
    pairs([
      ["Processor", micros(own.cpuSeconds * 1e6)],
      ["Memory", bytes(own.memoryBytes)],
      ["Queue", micros(own.queueSeconds * 1e6)],
      ["Other services", own.upstreamRequests ? `${count(own.upstreamRequests)}, ${micros(own.upstreamSeconds * 1e6)}` : undefined],
    ]),
  ];
}

function shownBlock(block) {
  switch (block.type) {
    case "text":
      return text(block.text, "Text");
    case "resource":
      return shownFile(block.resource);
    case "image":
    case "audio":
      return binary(block.mimeType, block.data);
    default:
      return text(shown(block, 2), block.type);
  }
}

function shownFile({ uri, mimeType, text: own, blob }) {
  const name = h("p", {}, h("code", {}, uri));
  return [name, own === undefined ? binary(mimeType, blob ?? "") : text(own, uri)];
}

function binary(kind, base64) {
  return h("p", {}, `${kind ?? "binary"}, ${bytes(Math.floor((base64.length * 3) / 4))}`);
}

/** A long text is shown in part, and in full if the person wants it. */
function text(own, label) {
  const box = h("pre", { tabindex: "0", "aria-label": label }, own.slice(0, MAX_TEXT));
  if (own.length <= MAX_TEXT) return box;
  const more = h("button", {}, `Show all ${count(own.length)} characters`);
  more.addEventListener("click", () => {
    fill(box, own);
    more.remove();
  });
  return [box, more];
}

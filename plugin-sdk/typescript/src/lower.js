// Converts this package's values to the interface's types. A wrong type must throw here: further
// down it would end the whole instance.

import { Content } from "./content.js";

/** A valid string: a lone surrogate becomes U+FFFD. */
function text(value, what = "a text") {
  if (typeof value !== "string") throw new TypeError(`expected ${what}, not ${value === null ? "null" : typeof value}`);
  return value.toWellFormed();
}

const optional = (value) => (value === undefined || value === null ? undefined : text(value));

const number = (value) => (value === undefined || value === null ? undefined : Number(value));

function bytes(value) {
  if (!(value instanceof Uint8Array)) throw new TypeError("expected a Uint8Array");
  return value;
}

/** JSON text of a value. */
export function json(value) {
  const made = JSON.stringify(value);
  if (made === undefined) throw new TypeError(`a ${typeof value} cannot be converted to JSON`);
  return made.toWellFormed();
}

const optionalJson = (value) => (value === undefined ? undefined : json(value));

/** A value of an enumeration; anything else would end the instance. */
function word(value, words) {
  if (!words.includes(value)) throw new TypeError(`${json(value)}: must be one of ${words.join(", ")}`);
  return value;
}

const role = (value = "user") => word(value, ["user", "assistant"]);

const icons = (values = []) =>
  values.map((icon) => ({
    src: text(icon.src),
    mimeType: optional(icon.mimeType),
    sizes: (icon.sizes ?? []).map((size) => text(size)),
    theme: icon.theme === undefined ? undefined : word(icon.theme, ["light", "dark"]),
  }));

function annotations({ audience = [], priority, lastModified }) {
  if (!audience.length && priority === undefined && lastModified === undefined) return undefined;
  return { audience: [audience].flat().map(role), priority: number(priority), lastModified: optional(lastModified) };
}

const hints = (value) => ({ annotations: annotations(value), meta: optionalJson(value.meta) });

const contents = (value) => ({
  uri: text(value.uri, "a URI"),
  mimeType: optional(value.mimeType),
  body: value.bytes === undefined ? { tag: "text", val: text(value.text) } : { tag: "blob", val: bytes(value.bytes) },
  meta: optionalJson(value.meta),
});

/** The description of a resource. */
export const resource = (value) => ({
  uri: text(value.uri, "a URI"),
  name: text(value.name ?? value.uri),
  title: optional(value.title),
  description: optional(value.description),
  mimeType: optional(value.mimeType),
  size: number(value.size),
  annotations: annotations(value),
  icons: icons(value.icons),
  meta: optionalJson(value.meta),
});

export const resourceTemplate = (value) => {
  const { uri, size, ...rest } = resource(value);
  return { uriTemplate: uri, ...rest };
};

const textContent = (value) =>
  typeof value === "string" ? { text: text(value) } : { text: text(value.text), ...hints(value) };

const media = (value) => ({ data: bytes(value.data), mimeType: text(value.mimeType, "a media type"), ...hints(value) });

function piece(value) {
  if (typeof value === "string") return { tag: "text", val: textContent(value) };
  if (!(value instanceof Content)) throw new TypeError(`a ${typeof value} is not content`);
  switch (value.kind) {
    case "text":
      return { tag: "text", val: textContent(value) };
    case "embedded":
      return { tag: "embedded", val: { contents: contents(value.contents), ...hints(value) } };
    case "link":
      return { tag: "link", val: resource(value.resource) };
    default:
      return { tag: value.kind, val: media(value) };
  }
}

export const tool = (value) => ({
  name: text(value.name),
  title: optional(value.title),
  description: optional(value.description),
  inputSchema: text(value.inputSchema),
  outputSchema: optional(value.outputSchema),
  annotations: Object.values(value.hints).some((hint) => hint !== undefined) ? value.hints : undefined,
  taskSupport: value.tasks,
  icons: icons(value.icons),
  meta: optionalJson(value.meta),
});

export const toolResult = (value) => ({
  content: value.content.map(piece),
  structured: optionalJson(value.structured),
  isError: Boolean(value.failed),
  meta: optionalJson(value.meta),
});

export const prompt = (value) => ({
  name: text(value.name),
  title: optional(value.title),
  description: optional(value.description),
  arguments: Object.entries(value.shape).map(([name, schema]) => ({
    name,
    title: optional(schema.json.title),
    description: optional(schema.json.description),
    required: !schema.flags.optional,
  })),
  icons: icons(value.icons),
  meta: optionalJson(value.meta),
});

export const promptResult = (value) => ({
  description: optional(value.description),
  messages: value.messages.map((message) => {
    const isContent = typeof message === "string" || message instanceof Content;
    return isContent
      ? { role: "user", content: piece(message) }
      : { role: role(message.role), content: piece(message.content) };
  }),
  meta: optionalJson(value.meta),
});

export const readResult = (value) => ({
  contents: value.contents.map(contents),
  caching:
    value.cacheFor === undefined
      ? undefined
      : { ttlMs: Math.max(Math.trunc(value.cacheFor), 0), scope: word(value.scope ?? "private", ["public", "private"]) },
  meta: optionalJson(value.meta),
});

export const completion = ({ values, total, hasMore = false }) => ({
  values: values.map((value) => text(value)),
  total: number(total),
  hasMore: Boolean(hasMore),
});

export function offer(plugin) {
  const declared = (kind) =>
    plugin.capabilities
      .filter((capability) => capability.kind === kind)
      .map(({ name, settings }) => ({ name: text(name), settings: json(settings) }));
  return {
    experimental: declared("experimental"),
    extensions: declared("extension"),
    methods: [...plugin.methods.keys()].map((name) => text(name)),
  };
}

const FEATURES = {
  elicitForm: "form",
  elicitUrl: "url",
  sample: "sample",
  sampleTools: "sample-tools",
  sampleContext: "sample-context",
  roots: "roots",
};

/** The host's information about a call, as `Call` takes it. What only a question needs is made for that. */
export const context = (value) => ({
  id: value.id,
  get features() {
    return new Set(Object.keys(FEATURES).filter((flag) => value.client[flag]).map((flag) => FEATURES[flag]));
  },
  timeLeft: value.timeLeftMs,
  get answers() {
    return new Map(value.answers.map(({ key, reply }) => [key, answer(reply)]));
  },
  state: value.state ?? undefined,
  meta: value.meta ? JSON.parse(value.meta) : {},
});

function answer({ tag, val }) {
  switch (tag) {
    case "elicited":
      return val.action === "accept" ? { accepted: val.content ? JSON.parse(val.content) : {} } : { declined: true };
    case "sampled":
      return { sampled: sampled(val) };
    case "roots":
      return { roots: val.map(({ uri, name }) => ({ uri, name: name ?? undefined })) };
    default:
      return { unavailable: val };
  }
}

function sampled({ content, model, stopReason }) {
  const pieces = content.flatMap(({ tag, val }) => {
    if (tag === "text") return [{ kind: tag, text: val.text }];
    if (tag === "tool-use") return [{ kind: tag, id: val.id, name: val.name, input: JSON.parse(val.input) }];
    // Only a caller sends tool results; a model's answer has none.
    return tag === "tool-result" ? [] : [{ kind: tag, data: new Uint8Array(val.data), mimeType: val.mimeType }];
  });
  const text = pieces.map((one) => one.text ?? "").join("");
  return { model, content: pieces, text, stopReason: stopReason ?? undefined };
}

export const inputRequired = ({ questions, state }) => ({
  questions: questions.map((question) => ({ key: text(question.key), ask: asks(question) })),
  state,
});

function asks({ form, visit, sample }) {
  if (form) return { tag: "form", val: { message: text(form.message), schema: text(form.schema) } };
  if (visit) return { tag: "url", val: { message: text(visit.message), url: text(visit.url) } };
  return sample ? { tag: "sample", val: sampling(sample) } : { tag: "roots" };
}

function sampling(value) {
  const { models, costPriority, speedPriority, intelligencePriority } = value;
  const prefers = [models, costPriority, speedPriority, intelligencePriority].some((one) => one !== undefined);
  return {
    messages: value.messages.map((message) =>
      typeof message === "string" || message instanceof Content
        ? { role: "user", content: [samplingPiece(message)] }
        : { role: role(message.role), content: [message.content].flat().map(samplingPiece) },
    ),
    maxTokens: Math.trunc(value.maxTokens ?? 1000),
    systemPrompt: optional(value.system),
    temperature: number(value.temperature),
    stopSequences: (value.stopAt ?? []).map((one) => text(one)),
    modelPreferences: prefers
      ? {
          hints: (models ?? []).map((one) => text(one)),
          costPriority: number(costPriority),
          speedPriority: number(speedPriority),
          intelligencePriority: number(intelligencePriority),
        }
      : undefined,
    includeContext:
      value.context === undefined ? undefined : word(value.context, ["none", "this-server", "all-servers"]),
    tools: (value.tools ?? []).map((tool) => ({
      name: text(tool.name),
      description: optional(tool.description),
      inputSchema: json(tool.schema?.json ?? tool.schema ?? { type: "object" }),
    })),
    toolChoice: value.toolChoice === undefined ? undefined : word(value.toolChoice, ["auto", "required", "none"]),
    metadata: optionalJson(value.metadata),
  };
}

function samplingPiece(value) {
  if (typeof value === "string" || value.kind === "text") return { tag: "text", val: textContent(value) };
  if (value.kind === "tool-use") {
    return { tag: "tool-use", val: { id: text(value.id), name: text(value.name), input: json(value.input) } };
  }
  if (value.kind === "tool-result") {
    const content = [value.content].flat().map(piece);
    return { tag: "tool-result", val: { toolUseId: text(value.id), content, isError: Boolean(value.failed) } };
  }
  return { tag: word(value.kind, ["image", "audio"]), val: media(value) };
}

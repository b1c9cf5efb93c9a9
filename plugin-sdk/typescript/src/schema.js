// JSON Schema builders, and reading of values by them. The host has already checked arguments;
// reading fills in defaults, and checks the arguments of tests.

import { InvalidArguments } from "./errors.js";
import { instead, refuseMisspelt } from "./names.js";

const escaped = (name) => name.replaceAll("~", "~0").replaceAll("/", "~1");

function expect(condition, path, what) {
  if (!condition) throw new InvalidArguments(path, `must be ${what}`);
}

/** An immutable schema. Each method returns a new one. */
export class Schema {
  json;
  flags;
  read;

  constructor(json, read, flags = {}) {
    this.json = json;
    this.flags = flags;
    this.read = read;
  }

  with(keywords, flags) {
    return new Schema({ ...this.json, ...keywords }, this.read, { ...this.flags, ...flags });
  }

  describe(description) {
    return this.with({ description });
  }

  title(title) {
    return this.with({ title });
  }

  min(least) {
    return this.with({ [`min${this.flags.bound ?? "imum"}`]: least });
  }

  max(most) {
    return this.with({ [`max${this.flags.bound ?? "imum"}`]: most });
  }

  pattern(pattern) {
    return this.with({ pattern: pattern instanceof RegExp ? pattern.source : pattern });
  }

  format(format) {
    return this.with({ format });
  }

  optional() {
    return this.with({}, { optional: true });
  }

  default(value) {
    return this.with({ default: value }, { optional: true, default: value });
  }

  nullable() {
    const json = typeof this.json.type === "string" && !this.json.enum
      ? { ...this.json, type: [this.json.type, "null"] }
      : { anyOf: [this.json, { type: "null" }] };
    return new Schema(json, (value, path) => (value === null ? null : this.read(value, path)), this.flags);
  }
}

refuseMisspelt(Schema, "a schema");

/** Fails for what is not a schema, such as `s.string` without its parentheses. */
function isSchema(what, value) {
  if (!(value instanceof Schema)) throw new TypeError(`${what} needs a schema, such as s.string()`);
  return value;
}

/** The schemas of named values. */
export function shapeOf(what, shape) {
  if (typeof shape !== "object" || shape === null || shape instanceof Schema) {
    throw new TypeError(`${what} needs an object of schemas, such as { name: s.string() }`);
  }
  for (const [name, schema] of Object.entries(shape)) isSchema(`${what}: ${name}`, schema);
  return shape;
}

function listOf(what, values) {
  if (!Array.isArray(values)) throw new TypeError(`${what} needs a list, such as [1, 2]`);
  return values;
}

function readMembers(shape, value, path) {
  expect(typeof value === "object" && value !== null && !Array.isArray(value), path, "an object");
  const made = { ...value };
  for (const [name, schema] of Object.entries(shape)) {
    if (value[name] !== undefined) made[name] = schema.read(value[name], `${path}/${escaped(name)}`);
    else if ("default" in schema.flags) made[name] = structured(schema.flags.default);
    else if (!schema.flags.optional) throw new InvalidArguments(path, `${name} is required`);
  }
  return made;
}

// Copied, since a caller may modify it.
const structured = (value) => (typeof value === "object" && value !== null ? JSON.parse(JSON.stringify(value)) : value);

function objectJson(shape) {
  const required = Object.keys(shape).filter((name) => !shape[name].flags.optional);
  const properties = Object.fromEntries(Object.entries(shape).map(([name, schema]) => [name, schema.json]));
  return { type: "object", properties, ...(required.length ? { required } : {}) };
}

const simple = (type, is, what, bound) =>
  new Schema({ type }, (value, path) => (expect(is(value), path, what), value), { bound });

const BUILDERS = {
  string: () => simple("string", (value) => typeof value === "string", "a string", "Length"),
  number: () => simple("number", (value) => typeof value === "number", "a number"),
  integer: () => simple("integer", Number.isInteger, "a whole number"),
  boolean: () => simple("boolean", (value) => typeof value === "boolean", "true or false"),
  null: () => simple("null", (value) => value === null, "null"),
  any: () => new Schema({}, (value) => value),

  enum(values) {
    listOf("s.enum", values);
    const types = new Set(values.map((value) => typeof value));
    const [type] = types;
    const json = types.size === 1 && type !== "object" ? { type, enum: values } : { enum: values };
    const what = `one of ${values.map((value) => JSON.stringify(value)).join(", ")}`;
    return new Schema(json, (value, path) => (expect(values.includes(value), path, what), value));
  },

  literal: (value) => BUILDERS.enum([value]),

  array(items) {
    isSchema("s.array", items);
    const read = (value, path) => {
      expect(Array.isArray(value), path, "an array");
      return value.map((item, at) => items.read(item, `${path}/${at}`));
    };
    return new Schema({ type: "array", items: items.json }, read, { bound: "Items" });
  },

  object(shape) {
    shapeOf("s.object", shape);
    return new Schema(objectJson(shape), (value, path) => readMembers(shape, value, path), { shape, bound: "Properties" });
  },

  record(values) {
    isSchema("s.record", values);
    const read = (value, path) => {
      expect(typeof value === "object" && value !== null && !Array.isArray(value), path, "an object");
      const entries = Object.entries(value);
      return Object.fromEntries(entries.map(([key, one]) => [key, values.read(one, `${path}/${escaped(key)}`)]));
    };
    return new Schema({ type: "object", additionalProperties: values.json }, read, { bound: "Properties" });
  },

  union(branches) {
    for (const branch of listOf("s.union", branches)) isSchema("s.union", branch);
    const read = (value, path) => {
      let first;
      for (const branch of branches) {
        try {
          return branch.read(value, path);
        } catch (error) {
          first ??= error;
        }
      }
      throw first;
    };
    return new Schema({ anyOf: branches.map((branch) => branch.json) }, read);
  },

  /** A JSON Schema as it is; values are not checked. */
  raw: (json) => new Schema(json, (value) => value),
};

/** A builder that takes no more than it uses: types reject `s.string({ min: 1 })`, and without them `min` would be dropped. */
const strict = ([name, build]) => {
  const checked = (...given) => {
    const schema = build(...given);
    if (given.length <= build.length) return schema;
    const taken = build.length ? "one argument" : "no argument";
    throw new TypeError(`s.${name} takes ${taken}; the rest are methods, such as .describe("…") and .min(1)`);
  };
  return [name, checked];
};

/** Schema builders. */
export const s = new Proxy(Object.fromEntries(Object.entries(BUILDERS).map(strict)), {
  get(builders, name) {
    if (typeof name === "symbol" || name in builders) return builders[name];
    throw new TypeError(`there is no s.${name}${instead(name, Object.keys(builders))}`);
  },
});

/** An author's schema: a builder or a JSON Schema. */
export function toSchema(given) {
  if (given instanceof Schema) return given;
  if (typeof given !== "object" || given === null || Object.values(given).some((value) => value instanceof Schema)) {
    throw new TypeError("a schema is s.object({ … }), another one of `s`, or a JSON Schema");
  }
  return s.raw(given);
}

/** The schema of a tool's arguments, without additional properties unless it is raw. */
export function inputJson(schema) {
  if (schema.json.type !== "object") throw new TypeError("the input must be an object: write s.object({ … })");
  return schema.flags.shape ? { ...schema.json, additionalProperties: false } : schema.json;
}

/** The schema of a form. */
export function formSchema(given) {
  const schema = toSchema(given);
  if (schema.json.type !== "object") throw new TypeError("a form is an object: write s.object({ … })");
  return { json: schema.json, read: (value) => schema.read(value, "") };
}

/** An argument of a prompt or a variable of a URI, which is always a string, in the type of its schema. */
export function readText(schema, text, path) {
  const type = schema.json.type;
  if (type !== "number" && type !== "integer" && type !== "boolean") return schema.read(text, path);
  let value;
  try {
    value = JSON.parse(text);
  } catch {
    throw new InvalidArguments(path, `must be ${type === "boolean" ? "true or false" : "a number"}`);
  }
  return schema.read(value, path);
}

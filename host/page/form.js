// A form made of a JSON Schema: a control for each member that has a simple type, and JSON for all else.

import { fill, h, notice } from "./dom.js";
import { isWhole, number, parse, shown } from "./json.js";

let count = 0;

/** `onready` gets the values when the person sends the form. The server checks them. */
export function form(schema, label, onready) {
  const required = new Set(schema.required ?? []);
  const members = Object.entries(schema.properties ?? {});
  const fields = members.map(([name, own]) => [name, field(name, own ?? {}, required.has(name))]);
  const isOpen = !members.length && schema.type === "object" && schema.additionalProperties !== false && schema.properties === undefined;
  // What only a reader of the whole schema can fill in.
  const isComposed = ["$ref", "allOf", "anyOf", "oneOf"].some((key) => key in schema) || [...required].some((name) => !Object.hasOwn(schema.properties ?? {}, name));
  const whole = isOpen || isComposed ? field("arguments", { title: "Arguments", description: "A JSON object", default: {} }, true) : undefined;
  const problem = h("div");
  const onsubmit = (event) => {
    event.preventDefault();
    fill(problem);
    try {
      onready(whole ? whole.value() : values(fields));
    } catch (error) {
      fill(problem, notice(error.message, undefined, true));
      error.control?.focus();
    }
  };
  const controls = whole ? whole.element : fields.map(([, { element }]) => element);
  return h("form", { onsubmit, novalidate: true }, controls, problem, h("div", { class: "row" }, h("button", { class: "strong" }, label)));
}

function values(fields) {
  const found = [];
  for (const [name, { value }] of fields) {
    const own = value();
    if (own !== undefined) found.push([name, own]);
  }
  return Object.fromEntries(found);
}

/** A control with its label, and a function that reads it; what is left empty is `undefined`. */
function field(name, schema, required) {
  const id = `field-${(count += 1)}`;
  const title = typeof schema.title === "string" ? schema.title : name;
  const words = typeof schema.description === "string" ? schema.description : "";
  const described = `${id}-description`;
  const attributes = { id, "aria-describedby": described, "aria-required": required ? "true" : undefined };
  const { control, read, isJson } = choose(schema, attributes, required);
  const asJson = isJson ? "As JSON." : "";
  const note = h("p", { class: "note", id: described }, [words, asJson].filter(Boolean).join(" "));
  const label = h("label", { for: id }, required ? `${title} (required)` : title);
  const isCheck = control.type === "checkbox";
  const element = h("div", { class: "field" }, isCheck ? h("div", { class: "check" }, control, label) : [label, control], note);
  const fail = (why) => {
    throw Object.assign(new Error(`${title}: ${why}`), { control });
  };
  const value = () => {
    const own = read(fail);
    return own === undefined && required ? fail("a value is needed") : own;
  };
  return { element, value };
}

const TYPES = { date: "date", email: "email", uri: "url" };

function choose(schema, attributes, required) {
  const options = choices(schema);
  if (options) return select(schema, options, attributes, required);
  const many = schema.type === "array" ? choices(schema.items ?? {}) : undefined;
  if (many) return selectMany(schema, many, attributes);
  switch (schema.type) {
    case "boolean": {
      if (!required && schema.default === undefined) return select(schema, [[true, "yes"], [false, "no"]], attributes, required);
      const control = h("input", { ...attributes, type: "checkbox" });
      control.checked = schema.default === true;
      return { control, read: () => control.checked };
    }
    case "integer":
    case "number": {
      const control = h("input", { ...attributes, type: "text", inputmode: schema.type === "integer" ? "numeric" : "decimal", value: schema.default === undefined ? undefined : shown(schema.default) });
      const read = (fail) => {
        const text = control.value.trim();
        if (text === "") return undefined;
        const value = number(text);
        if (value === undefined) return fail("a number is needed");
        return schema.type === "integer" && !isWhole(value) ? fail("a whole number is needed") : value;
      };
      return { control, read };
    }
    case "string": {
      const type = TYPES[schema.format];
      const control = type ? h("input", { ...attributes, type }) : h("textarea", { ...attributes, rows: 1 });
      control.value = typeof schema.default === "string" ? schema.default : "";
      const isEmpty = () => control.value === "" && !required;
      return { control, read: () => (isEmpty() ? undefined : control.value) };
    }
    default:
      return json(schema, attributes);
  }
}

/** Values with their titles, if there are only so many. */
function choices({ enum: values, enumNames, oneOf, anyOf }) {
  if (Array.isArray(values)) return values.map((value, at) => [value, enumNames?.[at] ?? shown(value)]);
  const listed = oneOf ?? anyOf;
  if (!Array.isArray(listed) || !listed.length || !listed.every((one) => one !== null && typeof one === "object" && "const" in one)) return undefined;
  return listed.map((one) => [one.const, one.title ?? shown(one.const)]);
}

const isSame = (one, other) => JSON.stringify(one) === JSON.stringify(other);

function select(schema, options, attributes, required) {
  const none = required && schema.default !== undefined ? [] : [h("option", { value: "" }, "–")];
  const control = h("select", attributes, none, options.map(([, title], at) => h("option", { value: at }, title)));
  const chosen = options.findIndex(([value]) => isSame(value, schema.default));
  control.value = chosen < 0 ? (none.length ? "" : "0") : String(chosen);
  return { control, read: () => (control.value === "" ? undefined : options[Number(control.value)][0]) };
}

function selectMany(schema, options, attributes) {
  const control = h("select", { ...attributes, multiple: true }, options.map(([, title], at) => h("option", { value: at }, title)));
  const chosen = Array.isArray(schema.default) ? schema.default : [];
  options.forEach(([value], at) => (control.options[at].selected = chosen.some((own) => isSame(own, value))));
  return { control, read: () => [...control.selectedOptions].map(({ value }) => options[Number(value)][0]) };
}

/** Any other value is written as JSON. */
function json(schema, attributes) {
  const control = h("textarea", { ...attributes, spellcheck: "false" });
  if (schema.default !== undefined) control.value = JSON.stringify(schema.default, null, 2);
  const read = (fail) => {
    if (control.value.trim() === "") return undefined;
    try {
      return parse(control.value);
    } catch {
      return fail("it is not JSON");
    }
  };
  return { control, read, isJson: true };
}

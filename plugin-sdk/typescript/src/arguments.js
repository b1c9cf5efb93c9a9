// What the host refuses of a tool's arguments, for tests. Types and required arguments are checked when they are read.

import { InvalidArguments } from "./errors.js";

const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
const characters = (text) => [...text].length;

/** Of a `pattern`: one that was written without the flag `u` may not be valid with it. */
function regExp(pattern) {
  try {
    return new RegExp(pattern, "u");
  } catch {
    return new RegExp(pattern);
  }
}

/** Keywords of a number, a text, a list or an object: whether it is as they say, and what it must be. */
const BOUNDS = {
  minimum: (value, least) => typeof value !== "number" || value >= least || `at least ${least}`,
  maximum: (value, most) => typeof value !== "number" || value <= most || `at most ${most}`,
  minLength: (value, least) => typeof value !== "string" || characters(value) >= least || `at least ${least} characters`,
  maxLength: (value, most) => typeof value !== "string" || characters(value) <= most || `at most ${most} characters`,
  pattern: (value, pattern) => typeof value !== "string" || regExp(pattern).test(value) || `like ${pattern}`,
  minItems: (value, least) => !Array.isArray(value) || value.length >= least || `at least ${least} items`,
  maxItems: (value, most) => !Array.isArray(value) || value.length <= most || `at most ${most} items`,
  minProperties: (value, least) => !isObject(value) || Object.keys(value).length >= least || `at least ${least} members`,
  maxProperties: (value, most) => !isObject(value) || Object.keys(value).length <= most || `at most ${most} members`,
};

/** Fails for arguments outside of the bounds of a JSON Schema, and for those that it does not allow. Branches of a union
    are not followed. */
export function check(schema, value, path = "") {
  for (const [keyword, isAllowed] of Object.entries(BOUNDS)) {
    const what = schema[keyword] === undefined || isAllowed(value, schema[keyword]);
    if (what !== true) throw new InvalidArguments(path, `must be ${what}`);
  }
  if (Array.isArray(value) && isObject(schema.items)) {
    for (const [at, item] of value.entries()) check(schema.items, item, `${path}/${at}`);
  }
  if (!isObject(value)) return;
  const { properties = {}, patternProperties, additionalProperties: others } = schema;
  for (const [name, member] of Object.entries(value)) {
    const place = `${path}/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`;
    if (Object.hasOwn(properties, name)) check(properties[name], member, place);
    else if (isObject(others)) check(others, member, place);
    else if (others === false && !patternProperties) {
      const names = Object.keys(properties);
      throw new InvalidArguments(place, `is not an argument; ${names.length ? `there are: ${names.join(", ")}` : "there is none"}`);
    }
  }
}

// Schemas, and values read through them.

import assert from "node:assert/strict";
import { test } from "node:test";

import { InvalidArguments, s } from "wharf-plugin";
import { formSchema, inputJson, readText } from "../src/schema.js";

test("builders make JSON Schemas", () => {
  const cases = [
    [s.string().min(1).max(9).pattern(/^a/), { type: "string", minLength: 1, maxLength: 9, pattern: "^a" }],
    [s.integer().min(1).max(9), { type: "integer", minimum: 1, maximum: 9 }],
    [s.array(s.number()).min(1), { type: "array", items: { type: "number" }, minItems: 1 }],
    [s.enum(["a", "b"]), { type: "string", enum: ["a", "b"] }],
    [s.enum(["a", 1]), { enum: ["a", 1] }],
    [s.literal(null), { enum: [null] }],
    [s.boolean().nullable(), { type: ["boolean", "null"] }],
    [s.enum(["a"]).nullable(), { anyOf: [{ type: "string", enum: ["a"] }, { type: "null" }] }],
    [s.record(s.any()), { type: "object", additionalProperties: {} }],
    [s.union([s.string(), s.null()]), { anyOf: [{ type: "string" }, { type: "null" }] }],
    [s.raw({ $comment: "x" }).title("T"), { $comment: "x", title: "T" }],
    [
      s.object({ a: s.string().describe("A."), b: s.integer().default(1), c: s.any().optional() }),
      {
        type: "object",
        properties: { a: { type: "string", description: "A." }, b: { type: "integer", default: 1 }, c: {} },
        required: ["a"],
      },
    ],
  ];
  for (const [schema, json] of cases) assert.deepEqual(schema.json, json);
});

test("arguments have no additional properties", () => {
  assert.equal(inputJson(s.object({})).additionalProperties, false);
  assert.deepEqual(inputJson(s.raw({ type: "object" })), { type: "object" });
  assert.throws(() => inputJson(s.string()), /must be an object/);
  assert.throws(() => formSchema(s.string()), /a form is an object/);
});

test("values are read with their defaults", () => {
  const schema = s.object({ a: s.array(s.string()).default([]), b: s.record(s.integer()).optional() });
  const first = schema.read({}, "");
  first.a.push("x");
  assert.deepEqual(schema.read({ other: 1 }, ""), { a: [], other: 1 });
  assert.deepEqual(schema.read({ b: { x: 1 } }, ""), { a: [], b: { x: 1 } });
  assert.equal(s.string().nullable().read(null, ""), null);
  assert.equal(s.union([s.integer(), s.string()]).read("x", ""), "x");
});

test("invalid values name their place", () => {
  const cases = [
    [s.string(), 1, "", "must be a string"],
    [s.integer(), 1.5, "", "must be a whole number"],
    [s.array(s.integer()), [1, "2"], "/1", "must be a whole number"],
    [s.record(s.integer()), { "a/b~": "x" }, "/a~1b~0", "must be a whole number"],
    [s.object({ a: s.object({ b: s.boolean() }) }), { a: { b: 1 } }, "/a/b", "must be true or false"],
    [s.object({ a: s.null() }), {}, "", "a is required"],
    [s.object({}), [], "", "must be an object"],
    [s.enum(["a", 1]), "1", "", 'must be one of "a", 1'],
    [s.union([s.integer(), s.null()]), "x", "", "must be a whole number"],
  ];
  for (const [schema, value, path, reason] of cases) {
    assert.throws(() => schema.read(value, ""), (error) => {
      assert.ok(error instanceof InvalidArguments);
      assert.deepEqual([error.path, error.reason], [path, reason]);
      return true;
    });
  }
});

test("prompt arguments are strings", () => {
  assert.equal(readText(s.integer(), "7", ""), 7);
  assert.equal(readText(s.boolean(), "true", ""), true);
  assert.equal(readText(s.string(), "7", ""), "7");
  assert.throws(() => readText(s.integer(), "seven", "/n"), /\/n: must be a number/);
});

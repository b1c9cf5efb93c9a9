// What the types infer; the compiler is the test.

import { HttpError, plugin, s, type Infer, type ToolResult } from "wharf-plugin";
import { component } from "wharf-plugin/component";
import { accept, Client } from "wharf-plugin/testing";

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const check = <_ extends true>() => undefined;

const schema = s.object({
  name: s.string().min(1),
  times: s.integer().optional(),
  kind: s.enum(["a", "b"]).default("a"),
  tags: s.array(s.string().nullable()),
  any: s.union([s.literal(1), s.boolean()]),
  map: s.record(s.object({ x: s.number() })),
});
check<
  Same<
    Infer<typeof schema>,
    {
      name: string;
      kind: "a" | "b";
      tags: (string | null)[];
      any: boolean | 1;
      map: Record<string, { x: number }>;
      times?: number;
    }
  >
>();

const typed = plugin()
  .tool("a", { input: schema, output: s.object({ n: s.number() }) }, (args) => {
    check<Same<typeof args, Infer<typeof schema>>>();
    return { n: args.times ?? 1 };
  })
  .tool("b", { input: { type: "object" } }, (args) => args.whatever)
  .tool("c", {}, (args, call) => {
    check<Same<typeof args, {}>>();
    const answer = call.ask.form("Which?", schema);
    check<Same<typeof answer, Infer<typeof schema> | null>>();
    return call.ask.together(() => call.ask.confirm("?"), () => call.ask.roots())[1].length;
  })
  // @ts-expect-error: what it gives is not what `output` says.
  .tool("d", { output: s.object({ n: s.number() }) }, () => ({ n: "1" }))
  .resource("x://{a}/{+b}", { variables: { a: s.integer() } }, (variables) => {
    check<Same<typeof variables.a, number>>();
    check<Same<typeof variables.b, string>>();
    return variables.b;
  })
  .prompt("e", { arguments: { n: s.integer().optional() } }, ({ n }) => {
    check<Same<typeof n, number | undefined>>();
    return `${n}`;
  });

typed
  .tool("g", { output: s.object({ n: s.number() }) }, async (_, { ask }) => {
    check<Same<Awaited<ReturnType<typeof load>>, { id: number }>>();
    const made = await ask.once(load);
    check<Same<typeof made, { id: number }>>();
    return { n: made.id };
  })
  // @ts-expect-error: neither is what it promises.
  .tool("h", { output: s.object({ n: s.number() }) }, async () => ({ n: "1" }))
  .resource("y://{a}", {}, async ({ a }) => a)
  .resources(async () => [{ uri: "y://1", name: "one" }])
  .prompt("i", {}, async () => "hi")
  .completion("i", "a", async () => ["b"])
  .method("j", async () => ({}));

async function load() {
  const signal = AbortSignal.any([AbortSignal.timeout(100), new AbortController().signal]);
  const url = new URL("?" + new URLSearchParams({ a: "1" }), "https://example.org/");
  const timer = setTimeout((text: string) => console.log(text), 10, "late");
  clearTimeout(timer);
  try {
    const response = await fetch(url, { method: "POST", body: new URLSearchParams(), headers: [["a", "b"]], signal });
    const copy = response.clone();
    check<Same<Awaited<ReturnType<typeof copy.bytes>>, Uint8Array>>();
    return structuredClone({ id: response.status + (await copy.text()).length });
  } catch (error) {
    if (error instanceof TypeError && error.cause instanceof HttpError) console.log(error.cause.kind);
    throw error;
  }
}

async function test() {
  const client = new Client(typed);
  const result = await client.call("g");
  const { text } = client.call("c");
  const contents = await client.read("y://1");
  const { messages } = await client.prompt("i");
  const { values } = await client.complete("i", "a", "b");
  return [result satisfies ToolResult, text, contents[0]?.text, messages, values];
}
void test;

// @ts-expect-error: that is no task support.
typed.tool("k", { tasks: "maybe" }, () => "");

// @ts-expect-error: an icon has a source.
typed.tool("f", { icons: [{}] }, () => "");

new Client(typed, { answers: [accept({ a: 1 })] }).call("a", { name: "x" }).structured.n;
component(typed, { exports: ["tools"], stated: true });
console.log(new TextEncoder().encode("x").length);

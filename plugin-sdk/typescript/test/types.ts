// What the types infer; the compiler is the test.

import { plugin, s, type Infer } from "wharf-plugin";
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

// @ts-expect-error: an icon has a source.
typed.tool("f", { icons: [{}] }, () => "");

new Client(typed, { answers: [accept({ a: 1 })] }).call("a", { name: "x" }).structured.n;
component(typed, ["tools"]);
console.log(new TextEncoder().encode("x").length);

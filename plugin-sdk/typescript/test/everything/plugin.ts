// All that the wrapper offers.

import {
  audio,
  embedded,
  http,
  image,
  InvalidArguments,
  link,
  listChanged,
  NotFound,
  plugin,
  resourceUpdated,
  result,
  s,
  settings,
  Store,
  text,
  ToolError,
  Unavailable,
} from "wharf-plugin";

// Made during the build, where there is no host.
const raw = new Store("other");

const bytes = (...values: number[]) => new Uint8Array(values);

const shape = s
  .object({
    kind: s.enum(["circle", "square"]),
    size: s.number().with({ exclusiveMinimum: 0 }).describe("How large."),
    unit: s.enum(["m", "ft"]).default("m"),
    tags: s.array(s.string()).default([]),
  })
  .describe("A shape.");

const sleep = (milliseconds: number) => new Promise<void>((done) => setTimeout(done, milliseconds));

// Begun while the component is built.
const begun = (async () => {
  await null;
  return "begun";
})();

const table = s.object({
  seats: s.integer().min(1).describe("How many people."),
  where: s.enum(["inside", "outside"]).default("inside"),
  note: s.string().optional(),
});

export default plugin()
  .tool(
    "area",
    {
      title: "Area",
      description: "The area of a shape.",
      readOnly: true,
      icons: [{ src: "https://example.org/i.png", mimeType: "image/png", sizes: ["16x16"], theme: "dark" }],
      input: s.object({ shape: shape.describe("Which shape."), when: s.string().format("date").nullable().default(null) }),
      output: s.object({ area: s.number(), of: shape, when: s.string().nullable() }),
    },
    ({ shape, when }) => ({ area: shape.size ** 2 * (shape.kind === "circle" ? 3 : 1), of: shape, when }),
  )
  .tool("show", { description: "Every kind of content.", meta: { "example.org/group": "show" } }, () => [
    "plain",
    text("for the user", { audience: "user", priority: 1, lastModified: "2026-01-01T00:00:00Z" }),
    image(bytes(0x89, 0x50, 0x4e, 0x47), "image/png"),
    audio(bytes(0x52, 0x49, 0x46, 0x46), "audio/wav", { meta: { "example.org/x": 1 } }),
    embedded({ uri: "note://1", text: "milk", mimeType: "text/plain" }),
    embedded({ uri: "note://1/scan", bytes: bytes(0xff, 0), mimeType: "image/png" }),
    link({ uri: "https://example.org/", name: "a page", title: "Page", size: 12, audience: ["assistant"] }),
  ])
  .tool("both", { description: "Structured content, and content of its own.", output: s.record(s.integer()) }, () =>
    result({ content: "three", structured: { n: 3 }, meta: { "example.org/y": 2 } }),
  )
  .tool("null", { description: "Structured content that is nothing." }, () => null)
  .tool("fail", { description: "Fails in some way.", input: s.object({ how: s.string() }) }, ({ how }) => {
    switch (how) {
      case "told":
        throw new ToolError("the disk is full");
      case "invalid":
        throw new InvalidArguments("/how", "is wrong");
      case "missing":
        throw new NotFound();
      case "partly":
        return result({ content: "2 of 3", failed: true });
      case "string":
        throw "just this";
      case "promise":
        return Promise.resolve("late");
      case "type":
        return image("text" as unknown as Uint8Array, "image/png");
      case "bigint":
        return { n: 1n };
      default:
        throw new RangeError(`what is ${how}?`);
    }
  })
  .tool("surrogate", { description: "Half a pair, and a whole one in halves." }, () => "a\ud800b\ud83d\ude00")
  .tool("talk", { description: "Says all it can.", tasks: "optional" }, (_, call) => {
    call.log.notice("plain");
    call.log.data("warning", "archive", { skipped: 2 });
    console.log("through console", { a: 1 });
    call.progress(1, 2, "half way");
    resourceUpdated("note://1");
    return `${call.cancelled} ${JSON.stringify(call.meta)} ${call.timeLeft > 1000} ${call.id !== ""} ${call.ask.can("form")}`;
  })
  .tool("dice", { description: "Another number each time." }, () => `${Math.random()} ${crypto.randomUUID()}`)
  .tool("utf8", { description: "Text as bytes and back.", input: s.object({ text: s.string() }) }, ({ text }) => ({
    bytes: [...new TextEncoder().encode(text)],
    text: new TextDecoder().decode(new TextEncoder().encode(text)),
  }))
  .tool("book", { description: "Asks for a table, and then whether it is meant." }, (_, { ask }) => {
    const number = ask.once(() => Math.random());
    const wanted = ask.key("table").form("Which table?", table);
    if (!wanted) return "none";
    if (!ask.key("sure").confirm(`${wanted.seats} seats?`)) return "not sure";
    return `${JSON.stringify(wanted)} ${number === ask.once(() => number)}`;
  })
  .tool("wonder", { description: "Asks the model, the client and for a visit at once." }, (_, { ask }) => {
    const tools = ask.can("sample-tools") ? [{ name: "look", description: "Looks.", schema: s.object({}) }] : [];
    const [said, roots, went] = ask.together(
      () =>
        ask.key("say").sample({
          messages: ["Say something", { content: image(bytes(0x78), "image/png") }],
          maxTokens: 7,
          system: "Be brief.",
          temperature: 0.5,
          stopAt: ["."],
          models: ["small"],
          speedPriority: 1,
          tools,
          ...(tools.length ? { toolChoice: "auto" as const } : {}),
          metadata: { a: 1 },
        }),
      () => ask.key("roots").roots(),
      () => ask.key("visit").visit("Sign in", "https://example.org/"),
    );
    let last = said;
    for (const piece of said.content) {
      if (piece.kind !== "tool-use") continue;
      const answer = { kind: "tool-result" as const, id: piece.id, content: `seen ${JSON.stringify(piece.input)}` };
      last = ask.key("again").sample({
        messages: ["Say something", { role: "assistant", content: said.content }, { content: answer }],
        tools,
      });
    }
    return `${last.model} ${last.text} ${JSON.stringify(roots.map((root) => root.uri))} ${went}`;
  })
  .tool("perhaps", { description: "Does without an answer." }, (_, { ask }) => {
    try {
      return String(ask.confirm("Sure?"));
    } catch (error) {
      if (error instanceof Unavailable) return `nobody: ${error.message}`;
      throw error;
    }
  })
  .tool("swallow", { description: "Catches what it should not." }, (_, { ask }) => {
    try {
      return String(ask.key("sure").confirm("Sure?"));
    } catch {
      return "caught";
    }
  })
  .tool("keep", { description: "Keeps a value.", input: s.object({ value: s.any() }) }, ({ value }) => {
    const store = new Store();
    const number = store.increment("count", 2);
    store.set("value", value);
    raw.setBytes("raw", bytes(0xff));
    raw.set("gone", 1);
    raw.delete("gone");
    return {
      number,
      value: store.get("value"),
      keys: store.keys().sort(),
      raw: [...(raw.getBytes("raw") ?? [])],
      gone: raw.has("gone"),
      none: store.get("none") ?? null,
    };
  })
  .tool("set_up", { description: "Settings and environment." }, () => ({
    unit: settings.get("unit"),
    none: settings.get("none") ?? null,
    all: settings.all(),
    env: settings.environment().MODE,
  }))
  .tool(
    "fetch",
    { description: "Fetches a URL.", openWorld: true, input: s.object({ url: s.string(), post: s.any().optional() }) },
    ({ url, post }) => {
      const headers = { "x-a": ["1", "2"] };
      const response = post === undefined ? http.get(url, { headers, timeout: 5000 }) : http.post(url, { headers, json: post });
      return { status: response.status, type: response.header("Content-Type"), text: response.text() };
    },
  )
  .tool(
    "wait",
    { description: "Waits for several things at once, and asks in two of them.", input: s.object({ ask: s.boolean().default(false) }) },
    async ({ ask: asks }, { ask }) => {
      const seen: string[] = [];
      const began = Date.now();
      const ticking = setInterval(() => seen.push("tick"), 20);
      queueMicrotask(() => seen.push("microtask"));
      await Promise.all([50, 30].map((milliseconds) => sleep(milliseconds).then(() => seen.push(`${milliseconds}`))));
      clearInterval(ticking);
      const waited = Date.now() - began >= 40;
      const letters = await Array.fromAsync(
        (async function* () {
          yield "a";
          for await (const letter of ["b", sleep(1).then(() => "c")]) yield letter;
        })(),
      );
      const question = async (key: string) => ask.key(key).confirm(`${key}?`);
      let answers: boolean[] = [];
      try {
        if (asks) answers = await Promise.all([question("one"), question("two")]);
      } catch {
        answers = [false];
      }
      void Promise.reject(new Error("nobody handles this"));
      return { seen, waited, letters, answers, begun: await begun };
    },
  )
  .tool("stuck", { description: "Waits for what never happens." }, async () => {
    await new Promise(() => undefined);
    return "never";
  })
  .tool("missing", { description: "Uses what a component does not have." }, async () => {
    await null;
    // @ts-expect-error: a global of Node.
    return process.version;
  })
  .tool("web", { description: "Globals of the web." }, async () => {
    const url = new URL("?" + new URLSearchParams({ a: "ü b" }), "https://EXAMPLE.org:443/x/../y");
    const controller = new AbortController();
    controller.signal.addEventListener("abort", (event) => console.log(event.type));
    setTimeout(() => controller.abort(), 1);
    const reason = await new Promise<Error>((done) =>
      AbortSignal.any([controller.signal]).addEventListener("abort", () => done(controller.signal.reason)),
    );
    const shared = { n: new Map([[1, new Date(0)]]) };
    return {
      url: url.href,
      reason: reason.name,
      copy: [...structuredClone(shared).n.values()].map((date) => date.toISOString()),
      json: await Response.json({ a: 1 }).json(),
      headers: [...new Headers({ B: "2", a: "1" })].flat(),
    };
  })
  .tool(
    "request",
    {
      description: "Fetches a URL with fetch.",
      openWorld: true,
      input: s.object({ url: s.string(), post: s.string().optional(), within: s.integer().optional() }),
    },
    async ({ url, post, within }) => {
      const signal = within === undefined ? null : AbortSignal.timeout(within);
      const headers = { "X-Library": "fetch" };
      const response = await fetch(url, post === undefined ? { headers, signal } : { method: "POST", body: post, headers, signal });
      return { status: response.status, url: response.url, type: response.headers.get("content-type"), text: await response.text() };
    },
  )
  .resource("note://index", { name: "index", mimeType: "application/json", priority: 0.5 }, () => '["note://1"]')
  .resource(
    "note://{id}",
    { name: "note", title: "Note", description: "A note by its number.", mimeType: "text/plain", variables: { id: s.integer() } },
    ({ id }, { ask }, uri) => {
      if (id > 9) throw new NotFound();
      if (id === 9 && !ask.key("read").confirm("Read it?")) throw new ToolError("not allowed");
      return {
        contents: [`note ${id}`, { uri: `${uri}/b`, bytes: bytes(0) }],
        cacheFor: 60_000,
        scope: "public",
      };
    },
  )
  .resources(() => [{ uri: "note://1", name: "one", size: 6, icons: [{ src: "https://example.org/i.png" }] }])
  .prompt(
    "review",
    {
      title: "Review",
      description: "Asks for a review.",
      arguments: { code: s.string().describe("What to look at."), depth: s.integer().default(1) },
    },
    ({ code, depth }) => ({
      messages: [`Review ${code} ${depth}`, { role: "assistant", content: image(bytes(0x78), "image/png") }],
      description: "Reviews",
    }),
  )
  .prompt("careful", { description: "Asks first." }, (_, { ask }) => (ask.key("sure").confirm("Sure?") ? "yes" : "no"))
  .completion("review", "code", (typed) => ["alpha", "beta"].filter((code) => code.startsWith(typed)))
  .completion("note://{id}", "id", (typed, given) => ({ values: [`${typed}1`, JSON.stringify(given)], total: 9, hasMore: true }))
  .extension("com.example/sync", { versions: [1] })
  .experimental("fastSync")
  .method("changes", ({ version }) => {
    listChanged("tools");
    return { since: version };
  });

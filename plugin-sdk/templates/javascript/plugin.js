// The tools of this plugin.

import { InvalidArguments, plugin, s } from "wharf-plugin";

const words = s.object({
  total: s.integer(),
  frequent: s.array(s.object({ word: s.string(), times: s.integer() })).describe("The most frequent first."),
});

export default plugin()
  .tool(
    "greet",
    {
      description: "Greets somebody.",
      readOnly: true,
      input: s.object({
        name: s.string().describe("Whom to greet."),
        times: s.integer().min(1).max(9).default(1),
      }),
    },
    ({ name, times }) => Array(times).fill(`Hello, ${name}!`).join("\n"),
  )
  .tool(
    "count_words",
    {
      description: "Counts the words of a text.",
      readOnly: true,
      input: s.object({ text: s.string().describe("What to count in.") }),
      output: words,
    },
    ({ text }, call) => {
      const found = text.toLowerCase().match(/[\p{L}\p{N}]+/gu);
      if (!found) throw new InvalidArguments("/text", "has no words");
      call.log.debug(`${found.length} words`);
      const counted = new Map();
      for (const word of found) counted.set(word, (counted.get(word) ?? 0) + 1);
      const frequent = [...counted].sort(([, a], [, b]) => b - a).slice(0, 3);
      return { total: found.length, frequent: frequent.map(([word, times]) => ({ word, times })) };
    },
  );

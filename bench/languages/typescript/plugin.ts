// The tools of the measured servers, in TypeScript.

import { plugin, s } from "wharf-plugin";

export default plugin()
  .tool(
    "echo",
    {
      description: "Says back what it is told.",
      readOnly: true,
      input: s.object({ message: s.string().describe("The text to return.") }),
    },
    ({ message }) => message,
  )
  .tool(
    "add",
    {
      description: "Adds two numbers.",
      readOnly: true,
      input: s.object({ a: s.integer(), b: s.integer() }),
      output: s.object({ sum: s.integer() }),
    },
    ({ a, b }) => ({ sum: a + b }),
  );

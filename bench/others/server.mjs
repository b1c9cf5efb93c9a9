// The tools of the measured servers on the official TypeScript SDK, served on stdio.
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { z } from "zod";

const server = new McpServer({ name: "typescript", version: "1.0.0" });

server.registerTool(
  "echo",
  { description: "Says back what it is told.", inputSchema: { message: z.string().describe("The text to return.") } },
  ({ message }) => ({ content: [{ type: "text", text: message }] }),
);

server.registerTool(
  "add",
  {
    description: "Adds two numbers.",
    inputSchema: { a: z.number().int(), b: z.number().int() },
    outputSchema: { sum: z.number().int() },
  },
  ({ a, b }) => ({ content: [{ type: "text", text: `${a + b}` }], structuredContent: { sum: a + b } }),
);

await server.connect(new StdioServerTransport());

// @ai-sdk/mcp: requests of `generateText` to the models of OpenAI and Google, which are answered here
// with a call, so that the AI SDK makes it.

import { createGoogleGenerativeAI } from "@ai-sdk/google";
import { createMCPClient } from "@ai-sdk/mcp";
import { Experimental_StdioMCPTransport as StdioMCPTransport } from "@ai-sdk/mcp/mcp-stdio";
import { createOpenAI } from "@ai-sdk/openai";
import { generateText, stepCountIs } from "ai";

import { ARGUMENTS, COMMAND, run } from "./harness.mjs";

/** The next answers of the model, and its last request. */
const answers = [];
let request;

async function fetch(_, { body }) {
  request = JSON.parse(body);
  return Response.json(answers.shift());
}

const chat = createOpenAI({ apiKey: "none", fetch }).chat("tests");
const gemini = createGoogleGenerativeAI({ apiKey: "none", fetch })("tests");

const DONE = { role: "assistant", content: "done" };
function said(message, finish_reason) {
  return { id: "1", created: 0, model: "tests", choices: [{ index: 0, message, finish_reason }] };
}

await run("@ai-sdk/mcp", async (check) => {
  const transport = new StdioMCPTransport({ command: COMMAND, args: ARGUMENTS, env: process.env });
  const client = await createMCPClient({ transport });
  const tools = await client.tools();

  answers.push(said(DONE, "stop"));
  await generateText({ model: chat, tools, prompt: "Call nothing." });
  check.converted("OpenAI", request.tools.map(({ function: { name, parameters } }) => [name, parameters]));

  answers.push({ candidates: [{ content: { role: "model", parts: [{ text: "done" }] }, finishReason: "STOP" }] });
  await generateText({ model: gemini, tools, prompt: "Call nothing." });
  const declarations = request.tools.flatMap(({ functionDeclarations }) => functionDeclarations);
  check.converted("Gemini", declarations.map((each) => [each.name, each.parametersJsonSchema]));

  await check.call(async (name, values) => {
    const call = { id: "1", type: "function", function: { name, arguments: JSON.stringify(values) } };
    answers.push(said({ role: "assistant", content: null, tool_calls: [call] }, "tool_calls"), said(DONE, "stop"));
    await generateText({ model: chat, tools, prompt: "Call it.", stopWhen: stepCountIs(2) });
    return request.messages.at(-1).content;
  });
  await client.close();
});

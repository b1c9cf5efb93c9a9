// Starts a server with the official client, lists its tools, and calls one of a prebuilt plugin.
//
//     node call.mjs COMMAND ARGUMENT…
//
// Prints one line of JSON: the server's name and version, how many tools there are, and the answer.

import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";

const [command, ...args] = process.argv.slice(2);
const client = new Client({ name: "test", version: "1" });
await client.connect(new StdioClientTransport({ command, args, env: process.env, stderr: "inherit" }));
const { tools } = await client.listTools();
const call = () => client.callTool({ name: "text_hash", arguments: { text: "hi" } }, undefined, { timeout: 120_000 });
let answer = await call();
// A debug build takes long for it on a machine that does other things too; the server says so after a minute.
for (let tries = 1; tries < 5 && answer.content[0].text.includes("still being compiled"); tries++) answer = await call();
const { name, version } = client.getServerVersion();
console.log(JSON.stringify({ name, version, tools: tools.length, text: answer.content[0].text }));
await client.close();

// A chat client in a browser, made with the official library: it calls a tool and shows its page. apps.mjs bundles it.

import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { AppBridge, PostMessageTransport, RESOURCE_MIME_TYPE, getToolUiResourceUri } from "@modelcontextprotocol/ext-apps/app-bridge";

const SELF = { name: "tests", version: "0" };
const EXTENSION = "io.modelcontextprotocol/ui";
/** The part of the style that shows whose it is. */
const BACKGROUND = { light: "rgb(250, 250, 240)", dark: "rgb(10, 10, 30)" };
const TEXT = { light: "rgb(20, 20, 20)", dark: "rgb(230, 230, 230)" };

/** All that the page did, for the test. */
const seen = { contexts: [], sizes: [], view: undefined };
let bridge, client;

/** Calls a tool as the model would, and shows the page in a frame of the origin `frames`. */
async function show({ frames, tool: name, arguments: args, theme }) {
  client = new Client(SELF, {
    capabilities: { extensions: { [EXTENSION]: { mimeTypes: [RESOURCE_MIME_TYPE] } } },
    versionNegotiation: { mode: "auto" },
  });
  await client.connect(new StreamableHTTPClientTransport(new URL("/mcp", location.href)));
  const { tools } = await client.listTools();
  const tool = tools.find((tool) => tool.name === name);
  const { contents } = await client.readResource({ uri: getToolUiResourceUri(tool) });
  const [{ mimeType, text: html, _meta }] = contents;
  if (contents.length !== 1 || mimeType !== RESOURCE_MIME_TYPE) throw new Error(`not a page: ${mimeType}`);

  const frame = document.createElement("iframe");
  frame.style = "border: 0; width: 100%; height: 40px";
  const capabilities = { serverTools: {}, serverResources: {}, updateModelContext: { text: {} }, logging: {} };
  const hostContext = { theme, styles: { variables: variables(theme) }, displayMode: "inline", platform: "web" };
  bridge = new AppBridge(client, SELF, capabilities, { hostContext });
  const initialized = new Promise((resolve) => (bridge.oninitialized = resolve));
  const proxied = new Promise((resolve) => (bridge.onsandboxready = resolve));
  bridge.onsizechange = ({ height }) => {
    seen.sizes.push(height);
    frame.style.height = `${height}px`;
  };
  bridge.onupdatemodelcontext = async (params) => {
    seen.contexts.push(params);
    return {};
  };
  document.body.replaceChildren(frame);
  document.body.style.background = theme === "dark" ? "#222" : "#ddd";
  await bridge.connect(new PostMessageTransport(frame.contentWindow, frame.contentWindow));
  frame.src = `${frames}/frame`;
  await proxied;
  await bridge.sendSandboxResourceReady({ html, csp: _meta?.ui?.csp });
  await initialized;
  seen.view = bridge.getAppVersion();
  await bridge.sendToolInput({ arguments: args });
  await bridge.sendToolResult(await client.callTool({ name, arguments: args }));
  return { tools: tools.map(({ name }) => name), declares: EXTENSION in (client.getServerCapabilities().extensions ?? {}) };
}

const variables = (theme) => ({ "--color-background-primary": BACKGROUND[theme], "--color-text-primary": TEXT[theme] });

/** Changes the theme while the page is shown. */
const change = (theme) => bridge.sendHostContextChange({ theme, styles: { variables: variables(theme) } });

/** Ends the page; the page's answer. */
async function end() {
  const answer = await bridge.teardownResource({});
  await client.close();
  return answer;
}

window.host = { show, change, end, seen };

// Adapters that give the official TypeScript clients, version 1 and 2, one interface.

import { readFileSync } from "node:fs";

import * as two from "@modelcontextprotocol/client";
import * as twoStdio from "@modelcontextprotocol/client/stdio";
import { Client as ClientOne } from "@modelcontextprotocol/sdk/client/index.js";
import * as oneSse from "@modelcontextprotocol/sdk/client/sse.js";
import * as oneStdio from "@modelcontextprotocol/sdk/client/stdio.js";
import * as oneHttp from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import * as schemas from "@modelcontextprotocol/sdk/types.js";

export const HANDSHAKE = "2025-11-25";
export const MODERN = "2026-07-28";

/** All client capabilities. */
const CAPABILITIES = { roots: {}, sampling: { tools: {} }, elicitation: { form: {}, url: {} } };
export const SELF = { name: "tests", version: "0" };

/** Version 1 takes a schema where version 2 takes the name of the method. */
const SCHEMAS = {
  "elicitation/create": schemas.ElicitRequestSchema,
  "notifications/message": schemas.LoggingMessageNotificationSchema,
  "notifications/resources/updated": schemas.ResourceUpdatedNotificationSchema,
  "notifications/tools/list_changed": schemas.ToolListChangedNotificationSchema,
  "roots/list": schemas.ListRootsRequestSchema,
  "sampling/createMessage": schemas.CreateMessageRequestSchema,
};

class One extends ClientOne {
  constructor() {
    super(SELF, { capabilities: CAPABILITIES });
  }

  answer(method, handler) {
    this.setRequestHandler(SCHEMAS[method], handler);
  }

  onNotification(method, handler) {
    this.setNotificationHandler(SCHEMAS[method], handler);
  }

  /** Without the schema of the result, which has a default. */
  callTool(params, options) {
    return super.callTool(params, undefined, options);
  }
}

class Two extends two.Client {
  constructor(mode) {
    super(SELF, { capabilities: CAPABILITIES, versionNegotiation: { mode } });
  }

  answer(method, handler) {
    this.setRequestHandler(method, handler);
  }

  onNotification(method, handler) {
    this.setNotificationHandler(method, handler);
  }
}

/** The short name of an installed official package, and its version. */
export function named(name) {
  const manifest = readFileSync(new URL(`node_modules/${name}/package.json`, import.meta.url), "utf8");
  return `${name.replace("@modelcontextprotocol/", "")} ${JSON.parse(manifest).version}`;
}

/** Each client with its transports. `mode` is the version negotiation of version 2. */
export const ONE = {
  name: named("@modelcontextprotocol/sdk"),
  client: () => new One(),
  Stdio: oneStdio.StdioClientTransport,
  Http: oneHttp.StreamableHTTPClientTransport,
  Sse: oneSse.SSEClientTransport,
};
export const TWO = {
  name: named("@modelcontextprotocol/client"),
  client: (mode) => new Two(mode),
  Stdio: twoStdio.StdioClientTransport,
  Http: two.StreamableHTTPClientTransport,
  Sse: two.SSEClientTransport,
};

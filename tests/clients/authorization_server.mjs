// An authorization server for tests: `oidc-provider`, which is certified for OpenID Connect, with its own pages to
// sign in and to agree. Its tokens are JWTs for the named resource (RFC 8707), except those of one client.

import { generateKeyPairSync, randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";

import { Provider } from "oidc-provider";
import { createMemoryAdapter } from "oidc-provider/lib/adapters/memory_adapter.js";

export const SCOPE = "mcp";
/** The clients that do not register themselves: their secrets are their names with a tail. */
export const secretOf = (client) => `${client}-0123456789abcdef0123456789abcdef`;
/** Get tokens without a user; the first sends its secret in a header, the second in the body. */
export const MACHINE = "machine";
export const MACHINE_BY_BODY = "machine-by-body";
/** Its tokens are opaque. */
export const OPAQUE = "opaque";
/** The resource server, which asks about opaque tokens. */
export const RESOURCE_SERVER = "wharf";

const PATH = "/team";
/** How much the clocks of a server may differ from this one, in seconds. */
const LEEWAY = 60;
/** What clients are told, in seconds. */
const LIFETIME = 3600;

/** A client that needs no redirect. */
function machine(client, method = "client_secret_basic") {
  const rest = { grant_types: ["client_credentials"], response_types: [], redirect_uris: [], scope: SCOPE };
  return { client_id: client, client_secret: secretOf(client), token_endpoint_auth_method: method, ...rest };
}

function signingKey() {
  const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  return { ...privateKey.export({ format: "jwk" }), kid: randomUUID(), use: "sig" };
}

export class AuthorizationServer {
  /** The kinds of the grants, as `authorization_code`, in the order in which tokens were issued for them. */
  grants = [];
  /** All access tokens. */
  tokens = [];
  /** The parameters of requests to sign in. */
  asked = [];
  registered = 0;

  #adapter = createMemoryAdapter();
  #seconds;
  #server;
  #handle;

  /** Its JWTs hold for so many seconds, though clients are told an hour. */
  static async start(seconds = LIFETIME) {
    const self = new AuthorizationServer();
    self.#seconds = seconds;
    self.#server = createServer((request, response) => {
      // As a framework does that mounts a server below a path.
      request.originalUrl = request.url;
      request.url = request.url.startsWith(PATH) ? request.url.slice(PATH.length) : "/elsewhere";
      self.#handle(request, response);
    });
    self.#server.listen(0, "127.0.0.1");
    await once(self.#server, "listening");
    self.issuer = `http://127.0.0.1:${self.#server.address().port}${PATH}`;
    self.rotate();
    return self;
  }

  /** Takes its key away, and signs with another one. What it knows of clients and users stays. */
  rotate() {
    const provider = new Provider(this.issuer, this.#settings([signingKey()]));
    provider.on("grant.success", ({ body, oidc }) => {
      this.grants.push(oidc.params.grant_type);
      this.tokens.push(body.access_token);
    });
    provider.on("authorization.accepted", ({ oidc }) => void this.asked.push({ ...oidc.params }));
    provider.on("registration_create.success", () => void (this.registered += 1));
    for (const kind of ["grant.error", "authorization.error", "registration_create.error", "introspection.error"]) {
      provider.on(kind, (_, error) => console.error(`oidc-provider: ${kind}:`, error.message, error.error_description ?? ""));
    }
    provider.on("server_error", (_, error) => console.error("oidc-provider:", error));
    this.#handle = provider.callback();
  }

  /** Posts a form as one of the clients above; returns the parsed answer. */
  async post(endpoint, client, form) {
    const authorization = `Basic ${Buffer.from(`${client}:${secretOf(client)}`).toString("base64")}`;
    const options = { method: "POST", headers: { authorization }, body: new URLSearchParams(form) };
    const response = await fetch(`${this.issuer}/${endpoint}`, options);
    const text = await response.text();
    if (!response.ok) throw new Error(`${endpoint}: ${response.status} ${text}`);
    return text && JSON.parse(text);
  }

  /** An access token without a user. */
  async token(client, resource) {
    const form = { grant_type: "client_credentials", scope: SCOPE, resource };
    return (await this.post("token", client, form)).access_token;
  }

  stop() {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  #settings(keys) {
    return {
      adapter: this.#adapter,
      clients: [
        machine(MACHINE),
        machine(MACHINE_BY_BODY, "client_secret_post"),
        machine(OPAQUE),
        { ...machine(RESOURCE_SERVER), grant_types: [], scope: undefined },
      ],
      cookies: { keys: ["tests"] },
      features: {
        clientCredentials: { enabled: true },
        devInteractions: { enabled: true },
        introspection: { enabled: true },
        registration: { enabled: true },
        resourceIndicators: {
          enabled: true,
          getResourceServerInfo: (_, resource, client) => ({
            scope: SCOPE,
            audience: resource,
            accessTokenTTL: LIFETIME,
            accessTokenFormat: client.clientId === OPAQUE ? "opaque" : "jwt",
          }),
          // A resource is in the first request of a flow at least.
          useGrantedResource: () => true,
        },
        revocation: { enabled: true },
      },
      findAccount: (_, accountId) => ({ accountId, claims: () => ({ sub: accountId }) }),
      formats: {
        customizers: {
          jwt: (_, token, { payload }) => {
            payload.iat -= LEEWAY;
            payload.exp = payload.iat + this.#seconds;
          },
        },
      },
      issueRefreshToken: (_, client) => client.grantTypeAllowed("refresh_token"),
      jwks: { keys },
      pkce: { required: () => true },
      scopes: ["openid", "offline_access", SCOPE],
    };
  }
}

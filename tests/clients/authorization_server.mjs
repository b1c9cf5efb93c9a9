// An authorization server for tests: discovery (RFC 8414), registration (RFC 7591), the code flow with PKCE
// in which everyone agrees at once, refresh tokens, and access tokens as JWTs for the named resource (RFC 8707).
//
//     node authorization_server.mjs SECONDS
//
// Prints its issuer, then one line for each request. Tokens hold for SECONDS, though clients are told an hour.

import { createHash, generateKeyPairSync, randomUUID, sign } from "node:crypto";
import { createServer } from "node:http";

/** How much the clocks of a server may differ from this one, in seconds. */
const LEEWAY = 60;
const KEY = "key-1";

const seconds = Number(process.argv[2] ?? 300);
const { publicKey, privateKey } = generateKeyPairSync("ed25519");
const codes = new Map();
const refreshTokens = new Map();

const code = (value) => Buffer.from(typeof value === "string" ? value : JSON.stringify(value)).toString("base64url");
const hash = (text) => createHash("sha256").update(text).digest("base64url");

function accessToken(resource, scope, client) {
  const now = Math.floor(Date.now() / 1000);
  const claims = { iss: issuer, aud: resource, sub: "alice", client_id: client, scope, iat: now - LEEWAY };
  const signed = `${code({ alg: "EdDSA", kid: KEY, typ: "at+jwt" })}.${code({ ...claims, exp: now + seconds - LEEWAY })}`;
  return `${signed}.${sign(null, Buffer.from(signed), privateKey).toString("base64url")}`;
}

/** The response to a grant. A resource is in the first request of a flow at least. */
function granted({ resource, scope, client }) {
  const refresh = randomUUID();
  refreshTokens.set(refresh, { resource, scope, client });
  const access = accessToken(resource, scope, client);
  return [200, { access_token: access, token_type: "Bearer", expires_in: 3600, scope, refresh_token: refresh }];
}

function token(form) {
  if (form.grant_type === "refresh_token") {
    const known = refreshTokens.get(form.refresh_token);
    return known ? granted(known) : [400, { error: "invalid_grant" }];
  }
  const asked = codes.get(form.code);
  codes.delete(form.code);
  const proven = asked && asked.code_challenge_method === "S256" && hash(form.code_verifier) === asked.code_challenge;
  const same = proven && asked.redirect_uri === form.redirect_uri && asked.resource === form.resource;
  if (!same) return [400, { error: "invalid_grant" }];
  return granted({ resource: asked.resource, scope: asked.scope ?? "", client: asked.client_id });
}

/** Status, body and headers. */
function answer({ pathname, searchParams }, body) {
  switch (pathname) {
    case "/.well-known/oauth-authorization-server/team":
      return [200, {
        issuer,
        authorization_endpoint: `${issuer}/authorize`,
        token_endpoint: `${issuer}/token`,
        registration_endpoint: `${issuer}/register`,
        jwks_uri: `${issuer}/keys`,
        response_types_supported: ["code"],
        grant_types_supported: ["authorization_code", "refresh_token"],
        code_challenge_methods_supported: ["S256"],
        token_endpoint_auth_methods_supported: ["none"],
        authorization_response_iss_parameter_supported: true,
      }];
    case "/team/keys":
      return [200, { keys: [{ ...publicKey.export({ format: "jwk" }), kid: KEY, use: "sig" }] }];
    case "/team/register":
      return [201, { ...JSON.parse(body), client_id: randomUUID(), token_endpoint_auth_method: "none" }];
    case "/team/authorize": {
      const issued = randomUUID();
      codes.set(issued, Object.fromEntries(searchParams));
      const to = new URL(searchParams.get("redirect_uri"));
      for (const [name, value] of [["code", issued], ["state", searchParams.get("state") ?? ""], ["iss", issuer]]) {
        to.searchParams.set(name, value);
      }
      return [302, undefined, { location: to.href }];
    }
    case "/team/token":
      return token(Object.fromEntries(new URLSearchParams(body)));
    default:
      return [404, { error: "not_found" }];
  }
}

const server = createServer(async (request, response) => {
  let body = "";
  for await (const part of request) body += part;
  const url = new URL(request.url, issuer);
  const grant = new URLSearchParams(body).get("grant_type");
  console.log(request.method, url.pathname, grant ?? url.searchParams.get("resource") ?? "");
  const [status, content, headers] = answer(url, body);
  response.writeHead(status, { "content-type": "application/json", ...headers });
  response.end(content && JSON.stringify(content));
});
server.listen(0, "127.0.0.1");
await new Promise((resolve) => server.once("listening", resolve));
const issuer = `http://127.0.0.1:${server.address().port}/team`;
console.log(issuer);

// Tests what `wharf serve` makes of the tokens of a certified authorization server. Run it from the repository's root,
// after install.sh:
//
//     node target/clients/node/issued.mjs BINARY
//
// Prints one line per check and a count at the end; the exit code is 0 if all passed. It takes a minute, for which
// answers about opaque tokens may be used.

import assert from "node:assert/strict";
import { createHash, randomUUID } from "node:crypto";
import { resolve } from "node:path";

import { MACHINE, OPAQUE, SCOPE } from "./authorization_server.mjs";
import { signIn } from "./browser.mjs";
import { TIMEOUT, until } from "./home.mjs";
import { protectedServer, Report } from "./protected.mjs";

const REDIRECT = "http://localhost:3030/callback";
const OTHER = "https://other.example/mcp";

/** The claims of a JWT. */
const claims = (token) => JSON.parse(Buffer.from(token.split(".")[1], "base64url"));

/** What a user's client gets, which asks for all kinds of tokens. */
async function signedIn(issuer, resource) {
  const post = async (endpoint, type, body) => {
    const response = await fetch(`${issuer}/${endpoint}`, { method: "POST", headers: { "content-type": type }, body });
    const answer = await response.json();
    assert.ok(response.ok, JSON.stringify(answer));
    return answer;
  };
  const metadata = { redirect_uris: [REDIRECT], token_endpoint_auth_method: "none" };
  const grants = { grant_types: ["authorization_code", "refresh_token"] };
  const { client_id } = await post("reg", "application/json", JSON.stringify({ ...metadata, ...grants }));
  const verifier = randomUUID() + randomUUID();
  const code_challenge = createHash("sha256").update(verifier).digest("base64url");
  const asked = { client_id, redirect_uri: REDIRECT, response_type: "code", resource, nonce: "n", prompt: "consent" };
  const proof = { code_challenge, code_challenge_method: "S256" };
  const query = new URLSearchParams({ ...asked, ...proof, scope: `openid offline_access ${SCOPE}` });
  const { searchParams } = new URL(await signIn(`${issuer}/auth?${query}`));
  const form = { grant_type: "authorization_code", client_id, redirect_uri: REDIRECT, code: searchParams.get("code") };
  return post("token", "application/x-www-form-urlencoded", new URLSearchParams({ ...form, code_verifier: verifier }));
}

const binary = resolve(process.argv[2]);
const report = new Report();
await protectedServer(binary, "http", undefined, async ({ authorization, resource, status }) => {
  const machine = await authorization.token(MACHINE, resource);
  await report.check("issued: a machine's JWT is accepted", async () => {
    const { aud, iss, scope } = claims(machine);
    assert.deepEqual([aud, iss, scope], [resource, authorization.issuer, SCOPE]);
    assert.equal(await status(machine), 200);
  });
  await report.check("issued: of a user's tokens only the access token is accepted", async () => {
    const tokens = await signedIn(authorization.issuer, resource);
    assert.equal(claims(tokens.access_token).sub, "alice");
    const statuses = [tokens.access_token, tokens.id_token, tokens.refresh_token].map(status);
    assert.deepEqual(await Promise.all(statuses), [200, 401, 401]);
  });
  await report.check("issued: a token for another resource is refused", async () => {
    const tokens = [await authorization.token(MACHINE, OTHER), await authorization.token(OPAQUE, OTHER)];
    assert.deepEqual(await Promise.all(tokens.map(status)), [401, 401]);
  });
  const opaque = await authorization.token(OPAQUE, resource);
  await report.check("issued: an opaque token is accepted", async () => {
    assert.ok(!opaque.includes("."), opaque);
    assert.equal(await status(opaque), 200);
  });
  await report.check("issued: a token that was revoked before its first use is refused", async () => {
    const revoked = await authorization.token(OPAQUE, resource);
    await authorization.post("token/revocation", OPAQUE, { token: revoked });
    assert.equal(await status(revoked), 401);
  });
  await authorization.post("token/revocation", OPAQUE, { token: opaque });
  authorization.rotate();
  const next = await authorization.token(MACHINE, resource);
  // Both take their time.
  await Promise.all([
    report.check("issued: a token that was in use is refused a minute after it was revoked", () =>
      until("the end of a revoked token", async () => (await status(opaque)) === 401, 2 * TIMEOUT),
    ),
    report.check("issued: a new key is found, and tokens of the one that was taken away are refused", async () => {
      assert.equal(await status(machine), 200, "the key is used until the keys are fetched again");
      await until("the next key", async () => (await status(next)) === 200);
      assert.equal(await status(machine), 401);
    }),
  ]);
});
report.end();

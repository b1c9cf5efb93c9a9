// A browser without a screen, of a user who signs in and agrees to everything.

/** Opens a page of the authorization server, and returns the address to which that leads its user at last. */
export async function signIn(url, user = "alice") {
  const { origin } = new URL(url);
  const cookies = new Map();
  let form;
  // To sign in and to agree take some six steps.
  for (let step = 0; step < 20; step += 1) {
    const cookie = [...cookies].map((pair) => pair.join("=")).join("; ");
    const response = await fetch(url, { redirect: "manual", headers: { cookie }, ...form });
    for (const text of response.headers.getSetCookie()) {
      const [, name, value] = text.match(/^([^=]+)=([^;]*)/);
      if (value) cookies.set(name, value);
      else cookies.delete(name);
    }
    const location = response.headers.get("location");
    const page = await response.text();
    if (location) {
      [url, form] = [new URL(location, url).href, undefined];
      if (new URL(url).origin !== origin) return url;
      continue;
    }
    const action = page.match(/<form[^>]* action="([^"]+)"/)?.[1];
    if (!action) throw new Error(`no form at ${url}: ${response.status} ${page}`);
    const fields = [...page.matchAll(/<input [^>]*name="([^"]+)"(?:[^>]* value="([^"]*)")?/g)];
    const body = new URLSearchParams(fields.map(([, name, value]) => [name, value ?? user]));
    [url, form] = [new URL(action, url).href, { method: "POST", body }];
  }
  throw new Error(`${url} leads nowhere`);
}

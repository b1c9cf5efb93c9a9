// The page: follows the server, and shows the view that the address names.

import { follow, get, hasToken, setToken, takeToken } from "./api.js";
import { approvals } from "./approvals.js";
import { calls } from "./calls.js";
import { failure, fill, h, notice, setText } from "./dom.js";
import { plural } from "./format.js";
import { graphs } from "./graphs.js";
import { isExact } from "./json.js";
import { plugin } from "./plugin.js";
import { plugins } from "./plugins.js";
import { review } from "./review.js";
import { prompt, resource, tool } from "./try.js";

/** Records that are kept for the list of calls. */
const MAX_RECORDS = 500;
/** Milliseconds between two readings of what runs, while calls come. */
const PAUSE = 2000;

/**
 * A view is made with this, with what follows its name in the address, and with what reads the decisions again. It may
 * have `update`, which is called for each event.
 */
const VIEWS = { plugins, plugin, review, calls, approvals, hour: graphs, tool, resource, prompt };

const state = { overview: undefined, approvals: undefined, records: [], skipped: 0, revision: undefined };
let view = {};
let readAt = 0;
let reading;
let asking;

function show() {
  const [, name = "plugins", ...rest] = location.hash.split("/");
  const main = document.getElementById("main");
  view.close?.();
  const make = Object.hasOwn(VIEWS, name) ? VIEWS[name] : plugins;
  view = make(main, state, decoded(rest.join("/")), readApprovals) ?? {};
  for (const link of document.querySelectorAll("nav a")) {
    if (link.hash === `#/${name}`) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  document.title = `${main.querySelector("h1")?.textContent ?? "Wharf"} – Wharf`;
}

/** What is not encoded, by hand, is taken as it is. */
function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Reads what runs: at once if it has changed, and now and then for what it costs. */
function readOverview(changed) {
  const due = changed ? 0 : readAt + PAUSE - Date.now();
  if (reading || due > 0) return;
  readAt = Date.now();
  reading = get("overview")
    .then((overview) => {
      state.overview = overview;
      setText(document.getElementById("server"), `${overview.server.version} · ${overview.server.folder}`);
      view.update?.({ overview: true });
    })
    .catch((error) => view.update?.({ error }))
    .finally(() => {
      reading = undefined;
      if (state.stale) {
        state.stale = false;
        readOverview(true);
      }
    });
}

/** Reads which calls wait for a decision. */
function readApprovals() {
  asking ??= get("approvals")
    .then(({ calls }) => {
      state.approvals = { calls };
      const waiting = calls.filter((call) => call.state === "waits").length;
      setText(document.getElementById("waiting"), waiting ? ` (${plural(waiting, "waits", "wait")})` : "");
    })
    .catch((error) => (state.approvals = { error }))
    .finally(() => {
      asking = undefined;
      view.update?.({ approvals: true });
    });
}

function onBatch({ revision, skipped, records }) {
  state.skipped += skipped;
  state.records = [...state.records, ...records].slice(-MAX_RECORDS);
  const changed = revision !== state.revision;
  state.revision = revision;
  if (changed && reading) state.stale = true;
  readOverview(changed);
  view.update?.({ records, changed });
}

function onState(what, error) {
  const status = document.getElementById("status");
  status.classList.toggle("lost", what !== "connected");
  if (what === "connected") {
    // The server may be another one: numbers begin again.
    Object.assign(state, { records: [], skipped: 0, revision: undefined });
  }
  setText(status, { connected: "Connected", lost: "Connection lost; trying again", refused: "Not signed in" }[what]);
  if (what === "refused") signIn(error);
}

/** Asks for the token, which is in the address that the server printed, or in its configuration. */
function signIn(error) {
  view.close?.();
  view = {};
  const input = h("input", { type: "password", id: "token", autocomplete: "off", required: true });
  const onsubmit = (event) => {
    event.preventDefault();
    setToken(input.value.trim());
    location.reload();
  };
  const label = h("label", { for: "token" }, "Token");
  fill(
    document.getElementById("main"),
    h("h1", {}, "Sign in"),
    error.status === 401 ? hasToken() && notice("That is not the token of this server, or it has been started again.") : failure(error),
    h("p", {}, "Open the address that the server printed when it was started, or enter the token of page.token."),
    h("form", { onsubmit }, h("div", { class: "field" }, label, input), h("button", { class: "strong" }, "Sign in")),
  );
  input.focus();
}

document.getElementById("skip").addEventListener("click", (event) => {
  event.preventDefault();
  document.getElementById("main").focus();
});
takeToken();
addEventListener("hashchange", () => {
  // The address of another start of the server, in the same tab.
  if (!location.hash.startsWith("#/")) {
    takeToken();
    return location.reload();
  }
  show();
  document.getElementById("main").focus();
});
setInterval(() => {
  if (state.revision === undefined || document.visibilityState !== "visible") return;
  readOverview(false);
  readApprovals();
}, PAUSE);
if (!isExact) document.getElementById("main").before(notice("This browser rounds whole numbers of more than 15 digits, in forms and in results. A newer one does not."));
show();
follow(onBatch, onState);

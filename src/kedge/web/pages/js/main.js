/** The shell: who is signed in, which page is shown, and the way between pages. */
import { Problem, get, post, del, setCsrf } from "./api.js";
import { fill, h, problemBox, s } from "./dom.js";
import { personOf } from "./format.js";
import * as overview from "./views/overview.js";
import * as cluster from "./views/cluster.js";
import * as broker from "./views/broker.js";
import * as topics from "./views/topics.js";
import * as topic from "./views/topic.js";
import * as balance from "./views/balance.js";
import * as plan from "./views/plan.js";
import * as prediction from "./views/prediction.js";
import * as runs from "./views/runs.js";
import * as run from "./views/run.js";
import * as proposals from "./views/proposals.js";
import * as proposal from "./views/proposal.js";
import * as history from "./views/history.js";
import * as controller from "./views/controller.js";
import * as audit from "./views/audit.js";

const ROUTES = [
  [/^(?:signin)?$/, overview.page, ""],
  [/^clusters\/([\w.-]+)$/, cluster.page, "cluster"],
  [/^clusters\/([\w.-]+)\/brokers\/(\d+)$/, broker.page, "cluster"],
  [/^clusters\/([\w.-]+)\/topics$/, topics.page, "topics"],
  [/^clusters\/([\w.-]+)\/topics\/([\w.-]+)$/, topic.page, "topics"],
  [/^clusters\/([\w.-]+)\/balance$/, balance.page, "balance"],
  [/^clusters\/([\w.-]+)\/plans\/([0-9a-f]+)$/, plan.page, "balance"],
  [/^clusters\/([\w.-]+)\/predictions\/([0-9a-f]+)$/, prediction.page, "balance"],
  [/^clusters\/([\w.-]+)\/runs$/, runs.page, "runs"],
  [/^clusters\/([\w.-]+)\/runs\/([\w.:-]+)$/, run.page, "runs"],
  [/^clusters\/([\w.-]+)\/proposals$/, proposals.page, "proposals"],
  [/^clusters\/([\w.-]+)\/proposals\/([\w.:-]+)$/, proposal.page, "proposals"],
  [/^clusters\/([\w.-]+)\/history$/, history.page, "history"],
  [/^clusters\/([\w.-]+)\/controller$/, controller.page, "controller"],
  [/^audit$/, audit.page, "audit"],
];
const TABS = [
  ["cluster", "Cluster", ""],
  ["topics", "Topics", "/topics"],
  ["balance", "Balance", "/balance"],
  ["runs", "Runs", "/runs"],
  ["proposals", "Proposals", "/proposals"],
  ["history", "History", "/history"],
  ["controller", "Controller", "/controller"],
];
const RETRY_MS = 3000;
const main = /** @type {HTMLElement} */ (document.getElementById("main"));
const top = /** @type {HTMLElement} */ (document.getElementById("top"));
/** @type {any} */
let session = null;
let leaving = new AbortController();

const anchor = () =>
  s(
    "svg",
    {
      viewBox: "0 0 32 32",
      fill: "none",
      stroke: "currentColor",
      "stroke-width": "2.6",
      "stroke-linecap": "round",
      "aria-hidden": "true",
    },
    s("circle", { cx: 16, cy: 6, r: 3 }),
    s("path", {
      d: "M16 9v19M10 13h12M4 19c1 6 6 9 12 9s11-3 12-9M4 19l-1.5 3.5M4 19l3.5 2M28 19l1.5 3.5M28 19l-3.5 2",
    }),
  );

/** @param {string} active @param {string} [name] */
function shell(active, name) {
  const tabs = name
    ? TABS.map(([id, text, path]) =>
        h("a", { href: `#/clusters/${name}${path}`, "aria-current": id === active ? "page" : null }, text),
      )
    : [];
  fill(
    top,
    h(
      "div",
      { class: "bar" },
      h("a", { class: "brand", href: "#/" }, anchor(), "Kedge"),
      name && h("span", { class: "where" }, name),
      h(
        "nav",
        { class: "tabs", "aria-label": "Pages" },
        tabs,
        h("a", { href: "#/audit", "aria-current": active === "audit" ? "page" : null }, "Audit"),
      ),
      h(
        "div",
        { class: "who" },
        session.read_only && h("span", { class: "badge" }, "read-only"),
        h("span", { class: "name", title: session.name }, personOf(session.name)),
        h("button", { onclick: signOut }, "Sign out"),
      ),
    ),
  );
  top.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });
  if (name) countProposals(name, leaving.signal).catch(() => {}); // the page itself says what is wrong
}

/** How many proposals wait for a decision, beside the name of their page. @param {string} name @param {AbortSignal} signal */
async function countProposals(name, signal) {
  const { open_proposals: open } = await get(`/clusters/${name}/loop`, signal);
  const tab = top.querySelector(`a[href$="/proposals"]`);
  if (open && tab) tab.append(h("span", { class: "count", title: `${open} open` }, open));
}

async function signOut() {
  leaving.abort(); // streams and reads of the page hold connections that this request needs
  try {
    await del("/session");
    session = null;
  } finally {
    show();
  }
}

/** Why a sign-in at the identity provider has failed, by the code that the server sends the browser back with. */
const FAILED = new Map([
  ["denied", ["The identity provider did not sign you in", "sign in again, or ask its administrators"]],
  ["no-role", ["None of your groups has a role on this server", "an administrator of this server gives groups roles"]],
  ["provider", ["The identity provider cannot be reached", "try again in a moment"]],
  ["refused", ["The sign-in is too old, or does not belong to this browser", "sign in again"]],
]);

/** What is wrong, once: neither a reload nor the next sign-in shows it again. */
function signInProblem() {
  const found = FAILED.get(/^#\/signin\?problem=([a-z-]+)$/.exec(location.hash)?.[1] ?? "");
  if (location.hash.startsWith("#/signin")) window.history.replaceState(null, "", "#/");
  return found ? problemBox({ detail: found[0], hint: found[1] }) : null;
}

/** @param {any} options */
async function signIn(options) {
  fill(top);
  document.title = "Sign in · Kedge";
  const token = /** @type {HTMLInputElement} */ (
    h("input", { type: "password", id: "token", autocomplete: "current-password", required: true })
  );
  const fault = h("div", {}, signInProblem());
  const user = h("input", { type: "text", name: "username", autocomplete: "username", value: "token", hidden: true });
  const form = h(
    "form",
    {
      onsubmit: async (event) => {
        event.preventDefault();
        try {
          session = await post("/session", { token: token.value.trim() });
          setCsrf(session.csrf);
          show();
        } catch (error) {
          fill(fault, problemBox(error));
          token.focus();
        }
      },
    },
    user,
    h(
      "div",
      { class: "field" },
      h("label", { for: "token" }, "Token"),
      token,
      h("div", { class: "hint" }, "kedge serve prints the first one when it starts."),
    ),
    fault,
    h("button", { class: "primary", type: "submit" }, "Sign in"),
  );
  fill(
    main,
    h(
      "div",
      { class: "signin card" },
      h("div", { class: "brand" }, anchor(), "Kedge"),
      h("h1", { tabindex: "-1" }, "Sign in"),
      h("p", { class: "sub" }, "Place, move and balance Kafka replicas."),
      options.oidc && h("p", {}, h("a", { class: "button", href: "/oidc/begin" }, "Sign in with your organisation")),
      form,
    ),
  );
  token.focus();
}

async function show() {
  leaving.abort();
  leaving = new AbortController();
  if (!session) {
    const options = await get("/session/options");
    if (!options.signed_in) return signIn(options);
    session = await get("/session");
    setCsrf(session.csrf);
  }
  const path = decodeURI(location.hash.replace(/^#\/?/, "").replace(/[?].*$/, ""));
  for (const [pattern, page, tab] of ROUTES) {
    const found = /** @type {RegExp} */ (pattern).exec(path);
    if (found) return draw(/** @type {any} */ (page), /** @type {string} */ (tab), found.slice(1));
  }
  shell("");
  fill(main, h("h1", { tabindex: "-1" }, "No such page"), h("p", {}, h("a", { href: "#/" }, "Overview")));
}

/** @param {(context: any) => Promise<Node>} page @param {string} tab @param {string[]} params */
async function draw(page, tab, params) {
  const signal = leaving.signal;
  shell(tab, tab === "audit" ? undefined : params[0]);
  const context = {
    params,
    signal,
    session,
    main,
    go: (where) => {
      location.hash = where;
    },
    may: (role) => may(role, params[0]),
  };
  try {
    const node = await page(context);
    if (signal.aborted) return;
    fill(main, node);
    requestAnimationFrame(() => setTimeout(() => performance.mark("page-shown"))); // after the frame that has it
  } catch (error) {
    if (signal.aborted) return;
    const later = error instanceof Problem && error.status === 503; // the cluster was not read yet, or is away
    fill(
      main,
      h("h1", { tabindex: "-1" }, "This cannot be shown"),
      error instanceof Problem ? problemBox(error) : h("p", {}, String(error)),
      later && h("p", { class: "sub" }, "It is tried again every few seconds."),
    );
    if (later)
      setTimeout(() => {
        if (!signal.aborted) draw(page, tab, params);
      }, RETRY_MS);
    else if (!(error instanceof Problem)) throw error;
  }
  const title = main.querySelector("h1");
  document.title = `${title?.textContent ?? ""} · Kedge`;
  title?.focus({ preventScroll: true });
}

const ROLES = ["read", "plan", "apply", "admin"];
/** @param {string} role @param {string} name */
function may(role, name) {
  const own = Math.max(ROLES.indexOf(session.grants["*"]), ROLES.indexOf(session.grants[name]));
  return own >= ROLES.indexOf(role) && (!session.read_only || role === "read" || role === "plan");
}

addEventListener("hashchange", show);
addEventListener("kedge-signed-out", () => {
  session = null;
  show();
});
show();

/** The audit: who changed what, from where; what was refused. And the tokens of this server. */
import { del, get, post } from "../api.js";
import { ask, badge, field, fill, h, problemBox, table, tell } from "../dom.js";
import { bytes, duration, personOf, time } from "../format.js";

const PAGE = 100;
const ROLES = ["read", "plan", "apply", "admin"];

const RATES = ["throttle", "rate"];

/** A value of the audit as people read it. @param {string} name @param {any} value @returns {string} */
function valueOf(name, value) {
  if (value === null || value === undefined) return "–";
  if (Array.isArray(value)) return value.length ? value.map((each) => valueOf(name, each)).join(", ") : "none";
  if (typeof value === "object") return `(${linesOf(value).join(", ")})`;
  if (RATES.includes(name) && Number(value) > 0) return `${bytes(Number(value))}/s`;
  return name.endsWith("_s") ? duration(Number(value)) : String(value);
}

/** Whether a field says nothing. @param {any} value */
const isNothing = (value) =>
  value === null ||
  value === undefined ||
  value === false ||
  value === "" ||
  (typeof value === "object" && !Object.keys(value).length);

/** The fields of a document, a text each. @param {Record<string, any>} row */
const linesOf = (row) =>
  Object.entries(row)
    .filter(([, value]) => !isNothing(value))
    .map(([name, value]) => `${named(name)}${value === true ? "" : ` ${valueOf(name, value)}`}`);

/** @param {string} name of a field */
const named = (name) => name.replace(/_s$/, "").replaceAll("_", " ");

/** What changed: fields that both sides have with an arrow, then the others. @param {any} e an entry */
function changed(e) {
  const before = e.before ?? {},
    after = e.after ?? {};
  const kept = Object.keys(before).filter((name) => name in after && isNothing(after[name]));
  const both = Object.keys(before).filter((name) => name in after && !kept.includes(name) && !isNothing(before[name]));
  const same = (name, value) => both.includes(name) || kept.includes(name) || e.target.endsWith(` ${value}`);
  const rest = (row) => linesOf(Object.fromEntries(Object.entries(row).filter(([n, value]) => !same(n, value))));
  const arrows = both.map(
    (name) => `${named(name)} ${valueOf(name, before[name])} → ${valueOf(name, after[name])}`,
  );
  const gone = rest(before).map((text) => `was ${text}`);
  return [...arrows, ...gone, ...rest(after)].join(", ");
}

/** @param {any} e an entry */
const row = (e) =>
  h(
    "tr",
    { role: "row" },
    [
      ["when", time(e.at)],
      ["", [h("span", { title: e.who }, personOf(e.who)), h("div", { class: "hint mono" }, e.source)]],
      ["", h("strong", {}, e.action)],
      ["", e.cluster ?? ""],
      ["wide", e.target],
      ["", badge(e.outcome)],
      ["wide", e.detail || changed(e)],
    ].map(([kind, value]) => h("td", { class: kind, role: "cell" }, value)),
  );

/** @param {any} context */
export async function page({ signal, session, main }) {
  const admin = session.grants["*"] === "admin";
  const clusters = Object.entries(session.grants)
    .filter(([, role]) => role === "admin")
    .map(([name]) => name);
  if (!clusters.length)
    return h(
      "div",
      {},
      h("h1", { tabindex: "-1" }, "Audit"),
      h("p", { class: "card empty" }, "The audit is for administrators."),
    );
  const path = admin ? "/audit" : `/audit?cluster=${encodeURIComponent(clusters[0])}`;
  const [{ entries }, { tokens }, { sessions }] = await Promise.all([
    get(path, signal),
    admin ? get("/tokens", signal) : { tokens: [] },
    admin ? get("/sessions", signal) : { sessions: [] },
  ]);
  const again = async () => {
    fill(main, await page({ signal, session, main }));
  };
  const body = h("tbody", { role: "rowgroup" }, entries.map(row));
  const older = async () => {
    const next = await get(`${path}${path.includes("?") ? "&" : "?"}before=${entries.at(-1).id}`, signal);
    entries.push(...next.entries);
    body.append(...next.entries.map(row));
    if (next.entries.length < PAGE) more.remove();
  };
  const more = h("p", {}, h("button", { onclick: older }, "Older entries"));
  return h(
    "div",
    {},
    h(
      "div",
      { class: "head" },
      h("div", {}, h("h1", { tabindex: "-1" }, "Audit"), h("div", { class: "sub" }, "every change and every refusal")),
    ),
    h(
      "div",
      { class: "table tall", tabindex: "0" },
      h(
        "table",
        { class: "stacked", role: "table" }, // rows are boxes on a phone, and rows of a table still
        h(
          "thead",
          { role: "rowgroup" },
          h(
            "tr",
            { role: "row" },
            ["When", "Who", "Action", "Cluster", "Target", "Outcome", "Detail"].map((t) =>
              h("th", { scope: "col", role: "columnheader" }, t),
            ),
          ),
        ),
        body,
      ),
    ),
    entries.length >= PAGE && more,
    admin && tokenCard(tokens, session, again),
    admin && sessionCard(sessions, session, again),
  );
}

/** @param {any} account a token or a session */
const rolesOf = ({ grants }) =>
  Object.entries(grants)
    .map(([cluster, role]) => `${cluster}: ${role}`)
    .join(", ");

/** The browsers that are signed in. @param {any[]} sessions @param {any} session @param {() => Promise<void>} again */
function sessionCard(sessions, session, again) {
  const end = async (/** @type {any} */ s) => {
    const agreed = await ask(`Sign ${personOf(s.name)} out?`, "The browser is refused at once; the person may sign in again.", {
      agree: "End the session",
      danger: true,
    });
    if (!agreed) return;
    await del(`/sessions/${s.id}`);
    tell("The session has ended");
    await again();
  };
  const button = (/** @type {any} */ s) =>
    h("button", { class: "danger", "aria-label": `End ${personOf(s.name)} ${s.id}`, onclick: () => end(s) }, "End");
  return h(
    "div",
    { class: "card" },
    h("h2", {}, "Sessions"),
    table(
      [["Who"], ["Signed in by"], ["Roles"], ["Began"], ["Ends"], [""]],
      sessions.map((s) => [
        h("span", { title: s.name }, personOf(s.name)),
        s.kind === "oidc" ? "identity provider" : "token",
        rolesOf(s) || "none",
        time(s.created_at),
        time(s.expires_at),
        !session.read_only && button(s),
      ]),
    ),
  );
}

/** @param {any[]} tokens @param {() => Promise<void>} again */
function tokenTable(tokens, again) {
  const revoke = async (/** @type {any} */ t) => {
    if (
      !(await ask(`Revoke ${t.name}?`, "Programs and sessions that use it are refused at once.", {
        agree: "Revoke",
        danger: true,
      }))
    )
      return;
    await del(`/tokens/${t.id}`);
    tell("The token is revoked");
    await again();
  };
  return table(
    [["Name"], ["Id"], ["Roles"], ["Made"], ["Last used"], ["Expires"], [""]],
    tokens.map((t) => [
      t.name,
      h("span", { class: "mono" }, t.id),
      rolesOf(t),
      time(t.created_at),
      time(t.used_at),
      t.expires_at ? time(t.expires_at) : "never",
      h("button", { class: "danger", "aria-label": `Revoke ${t.name} ${t.id}`, onclick: () => revoke(t) }, "Revoke"),
    ]),
  );
}

/** @param {any[]} tokens @param {any} session @param {() => Promise<void>} again */
function tokenCard(tokens, session, again) {
  const input = (attrs) => /** @type {HTMLInputElement} */ (h("input", attrs));
  const name = input({ required: true, maxlength: 100 }),
    where = input({ value: "*" }),
    days = input({ type: "number", min: 1, max: 3650, value: 90 });
  const role = /** @type {HTMLSelectElement} */ (
      h(
        "select",
        {},
        ROLES.map((r) => h("option", { value: r }, r)),
      )
    ),
    made = h("div", {});
  const make = async (/** @type {Event} */ event) => {
    event.preventDefault();
    try {
      const t = await post("/tokens", {
        name: name.value,
        grants: { [where.value]: role.value },
        days: Number(days.value),
      });
      fill(made, h("p", { class: "note" }, "Shown once: ", h("code", {}, t.token)));
    } catch (error) {
      fill(made, problemBox(error));
    }
  };
  return h(
    "div",
    { class: "card" },
    h("h2", {}, "Tokens"),
    tokenTable(tokens, again),
    !session.read_only &&
      h(
        "form",
        { class: "spaced", onsubmit: make },
        h(
          "div",
          { class: "grid tight" },
          field("Name", name),
          field("Cluster", where, "* for all"),
          field("Role", role),
          field("Days", days),
        ),
        h("button", { type: "submit" }, "Make a token"),
        made,
      ),
  );
}

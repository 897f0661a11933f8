/** The audit: who changed what, from where; what was refused. And the tokens of this server. */
import { del, get, post } from "../api.js";
import { ask, badge, field, fill, h, problemBox, table, tell } from "../dom.js";
import { time } from "../format.js";

const PAGE = 100;
const ROLES = ["read", "plan", "apply", "admin"];

/** A document of the audit in one line. @param {any} value @returns {string} */
function shown(value) {
  if (value === null || value === undefined) return "–";
  if (Array.isArray(value)) return value.length ? value.map(shown).join(", ") : "none";
  if (typeof value !== "object") return String(value);
  return Object.entries(value)
    .filter(([, each]) => each !== null && each !== false && !(Array.isArray(each) && !each.length))
    .map(([name, each]) => `${name} ${typeof each === "object" ? `(${shown(each)})` : each}`)
    .join(", ");
}

/** @param {any} e an entry */
const row = (e) =>
  h(
    "tr",
    {},
    h("td", {}, time(e.at)),
    h("td", {}, e.who, h("div", { class: "hint mono" }, e.source)),
    h("td", {}, e.action),
    h("td", {}, e.cluster ?? ""),
    h("td", { class: "wide" }, e.target),
    h("td", {}, badge(e.outcome)),
    h("td", { class: "wide" }, e.detail || [e.before, e.after].filter(Boolean).map(shown).join(" → ")),
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
  const [{ entries }, tokens] = await Promise.all([
    get(path, signal),
    admin ? get("/tokens", signal) : Promise.resolve({ tokens: [] }),
  ]);
  const body = h("tbody", {}, entries.map(row));
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
        {},
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            ["When", "Who", "Action", "Cluster", "Target", "Outcome", "Detail"].map((t) =>
              h("th", { scope: "col" }, t),
            ),
          ),
        ),
        body,
      ),
    ),
    entries.length >= PAGE && more,
    admin &&
      tokenCard(tokens.tokens, session, async () => {
        fill(main, await page({ signal, session, main }));
      }),
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
      Object.entries(t.grants)
        .map(([c, r]) => `${c}: ${r}`)
        .join(", "),
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

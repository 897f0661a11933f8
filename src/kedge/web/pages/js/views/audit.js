/** The audit: who changed what, from where; what was refused. And the tokens of this server. */
import { del, get, post } from "../api.js";
import { ask, badge, field, fill, h, problemBox, tell } from "../dom.js";
import { time } from "../format.js";

const row = (e) => h("tr", {}, h("td", {}, time(e.at)), h("td", {}, e.who), h("td", { class: "mono" }, e.source), h("td", {}, e.action), h("td", {}, e.cluster ?? ""), h("td", {}, e.target), h("td", {}, badge(e.outcome)), h("td", { class: "wide" }, e.detail || [e.before, e.after].filter(Boolean).map((d) => JSON.stringify(d)).join(" → ")));

/** @param {any} context */
export async function page({ signal, session, main }) {
  const admin = session.grants["*"] === "admin";
  const clusters = Object.entries(session.grants).filter(([, role]) => role === "admin").map(([name]) => name);
  if (!clusters.length) return h("div", {}, h("h1", { tabindex: "-1" }, "Audit"), h("p", { class: "card" }, "The audit is for administrators."));
  const path = admin ? "/audit" : `/audit?cluster=${encodeURIComponent(clusters[0])}`;
  const [{ entries }, tokens] = await Promise.all([get(path, signal), admin ? get("/tokens", signal) : Promise.resolve({ tokens: [] })]);
  const body = h("tbody", {}, entries.map(row));
  const more = h("button", { onclick: async () => { const last = entries.at(-1); const next = await get(`${path}${path.includes("?") ? "&" : "?"}before=${last.id}`, signal); entries.push(...next.entries); body.append(...next.entries.map(row)); if (next.entries.length < 100) more.remove(); } }, "Older entries");
  return h("div", {}, h("div", { class: "head" }, h("h1", { tabindex: "-1" }, "Audit")),
    h("div", { class: "table", tabindex: "0", style: { "max-height": "60vh" } }, h("table", {}, h("thead", {}, h("tr", {}, ["When", "Who", "From", "Action", "Cluster", "Target", "Outcome", "Detail"].map((t) => h("th", {}, t)))), body)), entries.length >= 100 && h("p", {}, more),
    admin && tokenCard(tokens.tokens, session, main, signal));
}

/** @param {any[]} tokens @param {any} session @param {HTMLElement} main @param {AbortSignal} signal */
function tokenCard(tokens, session, main, signal) {
  const name = /** @type {HTMLInputElement} */ (h("input", { required: true, maxlength: 100 })), role = /** @type {HTMLSelectElement} */ (h("select", {}, ["read", "plan", "apply", "admin"].map((r) => h("option", { value: r }, r)))), where = /** @type {HTMLInputElement} */ (h("input", { value: "*" })), days = /** @type {HTMLInputElement} */ (h("input", { type: "number", min: 1, max: 3650, value: 90 }));
  const made = h("div", {});
  return h("div", { class: "card" }, h("h2", {}, "Tokens"), h("div", { class: "table", tabindex: "0" }, h("table", {}, h("thead", {}, h("tr", {}, ["Name", "Id", "Roles", "Made", "Last used", "Expires", ""].map((t) => h("th", {}, t)))), h("tbody", {}, tokens.map((t) => h("tr", {}, h("td", {}, t.name), h("td", { class: "mono" }, t.id), h("td", {}, Object.entries(t.grants).map(([c, r]) => `${c}: ${r}`).join(", ")), h("td", {}, time(t.created_at)), h("td", {}, time(t.used_at)), h("td", {}, t.expires_at ? time(t.expires_at) : "never"),
    h("td", {}, h("button", { class: "danger", "aria-label": `Revoke ${t.name} ${t.id}`, onclick: async () => { if (await ask(`Revoke ${t.name}?`, "Programs and sessions that use it are refused at once.", { agree: "Revoke", danger: true })) { await del(`/tokens/${t.id}`); tell("The token is revoked"); fill(main, await page({ signal, session, main })); } } }, "Revoke"))))))),
    !session.read_only && h("form", { style: { "margin-top": "1rem" }, onsubmit: async (e) => { e.preventDefault(); try { const t = await post("/tokens", { name: name.value, grants: { [where.value]: role.value }, days: Number(days.value) }); fill(made, h("p", { class: "note" }, "Shown once: ", h("code", {}, t.token))); } catch (error) { fill(made, problemBox(error)); } } }, h("div", { class: "grid tight" }, field("Name", name), field("Cluster", where, "* for all"), field("Role", role), field("Days", days)), h("button", { type: "submit" }, "Make a token"), made));
}

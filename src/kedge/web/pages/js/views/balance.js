/** Balance: goals and a budget, a plan made live, and the plans so far. */
import { awaitJob, get, post } from "../api.js";
import { badge, field, figure, fill, h, problemBox } from "../dom.js";
import { bytes, count, time } from "../format.js";

/** @param {any} context */
export async function page({ params: [name], signal, may, go }) {
  const [{ plans }, about] = await Promise.all([get(`/clusters/${name}/plans`, signal), get(`/clusters/${name}`, signal)]);
  const query = new URLSearchParams(location.hash.split("?")[1] ?? "");
  const input = (attrs) => /** @type {HTMLInputElement} */ (h("input", attrs));
  const tolerance = input({ type: "range", min: 0, max: 50, value: 5 }), budget = input({ type: "range", min: 0, max: 100, value: 100 });
  const remove = input({ placeholder: "3, 4", value: query.get("remove") ?? "" }), add = input({ placeholder: "9, 10" }), topics = input({ placeholder: "orders,logs-.*" });
  const leaders = input({ type: "checkbox" }), racks = input({ type: "checkbox" });
  const toleranceText = h("output", {}), budgetText = h("output", {});
  const whole = about.summary?.bytes ?? 0;
  const limit = () => (Number(budget.value) >= 100 ? null : Math.round((whole * Number(budget.value) ** 2) / 1e4));
  const show = () => { fill(toleranceText, `at most ${tolerance.value} % above the best possible`); fill(budgetText, limit() === null ? "no limit" : `move at most ${bytes(limit())}`); };
  tolerance.addEventListener("input", show); budget.addEventListener("input", show); show();
  const live = h("div", { "aria-live": "off" });
  const ids = (text) => text.split(/[ ,]+/).filter(Boolean).map(Number);
  const make = h("button", { class: "primary", type: "submit" }, "Make a plan");
  const form = h("form", { class: "card", onsubmit: async (event) => {
    event.preventDefault();
    const goals = { tolerance: Number(tolerance.value) / 100, ...(limit() === null ? {} : { max_bytes: limit() }), ...(remove.value ? { remove_brokers: ids(remove.value) } : {}), ...(add.value ? { add_brokers: ids(add.value).map((id) => ({ id })) } : {}), ...(topics.value ? { topics: topics.value } : {}), ...(leaders.checked ? { leaders_only: true } : {}), ...(racks.checked ? { strict_racks: true } : {}) };
    /** @type {HTMLButtonElement} */ (make).disabled = true;
    try { await search(name, { goals }, signal, live, go); }
    catch (error) { fill(live, problemBox(error)); }
    finally { /** @type {HTMLButtonElement} */ (make).disabled = false; }
  } }, h("h2", {}, "Goals and budget"), field("Tolerance", tolerance, toleranceText), field("Budget", budget, budgetText),
    h("div", { class: "grid" }, field("Brokers to empty", remove), field("Brokers to fill", add)), field("Only these topics", topics, "a pattern; all if empty"),
    h("div", { class: "row field" }, h("label", { class: "check" }, leaders, "Leaders only, no data"), h("label", { class: "check" }, racks, "One replica per rack, strictly")), make);
  const list = plans.length ? h("div", { class: "table", tabindex: "0" }, h("table", {}, h("thead", {}, h("tr", {}, ["Made", "Partitions", "Bytes", "Disk before", "after", "By"].map((t) => h("th", {}, t)))),
    h("tbody", {}, plans.map((p) => h("tr", {}, h("td", {}, h("a", { href: `#/clusters/${name}/plans/${p.id}` }, time(p.created_at))), h("td", {}, count(p.summary.partitions)), h("td", {}, bytes(p.summary.bytes_moved)), h("td", {}, p.summary.imbalance_before?.disk?.toFixed(3) ?? "–"), h("td", {}, p.summary.imbalance_after?.disk?.toFixed(3) ?? "–"), h("td", {}, p.who)))))) : h("p", { class: "empty" }, "No plan was made yet.");
  return h("div", {}, h("div", { class: "head" }, h("h1", { tabindex: "-1" }, "Balance"), about.summary && badge(about.state)),
    h("div", { class: "grid two" }, may("plan") ? form : h("p", { class: "card" }, "Your role does not make plans."), h("div", { class: "card" }, h("h2", {}, "Now"), about.summary && h("div", { class: "figures" }, figure("fullest ÷ mean disk", about.summary.disk_imbalance?.toFixed(3) ?? "–"), figure("on disk", bytes(whole)), figure("brokers", about.summary.brokers), figure("moving", about.summary.moving)), live)),
    h("div", { class: "card" }, h("h2", {}, "Plans"), list));
}

/** Make a plan, with the search shown live. @param {string} name @param {any} body @param {AbortSignal} signal @param {Element} live @param {(where: string) => void} go */
export async function search(name, body, signal, live, go) {
  const job = await post(`/clusters/${name}/plans`, body);
  const text = h("p", {}, "Taking a snapshot …"), bar = h("div", { class: "figures" });
  fill(live, h("h3", { style: { "margin-top": "1rem" } }, "Searching"), text, bar, h("button", { type: "button", onclick: () => post(`/clusters/${name}/jobs/${job.id}/stop`) }, "Take the best so far"));
  const row = await awaitJob(name, job.id, signal, (p) => {
    if (!p.text) return;
    fill(text, p.text);
    fill(bar, figure("replicas to move", count(p.replicas_moved)), figure("bytes", bytes(p.bytes_moved)), figure("brokers outside", count(p.brokers_over)));
  });
  go(`#/clusters/${name}/plans/${row.result.plan_id}`);
}

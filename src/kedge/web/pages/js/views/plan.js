/** A plan: what it reaches and costs beside the bounds, why, what carrying it out takes; and its start. */
import { awaitJob, get, post } from "../api.js";
import { ask, field, figure, fill, h, problemBox, tell } from "../dom.js";
import { bytes, count, duration, percent, placeOf, rateAt, time } from "../format.js";
import { curveChart, dumbbells, gantt, virtualList } from "../parts.js";
import { search } from "./balance.js";

/** A slider of rates, with its text. @param {number} rate */
export function rateSlider(rate) {
  const slider = /** @type {HTMLInputElement} */ (h("input", { type: "range", min: 0, max: 100, step: 1, value: placeOf(rate) }));
  const text = h("output", {});
  const value = () => rateAt(Number(slider.value));
  const show = () => { const said = `${bytes(value())}/s in and out of each broker`; fill(text, said); slider.setAttribute("aria-valuetext", said); };
  slider.addEventListener("input", show);
  show();
  return { slider, text, value, set: (r) => { slider.value = String(placeOf(r)); show(); } };
}

/** @param {any} summary */
function balanceTable(summary) {
  const names = Object.keys(summary.imbalance_after ?? {});
  return h("div", { class: "table", tabindex: "0" }, h("table", {}, h("thead", {}, h("tr", {}, h("th", {}, "fullest ÷ mean"), ["before", "after", "best possible"].map((t) => h("th", { class: "num" }, t)))),
    h("tbody", {}, names.map((n) => h("tr", {}, h("td", {}, n), ["imbalance_before", "imbalance_after", "imbalance_lower_bound"].map((k) => h("td", { class: "num" }, summary[k]?.[n]?.toFixed(3) ?? "–")))))));
}

/** @param {any} context */
export async function page({ params: [name, id], signal, may, go }) {
  const [plan, { predictions }] = await Promise.all([get(`/clusters/${name}/plans/${id}`, signal), get(`/clusters/${name}/plans/${id}/predictions`, signal)]);
  const f = plan.summary, live = h("div", {}), verified = h("span", { class: "sub" });
  const resources = Object.keys(plan.brokers[0]?.before ?? {});
  let shown = resources[0];
  const bells = h("div", {}, resources.length && dumbbells(plan.brokers, shown));
  const choose = h("div", { class: "segments", role: "radiogroup", "aria-label": "Resource" }, resources.map((r) => h("label", {}, h("input", { type: "radio", name: "bells", checked: r === shown, onchange: () => { shown = r; fill(bells, dumbbells(plan.brokers, r)); } }), r)));
  const changes = virtualList({ label: "Changes", columns: "cols-changes", head: ["Partition", "From → to", "Why"],
    load: async (offset, limit) => { const found = await get(`/clusters/${name}/plans/${id}/changes?offset=${offset}&limit=${limit}`, signal); return { total: found.total, rows: found.changes }; },
    row: (c) => [`${c.topic}-${c.partition}`, h("span", { class: "mono" }, `${c.before.join(",")} → ${c.after.join(",")}`), h("span", { title: c.why ?? "" }, c.why ?? "")] });
  const rate = rateSlider(50e6), slots = /** @type {HTMLInputElement} */ (h("input", { type: "number", min: 1, max: 50, value: 2 }));
  const how = () => ({ throttle: String(rate.value()), moves_per_broker: Number(slots.value) });
  const fault = h("div", {}), found = h("div", {}, predictions[0] && predictionCard(name, predictions[0]));
  let latest = predictions[0];
  /** What was predicted for these very options, or nothing. */
  const predicted = () => (latest && latest.options.throttle === how().throttle && latest.options.moves_per_broker === how().moves_per_broker ? latest.summary.seconds : null);
  const predict = async () => {
    fill(fault);
    try {
      const job = await post(`/clusters/${name}/plans/${id}/predictions`, how());
      fill(found, h("p", { class: "sub" }, "Replaying the plan …"));
      const row = await awaitJob(name, job.id, signal);
      const whole = await get(`/clusters/${name}/predictions/${row.result.prediction_id}`, signal);
      latest = whole;
      fill(found, predictionCard(name, whole));
    } catch (error) { fill(fault, problemBox(error)); }
  };
  const start = async () => {
    fill(fault);
    const body = { plan_id: id, ...how() };
    try {
      const seen = await post(`/clusters/${name}/runs/preview`, body);
      const agreed = await ask(`Apply this plan to ${name}?`, h("ul", {}, seen.lines.map((line) => h("li", {}, line)), predicted() && h("li", {}, `predicted to take ${duration(predicted())}`)), { agree: "Apply" });
      if (!agreed) return;
      const job = await post(`/clusters/${name}/runs`, { ...body, predicted_s: predicted() });
      tell("The run has begun");
      go(`#/clusters/${name}/runs/${job.run}`);
    } catch (error) { fill(fault, problemBox(error)); }
  };
  const verify = async () => { fill(verified, "verifying …"); try { const v = await get(`/clusters/${name}/plans/${id}/verification`, signal); fill(verified, v.errors ? `${v.errors} errors` : `verified: every figure and bound of ${count(v.partitions)} partitions holds`); } catch (error) { fill(verified, error.message); } };
  return h("div", {}, h("div", { class: "head" }, h("div", {}, h("h1", { tabindex: "-1" }, "Plan"), h("div", { class: "sub" }, `made ${time(plan.created_at)} by ${plan.who}`)), verified, h("div", { class: "actions" }, h("button", { onclick: verify }, "Verify"), h("a", { class: "button", href: `/api/v1/clusters/${name}/plans/${id}/file`, download: "" }, "Download"))),
    h("div", { class: "card" }, h("div", { class: "figures" }, figure("partitions change", count(f.partitions)), figure("replicas move", count(f.replicas_moved)), figure("leaders move", count(f.leaders_moved)), figure("bytes to move", bytes(f.bytes_moved)), figure("no plan moves less than", bytes(f.bytes_moved_lower_bound)), figure("waves", count(f.waves)))),
    h("div", { class: "grid" }, h("div", { class: "card" }, h("h2", {}, "Balance"), balanceTable(f), f.notes?.map((n) => h("p", { class: "hint" }, n))), h("div", { class: "card" }, h("h2", {}, "Bytes against balance"), plan.curve.length > 1 ? curveChart(plan.curve, plan.knee, (p) => search(name, { goals: { ...f.goals, max_bytes: p.bytes_moved }, snapshot_id: plan.snapshot_id }, signal, live, go).catch((error) => fill(live, problemBox(error)))) : h("p", { class: "empty" }, "Nothing to trade: the cluster is within the tolerance."), h("p", { class: "hint" }, "A stop of the curve makes a plan with that budget."), live)),
    h("div", { class: "grid" }, h("div", { class: "card" }, h("div", { class: "head" }, h("h2", {}, "Brokers before and after"), choose), bells, h("div", { class: "legend" }, h("span", {}, h("i", { class: "c0" }), "before"), h("span", {}, h("i", { style: { background: "var(--accent)" } }), "after"))),
      h("div", { class: "card" }, h("h2", {}, "Carry it out"), field("Throttle", rate.slider, rate.text), field("Moves at a time per broker", slots), h("div", { class: "row" }, may("plan") && h("button", { onclick: predict }, "Predict"), may("apply") && h("button", { class: "primary", onclick: start, disabled: f.partitions === 0 }, "Apply …")), fault, found)),
    h("div", { class: "card" }, h("h2", {}, "Why"), h("ul", {}, plan.grounds.map((g) => h("li", {}, `${count(g.count)} × ${g.why}`))), changes.node));
}

/** @param {string} name @param {any} p a prediction, or its summary */
function predictionCard(name, p) {
  const f = p.summary;
  return h("div", { style: { "margin-top": "1rem" } }, h("h3", {}, "Prediction"), h("div", { class: "figures" }, figure("takes", f.seconds === null ? "never ends" : duration(f.seconds), f.seconds === null ? "bad" : ""), figure("8 of 10 draws", f.seconds_p10 === null ? "–" : `${duration(f.seconds_p10)} – ${duration(f.seconds_p90)}`), figure("to copy", bytes(f.bytes_copied))),
    f.problems.map((x) => h("div", { class: "problem" }, x.what, x.hint && h("div", { class: "hint" }, x.hint))), h("p", {}, h("a", { href: `#/clusters/${name}/predictions/${p.id}` }, "Moves and disks in time")));
}

/** @param {any} context */
export async function predictionPage({ params: [name, id], signal }) {
  const p = await get(`/clusters/${name}/predictions/${id}`, signal);
  const disks = p.disks.filter((d) => d.capacity).sort((a, b) => b.share - a.share).slice(0, 40);
  return h("div", {}, h("div", { class: "head" }, h("div", {}, h("h1", { tabindex: "-1" }, "Prediction"), h("div", { class: "sub" }, `throttle ${p.options.throttle === null ? "none" : bytes(Number(p.options.throttle)) + "/s"}, ${p.options.moves_per_broker} moves at a time`)), h("div", { class: "actions" }, h("a", { class: "button", href: `#/clusters/${name}/plans/${p.plan_id}` }, "The plan"))),
    h("div", { class: "card" }, h("div", { class: "figures" }, figure("takes", p.seconds === null ? "never ends" : duration(p.seconds)), figure("8 of 10 draws", `${duration(p.seconds_p10)} – ${duration(p.seconds_p90)}`), figure("no schedule is faster than", duration(p.bound_seconds)), figure("to copy", bytes(p.bytes_copied)), figure("fullest disk on the way", percent(disks[0]?.share))), p.problems.map((x) => h("div", { class: "problem" }, x.what)), p.assumptions.map((a) => h("p", { class: "hint" }, `assumed: ${a}`))),
    h("div", { class: "card" }, h("h2", {}, "Moves"), h("div", { style: { "max-height": "34rem", overflow: "auto" }, tabindex: "0" }, gantt(p))),
    h("div", { class: "card" }, h("h2", {}, "Peak disks"), h("div", { class: "bars" }, disks.map((d) => h("div", { class: "b", style: { "grid-template-columns": "minmax(7rem, 12rem) 1fr 8rem" } }, h("span", {}, `${d.broker} ${d.log_dir ?? ""}`), h("div", { class: "progress" }, h("i", { style: { width: `${Math.min(100, 100 * d.share)}%` } })), h("span", {}, `${percent(d.before / d.capacity)} → ${percent(d.share)}`))))));
}

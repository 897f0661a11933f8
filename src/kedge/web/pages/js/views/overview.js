/** All clusters with their health. */
import { get, listen } from "../api.js";
import { badge, figure, fill, h } from "../dom.js";
import { bytes, count, percent } from "../format.js";

/** @param {any} row */
function card(row) {
  const f = row.summary;
  return h("a", { class: "card", href: `#/clusters/${row.name}` },
    h("div", { class: "head" }, h("h2", {}, row.name), badge(row.state)),
    f ? h("div", { class: "figures" }, figure("brokers", f.brokers_down ? `${f.brokers - f.brokers_down} of ${f.brokers}` : count(f.brokers), f.brokers_down ? "bad" : ""),
      figure("partitions", count(f.partitions)), figure("under-replicated", count(f.under_replicated), f.under_replicated ? "warn" : ""),
      figure("on disk", bytes(f.bytes)), figure("fullest ÷ mean", f.disk_imbalance?.toFixed(2) ?? "–", f.disk_imbalance > 1.25 ? "warn" : ""), figure("fullest disk", percent(f.fullest_disk))) : h("p", { class: "sub" }, "not read yet"),
    row.problem && h("p", { class: "problem" }, row.problem.detail));
}

/** @param {any} context */
export async function page({ signal, session }) {
  const { clusters } = await get("/clusters", signal);
  const cards = h("div", { class: "cards" });
  const rows = new Map(clusters.map((row) => [row.name, row]));
  const draw = () => fill(cards, [...rows.values()].map(card));
  draw();
  for (const row of clusters) listen(`/clusters/${row.name}/events`, signal, { observed: (seen) => { rows.set(row.name, { ...rows.get(row.name), ...seen }); draw(); } });
  const bad = clusters.filter((row) => row.state !== "healthy").length;
  return h("div", {}, h("div", { class: "head" }, h("div", {}, h("h1", { tabindex: "-1" }, "Clusters"), h("div", { class: "sub" }, `${clusters.length} for ${session.name}${bad ? `, ${bad} need a look` : ""}`))), cards);
}

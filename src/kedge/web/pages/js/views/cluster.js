/** One cluster: racks and brokers coloured by a resource, and every partition as a cell. */
import { get, listen } from "../api.js";
import { badge, figure, fill, h } from "../dom.js";
import { STEPS, bytes, count, percent, step, time } from "../format.js";
import { partitionMap } from "../parts.js";

const RESOURCES = {
  disk: { text: "Disk", of: (b) => b.disk_bytes, show: bytes },
  replicas: { text: "Replicas", of: (b) => b.replicas, show: count },
  leaders: { text: "Leaders", of: (b) => b.leaders, show: count },
  out_of_sync: { text: "Out of sync", of: (b) => b.out_of_sync, show: count, bad: true },
  in: { text: "Bytes in", of: (b) => b.bytes_in ?? 0, show: (n) => `${bytes(n)}/s`, known: (b) => b.bytes_in !== null },
  out: { text: "Bytes out", of: (b) => b.bytes_out ?? 0, show: (n) => `${bytes(n)}/s`, known: (b) => b.bytes_out !== null },
};

/** Columns as rows. @param {Record<string, any[]>} columns */
const rowsOf = (columns) => (columns.id ?? []).map((_, i) => Object.fromEntries(Object.entries(columns).map(([name, list]) => [name, list[i]])));

/** @param {string} cluster @param {any[]} brokers @param {string} name */
function racks(cluster, brokers, name) {
  const how = RESOURCES[name];
  const alive = brokers.filter((b) => b.alive);
  const mean = alive.reduce((sum, b) => sum + how.of(b), 0) / Math.max(1, alive.length);
  const most = Math.max(1, ...brokers.map(how.of));
  const byRack = Map.groupBy ? Map.groupBy(brokers, (b) => b.rack ?? "") : group(brokers);
  return h("div", { class: brokers.length > 120 ? "dense" : "", style: { "--tile": brokers.length > 120 ? "3.4rem" : "7.2rem" } }, [...byRack].sort(([a], [b]) => (a < b ? -1 : 1)).map(([rack, list]) =>
    h("section", { class: "rack", "aria-label": `rack ${rack || "none"}` }, h("div", { class: "name" }, rack || "no rack"),
      h("div", { class: "tiles" }, list.map((b) => {
        const value = how.of(b), kind = how.bad ? (value ? 5 : 3) : mean ? step(value / mean) : 0;
        return h("a", { class: `tile${b.alive ? "" : " down"}`, href: `#/clusters/${cluster}/brokers/${b.id}`, "aria-label": `broker ${b.id}${b.alive ? "" : ", down"}: ${how.text} ${how.show(value)}${how.bad ? "" : `, ${STEPS[kind - 1] ?? ""}`}` },
          h("span", { class: "id" }, b.id), b.controller && h("span", { class: "flag", title: "controller" }, "C"), h("span", { class: "val" }, b.alive ? how.show(value) : "down"),
          h("div", { class: "meter" }, h("i", { class: `c${kind}`, style: { width: `${(100 * value) / most}%` } })));
      })))));
}

/** @param {any[]} rows */
function group(rows) {
  const found = new Map();
  for (const row of rows) found.set(row.rack ?? "", [...(found.get(row.rack ?? "") ?? []), row]);
  return found;
}

/** @param {any} f */
const figures = (f) => h("div", { class: "figures" }, figure("brokers", f.brokers_down ? `${f.brokers - f.brokers_down} of ${f.brokers}` : count(f.brokers), f.brokers_down ? "bad" : ""), figure("topics", count(f.topics)), figure("partitions", count(f.partitions)),
  figure("on disk", bytes(f.bytes)), figure("under-replicated", count(f.under_replicated), f.under_replicated ? "warn" : "good"), figure("without leader", count(f.offline), f.offline ? "bad" : ""),
  figure("moving", count(f.moving), f.moving ? "warn" : ""), figure("not preferred leader", count(f.away_from_preferred)), figure("fullest ÷ mean disk", f.disk_imbalance?.toFixed(2) ?? "–"));

/** @param {any} context */
export async function page({ params: [name], signal, go }) {
  const [about, brokerData, partitions] = await Promise.all([get(`/clusters/${name}`, signal), get(`/clusters/${name}/brokers`, signal), get(`/clusters/${name}/partitions`, signal)]);
  let brokers = rowsOf(brokerData.brokers), resource = "disk", version = about.version;
  const grid = h("div", {}), health = h("span", {}, badge(about.state)), sums = h("div", {}, about.summary && figures(about.summary)), read = h("div", { class: "sub" }, about.summary ? `read ${time(about.summary.taken_at)}` : "");
  const draw = () => fill(grid, racks(name, brokers, resource));
  const names = Object.entries(RESOURCES).filter(([, how]) => !how.known || brokers.some(how.known));
  const choose = h("div", { class: "segments", role: "radiogroup", "aria-label": "Colour brokers by" }, names.map(([id, how]) => h("label", {}, h("input", { type: "radio", name: "resource", value: id, checked: id === resource, onchange: () => { resource = id; draw(); } }), how.text)));
  const map = partitionMap(partitions, (topic) => go(`#/clusters/${name}/topics/${topic}`));
  draw();
  let busy = false;
  listen(`/clusters/${name}/events`, signal, { observed: async (seen) => {
    if (seen.version === version || busy || !seen.summary) return;
    version = seen.version; busy = true;
    try {
      const [b, p] = await Promise.all([get(`/clusters/${name}/brokers`, signal), get(`/clusters/${name}/partitions`, signal)]);
      brokers = rowsOf(b.brokers); fill(health, badge(seen.state)); fill(sums, figures(seen.summary)); fill(read, `read ${time(seen.summary.taken_at)}`); draw(); map.update(p);
    } finally { busy = false; }
  } });
  return h("div", {}, h("div", { class: "head" }, h("div", {}, h("h1", { tabindex: "-1" }, name), read), health),
    h("div", { class: "card" }, sums),
    h("div", { class: "card" }, h("div", { class: "head" }, h("h2", {}, "Brokers"), choose), grid, h("div", { class: "legend" }, STEPS.map((text, i) => h("span", {}, h("i", { class: `c${i + 1}` }), text)))),
    h("div", { class: "card" }, h("div", { class: "head" }, h("h2", {}, "Partitions"), h("div", { class: "legend" }, [["c3", "in sync"], ["c4", "under-replicated"], ["c5", "no leader"], ["c1", "moving"]].map(([c, text]) => h("span", {}, h("i", { class: c }), text)))), map.node));
}

/** @param {any} context */
export async function brokerPage({ params: [name, id], signal }) {
  const [broker, data] = await Promise.all([get(`/clusters/${name}/brokers/${id}`, signal), get(`/clusters/${name}/partitions`, signal)]);
  const number = Number(id), rows = [];
  for (let i = 0; i < data.topic.length; i += 1) {
    const replicas = data.replicas.slice(i * data.width, (i + 1) * data.width).filter((b) => b >= 0);
    if (replicas.includes(number)) rows.push({ topic: data.topics[data.topic[i]], partition: data.partition[i], leads: data.leader[i] === number, replicas, size: data.size[i] });
  }
  rows.sort((a, b) => b.size - a.size);
  const share = broker.disk_capacity ? broker.disk_bytes / broker.disk_capacity : null;
  return h("div", {}, h("div", { class: "head" }, h("div", {}, h("h1", { tabindex: "-1" }, `Broker ${id}`), h("div", { class: "sub" }, broker.rack ? `rack ${broker.rack}` : "no rack")), badge(broker.alive ? "healthy" : "critical"),
    h("div", { class: "actions" }, h("a", { class: "button", href: `#/clusters/${name}/balance?remove=${id}` }, "Empty this broker"))),
    h("div", { class: "card" }, h("div", { class: "figures" }, figure("replicas", count(broker.replicas)), figure("leaders", count(broker.leaders)), figure("out of sync", count(broker.out_of_sync), broker.out_of_sync ? "warn" : ""), figure("on disk", bytes(broker.disk_bytes)), figure("of its disks", percent(share)))),
    h("div", { class: "card" }, h("h2", {}, `Largest replicas`), h("div", { class: "table", tabindex: "0" }, h("table", {}, h("thead", {}, h("tr", {}, h("th", {}, "Partition"), h("th", {}, "Role"), h("th", {}, "Replicas"), h("th", { class: "num" }, "Size"))),
      h("tbody", {}, rows.slice(0, 200).map((r) => h("tr", {}, h("td", {}, h("a", { href: `#/clusters/${name}/topics/${r.topic}` }, `${r.topic}-${r.partition}`)), h("td", {}, r.leads ? "leader" : "follower"), h("td", { class: "mono" }, r.replicas.join(", ")), h("td", { class: "num" }, r.size < 0 ? "–" : bytes(r.size)))))), rows.length > 200 && h("p", { class: "empty" }, `and ${rows.length - 200} more`))));
}

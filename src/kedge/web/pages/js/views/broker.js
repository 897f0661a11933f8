/** One broker: what it holds, largest first. */
import { get } from "../api.js";
import { badge, figure, h, table } from "../dom.js";
import { bytes, count, percent } from "../format.js";

const SHOWN = 200;

/** The replicas of a broker, largest first. @param {any} data columns of partitions @param {number} id */
function replicasOf(data, id) {
  const rows = [];
  for (let i = 0; i < data.topic.length; i += 1) {
    const replicas = data.replicas.slice(i * data.width, (i + 1) * data.width).filter((b) => b >= 0);
    if (replicas.includes(id)) rows.push({ topic: data.topics[data.topic[i]], partition: data.partition[i], leads: data.leader[i] === id, replicas, size: data.size[i] });
  }
  return rows.sort((a, b) => b.size - a.size);
}

/** @param {any} context */
export async function page({ params: [name, id], signal }) {
  const [broker, data] = await Promise.all([get(`/clusters/${name}/brokers/${id}`, signal), get(`/clusters/${name}/partitions`, signal)]);
  const rows = replicasOf(data, Number(id));
  const share = broker.disk_capacity ? broker.disk_bytes / broker.disk_capacity : null;
  const list = table([["Partition"], ["Role"], ["Replicas"], ["Size", "num"]], rows.slice(0, SHOWN).map((r) => [
    h("a", { href: `#/clusters/${name}/topics/${r.topic}` }, `${r.topic}-${r.partition}`), r.leads ? "leader" : "follower", h("span", { class: "mono" }, r.replicas.join(", ")), r.size < 0 ? "–" : bytes(r.size)]), "This broker holds no replica.");
  return h("div", {},
    h("div", { class: "head" }, h("div", {}, h("h1", { tabindex: "-1" }, `Broker ${id}`), h("div", { class: "sub" }, broker.rack ? `rack ${broker.rack}` : "no rack", broker.controller ? " · controller" : "")), badge(broker.alive ? "healthy" : "down"),
      h("div", { class: "actions" }, h("a", { class: "button", href: `#/clusters/${name}/balance?remove=${id}` }, "Empty this broker …"))),
    h("div", { class: "card" }, h("div", { class: "figures" }, figure("replicas", count(broker.replicas)), figure("leaders", count(broker.leaders)), figure("out of sync", count(broker.out_of_sync), broker.out_of_sync ? "warn" : "good"), figure("on disk", bytes(broker.disk_bytes)), figure("of its disks", percent(share)))),
    h("div", { class: "card" }, h("h2", {}, "Largest replicas"), list, rows.length > SHOWN && h("p", { class: "empty" }, `and ${count(rows.length - SHOWN)} more`)));
}

/** One broker: what it holds, largest first. */
import { get } from "../api.js";
import { badge, figure, h, table } from "../dom.js";
import { bytes, count, percent } from "../format.js";
import { lineChart } from "../parts/charts.js";

const SHOWN = 200;

/** The replicas of a broker, largest first. @param {any} data columns of partitions @param {number} id */
function replicasOf(data, id) {
  const rows = [];
  for (let i = 0; i < data.topic.length; i += 1) {
    const replicas = data.replicas.slice(i * data.width, (i + 1) * data.width).filter((b) => b >= 0);
    if (replicas.includes(id))
      rows.push({
        topic: data.topics[data.topic[i]],
        partition: data.partition[i],
        leads: data.leader[i] === id,
        replicas,
        size: data.size[i],
      });
  }
  return rows.sort((a, b) => b.size - a.size);
}

/** The broker over the last day, where the loop has sampled it. @param {string} path @param {AbortSignal} signal */
async function overTime(path, signal) {
  const found = await get(`${path}/history?since=${Math.floor(Date.now() / 1000) - 86400}&points=300`, signal).catch(
    () => null,
  );
  if (!found || found.times.length < 2) return null;
  const { times, columns } = found;
  const rated = columns.bytes_in.some(Boolean) || columns.bytes_out.some(Boolean);
  return h(
    "div",
    { class: "grid" },
    h(
      "div",
      { class: "card" },
      h("h2", {}, "On disk"),
      lineChart({ times, label: "Bytes on disk", show: bytes, series: [{ name: "stored", values: columns.disk }] }),
    ),
    h(
      "div",
      { class: "card" },
      h("h2", {}, "Replicas and leaders"),
      lineChart({
        times,
        label: "Replicas and leaders",
        show: count,
        whole: true,
        series: [
          { name: "replicas", values: columns.replicas },
          { name: "leaders", values: columns.leaders, tone: "s1" },
        ],
      }),
    ),
    rated &&
      h(
        "div",
        { class: "card" },
        h("h2", {}, "Traffic"),
        lineChart({
          times,
          label: "Bytes in and out per second",
          show: (n) => `${bytes(n)}/s`,
          series: [
            { name: "in", values: columns.bytes_in },
            { name: "out", values: columns.bytes_out, tone: "s1" },
          ],
        }),
      ),
  );
}

/** @param {any} context */
export async function page({ params: [name, id], signal }) {
  const path = `/clusters/${name}/brokers/${id}`;
  const [broker, data, charts] = await Promise.all([
    get(path, signal),
    get(`/clusters/${name}/partitions`, signal),
    overTime(path, signal),
  ]);
  const rows = replicasOf(data, Number(id));
  const share = broker.disk_capacity ? broker.disk_bytes / broker.disk_capacity : null;
  const list = table(
    [["Partition"], ["Role"], ["Replicas"], ["Size", "num"]],
    rows
      .slice(0, SHOWN)
      .map((r) => [
        h("a", { href: `#/clusters/${name}/topics/${r.topic}` }, `${r.topic}-${r.partition}`),
        r.leads ? "leader" : "follower",
        h("span", { class: "mono" }, r.replicas.join(", ")),
        r.size < 0 ? "–" : bytes(r.size),
      ]),
    "This broker holds no replica.",
  );
  return h(
    "div",
    {},
    h(
      "div",
      { class: "head" },
      h(
        "div",
        {},
        h("h1", { tabindex: "-1" }, `Broker ${id}`),
        h(
          "div",
          { class: "sub" },
          broker.rack ? `rack ${broker.rack}` : "no rack",
          broker.controller ? " · controller" : "",
        ),
      ),
      badge(broker.alive ? "healthy" : "down"),
      h(
        "div",
        { class: "actions" },
        h("a", { class: "button", href: `#/clusters/${name}/balance?remove=${id}` }, "Empty this broker …"),
      ),
    ),
    h(
      "div",
      { class: "card" },
      h(
        "div",
        { class: "figures" },
        figure("replicas", count(broker.replicas)),
        figure("leaders", count(broker.leaders)),
        figure("out of sync", count(broker.out_of_sync), broker.out_of_sync ? "warn" : "good"),
        figure("on disk", bytes(broker.disk_bytes)),
        figure("of its disks", percent(share)),
        broker.bytes_in !== null && figure("in", `${bytes(broker.bytes_in)}/s`),
        broker.bytes_out !== null && figure("out, copies included", `${bytes(broker.bytes_out)}/s`),
      ),
    ),
    charts,
    h(
      "div",
      { class: "card" },
      h("h2", {}, "Largest replicas"),
      list,
      rows.length > SHOWN && h("p", { class: "empty" }, `and ${count(rows.length - SHOWN)} more`),
    ),
  );
}

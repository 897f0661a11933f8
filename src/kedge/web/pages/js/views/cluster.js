/** One cluster: racks and brokers coloured by a resource, and every partition as a cell. */
import { get, listen } from "../api.js";
import { badge, figure, fill, fillChanged, h, segments } from "../dom.js";
import { bytes, count, percent, time } from "../format.js";
import { RESOURCES, brokerGrid, brokerRows, gridLegend, hotBrokers } from "../parts/broker_grid.js";
import { mapLegend, partitionMap } from "../parts/partition_map.js";

const UNEVEN = 1.25;

/** The figures of a cluster, by what they are about. @param {any} f */
function figures(f) {
  const alive = f.brokers_down ? `${f.brokers - f.brokers_down} of ${f.brokers}` : count(f.brokers);
  const groups = [
    [
      "Health",
      [
        figure("under-replicated", count(f.under_replicated), f.under_replicated ? "warn" : "good"),
        figure("without leader", count(f.offline), f.offline ? "bad" : "good"),
        figure("moving", count(f.moving), f.moving ? "warn" : ""),
        figure("led by another than preferred", count(f.away_from_preferred)),
      ],
    ],
    [
      "Size",
      [
        figure("brokers", alive, f.brokers_down ? "bad" : ""),
        figure("topics", count(f.topics)),
        figure("partitions", count(f.partitions)),
        figure("on disk", bytes(f.bytes)),
      ],
    ],
    [
      "Balance",
      [
        figure("fullest ÷ mean disk", f.disk_imbalance?.toFixed(2) ?? "–", f.disk_imbalance > UNEVEN ? "warn" : ""),
        figure("fullest disk", percent(f.fullest_disk)),
      ],
    ],
  ];
  return h(
    "div",
    { class: "vitals" },
    groups.map(([title, list]) =>
      h("section", { class: "card" }, h("h2", {}, title), h("div", { class: "figures" }, list)),
    ),
  );
}

/** @param {any} context */
export async function page({ params: [name], signal, go }) {
  const [about, columns, partitions] = await Promise.all([
    get(`/clusters/${name}`, signal),
    get(`/clusters/${name}/brokers`, signal),
    get(`/clusters/${name}/partitions`, signal),
  ]);
  let brokers = brokerRows(columns.brokers),
    resource = "disk",
    version = about.version,
    busy = false;
  const health = h("span", {}),
    sums = h("div", {}),
    read = h("div", { class: "sub" });
  const hot = h("p", { class: "hint hot" });
  const grid = brokerGrid(name),
    map = partitionMap(partitions, (topic) => go(`#/clusters/${name}/topics/${topic}`));
  const known = Object.entries(RESOURCES).filter(([, how]) => !how.known || brokers.some(how.known));
  const choose = segments(
    "Colour brokers by",
    known.map(([id, how]) => [id, how.text]),
    resource,
    (id) => {
      resource = id;
      drawBrokers();
    },
  );
  function drawBrokers() {
    grid.show(brokers, resource);
    fillChanged(hot, hotBrokers(brokers, resource), (text) => text);
  }
  /** @param {any} seen */
  const drawSummary = (seen) => {
    fill(health, badge(seen.state));
    if (!seen.summary) return;
    fill(sums, figures(seen.summary));
    fill(read, `read ${time(seen.summary.taken_at)}`);
  };
  /** @param {any} seen */
  const onObserved = async (seen) => {
    if (seen.version === version || busy) return;
    drawSummary(seen);
    if (!seen.summary) return;
    version = seen.version;
    busy = true;
    try {
      const [b, p] = await Promise.all([
        get(`/clusters/${name}/brokers`, signal),
        get(`/clusters/${name}/partitions`, signal),
      ]);
      brokers = brokerRows(b.brokers);
      drawBrokers();
      map.update(p);
    } finally {
      busy = false;
    }
  };
  drawSummary(about);
  drawBrokers();
  listen(`/clusters/${name}/events`, signal, { observed: onObserved });
  return h(
    "div",
    {},
    h("div", { class: "head" }, h("div", {}, h("h1", { tabindex: "-1" }, name), read), health),
    sums,
    h(
      "div",
      { class: "card" },
      h("div", { class: "cardhead" }, h("h2", {}, "Brokers"), choose, gridLegend()),
      hot,
      grid.node,
    ),
    h("div", { class: "card" }, h("div", { class: "cardhead" }, h("h2", {}, "Partitions"), mapLegend()), map.node),
  );
}

/** Racks × brokers: a tile per broker, made once and coloured anew for each resource and each read. */
import { fill, h } from "../dom.js";
import { STEPS, bytes, count, step } from "../format.js";

/** @typedef {{text: string, of: (b: any) => number, show: (n: number) => string, bad?: boolean, known?: (b: any) => boolean}} Resource */

/** @type {Record<string, Resource>} */
export const RESOURCES = {
  disk: { text: "Disk", of: (b) => b.disk_bytes, show: bytes },
  replicas: { text: "Replicas", of: (b) => b.replicas, show: count },
  leaders: { text: "Leaders", of: (b) => b.leaders, show: count },
  out_of_sync: { text: "Out of sync", of: (b) => b.out_of_sync, show: count, bad: true },
  in: { text: "Bytes in", of: (b) => b.bytes_in ?? 0, show: (n) => `${bytes(n)}/s`, known: (b) => b.bytes_in !== null },
  out: {
    text: "Bytes out",
    of: (b) => b.bytes_out ?? 0,
    show: (n) => `${bytes(n)}/s`,
    known: (b) => b.bytes_out !== null,
  },
};
const DENSE = 60;

/** Columns as rows. @param {Record<string, any[]>} columns */
export function brokerRows(columns) {
  const names = Object.keys(columns);
  return (columns.id ?? []).map((_, i) => Object.fromEntries(names.map((name) => [name, columns[name][i]])));
}

/** The colour of a broker: its ratio to the mean, or whether there is any at all. @param {Resource} how @param {number} value @param {number} mean */
const shade = (how, value, mean) => (how.bad ? (value ? 5 : 3) : mean ? step(value / mean) : 0);

/** One tile; what changes is text, a class and a transform, so that no other tile is laid out again. @param {string} cluster @param {any} broker */
function tile(cluster, broker) {
  const flag = h("span", { class: "flag", title: "controller", hidden: true }, "controller");
  const value = document.createTextNode(""),
    more = document.createTextNode("");
  const meter = h("i", {});
  const node = h(
    "a",
    { class: "tile", href: `#/clusters/${cluster}/brokers/${broker.id}` },
    h("span", { class: "id" }, broker.id),
    flag,
    h("span", { class: "val" }, value),
    h("div", { class: "meter" }, meter),
    h("span", { class: "more" }, more),
  );
  let drawn = "";
  return {
    node,
    /** @param {any} b @param {Resource} how @param {number} mean @param {number} most */
    update(b, how, mean, most) {
      const amount = how.of(b),
        kind = shade(how, amount, mean);
      const shown = b.alive ? how.show(amount) : "down",
        about = `${count(b.replicas)} replicas · ${count(b.leaders)} leaders`,
        length = `scaleX(${(amount / most).toFixed(3)})`;
      const key = [how.text, shown, about, length, kind, b.alive, b.controller].join();
      if (key === drawn) return;
      drawn = key;
      // a write costs a frame its time even where it writes what is there
      if (value.data !== shown) value.data = shown;
      if (more.data !== about) more.data = about;
      if (flag.hidden === b.controller) flag.hidden = !b.controller;
      if (meter.className !== `c${kind}`) meter.className = `c${kind}`;
      if (meter.style.transform !== length) meter.style.setProperty("transform", length);
      if (node.classList.contains("down") === b.alive) node.classList.toggle("down", !b.alive);
      const place = how.bad ? "" : `, ${STEPS[kind - 1] ?? ""}`;
      node.setAttribute(
        "aria-label",
        `broker ${b.id}${b.alive ? "" : ", down"}${b.controller ? ", controller" : ""}: ${how.text} ${how.show(amount)}${place}`,
      );
    },
  };
}

/** @param {string} cluster */
export function brokerGrid(cluster) {
  const node = h("div", { class: "racks" });
  /** @type {Map<number, ReturnType<typeof tile>>} */
  let tiles = new Map();
  let membership = "";

  /** @param {any[]} brokers */
  function build(brokers) {
    tiles = new Map(brokers.map((b) => [b.id, tile(cluster, b)]));
    /** @type {Map<string, any[]>} */
    const racks = new Map();
    for (const b of brokers) racks.set(b.rack ?? "", [...(racks.get(b.rack ?? "") ?? []), b]);
    const rows = [...racks]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([rack, list]) =>
        h(
          "section",
          { class: "rack", "aria-label": rack ? `rack ${rack}` : "no rack" },
          h("div", { class: "name" }, rack || "no rack", h("span", { class: "sub" }, ` ${list.length}`)),
          h(
            "div",
            { class: "tiles" },
            list.map((b) => tiles.get(b.id)?.node),
          ),
        ),
      );
    node.style.setProperty("--largest", String(Math.max(1, ...[...racks.values()].map((list) => list.length))));
    node.classList.toggle("dense", brokers.length > DENSE);
    fill(node, rows);
  }
  /** @param {any[]} brokers @param {string} resource */
  function show(brokers, resource) {
    const now = brokers.map((b) => `${b.id}/${b.rack}`).join();
    if (now !== membership) {
      build(brokers);
      membership = now;
    }
    const how = RESOURCES[resource];
    const values = brokers.filter((b) => b.alive).map(how.of);
    const mean = values.reduce((sum, v) => sum + v, 0) / Math.max(1, values.length);
    const most = Math.max(1, ...brokers.map(how.of));
    for (const b of brokers) tiles.get(b.id)?.update(b, how, mean, most);
  }
  return { node, show };
}

const HOT = 1.25;
const NAMED = 8;
/** Which brokers have far more than the mean, most first, in a sentence. @param {any[]} brokers @param {string} resource */
export function hotBrokers(brokers, resource) {
  const how = RESOURCES[resource],
    alive = brokers.filter((b) => b.alive);
  const mean = alive.reduce((sum, b) => sum + how.of(b), 0) / Math.max(1, alive.length);
  const limit = how.bad ? 0 : HOT * mean;
  const hot = alive.filter((b) => how.of(b) > limit).sort((a, b) => how.of(b) - how.of(a));
  if (!hot.length) return how.bad ? "Every replica is in sync." : "No broker is hot: none has 25 % more than the mean.";
  const named = hot.slice(0, NAMED).map((b) => b.id);
  const rest = hot.length > NAMED ? ` and ${hot.length - NAMED} more` : "";
  const what = how.bad ? "With replicas out of sync" : "Hot";
  const why = how.bad ? "" : `, ${(how.of(hot[0]) / mean).toFixed(2)} × the mean at most`;
  return `${what}: broker${hot.length > 1 ? "s" : ""} ${named.join(", ")}${rest}${why}.`;
}

/** What the colours mean. */
export const gridLegend = () =>
  h(
    "div",
    { class: "legend" },
    STEPS.map((text, i) => h("span", {}, h("i", { class: `c${i + 1}` }), text)),
  );

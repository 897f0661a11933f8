/** All clusters with their health. */
import { get, listen } from "../api.js";
import { badge, figure, fill, fillChanged, h } from "../dom.js";
import { bytes, count, percent, step } from "../format.js";

const UNEVEN = 1.25;
const MANY = 40; // brokers, whose columns then touch

/** @param {any} f the summary of a cluster @param {any} loop */
const figures = (f, loop) =>
  h(
    "div",
    { class: "figures" },
    figure(
      "brokers",
      f.brokers_down ? `${f.brokers - f.brokers_down} of ${f.brokers}` : count(f.brokers),
      f.brokers_down ? "bad" : "",
    ),
    figure("topics", count(f.topics)),
    figure("partitions", count(f.partitions)),
    figure("under-replicated", count(f.under_replicated), f.under_replicated ? "warn" : "good"),
    figure("without leader", count(f.offline), f.offline ? "bad" : "good"),
    figure("findings", count(loop?.findings), loop?.findings ? "warn" : ""),
    figure("on disk", bytes(f.bytes)),
    figure("fullest ÷ mean disk", f.disk_imbalance?.toFixed(2) ?? "–", f.disk_imbalance > UNEVEN ? "warn" : ""),
    figure("fullest disk", percent(f.fullest_disk)),
  );

/** The disks of all brokers beside each other, each against the mean. @param {(number|null)[]} ratios null is a broker that is down */
function skyline(ratios) {
  const most = Math.max(1, ...ratios.map((each) => each ?? 0));
  return h(
    "figure",
    {},
    h(
      "div",
      { class: `skyline ${ratios.length > MANY ? "many" : ""}`, role: "img", "aria-label": "Disk of each broker" },
      ratios.map((each) =>
        each === null
          ? h("i", { class: "down" })
          : h("i", { class: `c${step(each)}`, style: { height: `${Math.max(4, (100 * each) / most).toFixed(0)}%` } }),
      ),
    ),
    h("figcaption", { class: "hint" }, "disk of each broker, against the mean"),
  );
}

/** @param {any} row a cluster @param {any} loop the state of its loop, if known */
function card(row, loop) {
  const f = row.summary;
  return h(
    "a",
    { class: "card", href: `#/clusters/${row.name}` },
    h(
      "div",
      { class: "head" },
      h("h2", {}, row.name),
      badge(row.state),
      loop?.running && h("span", { class: "badge running" }, "a run is under way"),
      loop?.open_proposals > 0 &&
        h("span", { class: "note small" }, `${loop.open_proposals} ${loop.open_proposals === 1 ? "proposal waits" : "proposals wait"}`),
    ),
    f
      ? h("div", { class: "glance" }, figures(f, loop), f.disk_ratios?.length > 1 && skyline(f.disk_ratios))
      : h("p", { class: "sub" }, "not read yet"),
    row.problem && h("p", { class: "problem" }, row.problem.detail),
  );
}

/** @param {any} context */
export async function page({ signal }) {
  const { clusters } = await get("/clusters", signal);
  const cards = h("div", { class: "cards" }),
    said = h("div", { class: "sub" });
  const rows = new Map(clusters.map((row) => [row.name, row])),
    loops = new Map();
  const draw = () => {
    const bad = [...rows.values()].filter((row) => row.state !== "healthy").length;
    const all = clusters.length === 1 ? "1 cluster" : `${clusters.length} clusters`;
    fill(said, `${all} · ${bad ? `${bad} not healthy` : "all healthy"}`);
    fillChanged(cards, [[...rows.values()], [...loops]], () =>
      [...rows.values()].map((row) => card(row, loops.get(row.name))),
    );
  };
  /** @param {any} state of a loop */
  const drawLoop = (state) => {
    loops.set(state.cluster, state);
    draw();
  };
  const readLoops = () => {
    for (const { name } of clusters) get(`/clusters/${name}/loop`, signal).then(drawLoop, () => {}); // or a card without it
  };
  draw();
  readLoops();
  const observed = ({ cluster, ...seen }) => {
    rows.set(cluster, { ...rows.get(cluster), ...seen });
    draw();
  };
  if (clusters.length) listen("/events", signal, { observed, loop: drawLoop }, readLoops);
  const nothing = h(
    "div",
    { class: "card empty" },
    h("strong", {}, "No cluster"),
    "The account may read none of this server's clusters.",
  );
  return h(
    "div",
    {},
    h("div", { class: "head" }, h("div", {}, h("h1", { tabindex: "-1" }, "Clusters"), said)),
    clusters.length ? cards : nothing,
  );
}

/** All clusters with their health. */
import { get, listen } from "../api.js";
import { badge, figure, fill, fillChanged, h } from "../dom.js";
import { bytes, count, percent } from "../format.js";

const UNEVEN = 1.25;

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
      loop?.open_proposals > 0 && h("span", { class: "note small" }, `${loop.open_proposals} proposals wait`),
    ),
    f ? figures(f, loop) : h("p", { class: "sub" }, "not read yet"),
    row.problem && h("p", { class: "problem" }, row.problem.detail),
  );
}

/** @param {any} context */
export async function page({ signal, session }) {
  const { clusters } = await get("/clusters", signal);
  const cards = h("div", { class: "cards" }),
    said = h("div", { class: "sub" });
  const rows = new Map(clusters.map((row) => [row.name, row])),
    loops = new Map();
  const draw = () => {
    const bad = [...rows.values()].filter((row) => row.state !== "healthy").length;
    fill(said, `${clusters.length} for ${session.name}${bad ? `, ${bad} not healthy` : ""}`);
    fillChanged(cards, [[...rows.values()], [...loops]], () =>
      [...rows.values()].map((row) => card(row, loops.get(row.name))),
    );
  };
  draw();
  for (const { name } of clusters) {
    get(`/clusters/${name}/loop`, signal).then(
      (loop) => {
        loops.set(name, loop);
        draw();
      },
      () => {},
    ); // a cluster without it is shown without it
    listen(`/clusters/${name}/events`, signal, {
      observed: (seen) => {
        rows.set(name, { ...rows.get(name), ...seen });
        draw();
      },
      loop: (state) => {
        loops.set(name, state);
        draw();
      },
    });
  }
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

/** History: load, growth, days until disks are full, and cost, over time. */
import { get } from "../api.js";
import { badge, figure, fill, h, problemBox, segments, table } from "../dom.js";
import { bytes, count, duration, percent } from "../format.js";
import { lineChart } from "../parts/charts.js";

const RANGES = /** @type {[string, string][]} */ ([
  ["3600", "Hour"],
  ["86400", "Day"],
  ["604800", "Week"],
  ["2592000", "30 days"],
]);
const rate = (/** @type {number} */ n) => `${bytes(n)}/s`;
/** @type {Record<string, {text: string, show: (n: number) => string}>} */
const RESOURCES = {
  disk: { text: "Disk", show: bytes },
  replicas: { text: "Replicas", show: count },
  leaders: { text: "Leaders", show: count },
  bytes_in: { text: "Bytes in", show: rate },
  bytes_out: { text: "Bytes out", show: rate },
  round_trip_ms: { text: "Round trip", show: (n) => `${n.toFixed(0)} ms` },
};
const LINES = 6;
const SOON_DAYS = 30;

/** Brokers that differ most from the others at the end are drawn; the rest are in the table. @param {any[]} brokers */
function mostLoaded(brokers) {
  const last = (b) => b.values.findLast((v) => v !== null) ?? 0;
  return [...brokers].sort((a, b) => last(b) - last(a)).slice(0, LINES);
}

/** How much a column has grown. @param {(number|null)[]} values @param {number[]} times */
function growthPerDay(values, times) {
  const span = (times[times.length - 1] - times[0]) / 86400;
  const [first, last] = [values.find((v) => v !== null), values.findLast((v) => v !== null)];
  return span > 0 && first !== undefined && last !== undefined && first !== null && last !== null
    ? (last - first) / span
    : null;
}

/** @param {string} title @param {Node} chart @param {string} caption */
const card = (title, chart, caption) =>
  h("div", { class: "card" }, h("h2", {}, title), chart, h("p", { class: "hint" }, caption));

/** The charts of the whole cluster. @param {any} found */
function clusterCharts({ times, totals, has_rates }) {
  const grown = growthPerDay(totals.disk, times),
    full = totals.capacity[totals.capacity.length - 1];
  const caption =
    grown === null
      ? "All replicas together."
      : `All replicas together; ${bytes(Math.abs(grown))} a day ${grown < 0 ? "less" : "more"} over this time.`;
  const load = has_rates
    ? card(
        "Traffic",
        lineChart({
          times,
          label: "Bytes in and out per second",
          show: rate,
          series: [
            { name: "in", values: totals.bytes_in },
            { name: "out", values: totals.bytes_out },
          ],
        }),
        "As brokers or metrics report it.",
      )
    : card(
        "Replicas and leaders",
        lineChart({
          times,
          label: "Replicas and leaders",
          show: count,
          whole: true,
          series: [
            { name: "replicas", values: totals.replicas },
            { name: "leaders", values: totals.leaders, tone: "s1" },
          ],
        }),
        "A cluster that is read by admin requests alone reports no traffic.",
      );
  return [
    card(
      "On disk",
      lineChart({ times, label: "Bytes on disk", show: bytes, series: [{ name: "stored", values: totals.disk }] }),
      full ? `${caption} ${percent(totals.disk[totals.disk.length - 1] / full, 1)} of all disks.` : caption,
    ),
    load,
    card(
      "Health",
      lineChart({
        times,
        label: "Partitions that are not as they should be",
        show: count,
        whole: true,
        series: [
          { name: "under-replicated", values: totals.under_replicated, tone: "s4" },
          { name: "without leader", values: totals.leaderless, tone: "s5" },
          { name: "moving", values: totals.moving, tone: "s1" },
          { name: "brokers down", values: totals.brokers_down, tone: "c0" },
        ],
      }),
      "Partitions, and brokers that were down.",
    ),
  ];
}

/** @param {any} d days until */
const days = (d) =>
  !d || d.expected === null
    ? "not in five years"
    : d.expected < 1
      ? "today"
      : d.expected < 1.5
        ? "1 day"
        : `${Math.round(d.expected)} days`;
/** @param {any} d */
const between = (d) =>
  !d || d.soonest === null ? "" : `${Math.round(d.soonest)} – ${d.latest === null ? "∞" : Math.round(d.latest)}`;

/** @param {any} c capacity */
function capacityCard(c) {
  if (!c.known)
    return h(
      "div",
      { class: "card" },
      h("h2", {}, "Days until full"),
      h("p", { class: "empty" }, h("strong", {}, "No forecast yet"), c.why),
    );
  const rows = [...c.brokers].sort((a, b) => (a.full?.expected ?? 1e9) - (b.full?.expected ?? 1e9)).slice(0, 20);
  const first = rows[0]?.full?.expected;
  return h(
    "div",
    { class: "card" },
    h(
      "div",
      { class: "cardhead" },
      h("h2", {}, "Days until full"),
      first !== null && first !== undefined && first < SOON_DAYS && badge("degraded"),
      h("span", { class: "sub end" }, `by the trend of ${duration((c.history_days ?? 0) * 86400)}`),
    ),
    table(
      [
        ["Broker"],
        ["Used", "num"],
        ["Of its disks", "num"],
        ["Growth a day", "num"],
        ["Full in", "num"],
        ["8 of 10", "num"],
      ],
      rows.map((b) => [
        b.broker,
        bytes(b.used),
        b.disk_capacity ? percent(b.used / b.disk_capacity, 1) : "–",
        bytes(b.growth_per_day),
        days(b.full),
        between(b.full),
      ]),
    ),
  );
}

/** @param {any} c cost by day */
function costCard(c) {
  if (!c.known)
    return h(
      "div",
      { class: "card" },
      h("h2", {}, "Cost"),
      h("p", { class: "empty" }, h("strong", {}, "No cost yet"), c.why),
    );
  return h(
    "div",
    { class: "card" },
    h("div", { class: "cardhead" }, h("h2", {}, "Cost"), h("span", { class: "sub end" }, c.why)),
    h("div", { class: "figures" }, figure(`of ${c.days.length} days`, `${c.total} ${c.currency}`)),
    table(
      [["Day"], ["Stored for a day", "num"], ["Cost", "num"]],
      c.days
        .slice(-10)
        .reverse()
        .map((d) => [d.day, bytes(d.byte_seconds_stored / 86400), `${d.cost} ${c.currency}`]),
    ),
  );
}

/** @param {any} context */
export async function page({ params: [name], signal }) {
  const path = `/clusters/${name}`,
    query = new URLSearchParams(location.hash.split("?")[1] ?? "");
  let range = "86400",
    resource = query.get("resource") ?? "disk";
  const charts = h("div", { class: "grid" }),
    byBroker = h("div", {}),
    more = h("div", { class: "grid" });
  const choices = h("span", {});
  const draw = async () => {
    try {
      const found = await get(
        `${path}/history?since=${Math.floor(Date.now() / 1000) - Number(range)}&points=300&resource=${resource}`,
        signal,
      );
      const known = Object.entries(RESOURCES).filter(([id]) => found.has_rates || !id.startsWith("bytes"));
      fill(
        choices,
        segments(
          "Resource by broker",
          known.map(([id, { text }]) => [id, text]),
          resource,
          (id) => {
            resource = id;
            draw();
          },
        ),
      );
      if (found.times.length < 2) {
        fill(
          charts,
          h(
            "div",
            { class: "card empty" },
            h("strong", {}, "No history in this time yet"),
            "The loop samples the cluster; two samples make a line.",
          ),
        );
        fill(byBroker);
        return;
      }
      const { text, show } = RESOURCES[resource],
        shown = mostLoaded(found.brokers);
      fill(charts, clusterCharts(found));
      fill(
        byBroker,
        lineChart({
          times: found.times,
          label: `${text} by broker`,
          show,
          series: shown.map((b) => ({ name: `broker ${b.broker}`, values: b.values })),
        }),
        found.brokers.length > shown.length &&
          h("p", { class: "hint" }, `The ${shown.length} of ${found.brokers.length} brokers that have most.`),
      );
    } catch (error) {
      fill(charts, problemBox(error));
    }
  };
  const forecast = async () => {
    const [capacity, cost] = await Promise.all([get(`${path}/capacity`, signal), get(`${path}/cost`, signal)]);
    fill(more, capacityCard(capacity), costCard(cost));
  };
  await Promise.all([draw(), forecast()]);
  const timer = setInterval(draw, 30_000);
  signal.addEventListener("abort", () => clearInterval(timer));
  return h(
    "div",
    {},
    h(
      "div",
      { class: "head" },
      h("h1", { tabindex: "-1" }, "History"),
      h(
        "div",
        { class: "actions" },
        segments("Time", RANGES, range, (id) => {
          range = id;
          draw();
        }),
      ),
    ),
    charts,
    h("div", { class: "card" }, h("div", { class: "cardhead" }, h("h2", {}, "By broker"), choices), byBroker),
    more,
  );
}

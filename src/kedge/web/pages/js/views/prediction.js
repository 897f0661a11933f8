/** A prediction: when each move runs, and how full disks get on the way. */
import { get } from "../api.js";
import { figure, h } from "../dom.js";
import { bytes, duration, percent } from "../format.js";
import { gantt } from "../parts/gantt.js";

const DISKS = 24;
const FULL = 0.9;
const SCALES = [0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1];

/** Disks with their directories, fullest first; a broker as a whole only where its directories are not known. @param {any[]} disks */
function worthShowing(disks) {
  const known = disks.filter((d) => d.capacity);
  const listed = new Set(known.filter((d) => d.log_dir).map((d) => d.broker));
  return known.filter((d) => d.log_dir || !listed.has(d.broker)).sort((a, b) => b.share - a.share);
}

/** Full at the start, and what a run adds to it at most. @param {any} d the peak of one disk @param {number} whole the share at which a bar ends */
function diskBar(d, whole) {
  const width = (share) => `${Math.min(100, (100 * share) / whole)}%`,
    before = d.before / d.capacity;
  const tone = d.share >= 1 ? "bad" : d.share >= FULL ? "warn" : "";
  return h(
    "div",
    { class: "b disk" },
    h("span", { class: "mono" }, `${d.broker} ${d.log_dir ?? ""}`),
    h(
      "div",
      { class: "progress over" },
      h("i", { class: `peak ${tone}`, style: { width: width(d.share) } }),
      h("i", { style: { width: width(Math.min(before, d.share)) } }),
    ),
    h("span", { class: "amount" }, `${percent(d.before / d.capacity, 1)} → ${percent(d.share, 1)}`),
  );
}

/** @param {any} context */
export async function page({ params: [name, id], signal }) {
  const p = await get(`/clusters/${name}/predictions/${id}`, signal);
  const disks = worthShowing(p.disks),
    whole = SCALES.find((each) => each >= (disks[0]?.share ?? 1)) ?? 1;
  const throttle = p.options.throttle === null ? "no throttle" : `throttle ${bytes(Number(p.options.throttle))}/s`;
  return h(
    "div",
    {},
    h(
      "div",
      { class: "head" },
      h(
        "div",
        {},
        h("h1", { tabindex: "-1" }, "Prediction"),
        h("div", { class: "sub" }, `${throttle}, ${p.options.moves_per_broker} moves at a time`),
      ),
      h(
        "div",
        { class: "actions" },
        h("a", { class: "button", href: `#/clusters/${name}/plans/${p.plan_id}` }, "The plan"),
      ),
    ),
    h(
      "div",
      { class: "card" },
      h(
        "div",
        { class: "figures" },
        figure("takes", p.seconds === null ? "never ends" : duration(p.seconds), p.seconds === null ? "bad" : ""),
        figure("8 of 10 draws", `${duration(p.seconds_p10)} – ${duration(p.seconds_p90)}`),
        figure("no schedule is faster than", duration(p.bound_seconds)),
        figure("to copy", bytes(p.bytes_copied)),
        figure("fullest disk on the way", percent(disks[0]?.share)),
      ),
      p.problems.map((x) => h("div", { class: "problem" }, x.what)),
      p.assumptions.map((a) => h("p", { class: "hint" }, `assumed: ${a}`)),
    ),
    h("div", { class: "card" }, h("h2", {}, "Moves"), h("div", { class: "tall", tabindex: "0" }, gantt(p))),
    h(
      "div",
      { class: "card" },
      h("h2", {}, "Peak disks"),
      disks.length
        ? [
            h(
              "div",
              { class: "bars" },
              disks.slice(0, DISKS).map((d) => diskBar(d, whole)),
            ),
            h(
              "div",
              { class: "legend spaced" },
              h("span", {}, h("i", { class: "accent" }), "before the run"),
              h("span", {}, h("i", { class: "peak" }), "at its fullest"),
              whole < 1 && h("span", {}, `Bars end at ${percent(whole)} of a disk.`),
              disks.length > DISKS && h("span", {}, `${disks.length - DISKS} disks that stay emptier are left out.`),
            ),
          ]
        : h("p", { class: "empty" }, "The sizes of disks are not known."),
    ),
  );
}

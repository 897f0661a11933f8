/** A prediction: when each move runs, and how full disks get on the way. */
import { get } from "../api.js";
import { figure, h } from "../dom.js";
import { bytes, duration, percent } from "../format.js";
import { gantt } from "../parts/gantt.js";

const DISKS = 40;
const FULL = 0.9;

/** @param {any} d the peak of one disk */
function diskBar(d) {
  const tone = d.share >= 1 ? "bad" : d.share >= FULL ? "warn" : "";
  return h(
    "div",
    { class: "b disk" },
    h("span", { class: "mono" }, `${d.broker} ${d.log_dir ?? ""}`),
    h("div", { class: "progress" }, h("i", { class: tone, style: { width: `${Math.min(100, 100 * d.share)}%` } })),
    h("span", { class: "amount" }, `${percent(d.before / d.capacity, 1)} → ${percent(d.share, 1)}`),
  );
}

/** @param {any} context */
export async function page({ params: [name, id], signal }) {
  const p = await get(`/clusters/${name}/predictions/${id}`, signal);
  const disks = p.disks
    .filter((d) => d.capacity)
    .sort((a, b) => b.share - a.share)
    .slice(0, DISKS);
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
        ? h("div", { class: "bars" }, disks.map(diskBar))
        : h("p", { class: "empty" }, "The sizes of disks are not known."),
    ),
  );
}

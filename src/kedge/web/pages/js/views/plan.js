/** A plan: what it reaches and costs beside the bounds, why, what carrying it out takes; and its start. */
import { awaitJob, get, post } from "../api.js";
import { ask, field, figure, fill, h, problemBox, segments, table, tell } from "../dom.js";
import { bytes, count, duration, percent, personOf, time } from "../format.js";
import { aboveBestNow, curveChart, dumbbells } from "../parts/charts.js";
import { virtualList } from "../parts/list.js";
import { rateSlider } from "../parts/rate_slider.js";
import { search } from "./balance.js";

const RATE = 50e6;

/** @param {any} summary */
function balanceTable(summary) {
  const ratio = (when, resource) => summary[`imbalance_${when}`]?.[resource]?.toFixed(3) ?? "–";
  return table(
    [["fullest ÷ mean"], ["before", "num"], ["after", "num"], ["best possible", "num"]],
    Object.keys(summary.imbalance_after ?? {}).map((resource) => [
      resource,
      ratio("before", resource),
      h("strong", {}, ratio("after", resource)),
      ratio("lower_bound", resource),
    ]),
  );
}

/** What is proven of the plan, and the check that it holds. @param {string} path @param {any} f @param {AbortSignal} signal */
function certificate(path, f, signal) {
  const verdict = h(
    "p",
    { class: "hint", "aria-live": "polite" },
    "The bounds are kept in the plan. Verifying computes every figure and bound again from the snapshot.",
  );
  const verify = async () => {
    fill(verdict, "Verifying …");
    try {
      const v = await get(`${path}/verification`, signal);
      fill(
        verdict,
        v.errors
          ? h("span", { class: "problem" }, `${v.errors} errors: ${v.findings[0]?.what ?? ""}`)
          : h(
              "span",
              { class: "verified" },
              `Verified: every figure and bound of ${count(v.partitions)} partitions holds.`,
            ),
      );
    } catch (error) {
      fill(verdict, problemBox(error));
    }
  };
  const bound = f.bytes_moved_lower_bound;
  return h(
    "div",
    { class: "certificate" },
    h(
      "div",
      { class: "cardhead" },
      h("h2", {}, "Bound and certificate"),
      h("button", { class: "end", onclick: verify }, "Verify"),
    ),
    h(
      "div",
      { class: "figures" },
      figure("no plan moves less than", bytes(bound)),
      figure("this plan above that bound", bound ? `+${percent(f.bytes_moved / bound - 1, 1)}` : "–"),
      figure("no schedule is faster than", duration(f.eta_lower_bound_seconds)),
    ),
    verdict,
  );
}

/** @param {any} plan */
function beforeAndAfter(plan) {
  const resources = Object.keys(plan.brokers[0]?.before ?? {});
  const bells = h("div", {}, resources.length && dumbbells(plan.brokers, resources[0]));
  const legend = h(
    "div",
    { class: "legend" },
    h("span", {}, h("i", { class: "c0" }), "before"),
    h("span", {}, h("i", { class: "accent" }), "after"),
  );
  return h(
    "div",
    { class: "card" },
    h(
      "div",
      { class: "cardhead" },
      h("h2", {}, "Brokers before and after"),
      segments(
        "Resource",
        resources.map((r) => [r, r]),
        resources[0],
        (r) => fill(bells, dumbbells(plan.brokers, r)),
      ),
      legend,
    ),
    bells,
  );
}

/** The throttle, a prediction for it, and the start of the run. @param {any} context @param {any} plan @param {any[]} predictions */
function carryOut({ params: [name, id], signal, may, go }, plan, predictions) {
  const path = `/clusters/${name}/plans/${id}`;
  let latest = predictions[0];
  const rate = rateSlider(Number(latest?.options.throttle ?? RATE)),
    slots = /** @type {HTMLInputElement} */ (
      h("input", { type: "number", min: 1, max: 50, value: latest?.options.moves_per_broker ?? 2 })
    );
  const fault = h("div", {}),
    found = h("div", {});
  const how = () => ({ throttle: String(rate.value()), moves_per_broker: Number(slots.value) });
  /** What was predicted for these very options, or nothing. */
  const predicted = () =>
    latest && latest.options.throttle === how().throttle && latest.options.moves_per_broker === how().moves_per_broker
      ? latest.summary.seconds
      : null;
  const predict = async () => {
    fill(fault);
    try {
      const job = await post(`${path}/predictions`, how());
      fill(found, h("p", { class: "sub" }, "Replaying the plan …"));
      const row = await awaitJob(name, job.id, signal);
      latest = await get(`/clusters/${name}/predictions/${row.result.prediction_id}`, signal);
      fill(found, predictionCard(name, latest));
    } catch (error) {
      fill(fault, problemBox(error));
    }
  };
  const start = async () => {
    fill(fault);
    const body = { plan_id: id, ...how() };
    try {
      const seen = await post(`/clusters/${name}/runs/preview`, body);
      const lines = [...seen.lines, ...(predicted() ? [`predicted to take ${duration(predicted())}`] : [])];
      if (
        !(await ask(
          `Apply this plan to ${name}?`,
          h(
            "ul",
            {},
            lines.map((line) => h("li", {}, line)),
          ),
          { agree: "Apply" },
        ))
      )
        return;
      const job = await post(`/clusters/${name}/runs`, { ...body, predicted_s: predicted() });
      tell("The run has begun");
      go(`#/clusters/${name}/runs/${job.run}`);
    } catch (error) {
      fill(fault, problemBox(error));
    }
  };
  if (latest) fill(found, predictionCard(name, latest));
  return h(
    "div",
    { class: "card" },
    h("h2", {}, "Carry it out"),
    field("Throttle", rate.slider, rate.text),
    field("Moves at a time per broker", slots),
    h(
      "div",
      { class: "row" },
      may("plan") && h("button", { onclick: predict }, "Predict"),
      may("apply") &&
        h("button", { class: "primary", onclick: start, disabled: plan.summary.partitions === 0 }, "Apply …"),
    ),
    fault,
    found,
  );
}

/** @param {string} name @param {any} p a prediction, or its summary */
function predictionCard(name, p) {
  const f = p.summary,
    takes = f.seconds === null ? "never ends" : duration(f.seconds);
  return h(
    "div",
    { class: "spaced" },
    h("h3", {}, "Prediction"),
    h(
      "div",
      { class: "figures" },
      figure("takes", takes, f.seconds === null ? "bad" : ""),
      figure("8 of 10 draws", f.seconds_p10 === null ? "–" : `${duration(f.seconds_p10)} – ${duration(f.seconds_p90)}`),
      figure("to copy", bytes(f.bytes_copied)),
    ),
    f.problems.map((x) => h("div", { class: "problem" }, x.what, x.hint && h("div", { class: "hint" }, x.hint))),
    h("p", {}, h("a", { href: `#/clusters/${name}/predictions/${p.id}` }, "Moves and disks in time")),
  );
}

/** @param {any} context */
export async function page(context) {
  const {
      params: [name, id],
      signal,
      go,
    } = context,
    path = `/clusters/${name}/plans/${id}`;
  const [plan, { predictions }] = await Promise.all([get(path, signal), get(`${path}/predictions`, signal)]);
  const f = plan.summary,
    live = h("div", {});
  const choose = (point) =>
    search(
      name,
      { goals: { ...f.goals, max_bytes: point.bytes_moved }, snapshot_id: plan.snapshot_id },
      signal,
      live,
      go,
    ).catch((error) => fill(live, problemBox(error)));
  const changes = virtualList({
    label: "Changes",
    columns: "cols-changes",
    head: ["Partition", "From → to", "Why"],
    empty: "The plan changes nothing.",
    load: async (offset, limit) => {
      const found = await get(`${path}/changes?offset=${offset}&limit=${limit}`, signal);
      return { total: found.total, rows: found.changes };
    },
    row: (c) => [
      `${c.topic}-${c.partition}`,
      h("span", { class: "mono" }, `${c.before.join(",")} → ${c.after.join(",")}`),
      h("span", { title: c.why ?? "" }, c.why ?? ""),
    ],
  });
  const curve =
    plan.curve.length > 1
      ? [
          curveChart(plan.curve, plan.knee, choose, { now: aboveBestNow(f) }),
          h("p", { class: "hint" }, "A stop of the curve makes a plan with that budget."),
        ]
      : h(
          "p",
          { class: "empty" },
          h("strong", {}, "Nothing to trade"),
          "The search had one stop: the cluster is within the tolerance, or only forced moves were made.",
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
        h("h1", { tabindex: "-1" }, "Plan"),
        h("div", { class: "sub" }, `made ${time(plan.created_at)} by ${personOf(plan.who)}`),
      ),
      h(
        "div",
        { class: "actions" },
        h("a", { class: "button", href: `/api/v1${path}/file`, download: "" }, "Download"),
      ),
    ),
    h(
      "div",
      { class: "card" },
      h(
        "div",
        { class: "figures" },
        figure("partitions change", count(f.partitions)),
        figure("replicas move", count(f.replicas_moved)),
        figure("leaders move", count(f.leaders_moved)),
        figure("bytes to move", bytes(f.bytes_moved)),
        figure("at the links' speed", duration(f.eta_seconds)),
        figure("waves", count(f.waves)),
      ),
    ),
    h(
      "div",
      { class: "grid" },
      h(
        "div",
        { class: "card" },
        h("h2", {}, "Balance"),
        balanceTable(f),
        f.notes?.map((n) => h("p", { class: "hint" }, n)),
        certificate(path, f, signal),
      ),
      h("div", { class: "card" }, h("h2", {}, "Bytes against balance"), curve, live),
    ),
    h("div", { class: "grid" }, beforeAndAfter(plan), carryOut(context, plan, predictions)),
    h(
      "div",
      { class: "card" },
      h("h2", {}, "Moves and why"),
      h(
        "ul",
        {},
        plan.grounds.map((g) => h("li", {}, `${count(g.count)} × ${g.why}`)),
      ),
      changes.node,
    ),
  );
}

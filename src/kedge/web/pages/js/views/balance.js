/** Balance: goals and a budget beside the curve of the last plan, a plan made live, and the plans so far. */
import { awaitJob, get, post } from "../api.js";
import { badge, field, figure, fill, h, problemBox, table } from "../dom.js";
import { bytes, count, percent, personOf, time } from "../format.js";
import { aboveBest, aboveBestNow, curveChart } from "../parts/charts.js";

const NO_LIMIT = 100;

/** @param {Record<string, any>} attrs */
const input = (attrs) => /** @type {HTMLInputElement} */ (h("input", attrs));
/** @param {string} text */
const ids = (text) => text.split(/[ ,]+/).filter(Boolean).map(Number);

/** The controls of a search, and the goals that they say. @param {number} whole bytes on disk @param {() => void} changed */
function goalControls(whole, changed) {
  const query = new URLSearchParams(location.hash.split("?")[1] ?? "");
  const tolerance = input({ type: "range", min: 0, max: 50, value: 5 }),
    budget = input({ type: "range", min: 0, max: NO_LIMIT, value: NO_LIMIT });
  const remove = input({ placeholder: "3, 4", value: query.get("remove") ?? "" }),
    add = input({ placeholder: "9, 10" }),
    topics = input({ placeholder: "orders,logs-.*" });
  const leaders = input({ type: "checkbox" }),
    racks = input({ type: "checkbox" });
  const toleranceText = h("output", {}),
    budgetText = h("output", {});
  // By squares, so that small budgets have as much room on the slider as large ones.
  const limit = () =>
    Number(budget.value) >= NO_LIMIT ? null : Math.round((whole * Number(budget.value) ** 2) / NO_LIMIT ** 2);
  const show = () => {
    const aim = `at most ${tolerance.value} % above the best possible`,
      most = limit() === null ? "no limit" : `move at most ${bytes(limit())}`;
    fill(toleranceText, aim);
    tolerance.setAttribute("aria-valuetext", aim);
    fill(budgetText, most);
    budget.setAttribute("aria-valuetext", most);
    changed();
  };
  tolerance.addEventListener("input", show);
  budget.addEventListener("input", show);
  const goals = () => ({
    tolerance: Number(tolerance.value) / 100,
    ...(limit() === null ? {} : { max_bytes: limit() }),
    ...(remove.value ? { remove_brokers: ids(remove.value) } : {}),
    ...(add.value ? { add_brokers: ids(add.value).map((id) => ({ id })) } : {}),
    ...(topics.value ? { topics: topics.value } : {}),
    ...(leaders.checked ? { leaders_only: true } : {}),
    ...(racks.checked ? { strict_racks: true } : {}),
  });
  const node = [
    field("Tolerance", tolerance, toleranceText),
    field("Budget", budget, budgetText),
    h("div", { class: "grid tight" }, field("Brokers to empty", remove), field("Brokers to fill", add)),
    field("Only these topics", topics, "a pattern; all if empty"),
    h(
      "div",
      { class: "row field" },
      h("label", { class: "check" }, leaders, "Leaders only, no data"),
      h("label", { class: "check" }, racks, "One replica per rack, strictly"),
    ),
  ];
  return { node, goals, limit, tolerance: () => Number(tolerance.value) / 100, show };
}

/** What the last plan's curve says of a budget. @param {any[]} curve @param {number|null} limit @param {number} tolerance */
function reach(curve, limit, tolerance) {
  const within = curve.filter((p) => limit === null || p.bytes_moved <= limit);
  const best = within[within.length - 1];
  if (!best)
    return `Less than ${bytes(curve[0].bytes_moved)} was no stop of that search: the search finds out what it buys.`;
  const enough = within.find((p) => aboveBest(p) <= tolerance + 1e-9);
  const got = `${bytes(best.bytes_moved)} bring the fullest broker to ${percent(aboveBest(best), 1)} above the best`;
  return enough ? `${bytes(enough.bytes_moved)} are enough for the tolerance.` : `${got}; the tolerance needs more.`;
}

/** @param {any} context */
export async function page({ params: [name], signal, may, go }) {
  const [{ plans }, about] = await Promise.all([
    get(`/clusters/${name}/plans`, signal),
    get(`/clusters/${name}`, signal),
  ]);
  const last = plans.length ? await get(`/clusters/${name}/plans/${plans[0].id}`, signal) : null;
  const f = about.summary,
    live = h("div", {}),
    curve = h("div", {}),
    said = h("p", { class: "hint", "aria-live": "polite" });
  const stops = last?.curve ?? [];
  const controls = goalControls(f?.bytes ?? 0, () => {
    if (stops.length < 2) return;
    fill(
      curve,
      curveChart(stops, last.knee, (p) => begin({ ...controls.goals(), max_bytes: p.bytes_moved }), {
        budget: controls.limit(),
        tolerance: controls.tolerance(),
        now: aboveBestNow(last.summary),
      }),
    );
    fill(said, reach(stops, controls.limit(), controls.tolerance()));
  });
  const make = /** @type {HTMLButtonElement} */ (h("button", { class: "primary", type: "submit" }, "Make a plan"));
  /** @param {any} goals */
  const begin = async (goals) => {
    make.disabled = true;
    try {
      await search(name, { goals }, signal, live, go);
    } catch (error) {
      fill(live, problemBox(error));
    } finally {
      make.disabled = false;
    }
  };
  controls.show();
  const form = h(
    "form",
    {
      class: "card",
      onsubmit: (event) => {
        event.preventDefault();
        begin(controls.goals());
      },
    },
    h("h2", {}, "Goals and budget"),
    controls.node,
    make,
  );
  const now =
    f &&
    h(
      "div",
      { class: "figures" },
      figure("fullest ÷ mean disk", f.disk_imbalance?.toFixed(3) ?? "–"),
      figure("on disk", bytes(f.bytes)),
      figure("brokers", count(f.brokers)),
      figure("moving", count(f.moving), f.moving ? "warn" : ""),
    );
  const trade =
    stops.length > 1
      ? h(
          "div",
          {},
          h("h2", { class: "spaced" }, "Bytes against balance"),
          curve,
          said,
          h(
            "p",
            { class: "hint" },
            "Of the last plan, for these goals and that budget. A stop makes a plan with that budget.",
          ),
        )
      : h("p", { class: "empty" }, h("strong", {}, "No curve yet"), "The first plan draws what each byte moved buys.");
  return h(
    "div",
    {},
    h("div", { class: "head" }, h("h1", { tabindex: "-1" }, "Balance"), f && badge(about.state)),
    h(
      "div",
      { class: "grid" },
      may("plan") ? form : h("p", { class: "card" }, "Your role does not make plans."),
      h("div", { class: "card" }, h("h2", {}, "Now"), now, live, trade),
    ),
    h("div", { class: "card" }, h("h2", {}, "Plans"), planTable(name, plans)),
  );
}

/** @param {string} name @param {any[]} plans */
function planTable(name, plans) {
  const head = /** @type {[string, string?][]} */ ([
    ["Made"],
    ["Partitions", "num"],
    ["Bytes", "num"],
    ["Disk before", "num"],
    ["after", "num"],
    ["best possible", "num"],
    ["By"],
  ]);
  const ratio = (p, when) => p.summary[`imbalance_${when}`]?.disk?.toFixed(3) ?? "–";
  const rows = plans.map((p) => [
    h("a", { href: `#/clusters/${name}/plans/${p.id}` }, time(p.created_at)),
    count(p.summary.partitions),
    bytes(p.summary.bytes_moved),
    ratio(p, "before"),
    ratio(p, "after"),
    ratio(p, "lower_bound"),
    personOf(p.who),
  ]);
  return table(head, rows, "No plan was made yet. Set goals above; making a plan changes nothing.");
}

/** Make a plan, with the search shown live. @param {string} name @param {any} body @param {AbortSignal} signal @param {Element} live @param {(where: string) => void} go */
export async function search(name, body, signal, live, go) {
  const job = await post(`/clusters/${name}/plans`, body);
  const text = h("p", {}, "Taking a snapshot …"),
    sums = h("div", { class: "figures" }),
    curve = h("div", {});
  fill(
    live,
    h(
      "div",
      { class: "note" },
      h("h3", {}, "Searching"),
      text,
      sums,
      curve,
      h(
        "button",
        { type: "button", onclick: () => post(`/clusters/${name}/jobs/${job.id}/stop`) },
        "Take the best so far",
      ),
    ),
  );
  const row = await awaitJob(name, job.id, signal, (p) => {
    if (!p.text) return;
    fill(text, p.text);
    fill(
      sums,
      figure("replicas to move", count(p.replicas_moved)),
      figure("bytes", bytes(p.bytes_moved)),
      figure("no plan moves less than", bytes(p.bytes_lower_bound)),
      figure("brokers outside", count(p.brokers_over)),
    );
    if (p.curve?.length > 1) fill(curve, curveChart(p.curve, null, null));
  });
  go(`#/clusters/${name}/plans/${row.result.plan_id}`);
}

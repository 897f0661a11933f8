/** One run, live: bars by broker, moves in flight, time left beside the prediction; and its verbs. */
import { get, listen, post } from "../api.js";
import { ask, badge, field, figure, fill, h, problemBox, table, tell } from "../dom.js";
import { bytes, count, duration } from "../format.js";
import { rateSlider } from "../parts/rate_slider.js";

const BROKERS = 30;
const MOVES = 40;
const NOTES = 12;
const POLL_MS = 2000;
const POLL_BESIDE_EVENTS_MS = 4000;
const LATE = 1.25;
const NOT_HEALTHY = "urn:kedge:error:cluster-not-healthy";
const ENDED = ["done", "cancelled", "rolled back"];
/** @param {any} job */
const isActive = (job) => ["waiting", "running"].includes(job?.state);

/** @param {number} done @param {number} total */
function bar(done, total) {
  const share = total ? Math.min(100, (100 * done) / total) : 0;
  return h(
    "div",
    {
      class: "progress",
      role: "progressbar",
      "aria-valuenow": Math.round(share),
      "aria-valuemin": 0,
      "aria-valuemax": 100,
      "aria-label": `${bytes(done)} of ${bytes(total)}`,
    },
    h("i", { style: { width: `${share}%` } }),
  );
}

/** @param {number} done @param {number} total */
const flow = (done, total) =>
  h(
    "div",
    { class: "two-part" },
    bar(done, total),
    h("span", { class: "amount" }, total ? `${bytes(done)} / ${bytes(total)}` : "–"),
  );

/** The whole run in one bar and figures. @param {any} p progress @param {any} run @param {number|null} predicted */
function totals(p, run, predicted) {
  const share = p.bytes_total ? p.bytes_done / p.bytes_total : p.partitions ? (p.done ?? 0) / p.partitions : 0;
  const left = p.seconds_left ?? null,
    expected = left === null || !run.elapsed_seconds ? null : run.elapsed_seconds + left;
  return [
    bar(share, 1),
    h(
      "div",
      { class: "figures spaced" },
      figure("done", `${(100 * share).toFixed(1)} %`),
      figure(`of ${count(p.partitions)} partitions in place`, count(p.done)),
      figure("moving", count(p.moving)),
      figure(`copied of ${bytes(p.bytes_total)}`, bytes(p.bytes_done)),
      figure("rate", p.bytes_per_second ? `${bytes(p.bytes_per_second)}/s` : "–"),
      figure("time left", duration(left)),
      figure(
        predicted ? `in all; predicted ${duration(predicted)}` : "in all; not predicted",
        duration(expected),
        predicted && expected > LATE * predicted ? "warn" : "",
      ),
      figure("throttle", run.rate ? `${bytes(run.rate)}/s` : "none"),
    ),
  ];
}

/** @param {any} p progress */
function brokerBars(p) {
  const size = (b) => b.total_in + b.total_out;
  const busy = (p.brokers ?? [])
    .filter(size)
    .sort((a, b) => size(b) - size(a))
    .slice(0, BROKERS);
  if (!busy.length) return h("p", { class: "empty" }, "The run copies nothing between brokers.");
  return [
    h("div", { class: "b sub" }, h("span", {}, "broker"), h("span", {}, "in"), h("span", {}, "out")),
    busy.map((b) =>
      h("div", { class: "b" }, h("span", {}, b.broker), flow(b.bytes_in, b.total_in), flow(b.bytes_out, b.total_out)),
    ),
  ];
}

/** @param {any} p progress */
const moveTable = (p) =>
  table(
    [["In flight"], ["From → to"], ["Copied", "num"], ["Rate", "num"], ["Left", "num"]],
    (p.moves ?? [])
      .slice(0, MOVES)
      .map((m) => [
        `${m.topic}-${m.partition}`,
        h("span", { class: "mono" }, `${m.source ?? "–"} → ${m.destinations.join(", ")}`),
        `${bytes(m.bytes_done)} of ${bytes(m.bytes_total)}`,
        m.bytes_per_second ? `${bytes(m.bytes_per_second)}/s` : "–",
        duration(m.seconds_left),
      ]),
    "No move is in flight.",
  );

/** The page of one run: what is drawn, and what follows its events. */
class RunPage {
  /** @param {any} context @param {any} run @param {number|null} predicted */
  constructor(context, run, predicted) {
    const {
      params: [name, id],
      signal,
      may,
      go,
    } = context;
    this.run = run;
    this.name = name;
    this.path = `/clusters/${name}/runs/${id}`;
    this.signal = signal;
    this.may = may;
    this.go = go;
    /** @type {import("../api.js").Stream|null} */
    this.source = null;
    /** @type {string|undefined} the job whose events are read */
    this.followed = undefined;
    this.fits = "";
    this.predicted = predicted;
    this.notes = [...(run.job?.progress?.notes ?? [])];
    this.parts = {
      state: h("span", {}),
      totals: h("div", {}),
      brokers: h("div", { class: "bars" }),
      moves: h("div", {}),
      notes: h("ul", { class: "plain" }),
      verbs: h("div", { class: "actions" }),
      fault: h("div", {}),
    };
    this.rate = rateSlider(run.rate ?? 50e6);
  }
  /** @param {any} p progress */
  drawProgress(p) {
    fill(this.parts.totals, totals(p, this.run, this.predicted));
    fill(this.parts.brokers, brokerBars(p));
    fill(this.parts.moves, moveTable(p));
  }
  drawNotes() {
    const lines = this.notes
      .slice(-NOTES)
      .reverse()
      .map((n) => h("li", {}, n.text ?? n));
    fill(this.parts.notes, lines.length ? lines : h("li", { class: "sub" }, "None so far."));
  }
  /** The run as it was read last. Its figures too, unless a job's events bring newer ones. */
  drawRun() {
    fill(this.parts.state, badge(this.run.state));
    if (!isActive(this.run.job)) this.drawProgress(this.run.progress);
    this.drawVerbs();
  }
  async refresh() {
    this.run = await get(this.path, this.signal);
    this.drawRun();
    if (this.run.job?.id !== this.followed) this.follow();
  }
  /** Read the run again and again, until the page is left. */
  poll() {
    const again = () => this.refresh().catch(() => {}).then(() => this.poll());
    this.timer = setTimeout(again, isActive(this.run.job) ? POLL_BESIDE_EVENTS_MS : POLL_MS);
  }
  /** Send a verb; `amend` may turn its refusal into another body to send. @param {string} verb @param {any} body @param {string} text @param {(problem: any) => Promise<any>} [amend] @returns {Promise<any>} */
  async attempt(verb, body, text, amend = async () => null) {
    fill(this.parts.fault);
    this.fits = "";
    for (const each of this.parts.verbs.querySelectorAll("button")) each.disabled = true;
    try {
      const row = await post(`${this.path}/${verb}`, body);
      tell(text);
      await this.refresh();
      return row;
    } catch (error) {
      const amended = await amend(error);
      if (amended) return this.attempt(verb, amended, text);
      fill(this.parts.fault, problemBox(error));
      this.drawVerbs();
      return null;
    }
  }
  async cancel() {
    if (
      !(await ask("Cancel this run?", "Moves under way go back to where they were. What has arrived stays.", {
        agree: "Cancel the run",
        danger: true,
      }))
    )
      return;
    await this.attempt("cancel", undefined, "The run is being cancelled");
    this.follow();
  }
  async rollBack() {
    if (
      !(await ask("Roll this run back?", "Everything that it has moved comes back.", {
        agree: "Roll back",
        danger: true,
      }))
    )
      return;
    const body = { throttle: String(this.rate.value()) };
    const row = await this.attempt("rollback", body, "Rolling back", async (problem) =>
      (await this.ignoresHealth(problem)) ? { ...body, ignore_health: true } : null,
    );
    if (row) this.go(`#/clusters/${this.name}/runs/${row.run}`);
  }
  /** Whether a rollback is wanted on a cluster that is not healthy. @param {any} problem */
  async ignoresHealth(problem) {
    if (problem.type !== NOT_HEALTHY) return false;
    return ask("Roll back all the same?", `${problem.detail}. Moves may wait until it is repaired.`, {
      agree: "Ignore it and roll back",
      danger: true,
    });
  }
  async resume() {
    if (await this.attempt("resume", {}, "The run continues")) this.follow();
  }
  /** The verbs that fit the run. Those that are there stay, with the focus that one may have. */
  drawVerbs() {
    const { run } = this,
      fits = JSON.stringify([run.state, run.at_work, run.job?.state]);
    if (fits === this.fits) return;
    this.fits = fits;
    const ended = ENDED.includes(run.state),
      hasJob = isActive(run.job),
      atWork = hasJob || run.at_work !== false, // null: not known, so both verbs are offered
      atRest = !hasJob && run.at_work !== true;
    /** @param {boolean} possible @param {string} text @param {string} kind @param {() => void} act */
    const verb = (possible, text, kind, act) => possible && h("button", { class: kind, onclick: act }, text);
    fill(
      this.parts.verbs,
      this.may("apply") && [
        verb(!ended && atWork && run.state !== "paused", "Pause", "", () =>
          this.attempt("pause", undefined, "Paused: no more moves start"),
        ),
        verb(!ended && run.state === "paused", "Continue", "primary", () =>
          this.attempt("continue", undefined, "The run goes on"),
        ),
        verb(!ended && atRest, "Resume", "primary", () => this.resume()),
        verb(!ended, "Cancel", "danger", () => this.cancel()),
        verb(run.state !== "rolled back" && run.kind !== "rollback", "Roll back", "danger", () => this.rollBack()),
      ],
    );
  }
  follow() {
    this.source?.close();
    this.followed = this.run.job?.id;
    if (!this.run.job) return;
    this.source = listen(`/clusters/${this.name}/jobs/${this.run.job.id}/events`, this.signal, {
      progress: (p) => this.drawProgress(p),
      note: (n) => {
        this.notes.push(n);
        this.drawNotes();
      },
      finished: () => this.refresh(),
      job: (row) => this.onJob(row),
    });
  }
  /** @param {any} row */
  onJob(row) {
    this.run.job = row;
    this.notes = [...(row.progress.notes ?? [])];
    if (isActive(row) && row.progress.partitions !== undefined) this.drawProgress(row.progress);
    this.drawNotes();
    if (row.problem) fill(this.parts.fault, problemBox(row.problem));
    this.refresh();
  }
  node() {
    const { run, parts, rate } = this;
    const change = () =>
      this.attempt("throttle", { throttle: String(rate.value()) }, `The throttle is ${bytes(rate.value())}/s`);
    return h(
      "div",
      {},
      h(
        "div",
        { class: "head" },
        h(
          "div",
          {},
          h("h1", { tabindex: "-1" }, run.kind === "rollback" ? "Rollback" : "Run"),
          h("div", { class: "sub mono" }, run.run),
        ),
        parts.state,
        parts.verbs,
      ),
      parts.fault,
      h("div", { class: "card" }, parts.totals),
      h(
        "div",
        { class: "grid two" },
        h("div", { class: "card" }, h("h2", {}, "Brokers"), parts.brokers),
        h(
          "div",
          { class: "card" },
          h("h2", {}, "Throttle"),
          field("New throttle", rate.slider, rate.text),
          this.may("apply") && h("button", { onclick: change }, "Change the throttle"),
          h("h2", { class: "spaced" }, "Notes"),
          parts.notes,
        ),
      ),
      h("div", { class: "card" }, h("h2", {}, "Moves"), parts.moves),
    );
  }
}

/** What was predicted for the run: with the request of its job, or by its proposal. @param {string} name @param {any} run @param {AbortSignal} signal @returns {Promise<number|null>} */
async function predictedSeconds(name, run, signal) {
  const asked = run.job?.request?.predicted_s;
  const proposal = /^proposal (\S+)$/.exec(run.plan ?? "")?.[1];
  if (asked || !proposal || run.kind === "rollback") return asked ?? null;
  const found = await get(`/clusters/${name}/proposals/${proposal}`, signal).catch(() => null);
  return found?.cost?.seconds ?? null;
}

/** @param {any} context */
export async function page(context) {
  const {
    params: [name, id],
    signal,
  } = context;
  const run = await get(`/clusters/${name}/runs/${id}`, signal);
  const shown = new RunPage(context, run, await predictedSeconds(name, run, signal));
  shown.drawProgress(run.progress);
  shown.drawRun();
  shown.drawNotes();
  shown.follow();
  shown.poll();
  signal.addEventListener("abort", () => clearTimeout(shown.timer));
  return shown.node();
}

/** Runs: the list, and one run live with its verbs. */
import { get, listen, post } from "../api.js";
import { ask, badge, field, figure, fill, h, problemBox, tell } from "../dom.js";
import { bytes, count, duration, time } from "../format.js";
import { rateSlider } from "./plan.js";

/** @param {any} context */
export async function page({ params: [name], signal }) {
  const { runs } = await get(`/clusters/${name}/runs`, signal);
  return h("div", {}, h("div", { class: "head" }, h("div", {}, h("h1", { tabindex: "-1" }, "Runs"), h("div", { class: "sub" }, "of this page and of the command line alike"))),
    runs.length ? h("div", { class: "table", tabindex: "0" }, h("table", {}, h("thead", {}, h("tr", {}, ["Begun", "Kind", "State", "In place", "Took", "Of"].map((t) => h("th", {}, t)))),
      h("tbody", {}, runs.map((r) => h("tr", {}, h("td", {}, h("a", { href: `#/clusters/${name}/runs/${r.run}` }, time(r.begun_at))), h("td", {}, r.kind), h("td", {}, badge(r.state)), h("td", {}, `${count(r.done)} / ${count(r.partitions)}`), h("td", {}, duration(r.elapsed_seconds)), h("td", {}, r.undoes ?? r.plan ?? "")))))) : h("div", { class: "card empty" }, "No run yet. A plan is applied on its page."));
}

const bar = (done, total) => h("div", { class: "progress", role: "progressbar", "aria-valuenow": total ? Math.round((100 * done) / total) : 0, "aria-valuemin": 0, "aria-valuemax": 100, "aria-label": `${bytes(done)} of ${bytes(total)}` }, h("i", { style: { width: `${total ? Math.min(100, (100 * done) / total) : 0}%` } }));

/** @param {any} context */
export async function runPage({ params: [name, id], signal, may, go }) {
  const path = `/clusters/${name}/runs/${id}`;
  let run = await get(path, signal);
  const state = h("span", {}, badge(run.state)), totals = h("div", {}), brokers = h("div", { class: "bars" }), moves = h("div", {}), notes = h("ul", {}), verbs = h("div", { class: "actions" }), fault = h("div", {});
  const rate = rateSlider(run.rate ?? 50e6);
  let predicted = run.job?.request?.predicted_s ?? null;

  const drawTotals = (p) => {
    const share = p.bytes_total ? p.bytes_done / p.bytes_total : p.partitions ? (p.done ?? 0) / p.partitions : 0;
    fill(totals, bar(share, 1), h("div", { class: "figures", style: { "margin-top": ".8rem" } }, figure("done", `${(100 * share).toFixed(1)} %`), figure("partitions", `${count(p.done)} / ${count(p.partitions)}`), figure("moving", count(p.moving)), figure("copied", `${bytes(p.bytes_done)} of ${bytes(p.bytes_total)}`), figure("rate", p.bytes_per_second ? `${bytes(p.bytes_per_second)}/s` : "–"), figure("time left", duration(p.seconds_left)), predicted && figure("predicted in all", duration(predicted)), figure("throttle", run.rate ? `${bytes(run.rate)}/s` : "none")));
  };
  const drawFlows = (p) => {
    const busy = (p.brokers ?? []).filter((b) => b.total_in || b.total_out).sort((a, b) => b.total_in + b.total_out - a.total_in - a.total_out).slice(0, 30);
    fill(brokers, h("div", { class: "b sub" }, h("span", {}, "broker"), h("span", {}, "in"), h("span", {}, "out")), busy.map((b) => h("div", { class: "b" }, h("span", {}, b.broker), bar(b.bytes_in, b.total_in), bar(b.bytes_out, b.total_out))));
    const flying = (p.moves ?? []).slice(0, 40);
    fill(moves, flying.length ? h("div", { class: "table", tabindex: "0" }, h("table", {}, h("thead", {}, h("tr", {}, ["In flight", "From → to", "Copied", "Rate", "Left"].map((t) => h("th", {}, t)))), h("tbody", {}, flying.map((m) => h("tr", {}, h("td", {}, `${m.topic}-${m.partition}`), h("td", { class: "mono" }, `${m.source ?? "–"} → ${m.destinations.join(",")}`), h("td", {}, `${bytes(m.bytes_done)} of ${bytes(m.bytes_total)}`), h("td", {}, m.bytes_per_second ? `${bytes(m.bytes_per_second)}/s` : "–"), h("td", {}, duration(m.seconds_left))))))) : h("p", { class: "empty" }, "No move is in flight."));
  };
  const drawNotes = (list) => fill(notes, (list ?? []).slice(-12).reverse().map((n) => h("li", {}, n.text ?? n)));
  const refresh = async () => { run = await get(path, signal); fill(state, badge(run.state)); drawVerbs(); return run; };
  const attempt = async (verb, body, text) => { fill(fault); for (const each of verbs.querySelectorAll("button")) each.disabled = true; try { const row = await post(`${path}/${verb}`, body); tell(text); await refresh(); return row; } catch (error) { fill(fault, problemBox(error)); drawVerbs(); return null; } };
  const atWork = () => run.job && ["waiting", "running"].includes(run.job.state);
  function drawVerbs() {
    const ended = ["done", "cancelled", "rolled back"].includes(run.state);
    fill(verbs, may("apply") && [
      atWork() && !ended && h("button", { onclick: () => attempt("pause", undefined, "Paused: no more moves start") }, "Pause"),
      !ended && run.state === "paused" && h("button", { class: "primary", onclick: () => attempt("continue", undefined, "The run goes on") }, "Continue"),
      !ended && !atWork() && h("button", { class: "primary", onclick: async () => { if (await attempt("resume", {}, "The run continues")) follow(); } }, "Resume"),
      !ended && h("button", { class: "danger", onclick: async () => { if (await ask("Cancel this run?", "Moves under way go back to where they were. What has arrived stays.", { agree: "Cancel the run", danger: true })) await attempt("cancel", undefined, "The run is being cancelled"); follow(); } }, "Cancel"),
      run.state !== "rolled back" && run.kind !== "rollback" && h("button", { class: "danger", onclick: async () => { if (!(await ask("Roll this run back?", "Everything that it has moved comes back.", { agree: "Roll back", danger: true }))) return; const row = await attempt("rollback", { throttle: String(rate.value()), ignore_health: true }, "Rolling back"); if (row) go(`#/clusters/${name}/runs/${row.run}`); } }, "Roll back")]);
  }
  let source = null;
  function follow() {
    source?.close();
    if (!run.job) return;
    source = listen(`/clusters/${name}/jobs/${run.job.id}/events`, signal, {
      progress: (p) => { drawTotals(p); drawFlows(p); },
      note: (n) => { drawNotes([...(run.job.progress.notes ?? []), n]); (run.job.progress.notes ??= []).push(n); },
      finished: () => refresh(),
      job: (row) => { run.job = row; if (row.progress.partitions !== undefined) { drawTotals(row.progress); drawFlows(row.progress); } drawNotes(row.progress.notes); if (row.problem) fill(fault, problemBox(row.problem)); refresh(); },
    });
  }
  const counts = run.partitions, done = counts.done ?? counts["in place"] ?? 0, all = Object.values(counts).reduce((a, b) => a + b, 0);
  drawTotals({ partitions: all, done, moving: run.moving.length, bytes_total: run.bytes_total, bytes_done: run.bytes_done, seconds_left: run.seconds_left });
  drawFlows(run.job?.progress ?? {}); drawVerbs(); drawNotes(run.job?.progress?.notes); follow();
  const poll = setInterval(() => refresh().catch(() => {}), 4000);
  signal.addEventListener("abort", () => clearInterval(poll));
  return h("div", {}, h("div", { class: "head" }, h("div", {}, h("h1", { tabindex: "-1" }, run.kind === "rollback" ? "Rollback" : "Run"), h("div", { class: "sub mono" }, run.run)), state, verbs), fault,
    h("div", { class: "card" }, totals),
    h("div", { class: "grid two" }, h("div", { class: "card" }, h("h2", {}, "Brokers"), brokers), h("div", { class: "card" }, h("h2", {}, "Throttle"), field("New throttle", rate.slider, rate.text), may("apply") && h("button", { onclick: () => attempt("throttle", { throttle: String(rate.value()) }, `The throttle is ${bytes(rate.value())}/s`) }, "Change the throttle"), h("h2", { style: { margin: "1.2rem 0 .4rem" } }, "Notes"), notes)),
    h("div", { class: "card" }, h("h2", {}, "Moves"), moves));
}

/** Proposals of the loop: what it found, what it would do and why; approved or rejected here, live. */
import { get, listen, post } from "../api.js";
import { ask, badge, field, figure, fill, fillChanged, h, problemBox, table, tell } from "../dom.js";
import { ago, bytes, count, duration, percent, time } from "../format.js";
import { virtualList } from "../parts/list.js";

const WAITING = ["open", "approved"];
const KINDS = {
  repair: "Replace replicas of a broker that is down", racks: "Spread replicas over racks again", disk: "Make room on full disks",
  fill: "Put load on an empty broker", balance: "Even out the load", leaders: "Let preferred replicas lead again",
};
const MODES = {
  propose: "The loop proposes and starts nothing by itself.",
  approve: "A proposal runs once it is approved.",
  auto: "Proposals run by themselves within the budget; others need an approval.",
};

/** @param {any} c the predicted cost of a proposal */
function costFigures(c) {
  const range = c.seconds_p10 && c.seconds_p90 ? h("small", {}, ` ${duration(c.seconds_p10)} – ${duration(c.seconds_p90)}`) : null;
  return h("div", { class: "figures" }, figure("to copy", bytes(c.bytes)), figure("replicas move", count(c.moves)), figure("leaders move", count(c.leaders)),
    figure("predicted to take", h("span", {}, c.seconds === null ? "never ends" : duration(c.seconds), range), c.seconds === null ? "bad" : ""), c.peak_disk !== null && figure("fullest disk on the way", percent(c.peak_disk)));
}

/** Approve: for the next window, or at once. @param {string} path @param {any} p @param {any} policy */
async function approve(path, p, policy) {
  const once = /** @type {HTMLInputElement} */ (h("input", { type: "checkbox" })), windows = policy?.budget?.windows ?? [];
  const body = h("div", {}, h("p", {}, `${KINDS[p.kind] ?? p.kind}: ${count(p.partitions)} partitions, ${bytes(p.cost.bytes)} to copy.`),
    policy?.mode === "propose" && h("p", { class: "note" }, "The policy is “propose”: the loop starts nothing. Set mode = “approve” for approved proposals to run."),
    windows.length > 0 && h("label", { class: "check row" }, once, `At once, not in the next window (${windows.join(", ")})`));
  if (!(await ask("Approve this proposal?", body, { agree: "Approve" }))) return false;
  await post(`${path}/approve`, { version: p.version, at_once: once.checked });
  tell("Approved: the loop starts it at its next sample");
  return true;
}

/** Reject, with a reason that is kept. @param {string} path @param {any} p */
async function reject(path, p) {
  const reason = /** @type {HTMLTextAreaElement} */ (h("textarea", { rows: 3, maxlength: 1000, required: true }));
  if (!(await ask("Reject this proposal?", field("Reason", reason, "kept with the proposal; the same is not proposed again for a while"), { agree: "Reject", danger: true }))) return false;
  await post(`${path}/reject`, { version: p.version, reason: reason.value });
  tell("Rejected");
  return true;
}

/** The buttons of a proposal that waits for a decision. @param {any} context @param {any} p @param {any} policy @param {() => void} again @param {Element} fault */
function verbs({ params: [name], may }, p, policy, again, fault) {
  if (!may("apply") || !WAITING.includes(p.state)) return null;
  const path = `/clusters/${name}/proposals/${p.id}`;
  /** @param {() => Promise<boolean>} act */
  const attempt = async (act) => { fill(fault); try { if (await act()) again(); } catch (error) { fill(fault, problemBox(error)); } };
  return h("div", { class: "row" },
    p.state === "open" && h("button", { class: "primary", onclick: () => attempt(() => approve(path, p, policy)), disabled: p.cost.problems.length > 0 }, "Approve …"),
    h("button", { class: "danger", onclick: () => attempt(() => reject(path, p)) }, "Reject …"));
}

/** One proposal that is not ended yet. @param {any} context @param {any} p @param {any} policy @param {() => void} again */
function card(context, p, policy, again) {
  const [name] = context.params, fault = h("div", {});
  return h("article", { class: "card proposal" },
    h("div", { class: "cardhead" }, h("h2", {}, h("a", { href: `#/clusters/${name}/proposals/${p.id}` }, KINDS[p.kind] ?? p.kind)), badge(p.state), h("span", { class: "sub end" }, `made ${ago(p.made_at)}`)),
    h("ul", {}, p.reasons.map((why) => h("li", {}, why))), costFigures(p.cost), p.cost.problems.map((text) => h("div", { class: "problem" }, text)),
    p.waits_for && h("p", { class: "note" }, `Waits: ${p.waits_for}`), verbs(context, p, policy, again, fault), fault);
}

/** The state of the loop in one line of figures. @param {any} loop */
const loopCard = (loop) => h("div", { class: "card" }, h("div", { class: "cardhead" }, h("h2", {}, "The loop"), badge(loop.leader ? "leading" : "waiting"), h("span", { class: "sub end" }, MODES[loop.mode] ?? "")),
  h("div", { class: "figures" }, figure("mode", loop.mode), figure("last sample", loop.last_sample_at ? ago(loop.last_sample_at) : "none yet"), figure("every", duration(loop.sample_every_s)), figure("findings", count(loop.findings), loop.findings ? "warn" : "good"), figure("led by", loop.leader ? (loop.leads_here ? "this server" : loop.leader.host) : "no server")));

/** @param {any[]} findings */
const findingTable = (findings) => table([["Finding"], ["Since"], ["What", "wide"], ["What is done about it", "wide"]], findings.map((f) => [h("strong", {}, f.kind), ago(f.since), f.why, f.answer || (f.remedy ? `a proposal: ${f.remedy}` : "a person has to look")]), "Nothing is wrong.");

const nothingProposed = () => h("div", { class: "card empty" }, h("strong", {}, "Nothing is proposed"), "The loop samples the cluster; a finding that lasts becomes a proposal with its plan, cost and reasons.");

/** @param {string} name @param {any[]} ended proposals */
const endedTable = (name, ended) => table([["Changed"], ["Proposal"], ["State"], ["Bytes", "num"], ["By"], ["Why", "wide"]], ended.map((p) => [
  h("a", { href: `#/clusters/${name}/proposals/${p.id}` }, time(p.changed_at)), p.kind, badge(p.state), bytes(p.bytes_copied ?? p.cost.bytes), p.by, p.why]), "None yet.");

/** @param {any} context */
export async function page(context) {
  const { params: [name], signal } = context, path = `/clusters/${name}`;
  const state = h("div", {}), found = h("div", {}), waiting = h("div", { class: "stack" }), past = h("div", {});
  const policy = await get(`${path}/policy`, signal);
  const draw = async () => {
    const [loop, { findings }, { proposals }] = await Promise.all([get(`${path}/loop`, signal), get(`${path}/findings`, signal), get(`${path}/proposals`, signal)]);
    const active = proposals.filter((p) => [...WAITING, "running"].includes(p.state)), ended = proposals.filter((p) => !active.includes(p));
    fill(state, loopCard(loop));
    fillChanged(found, findings, findingTable);
    fillChanged(waiting, active, () => (active.length ? active.map((p) => card(context, p, policy, draw)) : nothingProposed()));
    fillChanged(past, ended, () => endedTable(name, ended));
  };
  await draw();
  follow(context, draw);
  return h("div", {},
    h("div", { class: "head" }, h("div", {}, h("h1", { tabindex: "-1" }, "Proposals"), h("div", { class: "sub" }, "what the loop found, and what it would do about it"))),
    state, waiting, h("div", { class: "card" }, h("h2", {}, "Findings"), found), h("div", { class: "card" }, h("h2", {}, "Ended"), past),
    h("details", { class: "card" }, h("summary", {}, "Policy"), h("pre", { class: "mono", tabindex: "0" }, policy.text)));
}

/** Draw again when the loop has sampled or a proposal has changed. @param {any} context @param {() => Promise<void>} draw */
function follow({ params: [name], signal }, draw) {
  let due = 0;
  const soon = () => { due ||= setTimeout(() => { due = 0; if (!signal.aborted && !document.querySelector("dialog[open]")) draw(); }, 200); };
  listen(`/clusters/${name}/events`, signal, { proposal: soon, finding: soon, loop: soon });
}

/** @param {any} context */
export async function proposalPage(context) {
  const { params: [name, id], signal } = context, path = `/clusters/${name}/proposals/${id}`;
  const policy = await get(`/clusters/${name}/policy`, signal);
  const body = h("div", {}), fault = h("div", {}), state = h("span", {}), actions = h("div", { class: "actions" }), kind = h("h1", { tabindex: "-1" });
  const draw = async () => {
    fillChanged(body, await get(path, signal), show);
  };
  /** @param {any} p */
  const show = (p) => {
    fill(kind, KINDS[p.kind] ?? p.kind);
    fill(state, badge(p.state));
    fill(actions, verbs(context, p, policy, draw, fault), p.partitions > p.elections && h("a", { class: "button", href: `/api/v1${path}/file`, download: "" }, "Download the plan"));
    const story = [["made", time(p.made_at)], p.approval && ["approved", `${time(p.approval.at)} by ${p.approval.by}${p.approval.at_once ? ", at once" : ""}`], p.started_at && ["started", time(p.started_at)], p.ended_at && ["ended", `${time(p.ended_at)} by ${p.by}`], p.why && ["because", p.why], p.waits_for && ["waits", p.waits_for], p.bytes_copied !== null && ["copied", bytes(p.bytes_copied)]].filter(Boolean);
    return h("div", {}, h("div", { class: "card" }, costFigures(p.cost), p.cost.problems.map((text) => h("div", { class: "problem" }, text))),
      h("div", { class: "grid" }, h("div", { class: "card" }, h("h2", {}, "Why"), h("ul", {}, p.reasons.map((why) => h("li", {}, why))), !p.complete && h("p", { class: "hint" }, "This is what the budget allows; more is proposed after it.")),
        h("div", { class: "card" }, h("h2", {}, "So far"), h("dl", {}, story.map(([what, text]) => [h("dt", {}, what), h("dd", {}, text)])), p.run && h("p", {}, h("a", { href: `#/clusters/${name}/runs/${p.run}` }, "The run")))));
  };
  await draw();
  follow(context, draw);
  const changes = virtualList({ label: "Changes", columns: "cols-changes", head: ["Partition", "From → to", "Why"], empty: "No replica moves.",
    load: async (offset, limit) => { const found = await get(`${path}/changes?offset=${offset}&limit=${limit}`, signal); return { total: found.total, rows: found.changes }; },
    row: (c) => [`${c.topic}-${c.partition}`, h("span", { class: "mono" }, c.after.length ? `${c.before.join(",")} → ${c.after.join(",")}` : "preferred leader"), h("span", { title: c.why ?? "" }, c.why ?? "")] });
  return h("div", {}, h("div", { class: "head" }, h("div", {}, kind, h("div", { class: "sub mono" }, id)), state, actions), fault, body, h("div", { class: "card" }, h("h2", {}, "Moves and why"), changes.node));
}

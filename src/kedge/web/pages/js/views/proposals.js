/** Proposals of the loop: what it found, what it would do and why; approved or rejected here, live. */
import { get } from "../api.js";
import { badge, figure, fill, fillChanged, h, table } from "../dom.js";
import { ago, bytes, count, duration, time } from "../format.js";
import { KINDS, WAITING, costFigures, follow, verbs } from "../parts/proposal.js";

const MODES = {
  propose: "The loop proposes and starts nothing by itself.",
  approve: "A proposal runs once it is approved.",
  auto: "Proposals run by themselves within the budget; others need an approval.",
};

/** One proposal that is not ended yet. @param {any} context @param {any} p @param {any} policy @param {() => void} again */
function card(context, p, policy, again) {
  const [name] = context.params,
    fault = h("div", {});
  return h(
    "article",
    { class: "card proposal" },
    h(
      "div",
      { class: "cardhead" },
      h("h2", {}, h("a", { href: `#/clusters/${name}/proposals/${p.id}` }, KINDS[p.kind] ?? p.kind)),
      badge(p.state),
      h("span", { class: "sub end" }, `made ${ago(p.made_at)}`),
    ),
    h(
      "ul",
      {},
      p.reasons.map((why) => h("li", {}, why)),
    ),
    costFigures(p.cost),
    p.cost.problems.map((text) => h("div", { class: "problem" }, text)),
    p.waits_for && h("p", { class: "note" }, `Waits: ${p.waits_for}`),
    verbs(context, p, policy, again, fault),
    fault,
  );
}

/** The state of the loop in one line of figures. @param {any} loop */
const loopCard = (loop) =>
  h(
    "div",
    { class: "card" },
    h(
      "div",
      { class: "cardhead" },
      h("h2", {}, "The loop"),
      badge(loop.leader ? "leading" : "waiting"),
      h("span", { class: "sub end" }, MODES[loop.mode] ?? ""),
    ),
    h(
      "div",
      { class: "figures" },
      figure("mode", loop.mode),
      figure("last sample", loop.last_sample_at ? ago(loop.last_sample_at) : "none yet"),
      figure("every", duration(loop.sample_every_s)),
      figure("findings", count(loop.findings), loop.findings ? "warn" : "good"),
      figure("led by", loop.leader ? (loop.leads_here ? "this server" : loop.leader.host) : "no server"),
    ),
  );

/** @param {any[]} findings */
const findingTable = (findings) =>
  table(
    [["Finding"], ["Since"], ["What", "wide"], ["What is done about it", "wide"]],
    findings.map((f) => [
      h("strong", {}, f.kind),
      ago(f.since),
      f.why,
      f.answer || (f.remedy ? `a proposal: ${f.remedy}` : "a person has to look"),
    ]),
    "Nothing is wrong.",
  );

const nothingProposed = () =>
  h(
    "div",
    { class: "card empty" },
    h("strong", {}, "Nothing is proposed"),
    "The loop samples the cluster; a finding that lasts becomes a proposal with its plan, cost and reasons.",
  );

/** @param {string} name @param {any[]} ended proposals */
const endedTable = (name, ended) =>
  table(
    [["Changed"], ["Proposal"], ["State"], ["Bytes", "num"], ["By"], ["Why", "wide"]],
    ended.map((p) => [
      h("a", { href: `#/clusters/${name}/proposals/${p.id}` }, time(p.changed_at)),
      p.kind,
      badge(p.state),
      bytes(p.bytes_copied ?? p.cost.bytes),
      p.by,
      p.why,
    ]),
    "None yet.",
  );

/** @param {any} context */
export async function page(context) {
  const {
      params: [name],
      signal,
    } = context,
    path = `/clusters/${name}`;
  const state = h("div", {}),
    found = h("div", {}),
    waiting = h("div", { class: "stack" }),
    past = h("div", {});
  const policy = await get(`${path}/policy`, signal);
  const draw = async () => {
    const [loop, { findings }, { proposals }] = await Promise.all([
      get(`${path}/loop`, signal),
      get(`${path}/findings`, signal),
      get(`${path}/proposals`, signal),
    ]);
    const active = proposals.filter((p) => [...WAITING, "running"].includes(p.state)),
      ended = proposals.filter((p) => !active.includes(p));
    fill(state, loopCard(loop));
    fillChanged(found, findings, findingTable);
    fillChanged(waiting, active, () =>
      active.length ? active.map((p) => card(context, p, policy, draw)) : nothingProposed(),
    );
    fillChanged(past, ended, () => endedTable(name, ended));
  };
  await draw();
  follow(context, draw);
  return h(
    "div",
    {},
    h(
      "div",
      { class: "head" },
      h(
        "div",
        {},
        h("h1", { tabindex: "-1" }, "Proposals"),
        h("div", { class: "sub" }, "what the loop found, and what it would do about it"),
      ),
    ),
    state,
    waiting,
    h("div", { class: "card" }, h("h2", {}, "Findings"), found),
    h("div", { class: "card" }, h("h2", {}, "Ended"), past),
    h(
      "details",
      { class: "card" },
      h("summary", {}, "Policy"),
      h("pre", { class: "mono", tabindex: "0" }, policy.text),
    ),
  );
}

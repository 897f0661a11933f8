/** One proposal: why it was made, what it costs, what it moves, and what became of it. */
import { get } from "../api.js";
import { badge, fill, fillChanged, h } from "../dom.js";
import { bytes, time } from "../format.js";
import { virtualList } from "../parts/list.js";
import { KINDS, costFigures, follow, verbs } from "../parts/proposal.js";

/** @param {any} context */
export async function page(context) {
  const {
      params: [name, id],
      signal,
    } = context,
    path = `/clusters/${name}/proposals/${id}`;
  const policy = await get(`/clusters/${name}/policy`, signal);
  const body = h("div", {}),
    fault = h("div", {}),
    state = h("span", {}),
    actions = h("div", { class: "actions" }),
    kind = h("h1", { tabindex: "-1" });
  const draw = async () => {
    fillChanged(body, await get(path, signal), show);
  };
  /** @param {any} p */
  const show = (p) => {
    fill(kind, KINDS[p.kind] ?? p.kind);
    fill(state, badge(p.state));
    fill(
      actions,
      verbs(context, p, policy, draw, fault),
      p.partitions > p.elections &&
        h("a", { class: "button", href: `/api/v1${path}/file`, download: "" }, "Download the plan"),
    );
    const story = [
      ["made", time(p.made_at)],
      p.approval && ["approved", `${time(p.approval.at)} by ${p.approval.by}${p.approval.at_once ? ", at once" : ""}`],
      p.started_at && ["started", time(p.started_at)],
      p.ended_at && ["ended", `${time(p.ended_at)} by ${p.by}`],
      p.why && ["because", p.why],
      p.waits_for && ["waits", p.waits_for],
      p.bytes_copied !== null && ["copied", bytes(p.bytes_copied)],
    ].filter(Boolean);
    return h(
      "div",
      {},
      h(
        "div",
        { class: "card" },
        costFigures(p.cost),
        p.cost.problems.map((text) => h("div", { class: "problem" }, text)),
      ),
      h(
        "div",
        { class: "grid" },
        h(
          "div",
          { class: "card" },
          h("h2", {}, "Why"),
          h(
            "ul",
            {},
            p.reasons.map((why) => h("li", {}, why)),
          ),
          !p.complete && h("p", { class: "hint" }, "This is what the budget allows; more is proposed after it."),
        ),
        h(
          "div",
          { class: "card" },
          h("h2", {}, "So far"),
          h(
            "dl",
            {},
            story.map(([what, text]) => [h("dt", {}, what), h("dd", {}, text)]),
          ),
          p.run && h("p", {}, h("a", { href: `#/clusters/${name}/runs/${p.run}` }, "The run")),
        ),
      ),
    );
  };
  await draw();
  follow(context, draw);
  const changes = virtualList({
    label: "Changes",
    columns: "cols-changes",
    head: ["Partition", "From → to", "Why"],
    empty: "No replica moves.",
    load: async (offset, limit) => {
      const found = await get(`${path}/changes?offset=${offset}&limit=${limit}`, signal);
      return { total: found.total, rows: found.changes };
    },
    row: (c) => [
      `${c.topic}-${c.partition}`,
      h(
        "span",
        { class: "mono" },
        c.after.length ? `${c.before.join(",")} → ${c.after.join(",")}` : "preferred leader",
      ),
      h("span", { title: c.why ?? "" }, c.why ?? ""),
    ],
  });
  return h(
    "div",
    {},
    h("div", { class: "head" }, h("div", {}, kind, h("div", { class: "sub mono" }, id)), state, actions),
    fault,
    body,
    h("div", { class: "card" }, h("h2", {}, "Moves and why"), changes.node),
  );
}

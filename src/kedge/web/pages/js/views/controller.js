/** The controller: what it did, the tables of states that it goes by, and reassignments phase by phase. */
import { get, listen } from "../api.js";
import { figure, fill, h, segments, table } from "../dom.js";
import { count } from "../format.js";
import { stateMachine } from "../parts/state_machine.js";

const SHOWN = 200;
const GROUPS = { all: "All", brokers: "Brokers", leaders: "Leaders and ISR", moves: "Moves", topics: "Topics" };
const KINDS = {
  "broker up": ["brokers", "good"],
  "broker down": ["brokers", "bad"],
  "controller moved": ["brokers", "warn"],
  "topic created": ["topics", ""],
  "topic deleted": ["topics", "warn"],
  "leaders moved": ["leaders", "warn"],
  "isr shrank": ["leaders", "bad"],
  "isr grew": ["leaders", "good"],
  "move began": ["moves", ""],
  "move phase": ["moves", ""],
  "move ended": ["moves", "good"],
};
const clock = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });

/** One line of the timeline. @param {any} change */
function line(change) {
  const [, tone] = KINDS[change.kind] ?? ["", ""];
  return h(
    "li",
    { class: `event ${tone}` },
    h("time", { datetime: new Date(change.at * 1000).toISOString() }, clock.format(change.at * 1000)),
    h("span", { class: "kind" }, change.kind),
    h("span", {}, change.text),
  );
}

/** The phases as steps, each with how many reassignments are in it. @param {any[]} phases @param {Record<string, number>} held */
const steps = (phases, held) =>
  h(
    "ol",
    { class: "steps" },
    phases.map((phase, i) =>
      h(
        "li",
        { class: held[phase.name] ? "busy" : "" },
        h("span", { class: "number" }, i + 1),
        h("div", {}, h("strong", {}, phase.name), h("div", { class: "hint" }, phase.text)),
        h("span", { class: "held" }, count(held[phase.name] ?? 0)),
      ),
    ),
  );

/** The brokers of a reassignment, by what becomes of each. @param {any} m */
function brokersOf(m) {
  const kind = (b) =>
    m.adding.includes(b) ? (m.isr.includes(b) ? "added" : "copying") : m.removing.includes(b) ? "removed" : "kept";
  return h(
    "span",
    { class: "chips" },
    [...new Set([...m.replicas, ...m.adding, ...m.removing])].map((b) =>
      h(
        "span",
        { class: `chip ${kind(b)}`, title: `${kind(b)}${m.isr.includes(b) ? ", in sync" : ", not in sync"}` },
        b,
        b === m.leader ? "★" : "",
      ),
    ),
  );
}

/** Where each reassignment is on its way. @param {any} m @param {any[]} phases */
function wayOf(m, phases) {
  const at = phases.findIndex((phase) => phase.name === m.phase);
  return h(
    "span",
    { class: "way", role: "img", "aria-label": `${m.phase}, step ${at + 1} of ${phases.length}` },
    phases.map((_, i) => h("i", { class: i < at ? "done" : i === at ? "now" : "" })),
    h("span", {}, m.phase),
  );
}

/** @param {any} context */
export async function page({ params: [name], signal }) {
  const path = `/clusters/${name}/controller`;
  const [about, timeline, first] = await Promise.all([
    get(path, signal),
    get(`${path}/events?limit=${SHOWN}`, signal),
    get(`${path}/reassignments`, signal),
  ]);
  let changes = timeline.changes,
    group = "all";
  const sums = h("div", {}),
    list = h("ol", { class: "timeline", tabindex: "0", "aria-label": "Timeline" }),
    moves = h("div", {}),
    phases = h("div", {});
  const drawChanges = () => {
    const shown = changes.filter((c) => group === "all" || KINDS[c.kind]?.[0] === group);
    fill(
      list,
      shown.length
        ? shown.map(line)
        : h(
            "li",
            { class: "empty" },
            h("strong", {}, "Nothing has happened"),
            "Changes of brokers, leaders, in-sync replicas and moves appear here as they are read.",
          ),
    );
  };
  /** @param {any} found reassignments */
  const drawMoves = (found) => {
    fill(
      sums,
      h(
        "div",
        { class: "figures" },
        figure(
          "controller",
          about.controller === null ? "none" : `broker ${about.controller}`,
          about.controller === null ? "bad" : "",
        ),
        figure("reassignments", count(found.total), found.total ? "warn" : ""),
        ...about.phases.map((p) => figure(p.name, count(found.by_phase[p.name] ?? 0))),
      ),
    );
    fill(phases, steps(about.phases, found.by_phase));
    fill(
      moves,
      table(
        [["Partition"], ["Replicas"], ["Still copying", "num"], ["Phase"]],
        found.moves.map((m) => [
          `${m.topic}-${m.partition}`,
          brokersOf(m),
          m.missing.length ? m.missing.join(", ") : "–",
          wayOf(m, about.phases),
        ]),
        "Nothing is being reassigned.",
      ),
    );
  };
  const refresh = async () => {
    const [news, found] = await Promise.all([
      get(`${path}/events?after=${changes[0]?.number ?? 0}&limit=${SHOWN}`, signal),
      get(`${path}/reassignments`, signal),
    ]);
    if (news.changes.length) {
      changes = [...news.changes, ...changes].slice(0, SHOWN);
      drawChanges();
    }
    drawMoves(found);
  };
  drawChanges();
  drawMoves(first);
  let busy = false;
  listen(`/clusters/${name}/events`, signal, {
    observed: async () => {
      if (busy) return;
      busy = true;
      try {
        await refresh();
      } finally {
        busy = false;
      }
    },
  });
  const machine = h("div", {}),
    machines = about.machines;
  const draw = (wanted) => {
    const m = machines.find((each) => each.name === wanted);
    fill(machine, m && stateMachine({ name: m.name, states: m.states, next: m.may_follow }));
  };
  draw(machines[0]?.name);
  return h(
    "div",
    {},
    h(
      "div",
      { class: "head" },
      h(
        "div",
        {},
        h("h1", { tabindex: "-1" }, "Controller"),
        h("div", { class: "sub" }, "Kedge's or Kafka's own, as reads of the cluster show it"),
      ),
    ),
    h("div", { class: "card" }, sums),
    h(
      "div",
      { class: "grid two reverse" },
      h(
        "div",
        { class: "card" },
        h(
          "div",
          { class: "cardhead" },
          h("h2", {}, "Timeline"),
          segments("Kinds of events", Object.entries(GROUPS), group, (id) => {
            group = id;
            drawChanges();
          }),
        ),
        list,
      ),
      h("div", { class: "card" }, h("h2", {}, "Phases of a reassignment"), phases),
    ),
    h(
      "div",
      { class: "card" },
      h("h2", {}, "Reassignments under way"),
      moves,
      h(
        "p",
        { class: "legend" },
        [
          ["kept", "kept"],
          ["copying", "added, still copying"],
          ["added", "added, in sync"],
          ["removed", "to be removed"],
        ].map(([kind, text]) => h("span", {}, h("span", { class: `chip ${kind}` }, "3"), ` ${text}`)),
        h("span", {}, "★ leader"),
      ),
    ),
    h(
      "div",
      { class: "card" },
      h(
        "div",
        { class: "cardhead" },
        h("h2", {}, "State machines"),
        segments(
          "State machine",
          machines.map((m) => [m.name, m.name]),
          machines[0]?.name ?? "",
          draw,
        ),
      ),
      machine,
    ),
  );
}

/** State machines drawn from their tables: states in a row, an arc for every change that the table allows. */
import { add, fill, h, s } from "../dom.js";

const PITCH = 160,
  WIDTH = 132,
  HEIGHT = 34,
  RISE = 26,
  MARGIN = 12;

/** The arc from one state to another: forward ones above the row, those back below it. @param {number} from @param {number} to @param {number} middle */
function arc(from, to, middle) {
  const side = to > from ? -1 : 1,
    span = Math.abs(to - from);
  const at = (i) => MARGIN + WIDTH / 2 + i * PITCH;
  const x1 = at(from) + (to > from ? 18 : -18),
    x2 = at(to) - (to > from ? 18 : -18);
  const edge = middle + (side * HEIGHT) / 2,
    peak = edge + side * (RISE * span + 10);
  return `M${x1} ${edge} C${x1} ${peak} ${x2} ${peak} ${x2} ${edge + side * 3}`;
}

/** A state without the name of its machine: `OnlinePartition` of partitions is "Online". @param {string} state @param {string} machine */
function words(state, machine) {
  const parted = state.replace(/([a-z])([A-Z])/g, "$1 $2").replaceAll("_", " ");
  return parted.replace(new RegExp(`\\b${machine}\\b`, "i"), "").trim() || parted;
}

/** @param {{name: string, states: string[], next: Record<string, string[]>, counts?: Record<string, number>}} machine */
export function stateMachine(machine) {
  const { states, next } = machine,
    place = new Map(states.map((state, i) => [state, i]));
  const named = (/** @type {string} */ state) => words(state, machine.name);
  const edges = states.flatMap((from) =>
    (next[from] ?? []).filter((to) => to !== from && place.has(to)).map((to) => ({ from, to })),
  );
  const reach = (forward) =>
    Math.max(0, ...edges.map(({ from, to }) => (Number(place.get(to)) - Number(place.get(from))) * (forward ? 1 : -1)));
  const above = reach(true) * RISE * 0.78 + 22,
    below = reach(false) * RISE * 0.78 + 22,
    middle = above + HEIGHT / 2;
  const width = 2 * MARGIN + WIDTH + (states.length - 1) * PITCH,
    height = above + HEIGHT + below;
  const svg = s("svg", {
    class: "chart machine",
    viewBox: `0 0 ${width} ${height}`,
    style: { "max-width": `${width * 1.15}px` },
    role: "group",
    "aria-label": `${machine.name}: ${states.length} states, ${edges.length} changes`,
  });
  const tip = `tip-${machine.name.replaceAll(" ", "-")}`;
  add(
    svg,
    s(
      "defs",
      {},
      s(
        "marker",
        {
          id: tip,
          viewBox: "0 0 8 8",
          refX: 7,
          refY: 4,
          markerWidth: 9,
          markerHeight: 9,
          markerUnits: "userSpaceOnUse",
          orient: "auto-start-reverse",
        },
        s("path", { class: "head", d: "M0 0 L8 4 L0 8 Z" }),
      ),
    ),
  );
  const paths = edges.map(({ from, to }) => ({
    from,
    to,
    node: s("path", {
      class: "arc",
      d: arc(Number(place.get(from)), Number(place.get(to)), middle),
      "marker-end": `url(#${tip})`,
    }),
  }));
  const said = h(
    "p",
    { class: "hint", "aria-live": "polite" },
    "Choose a state to see what may follow it, and what it may come from.",
  );
  /** @param {string} state */
  const choose = (state) => {
    for (const { from, to, node } of paths)
      node.setAttribute("class", `arc${from === state ? " out" : to === state ? " in" : " faint"}`);
    const from = edges.filter((e) => e.to === state).map((e) => named(e.from)),
      to = edges.filter((e) => e.from === state).map((e) => named(e.to));
    fill(
      said,
      h("strong", {}, named(state)),
      ` comes from ${from.join(", ") || "nothing"}; may become ${to.join(", ") || "nothing else: it is an end"}.`,
    );
  };
  add(
    svg,
    paths.map((each) => each.node),
  );
  states.forEach((state, i) => {
    const x = MARGIN + i * PITCH,
      held = machine.counts?.[state];
    const onkeydown = (/** @type {KeyboardEvent} */ e) => {
      if (e.key === "Enter" || e.key === " ") {
        e.preventDefault();
        choose(state);
      }
    };
    add(
      svg,
      s(
        "g",
        {
          class: "state",
          tabindex: "0",
          role: "button",
          "aria-label": named(state),
          onclick: () => choose(state),
          onkeydown,
        },
        s("rect", { x, y: above, width: WIDTH, height: HEIGHT, rx: 9 }),
        s("text", { x: x + WIDTH / 2, y: middle + 4, "text-anchor": "middle" }, named(state)),
        held !== undefined &&
          s("text", { class: "held", x: x + WIDTH - 6, y: above - 5, "text-anchor": "end" }, String(held)),
      ),
    );
  });
  return h("figure", { class: "machine" }, h("div", { class: "wide-scroll", tabindex: "0" }, svg), said);
}

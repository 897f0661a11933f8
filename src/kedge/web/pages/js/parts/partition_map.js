/** Every partition as a cell, by topic, on a canvas; pointer, arrow keys and Enter reach each of them. */
import { fill, h } from "../dom.js";
import { bytes, count } from "../format.js";
import { canvas, colour } from "./canvas.js";

/** What a cell can say, and its colour; topics alternate between two shades of "in sync". */
const KINDS = /** @type {const} */ ([
  ["in sync", "--m1"],
  ["in sync", "--m2"],
  ["under-replicated", "--s4"],
  ["no leader", "--s5"],
  ["moving", "--s1"],
]);
const UNDER = 2,
  OFFLINE = 3,
  MOVING = 4;
const NAMED_TOPICS = 40;
const NAME_WIDTH = 150;

/** The kind of each partition, as one small number. @param {any} data columns of partitions */
function kindsOf(data) {
  const size = data.topic.length,
    width = data.width,
    kinds = new Uint8Array(size);
  for (let i = 0; i < size; i += 1) {
    let factor = 0;
    for (let k = i * width; k < (i + 1) * width; k += 1) if (data.replicas[k] >= 0) factor += 1;
    kinds[i] = data.leader[i] === -1 ? OFFLINE : data.in_sync[i] < factor ? UNDER : data.topic[i] % 2;
  }
  for (const i of data.moving) if (kinds[i] < OFFLINE) kinds[i] = MOVING;
  return kinds;
}

/** Where each cell is: one line or more per topic where topics are few, else one after the other. */
class Layout {
  /** @param {any} data @param {number} width */
  constructor(data, width) {
    const size = data.topic.length;
    this.named = data.topics.length <= NAMED_TOPICS && size <= 4000 && width >= 500;
    this.left = this.named ? NAME_WIDTH : 0;
    this.cell = size > 20000 ? 6 : size > 4000 ? 8 : size > 1000 ? 12 : 16;
    this.columns = Math.max(1, Math.floor((width - this.left) / this.cell));
    /** @type {Int32Array} the place of each partition, counted in cells */
    this.places = new Int32Array(size);
    /** @type {{topic: number, row: number}[]} */
    this.names = [];
    let next = 0;
    for (let i = 0; i < size; i += 1) {
      if (this.named && (i === 0 || data.topic[i] !== data.topic[i - 1])) {
        next = Math.ceil(next / this.columns) * this.columns;
        this.names.push({ topic: data.topic[i], row: next / this.columns });
      }
      this.places[i] = next;
      next += 1;
    }
    this.height = Math.max(1, Math.ceil(next / this.columns)) * this.cell;
  }
  /** The left and upper edge of a cell. @param {number} i */
  corner(i) {
    return [
      this.left + (this.places[i] % this.columns) * this.cell,
      Math.floor(this.places[i] / this.columns) * this.cell,
    ];
  }
  /** The partition at a point, or -1. @param {number} x @param {number} y */
  at(x, y) {
    const column = Math.floor((x - this.left) / this.cell);
    if (column < 0 || column >= this.columns) return -1;
    const place = Math.floor(y / this.cell) * this.columns + column;
    let low = 0,
      high = this.places.length - 1;
    while (low <= high) {
      const middle = (low + high) >> 1;
      if (this.places[middle] === place) return middle;
      if (this.places[middle] < place) low = middle + 1;
      else high = middle - 1;
    }
    return -1;
  }
}

/** @param {any} data columns of partitions @param {(topic: string) => void} open */
export function partitionMap(data, open) {
  let kinds = kindsOf(data),
    chosen = -1;
  /** @type {Layout} */
  let layout = new Layout(data, 0);
  const tip = h("div", { class: "tip", hidden: true });
  const spoken = h("div", { class: "unseen", "aria-live": "polite" });
  const picture = canvas({
    label: `${count(data.topic.length)} partitions, one cell each`,
    height: (width) => {
      layout = new Layout(data, width);
      return layout.height;
    },
    draw(c, width, height) {
      c.clearRect(0, 0, width, height);
      KINDS.forEach(([, name], kind) => {
        c.fillStyle = colour(name);
        const inner = layout.cell - (layout.cell > 8 ? 2 : 1);
        for (let i = 0; i < kinds.length; i += 1) {
          if (kinds[i] !== kind) continue;
          const place = layout.places[i];
          c.fillRect(
            layout.left + (place % layout.columns) * layout.cell,
            Math.floor(place / layout.columns) * layout.cell,
            inner,
            inner,
          );
        }
      });
      c.fillStyle = colour("--ink-soft");
      c.font = "12px system-ui, sans-serif";
      for (const { topic, row } of layout.names) c.fillText(shortened(data.topics[topic]), 0, row * layout.cell + 11);
    },
  });
  const ring = h("div", { class: "ring", hidden: true });
  const scroll = h(
    "div",
    {
      class: "scroll",
      tabindex: "0",
      role: "group",
      "aria-label": "Partitions; arrow keys choose one, Enter opens its topic",
    },
    picture.node,
    ring,
  );
  const box = h("div", { class: "map" }, scroll, tip, spoken);

  /** @param {number} i */
  function text(i) {
    const replicas = data.replicas.slice(i * data.width, (i + 1) * data.width).filter((b) => b >= 0);
    const leader = data.leader[i] === -1 ? "no leader" : `leader ${data.leader[i]}`;
    const size = data.size[i] < 0 ? "size unknown" : bytes(data.size[i]);
    return `${data.topics[data.topic[i]]}-${data.partition[i]} · ${leader} of ${replicas.join(", ")} · ${data.in_sync[i]} in sync · ${size}`;
  }
  /** @param {number} i */
  function show(i) {
    const [x, y] = layout.corner(i);
    fill(tip, text(i));
    tip.hidden = false;
    const right = box.clientWidth - tip.offsetWidth;
    tip.style.setProperty(
      "transform",
      `translate(${Math.max(0, Math.min(x + 14, right))}px, ${y - scroll.scrollTop + layout.cell + 6}px)`,
    );
  }
  /** @param {number} i */
  function choose(i) {
    chosen = Math.max(0, Math.min(kinds.length - 1, i));
    const [x, y] = layout.corner(chosen);
    ring.hidden = false;
    ring.style.setProperty("transform", `translate(${x - 2}px, ${y - 2}px)`);
    ring.style.setProperty("width", `${layout.cell + 2}px`);
    ring.style.setProperty("height", `${layout.cell + 2}px`);
    if (y < scroll.scrollTop) scroll.scrollTop = y;
    else if (y + layout.cell > scroll.scrollTop + scroll.clientHeight)
      scroll.scrollTop = y + layout.cell - scroll.clientHeight;
    show(chosen);
    fill(spoken, text(chosen));
  }
  const hide = () => {
    tip.hidden = true;
  };
  const under = (/** @type {MouseEvent} */ e) => {
    const edge = picture.node.getBoundingClientRect();
    return layout.at(e.clientX - edge.left, e.clientY - edge.top);
  };
  picture.node.addEventListener("mousemove", (e) => {
    const i = under(e);
    if (i < 0) hide();
    else show(i);
  });
  picture.node.addEventListener("mouseleave", hide);
  picture.node.addEventListener("click", (e) => {
    const i = under(e);
    if (i >= 0) open(data.topics[data.topic[i]]);
  });
  scroll.addEventListener("blur", () => {
    ring.hidden = true;
    hide();
  });
  scroll.addEventListener("keydown", (e) => {
    /** @type {Record<string, number>} */
    const steps = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: layout.columns, ArrowUp: -layout.columns };
    if (e.key in steps) {
      e.preventDefault();
      choose(chosen < 0 ? 0 : chosen + steps[e.key]);
    } else if (e.key === "Enter" && chosen >= 0) open(data.topics[data.topic[chosen]]);
  });
  return {
    node: box,
    update: (next) => {
      data = next;
      kinds = kindsOf(data);
      picture.repaint();
    },
  };
}

/** What the colours mean. */
export const mapLegend = () =>
  h(
    "div",
    { class: "legend" },
    [
      ["m1", "in sync"],
      ["c4", "under-replicated"],
      ["c5", "no leader"],
      ["c1", "moving"],
    ].map(([name, text]) => h("span", {}, h("i", { class: name }), text)),
  );

const LETTERS = 22;
/** @param {string} name */
const shortened = (name) => (name.length <= LETTERS ? name : `${name.slice(0, LETTERS - 1)}…`);

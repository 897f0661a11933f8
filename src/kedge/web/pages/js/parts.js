/** Parts that several pages share: virtual lists, charts, the map of partitions. */
import { add, fill, h, s } from "./dom.js";
import { bytes, duration } from "./format.js";

const ROW = 40;
const PAGE = 200;

/** A list of any length: only the rows in sight exist, and pages of them are loaded as they come into sight.
 * @param {{label: string, columns: string, head: (string|HTMLElement)[], load: (offset: number, limit: number) => Promise<{total: number, rows: any[]}>, row: (row: any) => (Node|string)[]}} how */
export function virtualList(how) {
  const spacer = h("div", { class: "spacer" });
  const box = h("div", { class: "vlist", tabindex: "0", role: "table", "aria-label": how.label }, spacer);
  const head = h("div", { class: `vrow vhead ${how.columns}`, "aria-hidden": "true" }, how.head.map((each) => h("div", {}, each)));
  /** @type {Map<number, any[]>} */
  let pages = new Map();
  let total = 0, generation = 0;
  const asked = new Set();

  async function load(page) {
    if (asked.has(page)) return;
    asked.add(page);
    const mine = generation;
    const found = await how.load(page * PAGE, PAGE);
    if (mine !== generation) return;
    total = found.total;
    pages.set(page, found.rows);
    box.setAttribute("aria-rowcount", String(total));
    spacer.style.setProperty("height", `${Math.max(total, 1) * ROW}px`);
    draw();
  }

  function draw() {
    const first = Math.max(0, Math.floor(box.scrollTop / ROW) - 6);
    const last = Math.min(total, first + Math.ceil(box.clientHeight / ROW) + 12);
    const rows = [];
    for (let at = first; at < last; at += 1) {
      const page = Math.floor(at / PAGE);
      const row = pages.get(page)?.[at % PAGE];
      if (!row) { load(page); continue; }
      const cells = how.row(row).map((cell) => h("div", { role: "cell" }, cell));
      rows.push(h("div", { class: `vrow ${how.columns}`, role: "row", "aria-rowindex": at + 1, style: { top: `${at * ROW}px` } }, cells));
    }
    fill(spacer, rows.length ? rows : total === 0 && pages.size ? h("div", { class: "empty", role: "row" }, h("div", { role: "cell" }, "Nothing found")) : null);
  }

  function reload() {
    generation += 1;
    pages = new Map();
    asked.clear();
    return load(0);
  }
  let due = 0;
  box.addEventListener("scroll", () => { if (!due) due = requestAnimationFrame(() => { due = 0; draw(); }); });
  reload();
  return { node: h("div", {}, head, box), reload };
}

/** The curve of bytes moved against balance; a click on a stop chooses its budget. @param {any[]} points @param {number|null} knee @param {(point: any) => void} choose */
export function curveChart(points, knee, choose) {
  const W = 640, H = 260, L = 60, B = 34, R = 16, T = 14;
  const worst = (p) => Math.max(0, ...Object.values(p.above_best));
  const xMax = Math.max(1, ...points.map((p) => p.bytes_moved)), yMax = Math.max(0.01, ...points.map(worst));
  const x = (p) => L + ((W - L - R) * p.bytes_moved) / xMax, y = (p) => T + (H - T - B) * (1 - worst(p) / yMax);
  const svg = s("svg", { class: "chart", viewBox: `0 0 ${W} ${H}`, role: "group", "aria-label": `Curve of bytes moved against balance, ${points.length} stops` });
  for (let i = 0; i <= 4; i += 1) {
    const yy = T + ((H - T - B) * i) / 4, xx = L + ((W - L - R) * i) / 4;
    add(svg, s("line", { class: "rule", x1: L, x2: W - R, y1: yy, y2: yy }), s("text", { x: L - 8, y: yy + 4, "text-anchor": "end" }, `+${((100 * yMax * (4 - i)) / 4).toFixed(0)} %`),
      s("text", { x: xx, y: H - B + 18, "text-anchor": "middle" }, bytes((xMax * i) / 4)));
  }
  add(svg, s("text", { x: W - R, y: H - 2, "text-anchor": "end" }, "bytes moved →"), s("text", { x: L, y: T - 3 }, "fullest broker above the best possible"));
  add(svg, s("path", { class: "curve", d: points.map((p, i) => `${i ? "L" : "M"}${x(p).toFixed(1)} ${y(p).toFixed(1)}`).join(" ") }));
  points.forEach((p, i) => {
    const text = `${bytes(p.bytes_moved)}, ${p.replicas_moved} replicas: ${(100 * worst(p)).toFixed(1)} % above the best${i === knee ? " (knee)" : ""}`;
    const pick = () => choose(p);
    add(svg, s("circle", { class: `dot${i === knee ? " knee" : ""}`, cx: x(p), cy: y(p), r: 6, tabindex: "0", role: "button", "aria-label": `Plan with at most ${text}`, onclick: pick,
      onkeydown: (e) => { if (e.key === "Enter" || e.key === " ") { e.preventDefault(); pick(); } } }, s("title", {}, text)));
  });
  return svg;
}

/** Brokers before and after a plan, as dumbbells around their share. @param {any[]} rows @param {string} resource */
export function dumbbells(rows, resource) {
  const W = 640, L = 56, R = 20, T = 24, step = rows.length > 60 ? 9 : 18, H = T + rows.length * step + 8;
  const most = Math.max(1.3, ...rows.flatMap((r) => [r.before[resource] ?? 0, r.after[resource] ?? 0]));
  const x = (v) => L + ((W - L - R) * v) / most;
  const svg = s("svg", { class: "chart", viewBox: `0 0 ${W} ${H}`, role: "img", "aria-label": `${resource} of ${rows.length} brokers over their share, before and after` });
  add(svg, s("line", { class: "axis", x1: x(1), x2: x(1), y1: T - 8, y2: H }), s("text", { x: x(1), y: T - 12, "text-anchor": "middle" }, "its share"));
  rows.forEach((r, i) => {
    const yy = T + i * step + step / 2, a = r.before[resource] ?? 0, b = r.after[resource] ?? 0;
    if (step > 10 || i % 5 === 0) add(svg, s("text", { x: L - 8, y: yy + 4, "text-anchor": "end" }, r.broker));
    add(svg, s("line", { class: "link", x1: x(a), x2: x(b), y1: yy, y2: yy }), s("circle", { class: "before", cx: x(a), cy: yy, r: step / 4 + 1 }),
      s("circle", { class: "after", cx: x(b), cy: yy, r: step / 4 + 1 }, s("title", {}, `broker ${r.broker}: ${a.toFixed(2)} → ${b.toFixed(2)}`)));
  });
  return svg;
}

/** A canvas that is drawn at the screen's resolution, and again when its width changes. @param {(context: CanvasRenderingContext2D, width: number) => number} draw returns the height @param {string} label */
export function canvas(draw, label) {
  const el = /** @type {HTMLCanvasElement} */ (h("canvas", { role: "img", "aria-label": label }));
  const paint = () => {
    const width = el.clientWidth || 600, scale = devicePixelRatio || 1;
    const context = /** @type {CanvasRenderingContext2D} */ (el.getContext("2d"));
    const height = draw(context, width);
    el.width = width * scale; el.height = height * scale;
    el.style.setProperty("height", `${height}px`);
    context.scale(scale, scale);
    draw(context, width);
  };
  new ResizeObserver(paint).observe(el);
  return { node: el, paint };
}

const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/** When each move of a prediction runs. @param {any} prediction */
export function gantt(prediction) {
  const moves = prediction.moves.filter((m) => m.end !== null).sort((a, b) => a.start - b.start || a.end - b.end);
  const total = Math.max(1, prediction.seconds ?? 0, ...moves.map((m) => m.end));
  const bar = moves.length > 400 ? 2 : moves.length > 80 ? 5 : 12;
  const left = bar >= 12 ? 110 : 8;
  return canvas((c, width) => {
    const height = 26 + moves.length * (bar + (bar > 4 ? 2 : 0)) + 6;
    c.clearRect(0, 0, width, height);
    c.font = "11px system-ui"; c.fillStyle = css("--ink-soft");
    for (let i = 0; i <= 5; i += 1) { const x = left + ((width - left - 50) * i) / 5; c.fillText(duration((total * i) / 5), x, 12); c.fillRect(x, 18, 1, height); }
    moves.forEach((m, i) => {
      const y = 24 + i * (bar + (bar > 4 ? 2 : 0)), x = left + ((width - left - 50) * m.start) / total;
      c.fillStyle = m.under_replicated_seconds ? css("--s4") : css("--accent");
      c.fillRect(x, y, Math.max(2, ((width - left - 50) * (m.end - m.start)) / total), bar);
      if (bar >= 12) { c.fillStyle = css("--ink-soft"); c.fillText(`${m.topic}-${m.partition}`.slice(0, 17), 2, y + 10); }
    });
    return height;
  }, `Times of ${moves.length} moves over ${duration(total)}`).node;
}

/** Every partition as a cell, by topic; a click opens its topic. @param {any} data columns of partitions @param {(topic: string) => void} open */
export function partitionMap(data, open) {
  const size = data.topic.length, cell = size > 20000 ? 6 : size > 4000 ? 8 : 12;
  const moving = new Set(data.moving);
  const tip = h("div", { class: "tip", hidden: true });
  const colours = () => ({ ok: css("--s3"), lag: css("--s4"), off: css("--s5"), move: css("--s1"), alt: css("--s2") });
  const state = (i) => (data.leader[i] === -1 ? "off" : moving.has(i) ? "move" : data.in_sync[i] < factor(i) ? "lag" : "ok");
  const factor = (i) => { let n = 0; for (let k = 0; k < data.width; k += 1) if (data.replicas[i * data.width + k] >= 0) n += 1; return n; };
  let columns = 1;
  const { node, paint } = canvas((c, width) => {
    columns = Math.max(1, Math.floor(width / cell));
    const height = Math.ceil(size / columns) * cell, paints = colours();
    c.clearRect(0, 0, width, height);
    for (let i = 0; i < size; i += 1) {
      const kind = state(i);
      c.fillStyle = kind === "ok" && data.topic[i] % 2 ? paints.alt : paints[kind];
      c.fillRect((i % columns) * cell, Math.floor(i / columns) * cell, cell - 1, cell - 1);
    }
    return height;
  }, `${size} partitions, one cell each`);
  const at = (e) => { const box = node.getBoundingClientRect(); return Math.floor((e.clientY - box.top) / cell) * columns + Math.floor((e.clientX - box.left) / cell); };
  node.addEventListener("mousemove", (e) => {
    const i = at(e);
    tip.hidden = !(i >= 0 && i < size);
    if (tip.hidden) return;
    const replicas = data.replicas.slice(i * data.width, (i + 1) * data.width).filter((b) => b >= 0);
    fill(tip, `${data.topics[data.topic[i]]}-${data.partition[i]} · leader ${data.leader[i]} of ${replicas.join(",")} · ${data.in_sync[i]} in sync · ${data.size[i] < 0 ? "size unknown" : bytes(data.size[i])}`);
    const box = /** @type {HTMLElement} */ (tip.parentElement).getBoundingClientRect();
    tip.style.setProperty("left", `${Math.min(e.clientX - box.left + 14, box.width - tip.offsetWidth)}px`);
    tip.style.setProperty("top", `${e.clientY - box.top + 14}px`);
  });
  node.addEventListener("mouseleave", () => { tip.hidden = true; });
  node.addEventListener("click", (e) => { const i = at(e); if (i >= 0 && i < size) open(data.topics[data.topic[i]]); });
  return { node: h("div", { class: "map" }, h("div", { class: "scroll", tabindex: "0" }, node), tip), paint, update: (next) => { data = next; moving.clear(); next.moving.forEach((i) => moving.add(i)); paint(); } };
}

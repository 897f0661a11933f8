/** Charts as SVG: the curve of a plan, brokers before and after, and lines over time. */
import { add, fill, h, s } from "../dom.js";
import { bytes, percent, time } from "../format.js";

/** @param {number} y @param {number} left @param {number} right */
const rule = (y, left, right) => s("line", { class: "rule", x1: left, x2: right, y1: y, y2: y });

/** A round number of steps up to a maximum: 1, 2 or 5 of a power of ten. @param {number} most @param {number} [steps] */
export function ticks(most, steps = 4) {
  const raw = most / steps,
    power = 10 ** Math.floor(Math.log10(raw || 1));
  const size = [1, 2, 2.5, 5, 10].map((n) => n * power).find((n) => n >= raw) ?? raw;
  return Array.from({ length: Math.ceil(most / size - 1e-9) + 1 }, (_, i) => i * size);
}

/** How far the fullest broker of a stop is above the best possible. @param {any} point */
export const aboveBest = (point) => Math.max(0, ...Object.values(point.above_best));

/** The same of the cluster before a plan, by its summary. @param {any} f */
export function aboveBestNow(f) {
  const bounds = Object.entries(f.imbalance_lower_bound ?? {}).filter(
    ([name, bound]) => bound && f.imbalance_before?.[name],
  );
  return bounds.length ? Math.max(0, ...bounds.map(([name, bound]) => f.imbalance_before[name] / bound - 1)) : null;
}

/** The curve of bytes moved against balance; a stop of it can be chosen (unless the search is still at work), a budget and a tolerance are drawn on it.
 * @param {any[]} points @param {number|null} knee @param {((point: any) => void)|null} choose @param {{budget?: number|null, tolerance?: number, now?: number|null}} [limits] `now`: how far the fullest broker is above the best before any move */
export function curveChart(points, knee, choose, limits = {}) {
  const W = 640,
    H = 280,
    L = 58,
    B = 46,
    R = 24,
    T = 28;
  const xs = ticks(Math.max(1, ...points.map((p) => p.bytes_moved))),
    ys = ticks(Math.max(0.01, limits.now ?? 0, ...points.map(aboveBest)));
  const x = (v) => L + ((W - L - R) * v) / xs[xs.length - 1],
    y = (v) => T + (H - T - B) * (1 - v / ys[ys.length - 1]);
  const svg = s("svg", {
    class: "chart",
    viewBox: `0 0 ${W} ${H}`,
    role: "group",
    "aria-label": `Curve of bytes moved against balance, ${points.length} stops`,
  });
  add(
    svg,
    s("text", { class: "title", x: 0, y: 12 }, "fullest broker above the best possible"),
    s("text", { class: "title", x: W - R, y: H - 6, "text-anchor": "end" }, "bytes to move →"),
  );
  for (const v of ys)
    add(
      svg,
      rule(y(v), L, W - R),
      s("text", { x: L - 8, y: y(v) + 4, "text-anchor": "end" }, `+${percent(v, ys[1] < 0.01 ? 1 : 0)}`),
    );
  for (const v of xs)
    add(svg, s("text", { x: x(v), y: H - B + 18, "text-anchor": "middle" }, v === 0 ? "0" : bytes(v)));
  const path = points
    .map((p, i) => `${i ? "L" : "M"}${x(p.bytes_moved).toFixed(1)} ${y(aboveBest(p)).toFixed(1)}`)
    .join(" ");
  const [first, last] = [points[0], points[points.length - 1]];
  add(
    svg,
    s("path", { class: "area", d: `${path} L${x(last.bytes_moved)} ${y(0)} L${x(first.bytes_moved)} ${y(0)} Z` }),
    s("path", { class: "curve", d: path }),
  );
  const { budget, tolerance, now } = limits;
  if (now !== null && now !== undefined)
    add(
      svg,
      s("line", { class: "link dashed", x1: x(0), y1: y(now), x2: x(first.bytes_moved), y2: y(aboveBest(first)) }),
      s("circle", { class: "before", cx: x(0), cy: y(now), r: 5 }),
      s("text", { x: x(0) + 10, y: y(now) - 6 }, "now"),
    );
  if (budget !== null && budget !== undefined && budget <= xs[xs.length - 1])
    add(
      svg,
      s("rect", { class: "beyond", x: x(budget), y: T, width: W - R - x(budget), height: H - T - B }),
      s("line", { class: "bound", x1: x(budget), x2: x(budget), y1: T, y2: H - B }),
    );
  if (tolerance !== undefined && tolerance <= ys[ys.length - 1])
    add(svg, s("line", { class: "aim", x1: L, x2: W - R, y1: y(tolerance), y2: y(tolerance) }));
  points.forEach((p, i) => {
    const text = `${bytes(p.bytes_moved)}, ${p.replicas_moved} replicas: ${percent(aboveBest(p), 1)} above the best${i === knee ? " (knee)" : ""}`;
    const onkeydown = (/** @type {KeyboardEvent} */ e) => {
      if (e.key === "Enter" || e.key === " ") {
        e.preventDefault();
        choose?.(p);
      }
    };
    const button = choose && {
      tabindex: "0",
      role: "button",
      "aria-label": `Plan with at most ${text}`,
      onclick: () => choose(p),
      onkeydown,
    };
    add(
      svg,
      s(
        "circle",
        {
          class: `dot${i === knee ? " knee" : ""}`,
          cx: x(p.bytes_moved),
          cy: y(aboveBest(p)),
          r: 6,
          ...button,
        },
        s("title", {}, text),
      ),
    );
    if (i === knee)
      add(svg, s("text", { x: x(p.bytes_moved) - 10, y: y(aboveBest(p)) + 16, "text-anchor": "end" }, "knee"));
  });
  return svg;
}

/** Brokers before and after a plan, as dumbbells around their share. @param {any[]} rows @param {string} resource */
export function dumbbells(rows, resource) {
  const W = 640,
    L = 44,
    R = 20,
    T = 26,
    pitch = rows.length > 60 ? 9 : 18,
    H = T + rows.length * pitch + 8;
  const most = Math.max(1.3, ...rows.flatMap((r) => [r.before[resource] ?? 0, r.after[resource] ?? 0]));
  const x = (v) => L + ((W - L - R) * v) / most;
  const svg = s("svg", {
    class: "chart",
    viewBox: `0 0 ${W} ${H}`,
    role: "img",
    "aria-label": `${resource} of ${rows.length} brokers over their share, before and after`,
  });
  for (const v of [0.5, 1, 1.5, 2].filter((v) => v <= most))
    add(
      svg,
      s("line", { class: v === 1 ? "axis" : "rule", x1: x(v), x2: x(v), y1: T - 6, y2: H }),
      s("text", { x: x(v), y: T - 12, "text-anchor": "middle" }, v === 1 ? "its share" : `× ${v}`),
    );
  rows.forEach((r, i) => {
    const yy = T + i * pitch + pitch / 2,
      a = r.before[resource] ?? 0,
      b = r.after[resource] ?? 0,
      radius = pitch / 4 + 1;
    if (pitch > 10 || i % 5 === 0) add(svg, s("text", { x: L - 10, y: yy + 4, "text-anchor": "end" }, r.broker));
    add(
      svg,
      s("line", { class: "link", x1: x(a), x2: x(b), y1: yy, y2: yy }),
      s("circle", { class: "before", cx: x(a), cy: yy, r: radius }),
      s(
        "circle",
        { class: "after", cx: x(b), cy: yy, r: radius },
        s("title", {}, `broker ${r.broker}: ${a.toFixed(2)} → ${b.toFixed(2)}`),
      ),
    );
  });
  return svg;
}

/** @typedef {{name: string, values: (number|null)[], tone?: string}} Series */

/** The path of a series, broken where values are missing. @param {Series} series @param {(i: number) => number} x @param {(v: number) => number} y */
function pathOf(series, x, y) {
  let pen = "M",
    path = "";
  series.values.forEach((value, i) => {
    if (value === null) {
      pen = "M";
      return;
    }
    path += `${pen}${x(i).toFixed(1)} ${y(value).toFixed(1)}`;
    pen = "L";
  });
  return path;
}

const LINE_TONES = ["accent", "s1", "s4", "s5", "s3", "s2"];
const L = 64,
  B = 28,
  R = 14,
  T = 12;
const HEIGHT = 220;

/** @typedef {{times: number[], series: Series[], show: (n: number) => string, label: string, whole?: boolean}} Lines */

/** The picture of lines at a width in pixels, and the sample that is nearest to a point of it. @param {Lines} how @param {number} width */
function linesAt({ times, series, show, label, whole }, width) {
  const first = times[0] ?? 0,
    span = Math.max(1, (times[times.length - 1] ?? 1) - first),
    wide = width - L - R;
  const most = Math.max(whole ? 4 : 1e-9, ...series.flatMap((each) => each.values).filter((v) => v !== null)),
    ys = ticks(most);
  const x = (i) => L + (wide * (times[i] - first)) / span,
    y = (v) => T + (HEIGHT - T - B) * (1 - v / ys[ys.length - 1]);
  const svg = s("svg", {
    class: "chart",
    viewBox: `0 0 ${width} ${HEIGHT}`,
    role: "img",
    "aria-label": `${label}, ${times.length} samples`,
  });
  for (const v of ys)
    add(svg, rule(y(v), L, width - R), s("text", { x: L - 8, y: y(v) + 4, "text-anchor": "end" }, show(v)));
  const clock = new Intl.DateTimeFormat(
    "en-GB",
    span > 2 * 86400
      ? { day: "numeric", month: "short" }
      : { hour: "2-digit", minute: "2-digit", ...(span < 600 ? { second: "2-digit" } : {}) },
  );
  for (let i = 0; i <= 3; i += 1)
    add(
      svg,
      s(
        "text",
        { x: L + (wide * i) / 3, y: HEIGHT - 6, "text-anchor": i === 0 ? "start" : i === 3 ? "end" : "middle" },
        clock.format((first + (span * i) / 3) * 1000),
      ),
    );
  series.forEach((each, i) => add(svg, s("path", { class: `line ${toneOf(each, i)}`, d: pathOf(each, x, y) })));
  const mark = s("line", { class: "axis", y1: T, y2: HEIGHT - B, visibility: "hidden" });
  add(svg, mark);
  /** @param {number} left pixels from the left edge */
  const nearest = (left) => {
    const seconds = first + (span * (left - L)) / wide;
    let at = 0;
    while (at < times.length - 1 && Math.abs(times[at + 1] - seconds) <= Math.abs(times[at] - seconds)) at += 1;
    return at;
  };
  /** @param {number|null} at */
  const point = (at) => {
    mark.setAttribute("visibility", at === null ? "hidden" : "visible");
    if (at !== null) {
      mark.setAttribute("x1", String(x(at)));
      mark.setAttribute("x2", String(x(at)));
    }
  };
  return { svg, nearest, point };
}

/** @param {Series} series @param {number} i */
const toneOf = (series, i) => series.tone ?? LINE_TONES[i % LINE_TONES.length];

/** Lines over time, drawn for the width that they have; the legend has the values under the pointer, or the last ones. @param {Lines} how */
export function lineChart(how) {
  const { times, series, show } = how,
    box = h("div", {}),
    legend = h("div", { class: "legend" });
  /** @param {number|null} at */
  const say = (at) => {
    const place = at ?? times.length - 1;
    fill(
      legend,
      series.map((each, i) => {
        const value = each.values[place];
        return h(
          "span",
          {},
          h("i", { class: toneOf(each, i) }),
          `${each.name} `,
          h("b", {}, value === null || value === undefined ? "–" : show(value)),
        );
      }),
      at !== null && h("span", { class: "when" }, time(times[at])),
    );
  };
  /** @type {ReturnType<typeof linesAt>} */
  let drawn = linesAt(how, 640);
  const draw = () => {
    if (!box.clientWidth) return;
    drawn = linesAt(how, box.clientWidth);
    fill(box, drawn.svg);
  };
  const choose = (/** @type {number|null} */ at) => {
    drawn.point(at);
    say(at);
  };
  box.addEventListener("mousemove", (e) => choose(drawn.nearest(e.clientX - box.getBoundingClientRect().left)));
  box.addEventListener("mouseleave", () => choose(null));
  new ResizeObserver(draw).observe(box);
  fill(box, drawn.svg);
  say(null);
  return h("figure", { class: "lines" }, box, legend);
}

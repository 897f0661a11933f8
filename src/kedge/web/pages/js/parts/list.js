/** Lists of any length: only the rows in sight exist, and pages of them are loaded as they come into sight. */
import { fill, h } from "../dom.js";

const ROW = 40;
const PAGE = 200;

/** @param {{label: string, columns: string, head: (string|HTMLElement)[], empty?: string, load: (offset: number, limit: number) => Promise<{total: number, rows: any[]}>, row: (row: any) => (Node|string)[]}} how */
export function virtualList(how) {
  const spacer = h("div", { class: "spacer" });
  const box = h("div", { class: "vlist", tabindex: "0", role: "table", "aria-label": how.label }, spacer);
  const head = h(
    "div",
    { class: `vrow vhead ${how.columns}`, "aria-hidden": "true" },
    how.head.map((each) => h("div", {}, each)),
  );
  /** @type {Map<number, any[]>} */
  let pages = new Map();
  let total = 0,
    generation = 0;
  const asked = new Set();

  /** @param {number} page */
  async function load(page) {
    if (asked.has(page)) return;
    asked.add(page);
    const mine = generation;
    const found = await how.load(page * PAGE, PAGE);
    if (mine !== generation) return;
    total = found.total;
    pages.set(page, found.rows);
    box.setAttribute("aria-rowcount", String(total));
    box.style.setProperty("--rows", String(Math.max(total, 1)));
    draw();
  }

  /** @param {any} row @param {number} at */
  function rowAt(row, at) {
    const cells = how.row(row).map((cell) => h("div", { role: "cell" }, cell));
    return h(
      "div",
      { class: `vrow ${how.columns}`, role: "row", "aria-rowindex": at + 1, style: { top: `${at * ROW}px` } },
      cells,
    );
  }

  function draw() {
    const first = Math.max(0, Math.floor(box.scrollTop / ROW) - 6);
    const last = Math.min(total, first + Math.ceil(box.clientHeight / ROW) + 12);
    const rows = [];
    for (let at = first; at < last; at += 1) {
      const page = Math.floor(at / PAGE);
      const row = pages.get(page)?.[at % PAGE];
      if (row) rows.push(rowAt(row, at));
      else load(page);
    }
    const nothing = () =>
      h("div", { class: "empty", role: "row" }, h("div", { role: "cell" }, how.empty ?? "Nothing found"));
    fill(spacer, rows.length ? rows : total === 0 && pages.size ? nothing() : null);
  }

  function reload() {
    generation += 1;
    pages = new Map();
    asked.clear();
    box.scrollTop = 0;
    return load(0);
  }
  let due = 0;
  box.addEventListener("scroll", () => {
    due ||= requestAnimationFrame(() => {
      due = 0;
      draw();
    });
  });
  reload();
  return { node: h("div", {}, head, box), reload };
}

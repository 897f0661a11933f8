/** Elements without a framework: `h("p", {class: "sub"}, "text")`. Text is always text, never HTML. */

/** @typedef {Node|string|number|null|undefined|false|Child[]} Child */

const SVG = "http://www.w3.org/2000/svg";

/** @param {Element} el @param {Record<string, any>} attrs */
function assign(el, attrs) {
  for (const [name, value] of Object.entries(attrs)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) el.addEventListener(name.slice(2), value);
    else if (name === "style")
      for (const [k, v] of Object.entries(value)) /** @type {HTMLElement} */ (el).style.setProperty(k, String(v));
    else if (name === "value" || name === "checked" || name === "disabled") /** @type {any} */ (el)[name] = value;
    else el.setAttribute(name, value === true ? "" : String(value));
  }
}

/** @param {Node} el @param {Child[]} children */
export function add(el, ...children) {
  for (const child of children) {
    if (Array.isArray(child)) add(el, ...child);
    else if (child instanceof Node) el.appendChild(child);
    else if (child !== null && child !== undefined && child !== false)
      el.appendChild(document.createTextNode(String(child)));
  }
  return el;
}

/** @param {string} tag @param {Record<string, any>} [attrs] @param {Child[]} children @returns {HTMLElement} */
export function h(tag, attrs = {}, ...children) {
  const el = document.createElement(tag);
  assign(el, attrs);
  add(el, ...children);
  return el;
}

/** @param {string} tag @param {Record<string, any>} [attrs] @param {Child[]} children @returns {SVGElement} */
export function s(tag, attrs = {}, ...children) {
  const el = document.createElementNS(SVG, tag);
  assign(el, attrs);
  add(el, ...children);
  return el;
}

/** Replace what an element contains. @param {Element} el @param {Child[]} children */
export function fill(el, ...children) {
  el.replaceChildren();
  add(el, ...children);
  return el;
}

/** Replace what an element contains only where its data differ from the last time: focus and selection stay. @param {Element} el @param {any} data @param {(data: any) => Child} draw */
export function fillChanged(el, data, draw) {
  const key = JSON.stringify(data);
  if (drawn.get(el) === key) return;
  drawn.set(el, key);
  fill(el, draw(data));
}
/** @type {WeakMap<Element, string>} */
const drawn = new WeakMap();

/** A figure with its label. @param {string} label @param {Child} value @param {string} [tone] */
export const figure = (label, value, tone = "") =>
  h("div", { class: `figure ${tone}` }, h("div", { class: "value" }, value), h("div", { class: "label" }, label));

/** A labelled control. @param {string} text @param {HTMLElement} control @param {Child} [hint] */
export function field(text, control, hint) {
  control.id ||= `f${Math.random().toString(36).slice(2)}`;
  return h(
    "div",
    { class: "field" },
    h("label", { for: control.id }, text),
    control,
    hint && h("div", { class: "hint" }, hint),
  );
}

/** One choice of few, as radio buttons in a row. @param {string} label @param {[string, string][]} options @param {string} chosen @param {(id: string) => void} choose */
export function segments(label, options, chosen, choose) {
  const name = `s${Math.random().toString(36).slice(2)}`;
  return h(
    "div",
    { class: "segments", role: "radiogroup", "aria-label": label },
    options.map(([id, text]) =>
      h(
        "label",
        {},
        h("input", { type: "radio", name, value: id, checked: id === chosen, onchange: () => choose(id) }),
        text,
      ),
    ),
  );
}

/** A table in a box that scrolls by itself. @param {[string, string?][]} head titles with the class of their column @param {Child[][]} rows @param {string} [empty] */
export function table(head, rows, empty = "Nothing here yet.") {
  if (!rows.length) return h("p", { class: "empty" }, empty);
  return h(
    "div",
    { class: "table", tabindex: "0" },
    h(
      "table",
      {},
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          head.map(([title, kind]) => h("th", { class: kind, scope: "col" }, title)),
        ),
      ),
      h(
        "tbody",
        {},
        rows.map((cells) =>
          h(
            "tr",
            {},
            cells.map((cell, i) => h("td", { class: head[i]?.[1] }, cell)),
          ),
        ),
      ),
    ),
  );
}

/** @param {string} state */
export const badge = (state) => h("span", { class: `badge ${state.replaceAll(" ", "-")}` }, state);

/** Say something to everyone, screen readers included. @param {string} text @param {boolean} [bad] */
export function tell(text, bad = false) {
  const box = /** @type {HTMLElement} */ (document.getElementById("status"));
  fill(box, h("div", { class: bad ? "bad" : "" }, text));
  setTimeout(
    () => {
      if (box.textContent === text) fill(box);
    },
    bad ? 9000 : 4500,
  );
}

/** The sentence of a refusal, with what to do about it. @param {any} problem */
export const problemBox = (problem) =>
  h(
    "div",
    { class: "problem", role: "alert" },
    h("strong", {}, problem.detail ?? String(problem)),
    problem.hint ? h("div", { class: "hint" }, problem.hint) : null,
  );

/** Ask before something changes. Resolves to whether it was agreed. @param {string} title @param {Child} body @param {{agree?: string, danger?: boolean, typed?: string}} [how] */
export function ask(title, body, how = {}) {
  return new Promise((resolve) => {
    const typed = how.typed
      ? /** @type {HTMLInputElement} */ (h("input", { autocomplete: "off", spellcheck: "false" }))
      : null;
    const yes = /** @type {HTMLButtonElement} */ (
      h("button", { class: how.danger ? "danger" : "primary", value: "yes", type: "submit" }, how.agree ?? "Go on")
    );
    if (typed) {
      yes.disabled = true;
      typed.addEventListener("input", () => {
        yes.disabled = typed.value !== how.typed;
      });
    }
    const box = /** @type {HTMLDialogElement} */ (
      h(
        "dialog",
        { "aria-labelledby": "ask-title" },
        h(
          "form",
          { method: "dialog" },
          h("h2", { id: "ask-title" }, title),
          h("div", {}, body),
          typed && field(`Type ${how.typed} to confirm`, typed),
          h(
            "div",
            { class: "row end" },
            h("button", { value: "no", type: "button", onclick: () => box.close("no") }, "Do nothing"),
            yes,
          ),
        ),
      )
    );
    box.addEventListener("close", () => {
      box.remove();
      resolve(box.returnValue === "yes");
    });
    document.body.append(box);
    box.showModal();
  });
}

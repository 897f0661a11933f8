/** Topics: search and create. */
import { get, post } from "../api.js";
import { badge, field, fill, h, problemBox, tell } from "../dom.js";
import { bytes, count } from "../format.js";
import { virtualList } from "../parts/list.js";

/** @param {any} context */
export async function page({ params: [name], signal, may, go }) {
  const search = /** @type {HTMLInputElement} */ (
    h("input", { type: "search", placeholder: "Part of a name", "aria-label": "Search topics" })
  );
  const sort = /** @type {HTMLSelectElement} */ (
    h(
      "select",
      { "aria-label": "Sort topics" },
      [
        ["name", "by name"],
        ["bytes", "largest first"],
        ["partitions", "most partitions first"],
        ["under_replicated", "under-replicated first"],
      ].map(([value, text]) => h("option", { value }, text)),
    )
  );
  const total = h("div", { class: "sub" });
  const list = virtualList({
    label: "Topics",
    columns: "cols-topics",
    head: ["Topic", ...["Partitions", "Factor", "On disk"].map((text) => h("span", { class: "num" }, text)), "State"],
    empty: "No topic has this in its name.",
    load: async (offset, limit) => {
      const q = new URLSearchParams({
        search: search.value,
        sort: sort.value,
        descending: String(sort.value !== "name"),
        offset: String(offset),
        limit: String(limit),
      });
      const found = await get(`/clusters/${name}/topics?${q}`, signal);
      fill(total, `${count(found.total)} topics`);
      return { total: found.total, rows: found.topics };
    },
    row: (t) => [
      h("a", { href: `#/clusters/${name}/topics/${t.name}` }, t.name),
      h("span", { class: "num" }, count(t.partitions)),
      h("span", { class: "num" }, t.replication_factor),
      h("span", { class: "num" }, bytes(t.bytes)),
      t.offline
        ? badge("critical")
        : t.under_replicated
          ? badge("degraded")
          : t.moving
            ? badge("moving")
            : badge("healthy"),
    ],
  });
  let due = 0;
  search.addEventListener("input", () => {
    clearTimeout(due);
    due = setTimeout(list.reload, 150);
  });
  sort.addEventListener("change", list.reload);
  return h(
    "div",
    {},
    h(
      "div",
      { class: "head" },
      h("div", {}, h("h1", { tabindex: "-1" }, "Topics"), total),
      h(
        "div",
        { class: "actions" },
        may("apply") && h("button", { class: "primary", onclick: () => create(name, go) }, "Create a topic"),
      ),
    ),
    h(
      "div",
      { class: "row", style: { "margin-bottom": ".8rem" } },
      h("div", { style: { flex: "3 1 14rem" } }, search),
      h("div", { style: { flex: "1 1 11rem" } }, sort),
    ),
    list.node,
  );
}

/** @param {string} cluster @param {(where: string) => void} go */
function create(cluster, go) {
  const input = (attrs) => /** @type {HTMLInputElement} */ (h("input", attrs));
  const name = input({
      required: true,
      pattern: "[A-Za-z0-9._\\-]+",
      maxlength: 249,
      autocomplete: "off",
      spellcheck: "false",
    }),
    partitions = input({ type: "number", min: 1, value: 12 }),
    factor = input({ type: "number", min: 1, value: 3 }),
    configs = /** @type {HTMLTextAreaElement} */ (h("textarea", { rows: 2, placeholder: "retention.ms=86400000" }));
  const fault = h("div", {});
  const box = /** @type {HTMLDialogElement} */ (
    h(
      "dialog",
      { "aria-labelledby": "create-title" },
      h(
        "form",
        {
          onsubmit: async (event) => {
            event.preventDefault();
            try {
              await post(`/clusters/${cluster}/topics`, {
                name: name.value,
                partitions: Number(partitions.value),
                replication_factor: Number(factor.value),
                configs: parseConfigs(configs.value),
              });
              box.close();
              tell(`Topic ${name.value} was created`);
              go(`#/clusters/${cluster}/topics/${name.value}`);
            } catch (error) {
              fill(fault, problemBox(error));
            }
          },
        },
        h("h2", { id: "create-title" }, "Create a topic"),
        field("Name", name),
        h("div", { class: "grid tight" }, field("Partitions", partitions), field("Replication factor", factor)),
        field("Configs", configs, "one key=value per line"),
        fault,
        h(
          "div",
          { class: "row end" },
          h("button", { type: "button", onclick: () => box.close() }, "Do nothing"),
          h("button", { class: "primary", type: "submit" }, "Create"),
        ),
      ),
    )
  );
  box.addEventListener("close", () => box.remove());
  document.body.append(box);
  box.showModal();
}

/** @param {string} text */
const parseConfigs = (text) =>
  Object.fromEntries(
    text
      .split("\n")
      .map((line) => line.trim())
      .filter(Boolean)
      .map((line) => {
        const at = line.indexOf("=");
        return at < 0 ? [line, ""] : [line.slice(0, at).trim(), line.slice(at + 1).trim()];
      }),
  );

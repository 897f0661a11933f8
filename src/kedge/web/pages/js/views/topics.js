/** Topics: search, create, expand, configure, delete with the name typed. */
import { del, get, patch, post } from "../api.js";
import { ask, badge, field, figure, fill, h, problemBox, table, tell } from "../dom.js";
import { bytes, count } from "../format.js";
import { virtualList } from "../parts/list.js";

/** @param {any} context */
export async function page({ params: [name], signal, may, go }) {
  const search = /** @type {HTMLInputElement} */ (h("input", { type: "search", placeholder: "Part of a name", "aria-label": "Search topics" }));
  const sort = /** @type {HTMLSelectElement} */ (h("select", { "aria-label": "Sort topics" }, [["name", "by name"], ["bytes", "largest first"], ["partitions", "most partitions first"], ["under_replicated", "under-replicated first"]].map(([value, text]) => h("option", { value }, text))));
  const total = h("div", { class: "sub" });
  const list = virtualList({
    label: "Topics", columns: "cols-topics", head: ["Topic", ...["Partitions", "Factor", "On disk"].map((text) => h("span", { class: "num" }, text)), "State"], empty: "No topic has this in its name.",
    load: async (offset, limit) => {
      const q = new URLSearchParams({ search: search.value, sort: sort.value, descending: String(sort.value !== "name"), offset: String(offset), limit: String(limit) });
      const found = await get(`/clusters/${name}/topics?${q}`, signal);
      fill(total, `${count(found.total)} topics`);
      return { total: found.total, rows: found.topics };
    },
    row: (t) => [h("a", { href: `#/clusters/${name}/topics/${t.name}` }, t.name), h("span", { class: "num" }, count(t.partitions)), h("span", { class: "num" }, t.replication_factor), h("span", { class: "num" }, bytes(t.bytes)),
      t.offline ? badge("critical") : t.under_replicated ? badge("degraded") : t.moving ? badge("moving") : badge("healthy")],
  });
  let due = 0;
  search.addEventListener("input", () => { clearTimeout(due); due = setTimeout(list.reload, 150); });
  sort.addEventListener("change", list.reload);
  return h("div", {}, h("div", { class: "head" }, h("div", {}, h("h1", { tabindex: "-1" }, "Topics"), total), h("div", { class: "actions" }, may("apply") && h("button", { class: "primary", onclick: () => create(name, go) }, "Create a topic"))),
    h("div", { class: "row", style: { "margin-bottom": ".8rem" } }, h("div", { style: { flex: "3 1 14rem" } }, search), h("div", { style: { flex: "1 1 11rem" } }, sort)), list.node);
}

/** @param {string} cluster @param {(where: string) => void} go */
function create(cluster, go) {
  const input = (attrs) => /** @type {HTMLInputElement} */ (h("input", attrs));
  const name = input({ required: true, pattern: "[A-Za-z0-9._\\-]+", maxlength: 249, autocomplete: "off", spellcheck: "false" }), partitions = input({ type: "number", min: 1, value: 12 }), factor = input({ type: "number", min: 1, value: 3 }), configs = /** @type {HTMLTextAreaElement} */ (h("textarea", { rows: 2, placeholder: "retention.ms=86400000" }));
  const fault = h("div", {});
  const box = /** @type {HTMLDialogElement} */ (h("dialog", { "aria-labelledby": "create-title" }, h("form", { onsubmit: async (event) => {
    event.preventDefault();
    try {
      await post(`/clusters/${cluster}/topics`, { name: name.value, partitions: Number(partitions.value), replication_factor: Number(factor.value), configs: parseConfigs(configs.value) });
      box.close(); tell(`Topic ${name.value} was created`); go(`#/clusters/${cluster}/topics/${name.value}`);
    } catch (error) { fill(fault, problemBox(error)); }
  } }, h("h2", { id: "create-title" }, "Create a topic"), field("Name", name), h("div", { class: "grid tight" }, field("Partitions", partitions), field("Replication factor", factor)), field("Configs", configs, "one key=value per line"), fault,
    h("div", { class: "row end" }, h("button", { type: "button", onclick: () => box.close() }, "Do nothing"), h("button", { class: "primary", type: "submit" }, "Create")))));
  box.addEventListener("close", () => box.remove());
  document.body.append(box);
  box.showModal();
}

/** @param {string} text */
const parseConfigs = (text) => Object.fromEntries(text.split("\n").map((line) => line.trim()).filter(Boolean).map((line) => { const at = line.indexOf("="); return at < 0 ? [line, ""] : [line.slice(0, at).trim(), line.slice(at + 1).trim()]; }));

/** Expand, configure, delete. @param {any} context @param {any} topic @param {() => Promise<void>} again */
function changeCard({ params: [cluster, name], go }, topic, again) {
  const path = `/clusters/${cluster}/topics/${name}`, partitions = topic.partitions.length, fault = h("div", {});
  const input = (attrs) => /** @type {HTMLInputElement} */ (h("input", attrs));
  const total = input({ type: "number", min: partitions + 1, value: partitions * 2, "aria-label": "New number of partitions" });
  const key = input({ "aria-label": "Config", placeholder: "retention.ms", list: "known-configs" }), value = input({ "aria-label": "Value", placeholder: "value" });
  /** @param {() => Promise<any>} act @param {string} text */
  const attempt = async (act, text) => { fill(fault); try { await act(); tell(text); await again(); } catch (error) { fill(fault, problemBox(error)); } };
  const expand = async (/** @type {Event} */ event) => {
    event.preventDefault();
    const agreed = await ask(`Give ${name} ${total.value} partitions?`, "Partitions cannot be taken away again, and keys map to other partitions.", { agree: "Expand" });
    if (agreed) await attempt(() => post(`${path}/partitions`, { total: Number(total.value) }), `${name} has ${total.value} partitions`);
  };
  const configure = (/** @type {Event} */ event) => {
    event.preventDefault();
    attempt(() => patch(`${path}/configs`, value.value ? { set: { [key.value]: value.value } } : { unset: [key.value] }), `${key.value} was changed`);
  };
  const remove = async () => {
    if (!(await ask(`Delete ${name}?`, "All records of the topic are lost. There is no way back.", { agree: "Delete", danger: true, typed: name }))) return;
    try { await del(`${path}?confirm=${encodeURIComponent(name)}`); tell(`${name} was deleted`); go(`#/clusters/${cluster}/topics`); }
    catch (error) { fill(fault, problemBox(error)); }
  };
  return h("div", { class: "card" }, h("h2", {}, "Change"), fault,
    h("form", { class: "row field", onsubmit: expand }, h("span", { class: "sub" }, "Partitions"), h("div", { class: "short" }, total), h("button", { type: "submit" }, "Expand")),
    h("form", { class: "row", onsubmit: configure }, h("div", { class: "long" }, key), h("div", { class: "long" }, value), h("button", { type: "submit" }, "Set config"), h("datalist", { id: "known-configs" }, topic.configs.map((c) => h("option", { value: c.name })))),
    h("p", { class: "hint field" }, "An empty value goes back to the default."), h("button", { class: "danger", onclick: remove }, "Delete this topic"));
}

const SHOWN = 1000;

/** @param {any} context */
export async function topicPage(context) {
  const { params: [cluster, name], signal, may, main } = context;
  const topic = await get(`/clusters/${cluster}/topics/${name}`, signal);
  const again = async () => { fill(main, await topicPage(context)); };
  const partitions = topic.partitions, lagging = partitions.filter((p) => p.isr.length < p.replicas.length).length;
  const own = topic.configs.filter((c) => c.source === "DYNAMIC_TOPIC_CONFIG");
  const away = partitions.filter((p) => p.leader !== p.replicas[0]).length;
  const configs = own.length ? h("dl", {}, own.map((c) => [h("dt", { class: "mono" }, c.name), h("dd", { class: "mono" }, c.value ?? "(secret)")])) : h("p", { class: "empty" }, "All configs have their defaults.");
  const rows = partitions.slice(0, SHOWN).map((p) => [p.partition, p.leader ?? "none", h("span", { class: "mono" }, p.replicas.join(", ")), h("span", { class: "mono" }, p.isr.join(", ")), p.isr.length < p.replicas.length ? badge("degraded") : badge("healthy")]);
  return h("div", {},
    h("div", { class: "head" }, h("div", {}, h("h1", { tabindex: "-1" }, name), h("div", { class: "sub mono" }, topic.topic_id ?? "")), badge(lagging ? "degraded" : "healthy")),
    h("div", { class: "card" }, h("div", { class: "figures" }, figure("partitions", count(partitions.length)), figure("replication factor", topic.replication_factor ?? partitions[0]?.replicas.length ?? "–"), figure("under-replicated", count(lagging), lagging ? "warn" : "good"), figure("led by another than preferred", count(away)), figure("own configs", count(own.length)))),
    h("div", { class: "grid" }, h("div", { class: "card" }, h("h2", {}, "Own configs"), configs), may("apply") && changeCard(context, topic, again)),
    h("div", { class: "card" }, h("h2", {}, "Partitions"), h("div", { class: "tall" }, table([["Partition", "num"], ["Leader", "num"], ["Replicas"], ["In sync"], ["State"]], rows)), partitions.length > SHOWN && h("p", { class: "empty" }, `and ${count(partitions.length - SHOWN)} more`)));
}

/** One topic: its partitions and configs; expand, configure, delete with the name typed. */
import { del, get, patch, post } from "../api.js";
import { ask, badge, figure, fill, h, problemBox, table, tell } from "../dom.js";
import { count } from "../format.js";

/** Expand, configure, delete. @param {any} context @param {any} topic @param {() => Promise<void>} again */
function changeCard({ params: [cluster, name], go }, topic, again) {
  const path = `/clusters/${cluster}/topics/${name}`,
    partitions = topic.partitions.length,
    fault = h("div", {});
  const input = (attrs) => /** @type {HTMLInputElement} */ (h("input", attrs));
  const total = input({
    type: "number",
    min: partitions + 1,
    value: partitions * 2,
    "aria-label": "New number of partitions",
  });
  const key = input({ "aria-label": "Config", placeholder: "retention.ms", list: "known-configs" }),
    value = input({ "aria-label": "Value", placeholder: "value" });
  /** @param {() => Promise<any>} act @param {string} text */
  const attempt = async (act, text) => {
    fill(fault);
    try {
      await act();
      tell(text);
      await again();
    } catch (error) {
      fill(fault, problemBox(error));
    }
  };
  const expand = async (/** @type {Event} */ event) => {
    event.preventDefault();
    const agreed = await ask(
      `Give ${name} ${total.value} partitions?`,
      "Partitions cannot be taken away again, and keys map to other partitions.",
      { agree: "Expand" },
    );
    if (agreed)
      await attempt(
        () => post(`${path}/partitions`, { total: Number(total.value) }),
        `${name} has ${total.value} partitions`,
      );
  };
  const configure = (/** @type {Event} */ event) => {
    event.preventDefault();
    attempt(
      () => patch(`${path}/configs`, value.value ? { set: { [key.value]: value.value } } : { unset: [key.value] }),
      `${key.value} was changed`,
    );
  };
  const remove = async () => {
    if (
      !(await ask(`Delete ${name}?`, "All records of the topic are lost. There is no way back.", {
        agree: "Delete",
        danger: true,
        typed: name,
      }))
    )
      return;
    try {
      await del(`${path}?confirm=${encodeURIComponent(name)}`);
      tell(`${name} was deleted`);
      go(`#/clusters/${cluster}/topics`);
    } catch (error) {
      fill(fault, problemBox(error));
    }
  };
  return h(
    "div",
    { class: "card" },
    h("h2", {}, "Change"),
    fault,
    h(
      "form",
      { class: "row field", onsubmit: expand },
      h("span", { class: "sub" }, "Partitions"),
      h("div", { class: "short" }, total),
      h("button", { type: "submit" }, "Expand"),
    ),
    h(
      "form",
      { class: "row", onsubmit: configure },
      h("div", { class: "long" }, key),
      h("div", { class: "long" }, value),
      h("button", { type: "submit" }, "Set config"),
      h(
        "datalist",
        { id: "known-configs" },
        topic.configs.map((c) => h("option", { value: c.name })),
      ),
    ),
    h("p", { class: "hint field" }, "An empty value goes back to the default."),
    h("button", { class: "danger", onclick: remove }, "Delete this topic"),
  );
}

const SHOWN = 1000;

/** @param {any} context */
export async function page(context) {
  const {
    params: [cluster, name],
    signal,
    may,
    main,
  } = context;
  const topic = await get(`/clusters/${cluster}/topics/${name}`, signal);
  const again = async () => {
    fill(main, await page(context));
  };
  const partitions = topic.partitions,
    lagging = partitions.filter((p) => p.isr.length < p.replicas.length).length;
  const own = topic.configs.filter((c) => c.source === "DYNAMIC_TOPIC_CONFIG");
  const away = partitions.filter((p) => p.leader !== p.replicas[0]).length;
  const configs = own.length
    ? h(
        "dl",
        {},
        own.map((c) => [h("dt", { class: "mono" }, c.name), h("dd", { class: "mono" }, c.value ?? "(secret)")]),
      )
    : h("p", { class: "empty" }, "All configs have their defaults.");
  const rows = partitions
    .slice(0, SHOWN)
    .map((p) => [
      p.partition,
      p.leader ?? "none",
      h("span", { class: "mono" }, p.replicas.join(", ")),
      h("span", { class: "mono" }, p.isr.join(", ")),
      p.isr.length < p.replicas.length ? badge("degraded") : badge("healthy"),
    ]);
  return h(
    "div",
    {},
    h(
      "div",
      { class: "head" },
      h("div", {}, h("h1", { tabindex: "-1" }, name), h("div", { class: "sub mono" }, topic.topic_id ?? "")),
      badge(lagging ? "degraded" : "healthy"),
    ),
    h(
      "div",
      { class: "card" },
      h(
        "div",
        { class: "figures" },
        figure("partitions", count(partitions.length)),
        figure("replication factor", topic.replication_factor ?? partitions[0]?.replicas.length ?? "–"),
        figure("under-replicated", count(lagging), lagging ? "warn" : "good"),
        figure("led by another than preferred", count(away)),
        figure("own configs", count(own.length)),
      ),
    ),
    h(
      "div",
      { class: "grid" },
      h("div", { class: "card" }, h("h2", {}, "Own configs"), configs),
      may("apply") && changeCard(context, topic, again),
    ),
    h(
      "div",
      { class: "card" },
      h("h2", {}, "Partitions"),
      h(
        "div",
        { class: "tall" },
        table([["Partition"], ["Leader"], ["Replicas"], ["In sync"], ["State"]], rows),
      ),
      partitions.length > SHOWN && h("p", { class: "empty" }, `and ${count(partitions.length - SHOWN)} more`),
    ),
  );
}

/** The runs of a cluster, of these pages and of the command line alike. */
import { get } from "../api.js";
import { badge, h, table } from "../dom.js";
import { count, duration, time } from "../format.js";

/** @param {any} context */
export async function page({ params: [name], signal }) {
  const { runs } = await get(`/clusters/${name}/runs`, signal);
  const rows = runs.map((r) => [
    h("a", { href: `#/clusters/${name}/runs/${r.run}` }, time(r.begun_at)),
    r.kind,
    badge(r.state),
    `${count(r.done)} / ${count(r.partitions)}`,
    duration(r.elapsed_seconds),
    r.undoes ?? r.plan ?? "",
  ]);
  const nothing = h(
    "div",
    { class: "card empty" },
    h("strong", {}, "No run yet"),
    "A plan is applied on its page; runs of the command line are listed here too.",
  );
  return h(
    "div",
    {},
    h(
      "div",
      { class: "head" },
      h(
        "div",
        {},
        h("h1", { tabindex: "-1" }, "Runs"),
        h("div", { class: "sub" }, "of these pages and of the command line alike"),
      ),
    ),
    rows.length ? table([["Begun"], ["Kind"], ["State"], ["In place", "num"], ["Took", "num"], ["Of"]], rows) : nothing,
  );
}

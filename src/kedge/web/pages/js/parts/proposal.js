/** What the pages of proposals share: their kinds, cost, the decisions on them, and how pages follow the loop. */
import { listen, post } from "../api.js";
import { ask, field, figure, fill, h, problemBox, tell } from "../dom.js";
import { bytes, count, duration, percent } from "../format.js";

export const WAITING = ["open", "approved"];
/** What each kind of proposal does. */
export const KINDS = {
  repair: "Replace replicas of a broker that is down",
  racks: "Spread replicas over racks again",
  disk: "Make room on full disks",
  fill: "Put load on an empty broker",
  balance: "Even out the load",
  leaders: "Let preferred replicas lead again",
};
/** @param {any} c the predicted cost of a proposal */
export function costFigures(c) {
  const [soonest, latest] = [duration(c.seconds_p10), duration(c.seconds_p90)];
  const range = c.seconds_p10 && soonest !== latest ? h("small", {}, ` ${soonest} – ${latest}`) : null;
  return h(
    "div",
    { class: "figures" },
    figure("to copy", bytes(c.bytes)),
    figure("replicas move", count(c.moves)),
    figure("leaders move", count(c.leaders)),
    figure(
      "predicted to take",
      h("span", {}, c.seconds === null ? "never ends" : duration(c.seconds), range),
      c.seconds === null ? "bad" : "",
    ),
    c.peak_disk !== null && figure("fullest disk on the way", percent(c.peak_disk)),
  );
}

/** Approve: for the next window, or at once. @param {string} path @param {any} p @param {any} policy */
async function approve(path, p, policy) {
  const once = /** @type {HTMLInputElement} */ (h("input", { type: "checkbox" })),
    windows = policy?.budget?.windows ?? [];
  const body = h(
    "div",
    {},
    h("p", {}, `${KINDS[p.kind] ?? p.kind}: ${count(p.partitions)} partitions, ${bytes(p.cost.bytes)} to copy.`),
    policy?.mode === "propose" &&
      h(
        "p",
        { class: "note" },
        "The policy is “propose”: the loop starts nothing. Set mode = “approve” for approved proposals to run.",
      ),
    windows.length > 0 &&
      h("label", { class: "check row" }, once, `At once, not in the next window (${windows.join(", ")})`),
  );
  if (!(await ask("Approve this proposal?", body, { agree: "Approve" }))) return false;
  await post(`${path}/approve`, { version: p.version, at_once: once.checked });
  tell("Approved: the loop starts it at its next sample");
  return true;
}

/** Reject, with a reason that is kept. @param {string} path @param {any} p */
async function reject(path, p) {
  const reason = /** @type {HTMLTextAreaElement} */ (h("textarea", { rows: 3, maxlength: 1000, required: true }));
  if (
    !(await ask(
      "Reject this proposal?",
      field("Reason", reason, "kept with the proposal; the same is not proposed again for a while"),
      { agree: "Reject", danger: true },
    ))
  )
    return false;
  await post(`${path}/reject`, { version: p.version, reason: reason.value });
  tell("Rejected");
  return true;
}

/** The buttons of a proposal that waits for a decision. @param {any} context @param {any} p @param {any} policy @param {() => void} again @param {Element} fault */
export function verbs({ params: [name], may }, p, policy, again, fault) {
  if (!may("apply") || !WAITING.includes(p.state)) return null;
  const path = `/clusters/${name}/proposals/${p.id}`;
  /** @param {() => Promise<boolean>} act */
  const attempt = async (act) => {
    fill(fault);
    try {
      if (await act()) again();
    } catch (error) {
      fill(fault, problemBox(error));
    }
  };
  return h(
    "div",
    { class: "row" },
    p.state === "open" &&
      h(
        "button",
        {
          class: "primary",
          onclick: () => attempt(() => approve(path, p, policy)),
          disabled: p.cost.problems.length > 0,
        },
        "Approve …",
      ),
    h("button", { class: "danger", onclick: () => attempt(() => reject(path, p)) }, "Reject …"),
  );
}

/** Draw again when the loop has sampled or a proposal has changed. @param {any} context @param {() => Promise<void>} draw */
export function follow({ params: [name], signal }, draw) {
  let due = 0;
  const soon = () => {
    due ||= setTimeout(() => {
      due = 0;
      if (!signal.aborted && !document.querySelector("dialog[open]")) draw();
    }, 200);
  };
  listen(`/clusters/${name}/events`, signal, { proposal: soon, finding: soon, loop: soon }, soon);
}

/** When each move of a prediction runs: one bar per move, on a canvas. */
import { h } from "../dom.js";
import { duration } from "../format.js";
import { canvas, colour } from "./canvas.js";

const TOP = 24;
const RIGHT = 16;

/** @param {any} prediction */
export function gantt(prediction) {
  const moves = prediction.moves.filter((m) => m.end !== null).sort((a, b) => a.start - b.start || a.end - b.end);
  const total = Math.max(1, prediction.seconds ?? 0, ...moves.map((m) => m.end));
  const bar = moves.length > 400 ? 2 : moves.length > 80 ? 5 : 13;
  const pitch = bar + (bar > 4 ? 3 : 0);
  const named = bar >= 13;
  const mark = Math.max(1, Math.round(bar / 4)); // of what is short of replicas meanwhile, along the bar
  const left = named ? 130 : 8;
  const { node } = canvas({
    label: `Times of ${moves.length} moves over ${duration(total)}`,
    height: () => TOP + moves.length * pitch + 6,
    draw(c, width, height) {
      const x = (seconds) => left + ((width - left - RIGHT) * seconds) / total;
      const [soft, line, accent, warn] = ["--ink-soft", "--line", "--accent", "--s4"].map(colour);
      c.clearRect(0, 0, width, height);
      c.font = "11px system-ui, sans-serif";
      for (let i = 0; i <= 5; i += 1) {
        const seconds = (total * i) / 5;
        c.fillStyle = line;
        c.fillRect(Math.round(x(seconds)), 18, 1, height);
        c.fillStyle = soft;
        c.textAlign = i === 0 ? "left" : i === 5 ? "right" : "center";
        c.fillText(duration(seconds), x(seconds), 12);
      }
      c.textAlign = "left";
      moves.forEach((m, i) => {
        const y = TOP + i * pitch;
        const length = Math.max(2, x(m.end) - x(m.start));
        c.fillStyle = accent;
        c.fillRect(x(m.start), y, length, bar);
        if (m.under_replicated_seconds) {
          c.fillStyle = warn;
          c.fillRect(x(m.start), y + bar - mark, length, mark);
        }
        if (!named) return;
        c.fillStyle = soft;
        c.fillText(shortened(`${m.topic}-${m.partition}`), 0, y + 11);
      });
    },
  });
  return h(
    "div",
    {},
    node,
    h(
      "div",
      { class: "legend" },
      h("span", {}, h("i", { class: "accent" }), "copies"),
      h("span", {}, h("i", { class: "c4" }), "copies, and the partition is under-replicated meanwhile"),
    ),
  );
}

const LETTERS = 20;
/** The end of a long name tells more: it has the partition. @param {string} name */
const shortened = (name) => (name.length <= LETTERS ? name : `…${name.slice(1 - LETTERS)}`);

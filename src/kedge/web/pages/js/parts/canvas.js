/** Canvases at the screen's resolution, and the colours of the style sheet for what is drawn on them. */
import { h } from "../dom.js";

/** A colour of the style sheet. @param {string} name */
export const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/** A canvas that is drawn again when its width, the colour scheme or its data change.
 * @param {{label: string, height: (width: number) => number, draw: (context: CanvasRenderingContext2D, width: number, height: number) => void}} how */
export function canvas(how) {
  const node = /** @type {HTMLCanvasElement} */ (h("canvas", { role: "img", "aria-label": how.label }));
  const context = /** @type {CanvasRenderingContext2D} */ (node.getContext("2d"));
  let drawnWidth = 0,
    due = 0;

  function paint() {
    const width = node.clientWidth,
      scale = devicePixelRatio || 1;
    if (!width) return;
    const height = how.height(width);
    drawnWidth = width;
    node.width = Math.round(width * scale);
    node.height = Math.round(height * scale);
    node.style.setProperty("height", `${height}px`);
    context.setTransform(scale, 0, 0, scale, 0, 0);
    how.draw(context, width, height);
  }
  /** Draw before the next frame: once, however many calls there are until then. */
  function repaint() {
    due ||= requestAnimationFrame(() => {
      due = 0;
      paint();
    });
  }
  new ResizeObserver(() => {
    if (node.clientWidth !== drawnWidth) repaint();
  }).observe(node);
  const scheme = matchMedia("(prefers-color-scheme: dark)");
  const onScheme = () => {
    if (node.isConnected) repaint();
    else scheme.removeEventListener("change", onScheme);
  };
  scheme.addEventListener("change", onScheme);
  return { node, repaint };
}

/** A slider of bytes per second, from 1 MB to 2 GB by powers, with its text. */
import { fill, h } from "../dom.js";
import { bytes, placeOf, rateAt } from "../format.js";

/** @param {number} rate */
export function rateSlider(rate) {
  const slider = /** @type {HTMLInputElement} */ (
    h("input", { type: "range", min: 0, max: 100, step: 1, value: placeOf(rate) })
  );
  const text = h("output", {});
  const value = () => rateAt(Number(slider.value));
  const show = () => {
    const said = `${bytes(value())}/s in and out of each broker`;
    fill(text, said);
    slider.setAttribute("aria-valuetext", said);
  };
  slider.addEventListener("input", show);
  show();
  return { slider, text, value };
}

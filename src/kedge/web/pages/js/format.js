/** Amounts as people read them. */
const UNITS = ["B", "kB", "MB", "GB", "TB", "PB"];

/** @param {number|null|undefined} n */
export function bytes(n) {
  if (n === null || n === undefined) return "–";
  let unit = 0;
  while (Math.abs(n) >= 1000 && unit < UNITS.length - 1) {
    n /= 1000;
    unit += 1;
  }
  return `${unit === 0 ? n : n.toFixed(n < 10 ? 2 : n < 100 ? 1 : 0)} ${UNITS[unit]}`;
}

/** @param {number|null|undefined} seconds */
export function duration(seconds) {
  if (seconds === null || seconds === undefined) return "–";
  if (seconds < 90) return `${seconds < 10 && !Number.isInteger(seconds) ? seconds.toFixed(1) : Math.round(seconds)} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 90) return `${minutes} min`;
  return minutes < 2880 ? `${Math.floor(minutes / 60)} h ${minutes % 60} min` : `${(minutes / 1440).toFixed(1)} days`;
}

/** @param {number|null|undefined} n */
export const count = (n) => (n === null || n === undefined ? "–" : n.toLocaleString("en"));
/** @param {number|null|undefined} share */
export function percent(share, digits = 0) {
  if (share === null || share === undefined) return "–";
  return share > 0 && share < 0.005 && digits === 0 ? "< 1 %" : `${(100 * share).toFixed(digits)} %`;
}
/** @param {number|string|null|undefined} at seconds since 1970, or a text */
export const time = (at) =>
  at === null || at === undefined
    ? "–"
    : new Date(typeof at === "number" ? at * 1000 : at).toLocaleString("en-GB", {
        dateStyle: "medium",
        timeStyle: "medium",
      });
/** How long ago, or in how long. @param {number|null|undefined} at seconds since 1970 */
export function ago(at) {
  if (at === null || at === undefined) return "–";
  const seconds = Date.now() / 1000 - at;
  return seconds >= 0 ? `${duration(Math.max(1, Math.round(seconds)))} ago` : `in ${duration(Math.round(-seconds))}`;
}
/** The step of a diverging scale that a ratio to the mean has: 1 far under … 5 far over. @param {number} ratio */
export const step = (ratio) => (ratio < 0.8 ? 1 : ratio < 0.95 ? 2 : ratio < 1.05 ? 3 : ratio < 1.25 ? 4 : 5);
export const STEPS = ["far under", "under", "its share", "over", "far over"];
/** An account without the id of its token, or of its person at the identity provider. @param {string} name */
export const personOf = (name) => name.replace(/ \((oidc )?[0-9a-f]{16}\)$/, "");
/** Bytes per second of a slider between 1 MB and 2 GB, by powers. @param {number} place 0 to 100 */
export const rateAt = (place) => {
  const raw = 1e6 * 2000 ** (place / 100);
  const unit = 10 ** Math.floor(Math.log10(raw) - 1);
  return Math.round(raw / unit) * unit;
};
/** @param {number} rate */
export const placeOf = (rate) => Math.max(0, Math.min(100, (100 * Math.log(rate / 1e6)) / Math.log(2000)));

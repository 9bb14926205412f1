// How the numbers of a tile are spread: a histogram, and what they are in a few numbers.

import { element, svg } from "page/elements.js";
import { grouped, short } from "explorer/words.js";

/** @typedef {import("./types").Statistics} Statistics */

const WIDTH = 320;
const HEIGHT = 96;
const LEFT = 8;
const BOTTOM = 20;
const TOP = 14;

/**
 * @param {Statistics} statistics
 * @param {string} name
 */
export function createHistogram(statistics, name) {
  const { histogram, least, most } = statistics;
  const largest = Math.max(1, ...histogram);
  const room = WIDTH - 2 * LEFT;
  const floor = HEIGHT - BOTTOM;
  const width = room / Math.max(1, histogram.length);
  const drawn = svg("svg", {
    viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
    class: "histogram",
    role: "img",
    "aria-label":
      least === null
        ? `${name} has no finite number`
        : `Histogram of ${name}: ${histogram.length} parts from ${short(least)} to ${short(Number(most))}, the fullest has ${grouped(largest)} elements`,
  });
  for (const [index, count] of histogram.entries()) {
    if (count === 0) continue;
    const height = Math.max(1, (count / largest) * (floor - TOP));
    const bar = svg("rect", {
      x: LEFT + index * width,
      y: floor - height,
      width: Math.max(0.5, width - (width > 3 ? 1 : 0)),
      height,
      class: "bar",
    });
    const step = (Number(most) - Number(least)) / histogram.length;
    const from = Number(least) + index * step;
    bar.append(svg("title", {}, `${short(from)} to ${short(from + step)}: ${grouped(count)}`));
    drawn.append(bar);
  }
  drawn.append(svg("line", { x1: LEFT, x2: WIDTH - LEFT, y1: floor, y2: floor, class: "axis" }));
  if (least !== null && most !== null) {
    drawn.append(
      svg("text", { x: LEFT, y: HEIGHT - 6, class: "label" }, short(least)),
      svg("text", { x: WIDTH - LEFT, y: HEIGHT - 6, class: "label", "text-anchor": "end" }, short(most)),
      svg("text", { x: WIDTH - LEFT, y: TOP - 4, class: "label", "text-anchor": "end" }, `${grouped(largest)} at most`),
    );
    if (least < 0 && most > 0) {
      const zero = LEFT + (room * -least) / (most - least);
      drawn.append(svg("line", { x1: zero, x2: zero, y1: TOP, y2: floor, class: "axis zero" }));
    }
  }
  return drawn;
}

/** @param {Statistics} statistics */
export function createStatistics(statistics) {
  const { count, nan, infinite, least, most, mean, deviation } = statistics;
  /** @param {number | null} number */
  const word = (number) => (number === null ? "none" : precise(number));
  const list = element("dl", { class: "pairs statistics" });
  /** @type {[string, string, string?][]} */
  const rows = [
    ["elements", grouped(count)],
    ["least", word(least)],
    ["most", word(most)],
    ["mean", word(mean)],
    ["deviation", word(deviation)],
    ["NaN", grouped(nan), nan > 0 ? "bad" : ""],
    ["infinite", grouped(infinite), infinite > 0 ? "warning" : ""],
  ];
  for (const [term, text, kind] of rows) {
    list.append(element("dt", {}, term), element("dd", {}, kind ? element("span", { class: `chip ${kind}` }, text) : text));
  }
  return list;
}

/**
 * So many digits that matter; very small and very large numbers with an exponent.
 * @param {number} number
 * @param {number} [digits]
 */
export function precise(number, digits = 6) {
  const magnitude = Math.abs(number);
  if (!Number.isFinite(number) || (Number.isInteger(number) && magnitude < 1e15)) return String(number);
  if (magnitude >= 1e-3 && magnitude < 1e9) return String(Number(number.toPrecision(digits)));
  return number.toExponential(digits - 1).replace(/\.?0+e/, "e").replace("e+", "e");
}

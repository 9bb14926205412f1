// The waves in which a grid runs: a column for each, filled as far as the target is busy in it.

import { svg } from "page/elements.js";
import { counted, grouped, short } from "explorer/words.js";

/** @typedef {import("./types").Cost} Cost */

const WIDTH = 360;
const HEIGHT = 84;
const FLOOR = 62;
const TOP = 6;
/** With more waves than these, those in the middle are one break in the row: all of them are full. */
const MOST_COLUMNS = 24;
const AFTER_BREAK = 4;

/**
 * @param {Cost["waves"]} waves
 * @returns {SVGSVGElement}
 */
export function drawWaves({ blocks, atOnce, waves, tail }) {
  const count = Math.max(1, Math.ceil(waves - 1e-9));
  const cut = count > MOST_COLUMNS;
  const columns = cut ? MOST_COLUMNS : count;
  const step = Math.min(40, WIDTH / columns);
  const words =
    `${counted(blocks, "tile block")}, ${grouped(atOnce)} at once: ${counted(count, "wave")}, ` +
    `the last one ${short(tail * 100)} % full`;
  const drawing = svg("svg", {
    viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
    class: "waves",
    role: "img",
    "aria-label": words,
    "font-family": "system-ui, sans-serif",
    "font-size": 11,
  });
  const breakAt = columns - AFTER_BREAK - 1;
  for (let column = 0; column < columns; column++) {
    const left = column * step;
    if (cut && column === breakAt) {
      drawing.append(text(left + step / 2, (FLOOR + TOP) / 2 + 4, "…"));
      continue;
    }
    const last = column === columns - 1;
    const full = last ? tail : 1;
    const height = Math.max(1, (FLOOR - TOP) * full);
    const box = { x: left + 1, width: Math.max(1, step - 2) };
    drawing.append(
      svg("rect", { ...box, y: TOP, height: FLOOR - TOP, style: { fill: "var(--surface-sunken)" } }),
      svg("rect", { ...box, y: FLOOR - height, height, style: { fill: last && full < 1 ? "var(--write)" : "var(--read)" } }),
    );
    const number = cut && column > breakAt ? count - (columns - 1 - column) : column + 1;
    if (number === 1 || last) {
      const anchor = number === 1 && step < 20 ? "start" : last && step < 20 ? "end" : "middle";
      const at = anchor === "middle" ? left + step / 2 : anchor === "start" ? left : left + step;
      drawing.append(text(at, FLOOR + 15, grouped(number), anchor));
    }
  }
  return drawing;
}

/**
 * @param {number} x
 * @param {number} y
 * @param {string} words
 * @param {string} [anchor]
 */
function text(x, y, words, anchor = "middle") {
  return svg("text", { x, y, "text-anchor": anchor, style: { fill: "var(--text-quiet)" } }, words);
}

// Palettes that color-blind people tell apart, and legends.

import { blockId, blockName, product } from "explorer/text.js";
import { element, svg } from "page/elements.js";

/** Amounts: dark is little, bright is much; lightness alone tells them apart too. */
export const AMOUNTS = [
  [68, 1, 84], [72, 40, 120], [62, 74, 137], [49, 104, 142], [38, 130, 142],
  [31, 158, 137], [53, 183, 121], [109, 205, 89], [180, 222, 44], [253, 231, 37],
];

/** Differences: blue below, light at zero, red above. */
const DIFFERENCES = [
  [33, 102, 172], [67, 147, 195], [146, 197, 222], [209, 229, 240], [247, 247, 247],
  [253, 219, 199], [244, 165, 130], [214, 96, 77], [178, 24, 43],
];

/** Things beside each other, after Okabe and Ito, with gray for their black. */
export const THINGS = [
  [0, 114, 178], [230, 159, 0], [0, 158, 115], [204, 121, 167],
  [86, 180, 233], [213, 94, 0], [240, 228, 66], [110, 110, 110],
];

/** @param {number[][]} stops @param {number} amount  From 0 to 1. @returns {number[]} */
function between(stops, amount) {
  const place = Math.min(1, Math.max(0, amount)) * (stops.length - 1);
  const low = Math.min(stops.length - 2, Math.floor(place));
  const part = place - low;
  return stops[low].map((channel, at) => Math.round(channel * (1 - part) + stops[low + 1][at] * part));
}

/** The color of an amount from 0 to 1. @param {number} amount */
export function amountColor(amount) {
  return between(AMOUNTS, amount);
}

/** The color of a difference, from 0 to 1, where 0.5 is none. @param {number} amount */
export function differenceColor(amount) {
  return between(DIFFERENCES, amount);
}

/**
 * The color of a tile block.  A few blocks have colors of their own; many are on the scale of amounts, by number, and
 * every second one is paler, so that neighbors in every direction of the grid are told apart.
 * @param {number} block @param {readonly number[]} grid
 */
export function blockColor(block, grid) {
  const blocks = product(grid);
  if (blocks <= THINGS.length) return THINGS[block];
  const color = amountColor(block / (blocks - 1));
  const [x, y, z] = blockId(block, grid);
  return (x + y + z) % 2 === 0 ? color : color.map((channel) => Math.floor((3 * channel + 512) / 5));
}

/** @param {number[]} color */
export function cssColor(color) {
  return `rgb(${color.join(", ")})`;
}

/** As an opaque pixel of ImageData. @param {number[]} color */
export function pixel([red, green, blue]) {
  return ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0;
}

/** 256 pixels for amounts from 0 to 1. @param {(amount: number) => number[]} color */
export function ramp(color) {
  return Uint32Array.from({ length: 256 }, (_, index) => pixel(color(index / 255)));
}

/** What the colors of tile blocks mean. @param {readonly number[]} grid @param {number | undefined} here  The selected one. */
export function blockLegend(grid, here) {
  const blocks = product(grid);
  const entry = (/** @type {number} */ block) => ({ color: cssColor(blockColor(block, grid)), name: blockName(block, grid) });
  if (blocks <= THINGS.length) return [thingLegend(Array.from({ length: blocks }, (_, block) => entry(block)))];
  const scale = amountLegend(amountColor, blockName(0, grid), blockName(blocks - 1, grid), "tile block, every second one paler");
  return here === undefined ? [scale] : [scale, thingLegend([{ ...entry(here), name: `this block ${blockName(here, grid)}` }])];
}

/**
 * A bar of colors with what its ends mean.
 * @param {(amount: number) => number[]} color @param {string} least @param {string} most @param {string} [title]
 */
export function amountLegend(color, least, most, title = "") {
  const bars = Array.from({ length: 32 }, (_, index) =>
    svg("rect", { x: index * 5, y: 0, width: 5.5, height: 10, fill: cssColor(color(index / 31)) }),
  );
  const name = `${title}: from ${least} to ${most}`;
  const bar = svg("svg", { viewBox: "0 0 160 10", preserveAspectRatio: "none", role: "img", "aria-label": name }, ...bars);
  return element("span.toolbar.legend", title === "" ? null : element("span", title), least, bar, most);
}

/** Colors with names. @param {{ color: string, name: string, hatched?: boolean, mark?: string }[]} entries */
export function thingLegend(entries) {
  const made = entries.map(({ color, name, hatched = false, mark = "" }) => {
    const fill = hatched || mark ? "none" : color;
    const lines = [4, 8, 12, 16].map((x) => svg("line", { x1: x, y1: 1, x2: x - 10, y2: 11, stroke: color }));
    const swatch = svg(
      "svg",
      { width: 14, height: 12, "aria-hidden": "true" },
      svg("rect", { x: 0.5, y: 0.5, width: 13, height: 11, fill, stroke: color }),
      ...(hatched ? lines : []),
      svg("text", { x: 3.5, y: 10, "font-size": 10, fill: color }, mark),
    );
    return element("span.toolbar.legend-entry", swatch, name);
  });
  return element("span.toolbar.legend", ...made);
}

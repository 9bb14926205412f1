// What drawings share: palettes that colour-blind people tell apart, sharp canvases, hatching, axes and legends.

import { element, svg } from "page/elements.js";
import { blockId, blockName } from "explorer/words.js";

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

/** @typedef {[number, number, number]} Colour */

/**
 * @param {number[][]} stops
 * @param {number} amount  From 0 to 1.
 * @returns {Colour}
 */
function between(stops, amount) {
  const place = Math.min(1, Math.max(0, amount)) * (stops.length - 1);
  const low = Math.min(stops.length - 2, Math.floor(place));
  const part = place - low;
  const mixed = [0, 1, 2].map((channel) => Math.round(stops[low][channel] * (1 - part) + stops[low + 1][channel] * part));
  return [mixed[0], mixed[1], mixed[2]];
}

/**
 * The colour of an amount from 0 to 1.
 * @param {number} amount
 */
export function amountColour(amount) {
  return between(AMOUNTS, amount);
}

/**
 * The colour of a difference from -1 to 1.
 * @param {number} amount
 */
export function differenceColour(amount) {
  return between(DIFFERENCES, (amount + 1) / 2);
}

/**
 * The colour of a tile block.  A few blocks have colours of their own; many are on the scale of amounts, by number, and
 * every second one is paler, so that neighbors in every direction of the grid are told apart.
 * @param {number} block
 * @param {readonly number[]} grid
 * @returns {Colour}
 */
export function blockColour(block, grid) {
  const blocks = grid[0] * grid[1] * grid[2];
  if (blocks <= THINGS.length) {
    const [red, green, blue] = THINGS[block];
    return [red, green, blue];
  }
  const colour = amountColour(block / (blocks - 1));
  const [x, y, z] = blockId(block, grid);
  if ((x + y + z) % 2 === 0) return colour;
  const [red, green, blue] = colour.map((channel) => Math.floor((3 * channel + 512) / 5));
  return [red, green, blue];
}

/**
 * What the colours of tile blocks mean.
 * @param {readonly number[]} grid
 * @param {number | undefined} here  The tile block that is looked at.
 */
export function blockLegend(grid, here) {
  const blocks = grid[0] * grid[1] * grid[2];
  const entry = (/** @type {number} */ block) => ({ colour: cssColour(blockColour(block, grid)), name: blockName(block, grid) });
  if (blocks <= THINGS.length) return [thingLegend(Array.from({ length: blocks }, (_, block) => entry(block)))];
  const scale = amountLegend(amountColour, blockName(0, grid), blockName(blocks - 1, grid), "tile block, every second one paler");
  return here === undefined ? [scale] : [scale, thingLegend([{ ...entry(here), name: `this block ${blockName(here, grid)}` }])];
}

/** @param {Colour} colour */
export function cssColour([red, green, blue]) {
  return `rgb(${red}, ${green}, ${blue})`;
}

/**
 * As a pixel of ImageData, opaque.
 * @param {Colour} colour
 */
export function pixel([red, green, blue]) {
  return ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0;
}

/**
 * 256 pixels for amounts from 0 to 1.
 * @param {(amount: number) => Colour} colour
 */
export function ramp(colour) {
  return Uint32Array.from({ length: 256 }, (_, index) => pixel(colour(index / 255)));
}

/**
 * A custom property of the page's style.
 * @param {Element} within
 * @param {string} name
 * @param {string} otherwise
 */
export function styleColour(within, name, otherwise) {
  return getComputedStyle(within).getPropertyValue(name).trim() || otherwise;
}

/**
 * Gives a canvas its size in pixels of the page, as many pixels as the screen has.
 * @param {HTMLCanvasElement} canvas
 * @param {number} width
 * @param {number} height
 */
export function sharpen(canvas, width, height) {
  const ratio = window.devicePixelRatio || 1;
  const columns = Math.max(1, Math.round(width * ratio));
  const rows = Math.max(1, Math.round(height * ratio));
  if (canvas.width !== columns || canvas.height !== rows) {
    canvas.width = columns;
    canvas.height = rows;
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
  }
  const pen = canvas.getContext("2d");
  if (pen === null) throw new Error("this browser cannot draw");
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  return pen;
}

/**
 * Diagonal lines in a rectangle.
 * @param {CanvasRenderingContext2D} pen
 * @param {number} x
 * @param {number} y
 * @param {number} width
 * @param {number} height
 * @param {string} colour
 * @param {number} [gap]
 */
export function hatch(pen, x, y, width, height, colour, gap = 6) {
  pen.save();
  pen.beginPath();
  pen.rect(x, y, width, height);
  pen.clip();
  pen.strokeStyle = colour;
  pen.lineWidth = 1;
  pen.beginPath();
  const first = Math.floor((x + y) / gap) * gap;
  for (let sum = first; sum < x + y + width + height; sum += gap) {
    pen.moveTo(sum - y, y);
    pen.lineTo(sum - y - height, y + height);
  }
  pen.stroke();
  pen.restore();
}

/**
 * Rectangles of equal pixels: runs of a row, continued down while the next row has the same run.
 * @param {Uint32Array} pixels
 * @param {number} rows
 * @param {number} columns
 */
export function join(pixels, rows, columns) {
  /** @type {{ row: number, column: number, rows: number, columns: number, pixel: number }[]} */
  const found = [];
  /** @type {Map<string, { row: number, column: number, rows: number, columns: number, pixel: number }>} */
  let open = new Map();
  for (let row = 0; row < rows; row++) {
    /** @type {typeof open} */
    const next = new Map();
    for (let column = 0; column < columns; ) {
      const pixel = pixels[row * columns + column];
      let end = column + 1;
      while (end < columns && pixels[row * columns + end] === pixel) end++;
      if (pixel !== 0) {
        const key = `${column} ${end} ${pixel}`;
        const known = open.get(key);
        const run = known ?? { row, column, rows: 0, columns: end - column, pixel };
        run.rows++;
        if (known === undefined) found.push(run);
        next.set(key, run);
      }
      column = end;
    }
    open = next;
  }
  return found;
}

/**
 * Indices for an axis: round steps, so many that their labels do not touch.
 * @param {number} from  The first index that is seen.
 * @param {number} count  How many are seen.
 * @param {number} scale  Pixels of one.
 * @param {number} room  Pixels of a label.
 */
export function ticks(from, count, scale, room) {
  let step = 1;
  const factors = [2, 2.5, 2];
  for (let turn = 0; step * scale < room; turn++) step *= factors[turn % 3];
  step = Math.max(1, Math.round(step));
  /** @type {number[]} */
  const found = [];
  for (let index = Math.ceil(from / step) * step; index < from + count; index += step) found.push(index);
  return found;
}

/**
 * A bar of colours with what its ends mean, as an element of the page.
 * @param {(amount: number) => Colour} colour
 * @param {string} least
 * @param {string} most
 * @param {string} title
 */
export function amountLegend(colour, least, most, title) {
  const width = 160;
  const bars = Array.from({ length: 32 }, (_, index) =>
    svg("rect", { x: (index * width) / 32, y: 0, width: width / 32 + 0.5, height: 10, fill: cssColour(colour(index / 31)) }),
  );
  return element(
    "span",
    { class: "legend" },
    element("span", { class: "legend-title" }, title),
    least,
    svg("svg", { width, height: 10, role: "img", "aria-label": `${title}: from ${least} to ${most}` }, ...bars),
    most,
  );
}

/**
 * Colours with names.
 * @param {{ colour: string, name: string, hatched?: boolean, mark?: string }[]} entries
 */
export function thingLegend(entries) {
  return element(
    "span",
    { class: "legend" },
    ...entries.map(({ colour, name, hatched, mark }) => {
      const swatch = svg(
        "svg",
        { width: 14, height: 12, "aria-hidden": "true" },
        svg("rect", { x: 0.5, y: 0.5, width: 13, height: 11, fill: hatched || mark ? "none" : colour, stroke: colour }),
      );
      if (hatched) for (const x of [4, 8, 12, 16]) swatch.append(svg("line", { x1: x, y1: 1, x2: x - 10, y2: 11, stroke: colour }));
      if (mark) swatch.append(svg("text", { x: 3.5, y: 10, "font-size": 10, fill: colour }, mark));
      return element("span", { class: "legend-entry" }, swatch, name);
    }),
  );
}

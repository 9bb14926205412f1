// A tile as a picture: a pixel or a square for each element, or for each bin of elements where there are too many.

import { unpack } from "explorer/data.js";
import { amountColour, cssColour, differenceColour, pixel, ramp, sharpen, styleColour, thingLegend, ticks } from "explorer/drawing.js";
import { element, fill, svg } from "page/elements.js";
import { precise } from "explorer/histogram.js";
import { indexOf, indexWords, placeIn } from "explorer/tile_parts.js";
import { extents as extentWords } from "explorer/words.js";

/**
 * @typedef {import("./types").Statistics} Statistics
 * @typedef {import("./types").Tile} Tile
 * @typedef {import("explorer/drawing.js").Colour} Colour
 * @typedef {import("explorer/tile_parts.js").TileSource} TileSource
 * @typedef {{ start: number[], extents: number[] }} Part
 * @typedef {{ low: number, high: number, signed: boolean }} Scale
 */

const TALLEST = 340;
const LARGEST_CELL = 28;
const SMALLEST_PART = 8;
const WRAP = 16;
// Elements are squares, unless a tile is so long and narrow that they could not be seen.
const MOST_NARROW = 4;
const MARGIN = { left: 44, top: 18, right: 12, bottom: 4 };
// A picture with more squares than this has them as an image.
const MOST_SQUARES = 4096;

/**
 * What is no number, in colours that are in neither palette.
 * @type {{ name: string, colour: Colour, is: (number: number) => boolean }[]}
 */
const SPECIAL = [
  { name: "NaN", colour: [230, 0, 126], is: Number.isNaN },
  { name: "infinity", colour: [255, 120, 0], is: (number) => number === Infinity },
  { name: "-infinity", colour: [120, 50, 0], is: (number) => number === -Infinity },
];

/**
 * The range of colours for the numbers of a tile.
 * @param {Statistics} statistics
 * @returns {Scale}
 */
export function scaleOf(statistics) {
  const low = statistics.least ?? 0;
  const high = statistics.most ?? 0;
  if (low < 0 && high > 0) {
    const reach = Math.max(-low, high);
    return { low: -reach, high: reach, signed: true };
  }
  return { low, high, signed: false };
}

/** @param {Scale} scale @param {number} number */
function colourOf(scale, number) {
  for (const special of SPECIAL) if (special.is(number)) return special.colour;
  const part = scale.high > scale.low ? (number - scale.low) / (scale.high - scale.low) : 0.5;
  return scale.signed ? differenceColour(part * 2 - 1) : amountColour(part);
}

/**
 * How the numbers of an answer lie in a picture.
 * @param {Tile} tile
 */
function layout(tile) {
  const rank = tile.extents.length;
  const counts = tile.extents.map((extent, axis) => Math.ceil(extent / (tile.binned?.[axis] ?? 1)));
  if (rank === 0) return { rows: 1, columns: 1, count: 1 };
  if (rank > 1) return { rows: counts[rank - 2], columns: counts[rank - 1], count: counts[rank - 2] * counts[rank - 1] };
  const columns = Math.max(1, Math.min(counts[0], Math.max(WRAP, 2 ** Math.ceil(Math.log2(Math.sqrt(counts[0]))))));
  return { rows: Math.max(1, Math.ceil(counts[0] / columns)), columns, count: counts[0] };
}

/**
 * @param {number} width
 * @param {number} height
 */
function sizeOf(width, height) {
  const whole = (/** @type {number} */ number) => (number > 2 ? Math.floor(number) : number);
  const wide = whole(Math.min(LARGEST_CELL, width));
  const high = whole(Math.min(LARGEST_CELL, height));
  const narrow = Math.max(wide, high) > MOST_NARROW * Math.min(wide, high);
  return narrow ? { width: wide, height: high } : { width: Math.min(wide, high), height: Math.min(wide, high) };
}

/**
 * @param {{ title: string, chosen: (index: number[]) => void, report: (error: unknown) => void }} options
 */
export function createHeatMap(options) {
  const canvas = element("canvas", { role: "img" });
  const under = element("p", { class: "heat-under quiet" });
  const legend = element("div", { class: "heat-legend" });
  const heading = element("h3", {}, options.title);
  const root = element("figure", { class: "heat" }, heading, canvas, under, legend);

  /** @type {TileSource | null} */
  let source = null;
  /** @type {readonly number[]} */
  let leading = [];
  /** @type {number[]} */
  let cursor = [];
  /** @type {Scale} */
  let scale = { low: 0, high: 0, signed: false };
  /** @type {Part | null} */
  let part = null;
  /** @type {Tile | null} */
  let shown = null;
  /** @type {import("explorer/data.js").NumberArray} */
  let numbers = new Float64Array(0);
  let generation = 0;
  let size = { width: 1, height: 1 };

  // Drawing changes sizes, which must not be what this is told of at once.
  new ResizeObserver(() => requestAnimationFrame(draw)).observe(root);
  canvas.addEventListener("click", (event) => {
    const index = indexUnder(event);
    if (index !== null) options.chosen(index);
  });
  canvas.addEventListener("mousemove", (event) => {
    const index = indexUnder(event);
    tell(index ?? cursor);
  });
  canvas.addEventListener("mouseleave", () => tell(cursor));

  /**
   * The index under the mouse.
   * @param {MouseEvent} event
   */
  function indexUnder(event) {
    if (shown === null) return null;
    const { columns, rows, count } = layout(shown);
    const column = Math.floor((event.offsetX - MARGIN.left) / size.width);
    const row = Math.floor((event.offsetY - MARGIN.top) / size.height);
    const place = row * columns + column;
    if (column < 0 || row < 0 || column >= columns || row >= rows || place >= count) return null;
    return indexOf(shown, place);
  }

  /** @param {readonly number[]} index */
  function tell(index) {
    if (shown === null) return;
    const place = placeIn(shown, index);
    const bins = shown.binned;
    const mean = bins !== null && bins.some((size) => size > 1) ? `, mean of ${extentWords(bins)}` : "";
    const value = place < 0 ? "not in this part" : `${precise(numbers[place])}${mean}`;
    fill(under, shown.shape.length === 0 ? value : `${indexWords(index)}: ${value}`);
  }

  /** @returns {Part | null} */
  function all() {
    if (source === null || source.shape.length < 3) return null;
    const rank = source.shape.length;
    return {
      start: [...leading, 0, 0],
      extents: [...leading.map(() => 1), source.shape[rank - 2], source.shape[rank - 1]],
    };
  }

  /** @param {Part | null} wanted */
  async function look(wanted) {
    part = wanted;
    const asked = (generation += 1);
    const from = source;
    if (from === null) return;
    try {
      const tile = part === null ? await from.part() : await from.part(part.start, part.extents);
      if (asked !== generation) return;
      shown = tile;
      numbers = unpack(tile.data);
      draw();
    } catch (error) {
      if (asked === generation) options.report(error);
    }
  }

  /** @param {number} factor */
  function closer(factor) {
    if (source === null || shown === null) return;
    const { shape } = source;
    const first = Math.max(0, shape.length - 2);
    const now = part ?? { start: shape.map(() => 0), extents: [...shape] };
    const extents = now.extents.map((extent, axis) =>
      axis < first ? 1 : Math.min(shape[axis], Math.max(Math.min(SMALLEST_PART, shape[axis]), Math.round(extent * factor))),
    );
    const start = shape.map((extent, axis) =>
      axis < first ? leading[axis] : Math.max(0, Math.min(extent - extents[axis], cursor[axis] - Math.floor(extents[axis] / 2))),
    );
    const everything = extents.every((extent, axis) => axis < first || extent === shape[axis]);
    void look(everything ? all() : { start, extents });
  }

  function draw() {
    if (shown === null || root.clientWidth === 0) return;
    const { rows, columns, count } = layout(shown);
    const room = Math.max(80, root.clientWidth - MARGIN.left - MARGIN.right - 4);
    size = sizeOf(room / columns, TALLEST / rows);
    const width = Math.max(1, Math.round(columns * size.width));
    const height = Math.max(1, Math.round(rows * size.height));
    const pen = sharpen(canvas, width + MARGIN.left + MARGIN.right, height + MARGIN.top + MARGIN.bottom);
    pen.clearRect(0, 0, canvas.width, canvas.height);
    pen.imageSmoothingEnabled = false;
    pen.drawImage(pixels(rows, columns, count), MARGIN.left, MARGIN.top, width, height);
    const quiet = styleColour(root, "--text-quiet", "#666");
    pen.strokeStyle = styleColour(root, "--border-strong", "#888");
    pen.strokeRect(MARGIN.left - 0.5, MARGIN.top - 0.5, width + 1, height + 1);
    pen.fillStyle = quiet;
    pen.font = "11px sans-serif";
    for (const label of labels(rows, columns)) {
      pen.textAlign = label.row ? "right" : "center";
      pen.textBaseline = label.row ? "middle" : "alphabetic";
      pen.fillText(label.text, label.x, label.y);
    }
    const at = placeIn(shown, cursor);
    if (at >= 0) {
      const x = MARGIN.left + (at % columns) * size.width;
      const y = MARGIN.top + Math.floor(at / columns) * size.height;
      pen.lineWidth = 2;
      pen.strokeStyle = "#fff";
      pen.strokeRect(x - 1, y - 1, size.width + 2, size.height + 2);
      pen.lineWidth = 1;
      pen.strokeStyle = "#000";
      pen.strokeRect(x - 2.5, y - 2.5, size.width + 5, size.height + 5);
    }
    tell(cursor);
    const name = source?.name ?? "";
    canvas.setAttribute("aria-label", `${options.title} of ${name}: ${words()}; the table has every element`);
    drawLegend();
  }

  function words() {
    if (shown === null) return "";
    const what = extentWords(shown.extents.length > 2 ? shown.extents.slice(-2) : shown.extents);
    const bins = shown.binned !== null ? `, in bins of ${extentWords(shown.binned.slice(-2))}` : "";
    return `${what}${bins}, colours from ${precise(scale.low)} to ${precise(scale.high)}`;
  }

  /**
   * A canvas with a pixel for each number.
   * @param {number} rows @param {number} columns @param {number} count
   */
  function pixels(rows, columns, count) {
    const small = document.createElement("canvas");
    small.width = columns;
    small.height = rows;
    const pen = small.getContext("2d");
    if (pen === null) return small;
    const image = pen.createImageData(columns, rows);
    const target = new Uint32Array(image.data.buffer);
    const colours = ramp(scale.signed ? (amount) => differenceColour(amount * 2 - 1) : amountColour);
    const span = scale.high - scale.low;
    const specials = SPECIAL.map((special) => pixel(special.colour));
    for (let place = 0; place < count; place += 1) {
      const number = numbers[place];
      if (Number.isFinite(number)) {
        const amount = span > 0 ? (number - scale.low) / span : 0.5;
        target[place] = colours[Math.max(0, Math.min(255, Math.round(amount * 255)))];
      } else {
        target[place] = specials[SPECIAL.findIndex((special) => special.is(number))];
      }
    }
    pen.putImageData(image, 0, 0);
    return small;
  }

  /**
   * The numbers along the edges.
   * @param {number} rows @param {number} columns
   */
  function labels(rows, columns) {
    /** @type {{ text: string, x: number, y: number, row: boolean }[]} */
    const found = [];
    if (shown === null || shown.extents.length === 0) return found;
    const rank = shown.extents.length;
    const bins = shown.binned ?? shown.extents.map(() => 1);
    for (const column of ticks(0, columns, size.width, 34)) {
      const number = rank === 1 ? column * bins[0] + (rows === 1 ? shown.start[0] : 0) : shown.start[rank - 1] + column * bins[rank - 1];
      const text = rank === 1 && rows > 1 ? `+${number}` : String(number);
      found.push({ text, x: MARGIN.left + (column + 0.5) * size.width, y: MARGIN.top - 5, row: false });
    }
    for (const row of ticks(0, rows, size.height, 16)) {
      if (rank === 1 && rows === 1) break;
      const number = rank === 1 ? shown.start[0] + row * columns * bins[0] : shown.start[rank - 2] + row * bins[rank - 2];
      found.push({ text: String(number), x: MARGIN.left - 5, y: MARGIN.top + (row + 0.5) * size.height, row: true });
    }
    return found;
  }

  function specials() {
    return SPECIAL.filter((special) => numbers.some((number) => special.is(number)));
  }

  function drawLegend() {
    const bars = Array.from({ length: 32 }, (_, index) =>
      svg("rect", { x: index, y: 0, width: 1.1, height: 1, fill: cssColour(colourOf({ low: 0, high: 1, signed: scale.signed }, index / 31)) }),
    );
    const bar = svg("svg", { viewBox: "0 0 32 1", preserveAspectRatio: "none", "aria-hidden": "true" }, ...bars);
    fill(
      legend,
      element("span", { class: "heat-scale" }, precise(scale.low), bar, precise(scale.high)),
      specials().length === 0 ? null : thingLegend(specials().map(({ name, colour: of }) => ({ name, colour: cssColour(of) }))),
    );
  }

  return {
    element: root,
    /**
     * @param {TileSource | null} given
     * @param {Statistics | null} statistics  What the colours are chosen by.
     * @param {readonly number[]} at
     * @param {readonly number[]} index
     */
    set(given, statistics, at, index) {
      const same = given !== null && source !== null && given.shape.join() === source.shape.join() && at.join() === leading.join();
      source = given;
      leading = at;
      cursor = [...index];
      if (given === null || statistics === null) {
        shown = null;
        generation += 1;
        return Promise.resolve();
      }
      scale = scaleOf(statistics);
      return look(same && part !== null ? part : all());
    },
    /** @param {readonly number[]} index */
    point(index) {
      cursor = [...index];
      draw();
    },
    redraw: draw,
    closer,
    whole: () => look(all()),
    /**
     * The picture for papers.
     * @returns {SVGSVGElement | null}
     */
    picture() {
      if (shown === null) return null;
      const { rows, columns, count } = layout(shown);
      const width = columns * size.width;
      const height = rows * size.height;
      const whole = { width: width + MARGIN.left + MARGIN.right + 8, height: height + MARGIN.top + MARGIN.bottom + 52 };
      const drawn = svg("svg", { viewBox: `0 0 ${whole.width} ${whole.height}`, "font-family": "sans-serif", "font-size": 11, fill: "currentColor" });
      const area = svg("g", { transform: "translate(0 18)" });
      if (count <= MOST_SQUARES) {
        for (let place = 0; place < count; place += 1) {
          const x = MARGIN.left + (place % columns) * size.width;
          const y = MARGIN.top + Math.floor(place / columns) * size.height;
          area.append(svg("rect", { x, y, width: size.width + 0.2, height: size.height + 0.2, fill: cssColour(colourOf(scale, numbers[place])) }));
        }
      } else {
        const href = pixels(rows, columns, count).toDataURL("image/png");
        area.append(svg("image", { x: MARGIN.left, y: MARGIN.top, width, height, href, preserveAspectRatio: "none", "image-rendering": "pixelated" }));
      }
      area.append(svg("rect", { x: MARGIN.left, y: MARGIN.top, width, height, fill: "none", stroke: "currentColor" }));
      for (const { text, x, y, row } of labels(rows, columns)) {
        area.append(svg("text", { x, y: row ? y + 4 : y, "text-anchor": row ? "end" : "middle" }, text));
      }
      const bar = Array.from({ length: 48 }, (_, index) =>
        svg("rect", {
          x: MARGIN.left + index * 2.5,
          y: MARGIN.top + height + 10,
          width: 2.7,
          height: 9,
          fill: cssColour(colourOf({ low: 0, high: 1, signed: scale.signed }, index / 47)),
        }),
      );
      const below = MARGIN.top + height + 30;
      area.append(
        ...bar,
        svg("text", { x: MARGIN.left, y: below }, precise(scale.low)),
        svg("text", { x: MARGIN.left + 120, y: below, "text-anchor": "end" }, precise(scale.high)),
      );
      for (const [number, special] of specials().entries()) {
        const x = MARGIN.left + 140 + number * 80;
        area.append(
          svg("rect", { x, y: below - 20, width: 10, height: 10, fill: cssColour(special.colour) }),
          svg("text", { x: x + 14, y: below - 11 }, special.name),
        );
      }
      drawn.append(svg("text", { x: 4, y: 13, "font-size": 12 }, `${source?.name ?? ""} ${words()}`), area);
      return drawn;
    },
  };
}

// A tile as a picture: a pixel or a square for each element, or for each bin of elements where there are too many.

import { unpack } from "explorer/data.js";
import { amountColor, amountLegend, cssColor, differenceColor, pixel, ramp, thingLegend } from "explorer/palette.js";
import { extents as extentText, indexText, precise } from "explorer/text.js";
import { indexOf, placeIn } from "explorer/tiles.js";
import { element, fill } from "page/elements.js";
import { draw, styleColor, svgOf, ticks } from "page/shapes.js";

const TALLEST = 340;
const LARGEST_CELL = 28;
const SMALLEST_PART = 8;
const WRAP = 16;
/** Elements are squares, unless a tile is so long and narrow that they could not be seen. */
const MOST_NARROW = 4;
const LEFT = 44;
const TOP = 18;
const RIGHT = 12;
const BOTTOM = 4;

/** What is no number, in colors that are in neither palette. */
const SPECIAL = [
  { name: "NaN", color: [230, 0, 126], is: Number.isNaN },
  { name: "infinity", color: [255, 120, 0], is: (/** @type {number} */ number) => number === Infinity },
  { name: "-infinity", color: [120, 50, 0], is: (/** @type {number} */ number) => number === -Infinity },
];

/** How the numbers of an answer lie in a picture. @param {Tile} tile */
function layout(tile) {
  const counts = tile.extents.map((extent, axis) => Math.ceil(extent / (tile.binned?.[axis] ?? 1)));
  if (counts.length !== 1) {
    const [rows, columns] = [counts.at(-2) ?? 1, counts.at(-1) ?? 1];
    return { rows, columns, count: rows * columns };
  }
  const [count] = counts;
  const columns = Math.max(1, Math.min(count, Math.max(WRAP, 2 ** Math.ceil(Math.log2(Math.sqrt(count))))));
  return { rows: Math.max(1, Math.ceil(count / columns)), columns, count };
}

/** The size of an element that has so much room. @param {number} width @param {number} height */
function sizeOf(width, height) {
  const [wide, high] = [width, height].map((room) => {
    const size = Math.min(LARGEST_CELL, room);
    return size > 2 ? Math.floor(size) : size;
  });
  const isNarrow = Math.max(wide, high) > MOST_NARROW * Math.min(wide, high);
  return isNarrow ? { width: wide, height: high } : { width: Math.min(wide, high), height: Math.min(wide, high) };
}

/** @param {{ title: string, chosen: (index: number[]) => void, report: (error: unknown) => void }} options */
export function createHeatMap(options) {
  const canvas = element("canvas", { role: "img" });
  const under = element("p.heat-under.quiet");
  const legend = element("div.toolbar.legends");
  const root = element("figure.heat", element("h3", options.title), canvas, under, legend);
  /** @type {TileSource | null} */
  let source = null;
  /** @type {readonly number[]} */
  let leading = [];
  /** @type {readonly number[]} */
  let cursor = [];
  /** The range of the colors; a signed one has zero in the middle. */
  let scale = { low: 0, high: 0, signed: false };
  /** @type {TilePart | null} */
  let part = null;
  /** @type {Tile | null} */
  let shown = null;
  /** @type {NumberArray} */
  let numbers = new Float64Array(0);
  let generation = 0;
  let size = { width: 1, height: 1 };

  // Drawing changes sizes, which the observer must not see at once.
  new ResizeObserver(() => requestAnimationFrame(redraw)).observe(root);
  canvas.addEventListener("click", (event) => {
    const index = indexUnder(event);
    if (index !== null) options.chosen(index);
  });
  canvas.addEventListener("mousemove", (event) => showNumber(indexUnder(event) ?? cursor));
  canvas.addEventListener("mouseleave", () => showNumber(cursor));

  /** @param {MouseEvent} event */
  function indexUnder(event) {
    if (shown === null) return null;
    const { columns, rows, count } = layout(shown);
    const column = Math.floor((event.offsetX - LEFT) / size.width);
    const row = Math.floor((event.offsetY - TOP) / size.height);
    const place = row * columns + column;
    const isInside = column >= 0 && row >= 0 && column < columns && row < rows && place < count;
    return isInside ? indexOf(shown, place) : null;
  }

  /** @param {readonly number[]} index */
  function showNumber(index) {
    if (shown === null) return;
    const place = placeIn(shown, index);
    const bins = shown.binned ?? [];
    const mean = bins.some((extent) => extent > 1) ? `, mean of ${extentText(bins)}` : "";
    const value = place < 0 ? "not in this part" : `${precise(numbers[place])}${mean}`;
    fill(under, shown.shape.length === 0 ? value : `${indexText(index)}: ${value}`);
  }

  /** The whole slice, or null for the whole tile. */
  function whole() {
    if (source === null || source.shape.length < 3) return null;
    return { start: [...leading, 0, 0], extents: [...leading.map(() => 1), ...source.shape.slice(-2)] };
  }

  /** @param {TilePart | null} wanted */
  async function look(wanted) {
    part = wanted;
    const asked = (generation += 1);
    if (source === null) return;
    try {
      const tile = await source.part(wanted?.start, wanted?.extents);
      if (asked !== generation) return;
      shown = tile;
      numbers = unpack(tile.data);
      redraw();
    } catch (error) {
      if (asked === generation) options.report(error);
    }
  }

  /** Shows a smaller or larger part around the cursor. @param {number} factor */
  function zoom(factor) {
    if (source === null || shown === null) return;
    const { shape } = source;
    const first = Math.max(0, shape.length - 2);
    const now = part ?? { start: shape.map(() => 0), extents: shape };
    const extents = now.extents.map((extent, axis) => {
      const least = Math.min(SMALLEST_PART, shape[axis]);
      return axis < first ? 1 : Math.min(shape[axis], Math.max(least, Math.round(extent * factor)));
    });
    const start = shape.map((extent, axis) => {
      const centered = cursor[axis] - Math.floor(extents[axis] / 2);
      return axis < first ? leading[axis] : Math.max(0, Math.min(extent - extents[axis], centered));
    });
    void look(extents.every((extent, axis) => axis < first || extent === shape[axis]) ? whole() : { start, extents });
  }

  /** @param {number} amount  From 0 to 1. */
  function colorOf(amount) {
    return scale.signed ? differenceColor(amount) : amountColor(amount);
  }

  /** The cells, the edge and the indices. @param {Tile} tile @returns {Shape[]} */
  function shapes(tile) {
    const { rows, columns, count } = layout(tile);
    const [width, height] = [columns * size.width, rows * size.height];
    const colors = ramp(colorOf);
    const span = scale.high - scale.low;
    const specials = SPECIAL.map(({ color }) => pixel(color));
    const pixels = new Uint32Array(rows * columns);
    for (let place = 0; place < count; place += 1) {
      const number = numbers[place];
      const amount = span > 0 ? (number - scale.low) / span : 0.5;
      if (Number.isFinite(number)) pixels[place] = colors[Math.max(0, Math.min(255, Math.round(amount * 255)))];
      else pixels[place] = specials[SPECIAL.findIndex(({ is }) => is(number))];
    }
    const rect = { x: LEFT, y: TOP, width, height };
    const edge = { rect, stroke: styleColor("--border-strong") };
    return [{ cells: { pixels, rows, columns }, rect }, edge, ...labels(tile, rows, columns)];
  }

  /** @param {Tile} tile @param {number} rows @param {number} columns @returns {Shape[]} */
  function labels({ extents, start, binned }, rows, columns) {
    const rank = extents.length;
    if (rank === 0) return [];
    const fill = styleColor("--text-quiet");
    const bins = binned ?? extents.map(() => 1);
    const isWrapped = rank === 1 && rows > 1;
    const found = ticks(0, columns, size.width, 34).map((column) => {
      const number = column * bins[rank - 1] + (isWrapped ? 0 : start[rank - 1]);
      const text = isWrapped ? `+${number}` : String(number);
      return /** @type {Shape} */ ({ text, x: LEFT + (column + 0.5) * size.width, y: TOP - 5, anchor: "middle", fill });
    });
    if (rank === 1 && rows === 1) return found;
    return [
      ...found,
      ...ticks(0, rows, size.height, 16).map((row) => {
        const number = rank === 1 ? start[0] + row * columns * bins[0] : start[rank - 2] + row * bins[rank - 2];
        const y = TOP + (row + 0.5) * size.height + 4;
        return /** @type {Shape} */ ({ text: String(number), x: LEFT - 5, y, anchor: "end", fill });
      }),
    ];
  }

  function redraw() {
    if (shown === null || root.clientWidth === 0) return;
    const { rows, columns } = layout(shown);
    size = sizeOf(Math.max(80, root.clientWidth - LEFT - RIGHT - 4) / columns, TALLEST / rows);
    const all = shapes(shown);
    const at = placeIn(shown, cursor);
    if (at >= 0) {
      const [x, y] = [LEFT + (at % columns) * size.width, TOP + Math.floor(at / columns) * size.height];
      const around = (/** @type {number} */ by) => ({ x: x - by, y: y - by, width: size.width + 2 * by, height: size.height + 2 * by });
      all.push({ rect: around(1), stroke: "#fff", width: 2 }, { rect: around(2.5), stroke: "#000" });
    }
    draw(canvas, columns * size.width + LEFT + RIGHT, rows * size.height + TOP + BOTTOM, all);
    showNumber(cursor);
    canvas.setAttribute("aria-label", `${options.title} of ${source?.name ?? ""}: ${text(shown)}; the table has every element`);
    fill(legend, amountLegend(colorOf, precise(scale.low), precise(scale.high)), thingLegend(specialsShown()));
  }

  function specialsShown() {
    const found = SPECIAL.filter(({ is }) => numbers.some((number) => is(number)));
    return found.map(({ name, color }) => ({ name, color: cssColor(color) }));
  }

  /** @param {Tile} tile */
  function text({ extents, binned }) {
    const bins = binned === null ? "" : `, in bins of ${extentText(binned.slice(-2))}`;
    return `${extentText(extents.slice(-2))}${bins}, colours from ${precise(scale.low)} to ${precise(scale.high)}`;
  }

  /** The picture for papers. */
  function picture() {
    if (shown === null) return null;
    const { rows, columns } = layout(shown);
    const [width, height] = [columns * size.width, rows * size.height];
    const fill = styleColor("--text");
    const title = `${source?.name ?? ""} ${text(shown)}`;
    const bar = { pixels: ramp(colorOf), rows: 1, columns: 256 };
    const below = TOP + height + 30;
    /** @type {Shape[]} */
    const parts = [
      ...shapes(shown),
      { cells: bar, rect: { x: LEFT, y: below - 20, width: 120, height: 9 } },
      { text: precise(scale.low), x: LEFT, y: below, fill },
      { text: precise(scale.high), x: LEFT + 120, y: below, anchor: "end", fill },
      ...specialsShown().flatMap(({ name, color }, number) => {
        const x = LEFT + 140 + number * 80;
        return [{ rect: { x, y: below - 20, width: 10, height: 10 }, fill: color }, { text: name, x: x + 14, y: below - 11, fill }];
      }),
    ];
    const whole = { width: width + LEFT + RIGHT + 8, height: height + TOP + BOTTOM + 52 };
    return svgOf(title, whole.width, whole.height, [{ text: title, x: 4, y: 13, size: 12, fill }, { y: 18, parts }]);
  }

  return {
    element: root,
    redraw,
    zoom,
    picture,
    whole: () => look(whole()),
    /** @param {readonly number[]} index */
    point(index) {
      cursor = index;
      redraw();
    },
    /**
     * Shows a tile, or nothing; its colors are chosen by statistics.
     * @param {TileSource | null} given @param {Statistics | null} statistics
     * @param {readonly number[]} at @param {readonly number[]} index
     */
    async set(given, statistics, at, index) {
      const isSame = given !== null && given.shape.join() === source?.shape.join() && at.join() === leading.join();
      source = given;
      leading = at;
      cursor = index;
      shown = given === null ? null : shown;
      generation += 1;
      if (given === null || statistics === null) return;
      const [low, high] = [statistics.least ?? 0, statistics.most ?? 0];
      const reach = Math.max(-low, high);
      const isSigned = low < 0 && high > 0;
      scale = isSigned ? { low: -reach, high: reach, signed: true } : { low, high, signed: false };
      await look(isSame && part !== null ? part : whole());
    },
  };
}

// A tile as a picture: a color for each element, or for each bin of elements where there are too many.

import { unpack } from "explorer/data.js";
import { amountColor, amountLegend, cssColor, differenceColor, pixel, ramp, thingLegend } from "explorer/palette.js";
import { Plot } from "explorer/plot.js";
import { extents as extentText, indexText, precise, product } from "explorer/text.js";
import { Plane, placeIn } from "explorer/tiles.js";
import { element, fill } from "page/elements.js";
import { styleColor, svgOf } from "page/shapes.js";

/** Pixels. */
const TALLEST = 368;
/** Elements of a row, at least, where a tile of one dimension is folded. */
const WRAP = 16;

/** What is no number, in colors that are in neither palette. */
const SPECIAL = [
  { name: "NaN", color: [230, 0, 126], is: Number.isNaN },
  { name: "infinity", color: [255, 120, 0], is: (/** @type {number} */ number) => number === Infinity },
  { name: "-infinity", color: [120, 50, 0], is: (/** @type {number} */ number) => number === -Infinity },
];

/** @param {{ title: string, chosen: (index: number[]) => void, report: (error: unknown) => void }} options */
export function createHeatMap(options) {
  const plot = new Plot(options.title, {
    framed: () => {
      redraw();
      void look();
    },
    pointed: (area) => showNumber((area === null ? null : plane.index(area.row, area.column)) ?? cursor),
    picked: ({ row, column }) => {
      const index = plane.index(row, column);
      if (index !== null) options.chosen(index);
    },
  });
  const under = element("p.heat-under.quiet");
  const legend = element("div.toolbar.legends");
  const root = element("figure.heat", element("h3", options.title), plot.canvas, under, legend);
  /** @type {TileSource | null} */
  let source = null;
  let plane = new Plane([], []);
  /** @type {readonly number[]} */
  let cursor = [];
  /** The range of the colors; a signed one has zero in the middle. */
  let scale = { low: 0, high: 0, signed: false };
  /** @type {Tile | null} */
  let shown = null;
  /** @type {NumberArray} */
  let numbers = new Float64Array(0);
  let generation = 0;

  // Drawing changes sizes, which the observer must not see at once.
  new ResizeObserver(() => requestAnimationFrame(redraw)).observe(root);

  /** @param {readonly number[]} index */
  function setCursor(index) {
    const [row, column] = plane.place(index);
    cursor = index;
    plot.cursor = { row, column, rows: 1, columns: 1 };
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

  /** Asks for the part of the tile that is seen. */
  async function look() {
    const asked = (generation += 1);
    if (source === null) return;
    const { row, column, rows, columns, binRows, binColumns } = plot.frame();
    const { start, extents } = plane.part(row, column, rows * binRows, columns * binColumns);
    try {
      const isWhole = product(extents) === product(source.shape);
      const tile = await (isWhole ? source.part() : source.part(start, extents));
      if (asked !== generation) return;
      shown = tile;
      numbers = unpack(tile.data);
      redraw();
    } catch (error) {
      if (asked === generation) options.report(error);
    }
  }

  /** @param {number} amount  From 0 to 1. */
  function colorOf(amount) {
    return scale.signed ? differenceColor(amount) : amountColor(amount);
  }

  /** @param {Tile} tile @returns {Scene} */
  function sceneOf(tile) {
    const frame = frameOf(tile);
    const colors = ramp(colorOf);
    const span = scale.high - scale.low;
    const pixels = Uint32Array.from({ length: frame.rows * frame.columns }, (_, place) => {
      const number = numbers[place];
      const special = SPECIAL.find(({ is }) => is(number));
      if (special !== undefined) return pixel(special.color);
      const amount = span > 0 ? (number - scale.low) / span : 0.5;
      return place < numbers.length ? colors[Math.max(0, Math.min(255, Math.round(amount * 255)))] : 0;
    });
    return { frame, pixels, conflicts: null, outlines: [], paddings: [], races: [] };
  }

  /** The part of the picture that an answer fills. @param {Tile} tile @returns {Frame} */
  function frameOf({ start, extents, binned }) {
    const bins = binned ?? extents.map(() => 1);
    const counts = extents.map((extent, axis) => Math.ceil(extent / bins[axis]));
    const { slice } = plot;
    if (!plane.fold) {
      const [[row, column], [binRows, binColumns], [rows, columns]] = [start, bins, counts].map((one) => one.slice(-2));
      return { slice, row, column, binRows, binColumns, rows, columns };
    }
    // Bins and long rows are powers of two.
    const [bin, count] = [bins[0] ?? 1, counts[0] ?? 1];
    const binColumns = Math.min(bin, plane.fold);
    const columns = plane.fold / binColumns;
    const row = Math.floor((start[0] ?? 0) / plane.fold);
    return { slice, row, column: 0, binRows: bin / binColumns, binColumns, rows: Math.ceil(count / columns), columns };
  }

  function redraw() {
    if (shown === null || root.clientWidth === 0) return;
    plot.resize(root.clientWidth, TALLEST);
    plot.draw(sceneOf(shown));
    showNumber(cursor);
    plot.canvas.setAttribute("aria-label", `${options.title} of ${source?.name ?? ""}: ${text(shown)}; the table has every element`);
    fill(legend, amountLegend(colorOf, precise(scale.low), precise(scale.high)), thingLegend(specialsShown()));
  }

  function specialsShown() {
    const found = SPECIAL.filter(({ is }) => numbers.some((number) => is(number)));
    return found.map(({ name, color }) => ({ name, color: cssColor(color) }));
  }

  /** @param {Tile} tile */
  function text({ extents, binned }) {
    const bins = binned === null ? "" : `, in bins of ${extentText(binned.slice(-2))}`;
    return `${extentText(extents.slice(-2))}${bins}, colors from ${precise(scale.low)} to ${precise(scale.high)}`;
  }

  /** The picture for papers. */
  function picture() {
    if (shown === null) return null;
    const fill = styleColor("--text");
    const title = `${source?.name ?? ""} ${text(shown)}`;
    const below = plot.height + 30;
    /** @type {Shape[]} */
    const parts = [
      ...plot.shapes(sceneOf(shown)),
      { cells: { pixels: ramp(colorOf), rows: 1, columns: 256 }, rect: { x: 4, y: below - 20, width: 120, height: 9 } },
      { text: precise(scale.low), x: 4, y: below, fill },
      { text: precise(scale.high), x: 124, y: below, anchor: "end", fill },
      ...specialsShown().flatMap(({ name, color }, number) => {
        const x = 140 + number * 80;
        return [{ rect: { x, y: below - 20, width: 10, height: 10 }, fill: color }, { text: name, x: x + 14, y: below - 11, fill }];
      }),
    ];
    return svgOf(title, plot.width + 8, below + 26, [{ text: title, x: 4, y: 13, size: 12, fill }, { y: 18, parts }]);
  }

  return {
    element: root,
    redraw,
    picture,
    /** @param {number} factor */
    zoom: (factor) => plot.zoomAtCursor(factor),
    whole() {
      plot.reset();
      void look();
    },
    /** @param {readonly number[]} index */
    point(index) {
      setCursor(index);
      redraw();
    },
    /**
     * Shows a tile, or nothing; its colors are chosen by statistics.
     * @param {TileSource | null} given @param {Statistics | null} statistics
     * @param {readonly number[]} leading @param {readonly number[]} index
     */
    async set(given, statistics, leading, index) {
      const isSame = given !== null && given.shape.join() === source?.shape.join() && leading.join() === plot.slice.join();
      source = given;
      shown = given === null ? null : shown;
      generation += 1;
      if (given === null || statistics === null) return;
      const [low, high] = [statistics.least ?? 0, statistics.most ?? 0];
      const reach = Math.max(-low, high);
      const isSigned = low < 0 && high > 0;
      scale = isSigned ? { low: -reach, high: reach, signed: true } : { low, high, signed: false };
      if (!isSame) {
        shown = null;
        plane = new Plane(given.shape, leading, Math.max(WRAP, 2 ** Math.ceil(Math.log2(Math.sqrt(product(given.shape))))));
        plot.show(plane, { rows: 0, columns: 0 }, plane.leading);
        plot.reset();
      }
      setCursor(index);
      plot.resize(root.clientWidth, TALLEST);
      await look();
    },
  };
}

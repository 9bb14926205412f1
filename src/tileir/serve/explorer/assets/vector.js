// The pictures of arrays as SVG, for papers: rectangles of one colour instead of cells, text as text.

import { svg } from "page/elements.js";
import { join, ticks } from "explorer/drawing.js";
import { MARGIN } from "explorer/painting.js";

/** @typedef {import("./arrays.js").ArrayCard} ArrayCard */
/** @typedef {import("./arrays.js").Options} Options */
/** @typedef {import("./painting.js").Scene} Scene */

/** Rectangles of one array beyond which its cells are an image. */
const RECTANGLES = 5_000;
const HEADING = 22;
const GAP = 18;

/**
 * @param {ArrayCard[]} cards
 * @param {Options} options
 * @param {string} kernel
 * @returns {SVGSVGElement}
 */
export function pictureOf(cards, options, kernel) {
  let height = 0;
  const width = cards.reduce((most, { plot }) => Math.max(most, plot.width), 0);
  /** @type {SVGElement[]} */
  const parts = [];
  for (const card of cards) {
    if (card.scene === null) continue;
    parts.push(svg("g", { transform: `translate(0 ${height + HEADING})` }, ...drawn(card, card.scene)));
    height += card.plot.height + HEADING + GAP;
  }
  const label = `${kernel}: ${cards.map((card) => card.array.name).join(", ")} by ${options.colour}`;
  return svg(
    "svg",
    { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": label, "font-family": "sans-serif" },
    svg("title", {}, label),
    ...parts,
  );
}

/**
 * @param {ArrayCard} card
 * @param {Scene} scene
 */
function drawn(card, scene) {
  const { plot, array } = card;
  const { view, rows, columns } = plot;
  const style = getComputedStyle(card.element);
  const colour = (/** @type {string} */ name) => style.getPropertyValue(name).trim();
  const clip = `cells-${array.id}`;
  const inner = {
    x: MARGIN.left - 1, y: MARGIN.top - 1,
    width: plot.width - MARGIN.left - MARGIN.right + 2, height: plot.height - MARGIN.top - MARGIN.bottom + 2,
  };
  const whole = { x: plot.x(0), y: plot.y(0), width: columns * view.x, height: rows * view.y };
  const above = [
    ...scene.paddings.map((area) => hatched(rectangle(card, area), area.colour)),
    svg("rect", { ...whole, fill: "none", stroke: colour("--text-quiet") }),
    ...crossed(card, scene, colour("--bad")),
    ...scene.outlines.map((outline) =>
      svg("rect", {
        ...rectangle(card, outline), fill: "none", stroke: outline.colour, "stroke-width": outline.width,
        "stroke-dasharray": outline.dashed ? "4 3" : null,
      }),
    ),
    ...scene.outlines
      .filter((outline) => outline.label)
      .map((outline) =>
        svg(
          "text",
          {
            x: plot.x(outline.column) + (outline.shift ?? 0) + 2, y: plot.y(outline.row) - 3,
            "font-size": 12, "font-weight": "bold", fill: outline.colour,
          },
          outline.label,
        ),
      ),
    ...scene.races.map(({ row, column }) =>
      svg("path", { d: `M${plot.x(column + 0.5)} ${plot.y(row + 0.5) - 8}l8 14h-16z`, fill: colour("--bad") }),
    ),
  ];
  const heading = `${array.name} (${array.element}, ${array.shape.join(" x ") || "scalar"})`;
  const text = { "font-size": 11, fill: colour("--text-quiet") };
  return [
    svg("text", { x: 0, y: -6, "font-size": 13, "font-weight": "bold", fill: colour("--text") }, heading),
    svg("clipPath", { id: clip }, svg("rect", inner)),
    svg(
      "g",
      { "clip-path": `url(#${clip})` },
      svg("rect", { ...whole, fill: colour("--surface-sunken") }),
      ...cells(card, scene),
      ...above,
    ),
    ...ticks(Math.max(0, view.row), plot.seenRows, view.y, 18).map((row) =>
      svg("text", { ...text, x: MARGIN.left - 6, y: plot.y(row + 0.5) + 4, "text-anchor": "end" }, row * plot.rowLabel),
    ),
    ...ticks(Math.max(0, view.column), plot.seenColumns, view.x, 12 + 7 * String(columns).length).map((column) =>
      svg("text", { ...text, x: plot.x(column + 0.5), y: MARGIN.top - 6, "text-anchor": "middle" }, column),
    ),
  ];
}

/**
 * @param {ArrayCard} card
 * @param {import("./plot.js").Area} area
 */
function rectangle({ plot }, { row, column, rows, columns }) {
  return { x: plot.x(column), y: plot.y(row), width: columns * plot.view.x, height: rows * plot.view.y };
}

/**
 * The cells, joined where they have one colour.
 * @param {ArrayCard} card
 * @param {Scene} scene
 * @returns {SVGElement[]}
 */
function cells(card, { frame, pixels }) {
  const joined = join(pixels, frame.rows, frame.columns);
  const area = {
    row: frame.row, column: frame.column, rows: frame.rows * frame.binRows, columns: frame.columns * frame.binColumns,
  };
  if (joined.length > RECTANGLES) {
    const canvas = document.createElement("canvas");
    canvas.width = frame.columns;
    canvas.height = frame.rows;
    const image = new ImageData(frame.columns, frame.rows);
    new Uint32Array(image.data.buffer).set(pixels);
    canvas.getContext("2d")?.putImageData(image, 0, 0);
    const look = { href: canvas.toDataURL("image/png"), preserveAspectRatio: "none", "image-rendering": "pixelated" };
    return [svg("image", { ...rectangle(card, area), ...look })];
  }
  const { plot } = card;
  return joined.map(({ row, column, rows, columns, pixel }) => {
    const top = frame.row + row * frame.binRows;
    const left = frame.column + column * frame.binColumns;
    // Bins at the edge reach beyond the array.
    const part = {
      row: top, column: left,
      rows: Math.min(rows * frame.binRows, plot.rows - top), columns: Math.min(columns * frame.binColumns, plot.columns - left),
    };
    const fill = `#${[0, 8, 16].map((shift) => ((pixel >>> shift) & 255).toString(16).padStart(2, "0")).join("")}`;
    return svg("rect", { ...rectangle(card, part), fill, "shape-rendering": "crispEdges" });
  });
}

/**
 * @param {{ x: number, y: number, width: number, height: number }} area
 * @param {string} colour
 */
function hatched({ x, y, width, height }, colour) {
  const gap = 6;
  let path = "";
  for (let sum = Math.ceil((x + y) / gap) * gap; sum < x + y + width + height; sum += gap) {
    // The part of the line x + y = sum that is within.
    const from = Math.max(x, sum - y - height);
    const to = Math.min(x + width, sum - y);
    path += `M${from} ${sum - from}L${to} ${sum - to}`;
  }
  return svg("path", { d: path, stroke: colour, fill: "none", "stroke-width": 1 });
}

/**
 * Crosses on cells with conflicts; small cells are hatched together, or filled.
 * @param {ArrayCard} card
 * @param {Scene} scene
 * @param {string} colour
 */
function crossed(card, { frame, conflicts }, colour) {
  if (conflicts === null) return [];
  const { plot } = card;
  const width = frame.binColumns * plot.view.x;
  const height = frame.binRows * plot.view.y;
  /** @type {SVGElement[]} */
  const drawn = [];
  let path = "";
  for (const run of join(Uint32Array.from(conflicts), frame.rows, frame.columns)) {
    const x = plot.x(frame.column + run.column * frame.binColumns);
    const y = plot.y(frame.row + run.row * frame.binRows);
    const area = { x, y, width: run.columns * width, height: run.rows * height };
    if (Math.min(area.width, area.height) < 5) drawn.push(svg("rect", { ...area, fill: colour }));
    else if (Math.min(width, height) < 5) {
      drawn.push(svg("rect", { ...area, fill: "none", stroke: colour }), hatched(area, colour));
    } else {
      for (let cell = 0; cell < run.rows * run.columns; cell++) {
        const left = x + (cell % run.columns) * width;
        const top = y + Math.floor(cell / run.columns) * height;
        path += `M${left} ${top}l${width} ${height}m${-width} 0l${width} ${-height}`;
      }
    }
  }
  if (path) drawn.push(svg("path", { d: path, stroke: colour, fill: "none", "stroke-width": Math.min(2, width / 5) }));
  return drawn;
}

// Drawing a plot: cells, lines between them, what lies above, axes.

import { hatch, join, sharpen, styleColour, ticks } from "explorer/drawing.js";

/** @typedef {import("./pictures.js").Frame} Frame */
/** @typedef {import("./plot.js").Area} Area */
/** @typedef {import("./plot.js").Plot} Plot */

export const MARGIN = { left: 58, top: 20, right: 10, bottom: 8 };

/**
 * What is drawn: a pixel for each cell of the frame (0: none), and what lies above.
 * @typedef {object} Scene
 * @property {Frame} frame
 * @property {Uint32Array} pixels
 * @property {Uint8Array | null} conflicts  Cells with any conflict.
 * @property {(Area & { colour: string, width: number, dashed?: boolean, label?: string, shift?: number })[]} outlines
 * @property {(Area & { colour: string })[]} paddings  Parts of tiles that are outside of the array.
 * @property {{ row: number, column: number }[]} races
 */

/**
 * @param {Plot} plot
 * @param {Scene} scene
 */
export function paint(plot, scene) {
  const pen = sharpen(plot.canvas, plot.width, plot.height);
  const text = styleColour(plot.canvas, "--text-quiet", "#555");
  const line = styleColour(plot.canvas, "--border", "#ccc");
  const bad = styleColour(plot.canvas, "--bad", "#b00");
  const paper = styleColour(plot.canvas, "--surface", "#fff");
  pen.clearRect(0, 0, plot.width, plot.height);
  pen.save();
  pen.beginPath();
  pen.rect(MARGIN.left - 1, MARGIN.top - 1, plot.innerWidth + 2, plot.innerHeight + 2);
  pen.clip();
  pen.fillStyle = styleColour(plot.canvas, "--surface-sunken", "#eee");
  traceArray(plot, pen, 0);
  pen.fill();
  paintCells(plot, pen, scene);
  paintLines(plot, pen, scene.frame, line);
  for (const { row, column, rows, columns, colour } of scene.paddings) {
    hatch(pen, plot.x(column), plot.y(row), columns * plot.view.x, rows * plot.view.y, colour);
  }
  pen.strokeStyle = text;
  pen.lineWidth = 1;
  traceArray(plot, pen, 0.5);
  pen.stroke();
  if (scene.conflicts !== null) paintConflicts(plot, pen, scene, bad);
  for (const outline of scene.outlines) paintOutline(plot, pen, outline, paper);
  for (const { row, column } of scene.races) paintRace(plot, pen, row, column, bad, paper);
  if (plot.cursor !== null) {
    paintOutline(plot, pen, { ...plot.cursor, colour: styleColour(plot.canvas, "--text", "#000"), width: 2 }, paper);
  }
  pen.restore();
  paintAxes(plot, pen, text);
}

/**
 * The edge of the array, as a path; the last row may be short.
 * @param {Plot} plot
 * @param {CanvasRenderingContext2D} pen
 * @param {number} around  Pixels outside of it.
 */
function traceArray(plot, pen, around) {
  const right = plot.x(plot.columns) + around;
  const short = plot.x(plot.lastColumns) + around;
  pen.beginPath();
  pen.moveTo(plot.x(0) - around, plot.y(0) - around);
  pen.lineTo(right, plot.y(0) - around);
  if (plot.lastColumns < plot.columns) {
    pen.lineTo(right, plot.y(plot.rows - 1) + around);
    pen.lineTo(short, plot.y(plot.rows - 1) + around);
  }
  pen.lineTo(short, plot.y(plot.rows) + around);
  pen.lineTo(plot.x(0) - around, plot.y(plot.rows) + around);
  pen.closePath();
}

/**
 * @param {Plot} plot
 * @param {CanvasRenderingContext2D} pen
 * @param {Scene} scene
 */
function paintCells(plot, pen, { frame, pixels }) {
  if (frame.rows === 0 || frame.columns === 0) return;
  if (plot.image === null || plot.image.width !== frame.columns || plot.image.height !== frame.rows) {
    plot.image = new ImageData(frame.columns, frame.rows);
    plot.cells.width = frame.columns;
    plot.cells.height = frame.rows;
  }
  new Uint32Array(plot.image.data.buffer).set(pixels);
  plot.cells.getContext("2d")?.putImageData(plot.image, 0, 0);
  pen.imageSmoothingEnabled = false;
  // A bin at the edge is as large as others, but the array ends within it.
  pen.save();
  traceArray(plot, pen, 0);
  pen.clip();
  const width = frame.columns * frame.binColumns * plot.view.x;
  const height = frame.rows * frame.binRows * plot.view.y;
  pen.drawImage(plot.cells, plot.x(frame.column), plot.y(frame.row), width, height);
  pen.restore();
}

/**
 * Lines between cells that are large.
 * @param {Plot} plot
 * @param {CanvasRenderingContext2D} pen
 * @param {Frame} frame
 * @param {string} colour
 */
function paintLines(plot, pen, frame, colour) {
  const x = frame.binColumns * plot.view.x;
  const y = frame.binRows * plot.view.y;
  pen.save();
  traceArray(plot, pen, 1);
  pen.clip();
  pen.strokeStyle = colour;
  pen.lineWidth = 1;
  pen.globalAlpha = 0.6;
  pen.beginPath();
  const bottom = Math.min(plot.y(plot.rows), plot.height);
  const right = Math.min(plot.x(plot.columns), plot.width);
  if (x >= 7) {
    for (let cell = 0; cell <= frame.columns; cell++) {
      const at = Math.round(plot.x(frame.column + cell * frame.binColumns)) + 0.5;
      pen.moveTo(at, Math.max(MARGIN.top, plot.y(0)));
      pen.lineTo(at, bottom);
    }
  }
  if (y >= 7) {
    for (let cell = 0; cell <= frame.rows; cell++) {
      const at = Math.round(plot.y(frame.row + cell * frame.binRows)) + 0.5;
      pen.moveTo(Math.max(MARGIN.left, plot.x(0)), at);
      pen.lineTo(right, at);
    }
  }
  pen.stroke();
  pen.restore();
}

/**
 * @param {Plot} plot
 * @param {CanvasRenderingContext2D} pen
 * @param {Scene} scene
 * @param {string} colour
 */
function paintConflicts(plot, pen, { frame, conflicts }, colour) {
  const width = frame.binColumns * plot.view.x;
  const height = frame.binRows * plot.view.y;
  pen.fillStyle = colour;
  pen.strokeStyle = colour;
  pen.lineWidth = Math.min(2, Math.max(1, width / 5));
  for (const { row, column, rows, columns } of join(Uint32Array.from(conflicts ?? []), frame.rows, frame.columns)) {
    const x = plot.x(frame.column + column * frame.binColumns);
    const y = plot.y(frame.row + row * frame.binRows);
    // Large cells are crossed, small ones hatched together, and single pixels filled, so that each is seen.
    if (Math.min(columns * width, rows * height) < 5) {
      pen.fillRect(x, y, Math.max(1, columns * width), Math.max(1, rows * height));
    } else if (Math.min(width, height) < 5) {
      hatch(pen, x, y, columns * width, rows * height, colour);
      pen.strokeRect(x + 0.5, y + 0.5, columns * width - 1, rows * height - 1);
    } else {
      pen.beginPath();
      for (let cell = 0; cell < rows * columns; cell++) {
        const left = x + (cell % columns) * width;
        const top = y + Math.floor(cell / columns) * height;
        pen.moveTo(left + 1.5, top + 1.5);
        pen.lineTo(left + width - 1.5, top + height - 1.5);
        pen.moveTo(left + width - 1.5, top + 1.5);
        pen.lineTo(left + 1.5, top + height - 1.5);
      }
      pen.stroke();
    }
  }
}

/**
 * @param {Plot} plot
 * @param {CanvasRenderingContext2D} pen
 * @param {Scene["outlines"][0]} outline
 * @param {string} paper
 */
function paintOutline(plot, pen, { row, column, rows, columns, colour, width, dashed, label, shift = 0 }, paper) {
  const x = plot.x(column);
  const y = plot.y(row);
  // What is smaller than a few pixels is still seen.
  const right = Math.max(columns * plot.view.x, 4);
  const down = Math.max(rows * plot.view.y, 4);
  pen.lineJoin = "round";
  // A light edge, so that the line is seen on cells of its colour; none where a line below is to be seen too.
  if (!(dashed && label)) {
    pen.strokeStyle = paper;
    pen.lineWidth = width + 2;
    pen.strokeRect(x, y, right, down);
  }
  pen.setLineDash(dashed ? [4, 3] : []);
  pen.strokeStyle = colour;
  pen.lineWidth = width;
  pen.strokeRect(x, y, right, down);
  pen.setLineDash([]);
  if (label) {
    pen.font = "bold 12px sans-serif";
    const size = pen.measureText(label).width + 6;
    pen.fillStyle = colour;
    pen.fillRect(x + shift - 1, Math.max(MARGIN.top, y - 15), size, 15);
    pen.fillStyle = paper;
    pen.textBaseline = "middle";
    pen.textAlign = "left";
    pen.fillText(label, x + shift + 2, Math.max(MARGIN.top, y - 15) + 8);
  }
}

/**
 * @param {Plot} plot
 * @param {CanvasRenderingContext2D} pen
 * @param {number} row
 * @param {number} column
 * @param {string} colour
 * @param {string} paper
 */
function paintRace(plot, pen, row, column, colour, paper) {
  const x = plot.x(column + 0.5);
  const y = plot.y(row + 0.5);
  pen.beginPath();
  pen.moveTo(x, y - 8);
  pen.lineTo(x + 8, y + 6);
  pen.lineTo(x - 8, y + 6);
  pen.closePath();
  pen.fillStyle = colour;
  pen.strokeStyle = paper;
  pen.lineWidth = 1.5;
  pen.fill();
  pen.stroke();
  pen.font = "bold 11px sans-serif";
  pen.textAlign = "center";
  pen.textBaseline = "middle";
  pen.fillStyle = paper;
  pen.fillText("!", x, y + 1);
}

/**
 * @param {Plot} plot
 * @param {CanvasRenderingContext2D} pen
 * @param {string} colour
 */
function paintAxes(plot, pen, colour) {
  pen.fillStyle = colour;
  pen.strokeStyle = colour;
  pen.font = "11px sans-serif";
  pen.textBaseline = "middle";
  pen.textAlign = "right";
  const { view } = plot;
  for (const row of ticks(Math.max(0, view.row), plot.seenRows, view.y, 18)) {
    pen.fillText(String(row * plot.rowLabel), MARGIN.left - 6, plot.y(row + 0.5));
  }
  pen.textAlign = "center";
  const room = 12 + 7 * String(plot.columns).length;
  for (const column of ticks(Math.max(0, view.column), plot.seenColumns, view.x, room)) {
    if (plot.x(column + 0.5) > plot.width - room / 2 + 8) continue;
    pen.fillText(String(column), Math.max(MARGIN.left + 4, plot.x(column + 0.5)), MARGIN.top - 10);
  }
}

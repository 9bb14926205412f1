// What lies above the picture of an array: the accesses of the tile block that is looked at, those that are marked, and
// what its tiles have beyond the edge.

import { KINDS } from "explorer/accesses.js";
import { styleColour } from "explorer/drawing.js";
import { paddingOf } from "explorer/padding.js";
import { areaOf, inSlice, piecesOfRows, rowInSlice } from "explorer/pieces.js";

/** @typedef {import("./types").Selection} Selection */
/** @typedef {import("./arrays.js").ArrayCard} ArrayCard */
/** @typedef {import("./painting.js").Scene} Scene */
/** @typedef {Scene["outlines"][0]} Outline */

/** Pieces of the block's accesses that are outlined, at most. */
const OUTLINES = 256;

/**
 * The accesses of the block so far, that of the step, and marked ones; and how many pieces are left without an outline.
 * @param {ArrayCard} card
 * @param {Selection} selection
 * @param {boolean[]} kinds
 * @param {number} happened
 */
export function outlinesOf(card, selection, kinds, happened) {
  const { table, pieces, plot } = card;
  let left = 0;
  /**
   * @param {number} row
   * @param {Partial<Outline>} look
   * @param {Outline[]} outlines
   */
  const add = (row, look, outlines) => {
    const [from, to] = piecesOfRows(pieces, row, row + 1);
    const colour = styleColour(card.element, `--${KINDS[table.kind[row]]}`, "#000");
    for (let piece = from; piece < to; piece++) {
      if (!inSlice(pieces, piece, plot.slice)) continue;
      if (outlines.length >= OUTLINES) left++;
      else outlines.push({ ...areaOf(pieces, piece), colour, width: 1, ...look });
    }
  };
  const rows = table.rowsOfBlock(table.order[selection.place] ?? -1).filter((row) => table.array[row] === card.array.id);
  const before = rows.filter((row) => row < happened && table.step[row] !== selection.step && kinds[table.kind[row]]);
  // A loop may have made thousands: the newest are outlined.
  const newest = before.slice(Math.max(0, before.length - OUTLINES)).reverse();
  left += before.length - newest.length;
  /** @type {Outline[]} */
  const past = [];
  for (const row of newest) add(row, { dashed: true }, past);
  /** @type {Outline[]} */
  const present = [];
  for (const row of rows) if (table.step[row] === selection.step) add(row, { width: 3 }, present);
  /** @type {Outline[]} */
  const marked = [];
  const colours = ["--bad", "--accent"].map((name) => styleColour(card.element, name, "#b00"));
  selection.marked.forEach((row, which) => {
    if (table.array[row] !== card.array.id) return;
    const label = markName(which);
    add(row, { width: 3, dashed: which > 0, colour: colours[which % 2], label, shift: 18 * which }, marked);
  });
  return { outlines: [...past.reverse(), ...present, ...marked], left };
}

/**
 * Where tiles of the launch are outside of the array, faintly, and those of the block.
 * @param {ArrayCard} card
 * @param {Selection} selection
 * @returns {Scene["paddings"]}
 */
export function paddingsOf(card, selection) {
  const { table, grid, beyond } = card;
  const strong = styleColour(card.element, "--text", "#000");
  const faint = styleColour(card.element, "--border", "#ccc");
  /** @type {Scene["paddings"]} */
  const areas = [];
  // Beyond a folded array its rows go on: how far is different for each tile.
  if (beyond.columns > 0 && !grid.fold) {
    areas.push({ row: 0, column: grid.columns, rows: grid.rows + beyond.rows, columns: beyond.columns, colour: faint });
  }
  if (beyond.rows > 0 && !grid.fold) {
    areas.push({ row: grid.rows, column: 0, rows: beyond.rows, columns: grid.columns, colour: faint });
  }
  for (const row of table.rowsOfBlock(table.order[selection.place] ?? -1)) {
    if (table.masked[row] === 0 || table.array[row] !== card.array.id) continue;
    if (!rowInSlice(card.pieces, row, card.plot.slice)) continue;
    for (const area of paddingOf(card.context.summary, grid, table, row)) areas.push({ ...area, colour: strong });
    if (areas.length > OUTLINES) break;
  }
  return areas;
}

/**
 * A, B, ..: what marked accesses are called.
 * @param {number} which
 */
export function markName(which) {
  return String.fromCharCode(65 + (which % 26));
}

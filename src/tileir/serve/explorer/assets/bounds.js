// Accesses out of bounds: which array they miss, and by how much.

import { KINDS } from "explorer/accesses.js";
import { counted, grouped } from "explorer/words.js";

/** @typedef {import("./types").ArrayInfo} ArrayInfo */
/** @typedef {import("./types").Summary} Summary */
/** @typedef {import("./accesses.js").AccessTable} AccessTable */

/**
 * The first and the last element that some accesses touch, counted from the beginning of the array's memory.
 * @param {ArrayLike<number>} rows
 * @param {AccessTable} table
 */
function spanOf(rows, table) {
  let low = Infinity;
  let high = -Infinity;
  for (const row of Array.from(rows)) {
    for (let box = table.boxStart[row]; box < table.boxStart[row + 1]; box++) {
      let [from, to] = [table.boxFirst[box], table.boxFirst[box]];
      for (let at = table.extentStart[box]; at < table.extentStart[box + 1]; at++) {
        const reach = (table.extents[at] - 1) * table.strides[at];
        if (reach > 0) to += reach;
        else from += reach;
      }
      low = Math.min(low, from);
      high = Math.max(high, to);
    }
  }
  return { low, high };
}

/** @param {ArrayInfo} array */
function memoryLength(array) {
  if (array.shape.includes(0)) return 0;
  return array.shape.reduce((sum, extent, axis) => sum + (extent - 1) * Math.abs(array.strides[axis]), 1);
}

/**
 * The index that an array would have there, if its first dimension went on; empty for one that does not lie in order.
 * @param {ArrayInfo} array
 * @param {number} place
 */
function indexBeyond(array, place) {
  let stride = 1;
  /** @type {number[]} */
  const index = [];
  for (let axis = array.shape.length - 1; axis >= 0; axis--) {
    if (array.strides[axis] !== stride) return "";
    index.unshift(axis === 0 ? place : place % array.shape[axis]);
    place = Math.floor(place / array.shape[axis]);
    stride *= array.shape[axis];
  }
  return place < 0 || index.length === 0 ? "" : `[${index.join(", ")}]`;
}

/**
 * How far accesses are outside of an array: `1 to 16 elements past the end of x, from where x[8, 0] would be`.
 * @param {ArrayLike<number>} rows
 * @param {AccessTable} table
 * @param {ArrayInfo | undefined} array
 */
export function missedBy(rows, table, array) {
  if (array === undefined) return "outside of every array of the launch";
  const length = memoryLength(array);
  const { low, high } = spanOf(rows, table);
  const range = (/** @type {number} */ from, /** @type {number} */ to) =>
    from === to ? counted(from, "element") : `${grouped(from)} to ${counted(to, "element")}`;
  const words = [];
  if (low < 0) words.push(`${range(Math.max(1, -high), -low)} before the start of ${array.name}`);
  if (high >= length) {
    const first = Math.max(low, length);
    const index = indexBeyond(array, first);
    const where = index === "" ? "" : `, ${first === high ? "" : "from "}where ${array.name}${index} would be`;
    words.push(`${range(first - length + 1, high - length + 1)} past the end of ${array.name}${where}`);
  }
  // An element may hang over the end by a part of it.
  return words.join(" and ") || `partly past the end of ${array.name}`;
}

/**
 * One access: null if it is within bounds.
 * @param {number} row
 * @param {AccessTable} table
 * @param {Summary} summary
 */
export function outsideWords(row, table, summary) {
  const missed = table.missedArray(row);
  return missed === null ? null : missedBy([row], table, summary.arrays[missed]);
}

/**
 * The accesses outside of an array (-1: near none), in one sentence.
 * @param {Int32Array} rows
 * @param {AccessTable} table
 * @param {ArrayInfo | undefined} array
 */
export function outsideSentence(rows, table, array) {
  const counts = KINDS.map((kind, number) => ({ kind, count: rows.filter((row) => table.kind[row] === number).length }));
  const kinds = counts.filter(({ count }) => count > 0).map(({ kind, count }) => counted(count, kind));
  return `Out of bounds: ${kinds.join(", ")} ${missedBy(rows, table, array)}.`;
}

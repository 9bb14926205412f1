// The accesses of the launch: one row for each, in the order in which they happened, as columns of numbers.

import { unpack } from "explorer/data.js";

/** @typedef {import("./types").Accesses} Accesses */
/** @typedef {import("./types").Context} Context */
/** @typedef {import("./types").Packed} Packed */
/** @typedef {import("./data.js").NumberArray} NumberArray */

/** Rows of one answer. */
const ROWS = 65_536;

export const KINDS = ["read", "write", "atomic"];

/** In the column of arrays: memory of the tile block's own, and no memory of the launch. */
export const RESERVED = -1;
export const OUT_OF_BOUNDS = -2;

/** @type {WeakMap<object, Promise<AccessTable>>} */
const loaded = new WeakMap();

/**
 * All accesses; asked for once.
 * @param {Context} context
 * @returns {Promise<AccessTable>}
 */
export function loadAccesses(context) {
  let table = loaded.get(context.summary);
  if (table === undefined) {
    table = load(context);
    loaded.set(context.summary, table);
    // What failed once may be asked for again.
    table.catch(() => loaded.delete(context.summary));
  }
  return table;
}

/** @param {Context} context */
async function load(context) {
  /** @type {Accesses[]} */
  const parts = [];
  let rows = 0;
  for (;;) {
    /** @type {Accesses} */
    const part = await context.ask("accesses", { first: rows, count: ROWS });
    parts.push(part);
    rows += part.count;
    if (rows >= part.total || part.count === 0) break;
  }
  return new AccessTable(parts, unpack(context.summary.recording.order));
}

export class AccessTable {
  /**
   * @param {Accesses[]} parts
   * @param {NumberArray} order  Tile blocks in the order in which they began.
   */
  constructor(parts, order) {
    /** How many accesses there are. */
    this.count = parts.reduce((sum, part) => sum + part.count, 0);
    this.order = order;
    this.block = joined(parts, "block", Int32Array);
    this.step = joined(parts, "step", Float64Array);
    this.operation = joined(parts, "operation", Int32Array);
    this.array = joined(parts, "array", Int32Array);
    this.kind = joined(parts, "kind", Uint8Array);
    this.masked = joined(parts, "masked", Float64Array);
    this.approximate = joined(parts, "approximate", Uint8Array);
    this.boxStart = starts(parts, "boxStart");
    this.boxFirst = joined(parts, "boxFirst", Float64Array);
    this.extentStart = starts(parts, "extentStart");
    this.extents = joined(parts, "extents", Int32Array);
    this.strides = joined(parts, "strides", Float64Array);
    let blocks = 0;
    for (const block of order) blocks = Math.max(blocks, block + 1);
    /** Rows of each block, one block after the other, in order. */
    this._ofBlock = grouped(this.block, this.count, blocks);
    /** The place of each block in `order`. */
    this.placeOf = new Int32Array(blocks).fill(-1);
    for (let place = 0; place < order.length; place++) this.placeOf[order[place]] = place;
    /** @type {Map<number, Int32Array>} */
    this._ofArray = new Map();
  }

  /**
   * The rows of a tile block, in order.
   * @param {number} block
   * @returns {Int32Array}
   */
  rowsOfBlock(block) {
    const { start, rows } = this._ofBlock;
    if (block < 0 || block + 1 >= start.length) return rows.subarray(0, 0);
    return rows.subarray(start[block], start[block + 1]);
  }

  /**
   * The rows about an array, in order.
   * @param {number} array
   * @returns {Int32Array}
   */
  rowsOfArray(array) {
    let rows = this._ofArray.get(array);
    if (rows === undefined) {
      let count = 0;
      for (let row = 0; row < this.count; row++) if (this.array[row] === array) count++;
      rows = new Int32Array(count);
      count = 0;
      for (let row = 0; row < this.count; row++) if (this.array[row] === array) rows[count++] = row;
      this._ofArray.set(array, rows);
    }
    return rows;
  }

  /**
   * The rows that are outside of an array; -1: outside of all, and near none.
   * @param {number} array
   */
  rowsOutside(array) {
    return this.rowsOfArray(OUT_OF_BOUNDS - 1 - array);
  }

  /**
   * The array that an access is outside of, -1 if it is near none; null for an access within bounds.
   * @param {number} row
   */
  missedArray(row) {
    return this.array[row] > OUT_OF_BOUNDS ? null : OUT_OF_BOUNDS - 1 - this.array[row];
  }

  /**
   * How many accesses have happened at a moment: all up to the last that the block had made then.
   * @param {number} place
   * @param {number} step
   */
  upTo(place, step) {
    for (let at = place; at < this.order.length; at++) {
      const rows = this.rowsOfBlock(this.order[at]);
      if (rows.length === 0) continue;
      // A block without accesses stands where the next one begins.
      const made = at === place ? this._made(rows, step) : 0;
      return made > 0 ? rows[made - 1] + 1 : rows[0];
    }
    return this.count;
  }

  /**
   * How many of a block's accesses are at a step or before it.
   * @param {Int32Array} rows
   * @param {number} step
   */
  _made(rows, step) {
    let low = 0;
    let high = rows.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.step[rows[middle]] <= step) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /**
   * The row of the access before (-1) or after (1) a moment, or -1: that of the block itself where it has one, else of
   * the blocks before or after it.
   * @param {number} place
   * @param {number} step
   * @param {-1 | 1} direction
   */
  neighbour(place, step, direction) {
    for (let at = place; at >= 0 && at < this.order.length; at += direction) {
      const rows = this.rowsOfBlock(this.order[at]);
      if (rows.length === 0) continue;
      if (direction > 0) {
        const made = at === place ? this._made(rows, step) : 0;
        if (made < rows.length) return rows[made];
      } else {
        const before = at === place ? this._made(rows, step - 1) : rows.length;
        if (before > 0) return rows[before - 1];
      }
    }
    return -1;
  }

  /**
   * The moment at which an access has just happened.
   * @param {number} row
   */
  momentOf(row) {
    return { place: this.placeOf[this.block[row]], step: this.step[row], operation: this.operation[row] };
  }
}

/**
 * @template {Int32Array | Float64Array | Uint8Array} T
 * @param {Accesses[]} parts
 * @param {"block" | "step" | "operation" | "array" | "kind" | "masked" | "approximate" | "boxFirst" | "extents" | "strides"} name
 * @param {{ new (length: number): T }} type
 * @returns {T}
 */
function joined(parts, name, type) {
  const columns = parts.map((part) => unpack(part[name]));
  const all = new type(columns.reduce((sum, column) => sum + column.length, 0));
  let at = 0;
  for (const column of columns) {
    all.set(column, at);
    at += column.length;
  }
  return all;
}

/**
 * Starts of groups: each answer counts from 0 and has one more than it has groups.
 * @param {Accesses[]} parts
 * @param {"boxStart" | "extentStart"} name
 */
function starts(parts, name) {
  const columns = parts.map((part) => unpack(part[name]));
  const all = new Int32Array(columns.reduce((sum, column) => sum + Math.max(0, column.length - 1), 0) + 1);
  let at = 0;
  let base = 0;
  for (const column of columns) {
    if (column.length === 0) continue;
    const begin = column[0];
    for (let group = 0; group < column.length; group++) all[at + group] = base + column[group] - begin;
    at += column.length - 1;
    base += column[column.length - 1] - begin;
  }
  return all;
}

/**
 * Rows by key, each key's in order.
 * @param {Int32Array} keys
 * @param {number} count
 * @param {number} groups
 */
function grouped(keys, count, groups) {
  const start = new Int32Array(groups + 1);
  for (let row = 0; row < count; row++) start[keys[row] + 1]++;
  for (let group = 0; group < groups; group++) start[group + 1] += start[group];
  const next = start.slice();
  const rows = new Int32Array(count);
  for (let row = 0; row < count; row++) rows[next[keys[row]]++] = row;
  return { start, rows };
}

// The accesses of the launch: one row for each, in the order in which they happened, as columns of numbers.

import { unpack } from "explorer/data.js";
import { fileName, indexText } from "explorer/text.js";
import { element } from "page/elements.js";
import { counted, grouped } from "page/numbers.js";

/** Rows of one answer. */
const ROWS = 65_536;

export const KINDS = ["read", "write", "atomic"];

/** In the column of arrays: memory of the tile block's own, and no memory of the launch. */
export const RESERVED = -1;
export const OUT_OF_BOUNDS = -2;

/** @type {WeakMap<object, Promise<AccessTable>>} */
const loaded = new WeakMap();

/** All accesses; asked for once. @param {Pick<Context, "summary" | "ask">} context @returns {Promise<AccessTable>} */
export function loadAccesses(context) {
  const known = loaded.get(context.summary) ?? load(context);
  loaded.set(context.summary, known);
  // What failed once may be asked for again.
  known.catch(() => loaded.delete(context.summary));
  return known;
}

/** @param {Pick<Context, "summary" | "ask">} context */
async function load({ summary, ask }) {
  /** @type {Accesses[]} */
  const parts = [];
  let rows = 0;
  for (;;) {
    const part = /** @type {Accesses} */ (await ask("accesses", { first: rows, count: ROWS }));
    parts.push(part);
    rows += part.count;
    if (rows >= part.total || part.count === 0) return new AccessTable(parts, unpack(summary.recording.order));
  }
}

export class AccessTable {
  /** @param {Accesses[]} parts @param {NumberArray} order  Tile blocks in the order in which they began. */
  constructor(parts, order) {
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
    /** The place of each block in `order`. */
    this.placeOf = new Int32Array(blocks).fill(-1);
    order.forEach((block, place) => (this.placeOf[block] = place));
    this._ofBlock = rowsByKey(this.block, blocks);
    /** @type {Map<number, Int32Array>} */
    this._ofArray = new Map();
  }

  /** The rows of the tile block at a place, in order. @param {number} place @returns {Int32Array} */
  rowsAt(place) {
    const { start, rows } = this._ofBlock;
    const block = this.order[place];
    return block === undefined ? rows.subarray(0, 0) : rows.subarray(start[block], start[block + 1]);
  }

  /** The rows about an array, in order. @param {number} array @returns {Int32Array} */
  rowsOfArray(array) {
    let rows = this._ofArray.get(array);
    if (rows === undefined) {
      rows = Int32Array.from(this.array.keys()).filter((row) => this.array[row] === array);
      this._ofArray.set(array, rows);
    }
    return rows;
  }

  /** The rows that are outside of an array; -1: outside of all, and near none. @param {number} array */
  rowsOutside(array) {
    return this.rowsOfArray(OUT_OF_BOUNDS - 1 - array);
  }

  /** The array that an access misses, -1 if it is near none; null for one within bounds. @param {number} row */
  missedArray(row) {
    return this.array[row] > OUT_OF_BOUNDS ? null : OUT_OF_BOUNDS - 1 - this.array[row];
  }

  /**
   * How many accesses have happened at a step: all up to the last that the block had made then.
   * @param {number} place @param {number} step
   */
  upTo(place, step) {
    for (let at = place; at < this.order.length; at++) {
      const rows = this.rowsAt(at);
      if (rows.length === 0) continue;
      // A block without accesses stands where the next one begins.
      const made = at === place ? this._made(rows, step) : 0;
      return made > 0 ? rows[made - 1] + 1 : rows[0];
    }
    return this.count;
  }

  /** How many of a block's accesses are at a step or before it. @param {Int32Array} rows @param {number} step */
  _made(rows, step) {
    return lowerBound(rows.length, (at) => this.step[rows[at]] <= step);
  }

  /**
   * The row of the access before (-1) or after (1) a step, or -1: of the block itself, else of its neighbors in time.
   * @param {number} place @param {number} step @param {-1 | 1} direction
   */
  neighbor(place, step, direction) {
    for (let at = place; at >= 0 && at < this.order.length; at += direction) {
      const rows = this.rowsAt(at);
      const before = direction > 0 ? this._made(rows, step) : this._made(rows, step - 1) - 1;
      const row = rows[at === place ? before : direction > 0 ? 0 : rows.length - 1];
      if (row !== undefined) return row;
    }
    return -1;
  }

  /** The step at which an access has just happened. @param {number} row */
  momentOf(row) {
    return { place: this.placeOf[this.block[row]], step: this.step[row], operation: this.operation[row] };
  }

  /** `2 reads, 1 write`. @param {ArrayLike<number>} rows */
  kindsOf(rows) {
    const counts = KINDS.map(() => 0);
    for (let at = 0; at < rows.length; at++) counts[this.kind[rows[at]]]++;
    return KINDS.flatMap((name, kind) => (counts[kind] > 0 ? [counted(counts[kind], name)] : [])).join(", ");
  }
}

/** A kind of access in its color. @param {string} kind */
export function kindChip(kind) {
  return element("span.chip.kind", { style: { "--kind": `var(--${kind})` } }, kind);
}

/** An operation with its line in the script, and whether it reads or writes. @param {OperationInfo} operation @returns {Child[]} */
export function operationParts({ name, text, script, reads, writes }) {
  const kind = reads && writes ? KINDS[2] : reads ? KINDS[0] : writes ? KINDS[1] : null;
  const chip = kind === null ? null : kindChip(kind);
  if (script === null) return [chip, element("code", text)];
  const line = `${fileName(script.file)}:${script.line}`;
  // A program that was read from text is its own script: its line, with the author's names, stands there once.
  if (!script.text.includes(name)) return [chip, element("span", `${line}: `, element("code", script.text.trim())), element("code.quiet", text)];
  return [chip, element("code", /\.(py|cuh?)$/.test(script.file) ? text : script.text.trim()), element("span.quiet", line)];
}

/** The first number for which a test fails that holds for all before it. @param {number} count @param {(at: number) => boolean} test */
export function lowerBound(count, test) {
  let [low, high] = [0, count];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (test(middle)) low = middle + 1;
    else high = middle;
  }
  return low;
}

/**
 * @template {Int32Array | Float64Array | Uint8Array} T
 * @param {Accesses[]} parts @param {keyof Accesses} name @param {{ new (length: number): T }} type
 * @returns {T}
 */
function joined(parts, name, type) {
  const columns = parts.map((part) => unpack(/** @type {Packed} */ (part[name])));
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
 * @param {Accesses[]} parts @param {"boxStart" | "extentStart"} name
 */
function starts(parts, name) {
  const all = [0];
  for (const part of parts) {
    const base = all[all.length - 1];
    for (const end of unpack(part[name]).subarray(1)) all.push(base + end);
  }
  return Int32Array.from(all);
}

/** Rows by key, each key's in order. @param {Int32Array} keys @param {number} count */
function rowsByKey(keys, count) {
  const start = new Int32Array(count + 1);
  for (const key of keys) start[key + 1]++;
  for (let key = 0; key < count; key++) start[key + 1] += start[key];
  const next = start.slice();
  const rows = new Int32Array(keys.length);
  for (let row = 0; row < keys.length; row++) rows[next[keys[row]]++] = row;
  return { start, rows };
}

// ---- Accesses out of bounds ----

/**
 * The first and the last element that accesses touch, counted from the beginning of the array's memory.
 * @param {ArrayLike<number>} rows @param {AccessTable} table
 */
function spanOf(rows, table) {
  let [low, high] = [Infinity, -Infinity];
  for (const row of Array.from(rows)) {
    for (let box = table.boxStart[row]; box < table.boxStart[row + 1]; box++) {
      let [from, to] = [table.boxFirst[box], table.boxFirst[box]];
      for (let at = table.extentStart[box]; at < table.extentStart[box + 1]; at++) {
        const reach = (table.extents[at] - 1) * table.strides[at];
        if (reach > 0) to += reach;
        else from += reach;
      }
      [low, high] = [Math.min(low, from), Math.max(high, to)];
    }
  }
  return { low, high };
}

/**
 * The index that an array would have there, if its first dimension went on; empty for one that does not lie in order.
 * @param {ArrayInfo} array @param {number} place
 */
function indexBeyond({ shape, strides }, place) {
  let stride = 1;
  /** @type {number[]} */
  const index = [];
  for (let axis = shape.length - 1; axis >= 0; axis--) {
    if (strides[axis] !== stride) return "";
    index.unshift(axis === 0 ? place : place % shape[axis]);
    place = Math.floor(place / shape[axis]);
    stride *= shape[axis];
  }
  return place < 0 || index.length === 0 ? "" : indexText(index);
}

/**
 * How far accesses are outside of an array: `1 to 16 elements past the end of x, from where x[8, 0] would be`.
 * @param {ArrayLike<number>} rows @param {AccessTable} table @param {ArrayInfo | undefined} array
 */
export function distanceOutside(rows, table, array) {
  if (array === undefined) return "outside of every array of the launch";
  const { name, shape, strides } = array;
  const reach = shape.reduce((sum, extent, axis) => sum + (extent - 1) * Math.abs(strides[axis]), 1);
  const length = shape.includes(0) ? 0 : reach;
  const { low, high } = spanOf(rows, table);
  const range = (/** @type {number} */ from, /** @type {number} */ to) =>
    from === to ? counted(from, "element") : `${grouped(from)} to ${counted(to, "element")}`;
  const parts = [];
  if (low < 0) parts.push(`${range(Math.max(1, -high), -low)} before the start of ${name}`);
  if (high >= length) {
    const first = Math.max(low, length);
    const index = indexBeyond(array, first);
    const where = index === "" ? "" : `, ${first === high ? "" : "from "}where ${name}${index} would be`;
    parts.push(`${range(first - length + 1, high - length + 1)} past the end of ${name}${where}`);
  }
  // An element may hang over the end by a part of it.
  return parts.join(" and ") || `partly past the end of ${name}`;
}

/** @param {Int32Array} rows @param {AccessTable} table @param {ArrayInfo | undefined} array */
export function outsideText(rows, table, array) {
  return `Out of bounds: ${table.kindsOf(rows)} ${distanceOutside(rows, table, array)}.`;
}

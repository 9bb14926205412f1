// Parts of a tile: what is asked for, where an element stands in a table, and which elements are no numbers.

import { unpack } from "explorer/data.js";

/**
 * @typedef {import("./types").Tile} Tile
 * @typedef {import("explorer/data.js").NumberArray} NumberArray
 *
 * Something whose elements can be asked for: a value or an array at a moment, or one side of a comparison.
 * @typedef {object} TileSource
 * @property {string} name
 * @property {string} element
 * @property {number[]} shape
 * @property {(start?: number[], extents?: number[]) => Promise<Tile>} part
 */

/** Elements of a row of the table, where a tile has one dimension. */
const WRAP = 16;

/**
 * A tile as rows and columns: the last two dimensions, at an index of those before; one dimension is wrapped.
 */
export class Plane {
  /**
   * @param {readonly number[]} shape
   * @param {readonly number[]} leading  The index in all dimensions but the last two.
   */
  constructor(shape, leading) {
    const rank = shape.length;
    this.shape = shape;
    this.leading = leading.slice(0, Math.max(0, rank - 2));
    this.wrapped = rank === 1;
    const count = rank === 0 ? 1 : shape[rank - 1];
    this.columns = this.wrapped ? Math.min(WRAP, count) : count;
    this.rows = rank === 0 ? 1 : this.wrapped ? Math.ceil(count / WRAP) : shape[rank - 2];
  }

  /**
   * The index of what stands in a row and a column; null behind the end.
   * @param {number} row
   * @param {number} column
   * @returns {number[] | null}
   */
  index(row, column) {
    if (row < 0 || column < 0 || row >= this.rows || column >= this.columns) return null;
    if (this.shape.length === 0) return [];
    if (!this.wrapped) return [...this.leading, row, column];
    const place = row * WRAP + column;
    return place < this.shape[0] ? [place] : null;
  }

  /**
   * @param {readonly number[]} index
   * @returns {[number, number]}
   */
  place(index) {
    const rank = this.shape.length;
    if (rank === 0) return [0, 0];
    return this.wrapped ? [Math.floor(index[0] / WRAP), index[0] % WRAP] : [index[rank - 2], index[rank - 1]];
  }

  /**
   * What to ask for to have some rows and columns.
   * @param {number} row @param {number} column @param {number} rows @param {number} columns
   * @returns {{ start: number[], extents: number[] }}
   */
  part(row, column, rows, columns) {
    if (this.shape.length === 0) return { start: [], extents: [] };
    if (this.wrapped) {
      const start = row * WRAP;
      return { start: [start], extents: [Math.max(0, Math.min(rows * WRAP, this.shape[0] - start))] };
    }
    return {
      start: [...this.leading, row, column],
      extents: [
        ...this.leading.map(() => 1),
        Math.max(0, Math.min(rows, this.rows - row)),
        Math.max(0, Math.min(columns, this.columns - column)),
      ],
    };
  }

  /** @param {number} row */
  rowName(row) {
    return this.shape.length === 0 ? "" : String(this.wrapped ? row * WRAP : row);
  }

  /** @param {number} column */
  columnName(column) {
    return this.shape.length === 0 ? "value" : this.wrapped ? `+${column}` : String(column);
  }
}

/**
 * The place in an answer of an element of the tile; -1 if it is not in there.
 * @param {Tile} tile
 * @param {readonly number[]} index
 */
export function placeIn(tile, index) {
  let place = 0;
  for (const [axis, position] of index.entries()) {
    const within = position - tile.start[axis];
    if (within < 0 || within >= tile.extents[axis]) return -1;
    const size = tile.binned === null ? 1 : tile.binned[axis];
    place = place * Math.ceil(tile.extents[axis] / size) + Math.floor(within / size);
  }
  return place;
}

/**
 * The index of the first element at a place of an answer.
 * @param {Tile} tile
 * @param {number} place
 * @returns {number[]}
 */
export function indexOf(tile, place) {
  const index = new Array(tile.extents.length).fill(0);
  for (let axis = index.length - 1; axis >= 0; axis -= 1) {
    const size = tile.binned === null ? 1 : tile.binned[axis];
    const count = Math.ceil(tile.extents[axis] / size);
    index[axis] = tile.start[axis] + (place % count) * size;
    place = Math.floor(place / count);
  }
  return index;
}

/**
 * The next element that is no finite number, from behind an index on and around the end, where a tile is binned one bin
 * after another; null if all are finite.
 * @param {TileSource} source
 * @param {readonly number[]} after
 * @returns {Promise<number[] | null>}
 */
export async function nextSpecial(source, after) {
  const whole = await source.part();
  if (whole.statistics.nan + whole.statistics.infinite === 0) return null;
  const numbers = unpack(whole.data);
  const first = after.length === 0 ? -1 : placeIn(whole, after);
  if (whole.binned !== null && first >= 0 && !Number.isFinite(numbers[first])) {
    const found = await inBin(source, whole, first, after);
    if (found !== null) return found;
  }
  for (let turn = 1; turn <= numbers.length; turn += 1) {
    const place = (first + turn + numbers.length) % numbers.length;
    if (Number.isFinite(numbers[place])) continue;
    if (whole.binned === null) return indexOf(whole, place);
    const found = await inBin(source, whole, place, null);
    if (found !== null) return found;
  }
  return null;
}

/**
 * The first element of a bin that is no finite number, behind an index.
 * @param {TileSource} source
 * @param {Tile} whole
 * @param {number} place
 * @param {readonly number[] | null} after
 */
async function inBin(source, whole, place, after) {
  const start = indexOf(whole, place);
  const extents = start.map((from, axis) => Math.min(/** @type {number[]} */ (whole.binned)[axis], whole.shape[axis] - from));
  const part = await source.part(start, extents);
  if (part.binned !== null) return start;
  const numbers = unpack(part.data);
  for (let one = after === null ? 0 : placeIn(part, after) + 1; one < numbers.length; one += 1) {
    if (!Number.isFinite(numbers[one])) return indexOf(part, one);
  }
  return null;
}

/**
 * `[3, 17]`.
 * @param {readonly number[]} index
 */
export function indexWords(index) {
  return `[${index.join(", ")}]`;
}

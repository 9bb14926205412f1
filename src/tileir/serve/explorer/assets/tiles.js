// Parts of a tile: where an element stands in a table and in an answer, and which elements are no finite numbers.

import { partOf, unpack } from "explorer/data.js";

/** Elements of a row of the table, where a tile has one dimension. */
const WRAP = 16;

/** A tile as rows and columns: the last two dimensions, at an index of those before; one dimension is wrapped. */
export class Plane {
  /** @param {readonly number[]} shape @param {readonly number[]} leading  The index in all dimensions but the last two. */
  constructor(shape, leading) {
    const rank = shape.length;
    this.shape = shape;
    this.leading = leading.slice(0, Math.max(0, rank - 2));
    this.wrapped = rank === 1;
    const count = rank === 0 ? 1 : shape[rank - 1];
    this.columns = this.wrapped ? Math.min(WRAP, count) : count;
    this.rows = rank === 0 ? 1 : this.wrapped ? Math.ceil(count / WRAP) : shape[rank - 2];
  }

  /** The index of what stands in a row and a column; null behind the end. @param {number} row @param {number} column */
  index(row, column) {
    if (row < 0 || column < 0 || row >= this.rows || column >= this.columns) return null;
    if (this.shape.length === 0) return [];
    if (!this.wrapped) return [...this.leading, row, column];
    const place = row * WRAP + column;
    return place < this.shape[0] ? [place] : null;
  }

  /** @param {readonly number[]} index @returns {[number, number]} */
  place(index) {
    if (this.shape.length === 0) return [0, 0];
    if (this.wrapped) return [Math.floor(index[0] / WRAP), index[0] % WRAP];
    return [index[index.length - 2], index[index.length - 1]];
  }

  /** What to ask for to have a square of rows and columns. @param {number} row @param {number} column @param {number} size */
  part(row, column, size) {
    if (this.shape.length === 0) return { start: [], extents: [] };
    if (this.wrapped) {
      const start = row * WRAP;
      return { start: [start], extents: [Math.min(size * WRAP, this.shape[0] - start)] };
    }
    const [rows, columns] = [Math.min(size, this.rows - row), Math.min(size, this.columns - column)];
    return { start: [...this.leading, row, column], extents: [...this.leading.map(() => 1), rows, columns] };
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

/** The place in an answer of an element of the tile; -1 if it is not in there. @param {Tile} tile @param {readonly number[]} index */
export function placeIn(tile, index) {
  let place = 0;
  for (const [axis, position] of index.entries()) {
    const within = position - tile.start[axis];
    if (within < 0 || within >= tile.extents[axis]) return -1;
    const size = tile.binned?.[axis] ?? 1;
    place = place * Math.ceil(tile.extents[axis] / size) + Math.floor(within / size);
  }
  return place;
}

/** The index of the first element at a place of an answer. @param {Tile} tile @param {number} place @returns {number[]} */
export function indexOf(tile, place) {
  const index = tile.extents.map(() => 0);
  for (let axis = index.length - 1; axis >= 0; axis -= 1) {
    const size = tile.binned?.[axis] ?? 1;
    const count = Math.ceil(tile.extents[axis] / size);
    index[axis] = tile.start[axis] + (place % count) * size;
    place = Math.floor(place / count);
  }
  return index;
}

/** Parts of a tile are asked for only where not every element is here. @param {(part: QuestionParameters) => Promise<Tile>} ask */
export function inParts(ask) {
  /** @type {TileSource["part"]} */
  return async (start = [], extents = []) => {
    const whole = await ask({});
    if (start.length === 0) return whole;
    const part = { start: start.join(","), extents: extents.join(",") };
    return whole.binned === null ? (partOf(whole, part) ?? whole) : ask(part);
  };
}

/**
 * The next element behind an index, and around the end, that is no finite number; null if all are finite.
 * @param {TileSource} source @param {readonly number[]} after @returns {Promise<number[] | null>}
 */
export async function nextSpecial(source, after) {
  const whole = await source.part();
  if (whole.statistics.nan + whole.statistics.infinite === 0) return null;
  const numbers = unpack(whole.data);
  const first = after.length === 0 ? -1 : placeIn(whole, after);
  // A tile that is binned is searched bin by bin, beginning and ending with the rest of that of the index.
  for (let turn = whole.binned === null || first < 0 ? 1 : 0; turn <= numbers.length; turn += 1) {
    const place = (first + turn + numbers.length) % numbers.length;
    if (Number.isFinite(numbers[place])) continue;
    if (whole.binned === null) return indexOf(whole, place);
    const start = indexOf(whole, place);
    const bins = whole.binned;
    const part = await source.part(start, start.map((from, axis) => Math.min(bins[axis], whole.shape[axis] - from)));
    if (part.binned !== null) return start;
    const behind = turn === 0 ? placeIn(part, after) : -1;
    const found = unpack(part.data).findIndex((number, at) => at > behind && !Number.isFinite(number));
    if (found >= 0) return indexOf(part, found);
  }
  return null;
}

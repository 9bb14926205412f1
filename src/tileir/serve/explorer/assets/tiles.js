// Parts of a tile: where an element stands in a table and in an answer, and which elements are no finite numbers.

import { partOf, unpack } from "explorer/data.js";

/** Elements of a row of the table, where a tile has one dimension. */
const WRAP = 16;

/** A tile as rows and columns: the last two dimensions, at an index of those before; one dimension is folded into rows. */
export class Plane {
  /**
   * @param {readonly number[]} shape @param {readonly number[]} leading  The index in all dimensions but the last two.
   * @param {number} [wrap]  The elements of a row where one dimension is folded.
   */
  constructor(shape, leading, wrap = WRAP) {
    const rank = shape.length;
    this.shape = shape;
    this.leading = leading.slice(0, Math.max(0, rank - 2));
    this.length = rank === 0 ? 1 : shape[rank - 1];
    /** Elements of a folded row, or 0. */
    this.fold = rank < 2 ? Math.max(1, Math.min(wrap, this.length)) : 0;
    this.columns = this.fold || this.length;
    this.rows = this.fold ? Math.ceil(this.length / this.fold) : shape[rank - 2];
  }

  /** The index of what stands in a row and a column; null behind the end. @param {number} row @param {number} column */
  index(row, column) {
    if (row < 0 || column < 0 || row >= this.rows || column >= this.columns) return null;
    if (this.shape.length === 0) return [];
    if (!this.fold) return [...this.leading, row, column];
    const place = row * this.fold + column;
    return place < this.length ? [place] : null;
  }

  /** @param {readonly number[]} index @returns {[number, number]} */
  place(index) {
    const at = index[0] ?? 0;
    return this.fold ? [Math.floor(at / this.fold), at % this.fold] : [index[index.length - 2], index[index.length - 1]];
  }

  /** What to ask for to have some rows and columns. @param {number} row @param {number} column @param {number} rows @param {number} columns */
  part(row, column, rows, columns) {
    if (this.shape.length === 0) return { start: [], extents: [] };
    const first = row * this.fold;
    if (this.fold) return { start: [first], extents: [Math.min(rows * this.fold, this.length - first)] };
    const extents = [Math.min(rows, this.rows - row), Math.min(columns, this.columns - column)];
    return { start: [...this.leading, row, column], extents: [...this.leading.map(() => 1), ...extents] };
  }

  /** @param {number} row */
  rowName(row) {
    return this.shape.length === 0 ? "" : String(row * (this.fold || 1));
  }

  /** @param {number} column */
  columnName(column) {
    return this.shape.length === 0 ? "value" : `${this.fold ? "+" : ""}${column}`;
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

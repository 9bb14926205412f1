// Pictures of an array as numbers, one for each cell: which access touched it last or first, or how often.
//
// A cell is one element, or a bin of some rows and columns of elements where the array is larger than the picture.
// A picture at a moment is the one before with some accesses more; states kept on the way make going back cheap.

/** @typedef {import("./pieces.js").Pieces} Pieces */
/** @typedef {import("./accesses.js").AccessTable} AccessTable */

/** States of one picture together have at most so many bytes, if not told otherwise. */
export const KEPT_BYTES = 32 * 1024 * 1024;
const KEPT_STATES = 32;

/**
 * The part of the grid that is drawn, in cells.
 * @typedef {object} Frame
 * @property {number[]} slice  The index in each outer dimension.
 * @property {number} row  The first row and column of elements.
 * @property {number} column
 * @property {number} binRows  Elements of a cell.
 * @property {number} binColumns
 * @property {number} rows  Cells.
 * @property {number} columns
 */

/** What a picture counts: rows of accesses (from 1, 0 is none) or how many elements were touched in a cell. */
/** @typedef {"last" | "first" | "count"} Quantity */

export class Picture {
  /**
   * @param {Pieces} pieces
   * @param {ArrayLike<number>} kind  The kind of each access.
   * @param {Frame} frame
   * @param {Quantity} quantity
   * @param {ArrayLike<boolean>} kinds  Which kinds of access are counted.
   * @param {number} [bytes]  What its states may take.
   */
  constructor(pieces, kind, frame, quantity, kinds, bytes = KEPT_BYTES) {
    this.pieces = pieces;
    this.frame = frame;
    this.quantity = quantity;
    const cells = frame.rows * frame.columns;
    this.cells = quantity === "count" ? new Float64Array(cells) : new Int32Array(cells);
    this._rowCells = { cell: new Int32Array(frame.rows), weight: new Float64Array(frame.rows), length: 0 };
    this._columnCells = { cell: new Int32Array(frame.columns), weight: new Float64Array(frame.columns), length: 0 };
    /** What drawing all of them takes, in cells. */
    this._effort = 0;
    this._visible = this._choose(kind, kinds);
    /** How many of the visible pieces are in `cells`. */
    this._done = 0;
    /** @type {{ done: number, cells: Int32Array | Float64Array }[]} */
    this._states = [];
    const states = Math.min(KEPT_STATES, Math.floor(bytes / Math.max(1, this.cells.byteLength)));
    this._between = this._effort / Math.max(1, states);
    this._since = 0;
    if (quantity === "first") this._seek(this._visible.length);
  }

  /**
   * Pieces that touch the frame, and what drawing them takes.
   * @param {ArrayLike<number>} kind
   * @param {ArrayLike<boolean>} kinds
   */
  _choose(kind, kinds) {
    const { pieces, frame } = this;
    const outer = pieces.rank - 2;
    const visible = new Int32Array(pieces.count);
    let count = 0;
    pieces: for (let piece = 0; piece < pieces.count; piece++) {
      if (!kinds[kind[pieces.row[piece]]]) continue;
      let at = 3 * pieces.rank * piece;
      const spans = pieces.spans;
      for (let dimension = 0; dimension < outer; dimension++, at += 3) {
        const from = frame.slice[dimension] - spans[at];
        if (from < 0 || from % spans[at + 2] !== 0 || from / spans[at + 2] >= spans[at + 1]) continue pieces;
      }
      const rows = span(spans, at, frame.row, frame.binRows, frame.rows);
      if (rows === 0) continue;
      const columns = span(spans, at + 3, frame.column, frame.binColumns, frame.columns);
      if (columns === 0) continue;
      this._effort += rows * columns + 8;
      visible[count++] = piece;
    }
    return visible.slice(0, count);
  }

  /**
   * The picture after the first `rows` accesses of the launch.
   * @param {number} rows
   * @returns {Int32Array | Float64Array}
   */
  at(rows) {
    // The first access to a cell is the same at each moment: whoever draws leaves out those that are yet to come.
    if (this.quantity !== "first") this._seek(this._before(rows));
    return this.cells;
  }

  /**
   * How many visible pieces belong to the first accesses.
   * @param {number} rows
   */
  _before(rows) {
    let low = 0;
    let high = this._visible.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.pieces.row[this._visible[middle]] < rows) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** @param {number} target */
  _seek(target) {
    let state = this._states.length - 1;
    while (state >= 0 && this._states[state].done > target) state--;
    const known = state >= 0 ? this._states[state] : null;
    if (target < this._done || (known !== null && known.done > this._done)) {
      if (known === null) this.cells.fill(0);
      else this.cells.set(known.cells);
      this._done = known === null ? 0 : known.done;
      this._since = 0;
    }
    const newest = this._states.length ? this._states[this._states.length - 1].done : 0;
    while (this._done < target) {
      this._since += this._add(this._visible[this._done++]);
      if (this._since >= this._between) {
        this._since = 0;
        if (this._done > newest && this.quantity !== "first" && this._states.length < KEPT_STATES) {
          this._states.push({ done: this._done, cells: this.cells.slice() });
        }
      }
    }
  }

  /**
   * @param {number} piece
   * @returns {number} What it took.
   */
  _add(piece) {
    const { pieces, frame, cells } = this;
    const at = 3 * pieces.rank * piece + 3 * (pieces.rank - 2);
    const rows = this._rowCells;
    const columns = this._columnCells;
    weigh(pieces.spans, at, frame.row, frame.binRows, frame.rows, rows);
    weigh(pieces.spans, at + 3, frame.column, frame.binColumns, frame.columns, columns);
    const number = pieces.row[piece] + 1;
    const first = columns.cell[0];
    const dense = columns.cell[columns.length - 1] - first + 1 === columns.length;
    for (let row = 0; row < rows.length; row++) {
      const base = rows.cell[row] * frame.columns;
      if (this.quantity === "count") {
        const weight = rows.weight[row];
        for (let column = 0; column < columns.length; column++) {
          cells[base + columns.cell[column]] += weight * columns.weight[column];
        }
      } else if (this.quantity === "first") {
        for (let column = 0; column < columns.length; column++) {
          const cell = base + columns.cell[column];
          if (cells[cell] === 0) cells[cell] = number;
        }
      } else if (dense) {
        cells.fill(number, base + first, base + first + columns.length);
      } else {
        for (let column = 0; column < columns.length; column++) cells[base + columns.cell[column]] = number;
      }
    }
    return rows.length * columns.length + 8;
  }
}

/**
 * How many cells a piece touches along a dimension, at most.
 * @param {Int32Array} spans
 * @param {number} at
 * @param {number} origin
 * @param {number} bin
 * @param {number} cells
 */
function span(spans, at, origin, bin, cells) {
  const start = spans[at];
  const step = spans[at + 2];
  const end = origin + bin * cells;
  const from = Math.max(0, Math.ceil((origin - start) / step));
  const to = Math.min(spans[at + 1], Math.ceil((end - start) / step));
  if (to <= from) return 0;
  if (step > bin) return to - from;
  return Math.floor((start + (to - 1) * step - origin) / bin) - Math.floor((start + from * step - origin) / bin) + 1;
}

/**
 * The cells that a piece touches along a dimension, and how many of its elements are in each.
 * @param {Int32Array} spans
 * @param {number} at
 * @param {number} origin
 * @param {number} bin
 * @param {number} cells
 * @param {{ cell: Int32Array, weight: Float64Array, length: number }} found
 */
function weigh(spans, at, origin, bin, cells, found) {
  const step = spans[at + 2];
  const start = spans[at] - origin;
  let from = start < 0 ? Math.ceil(-start / step) : 0;
  const to = Math.min(spans[at + 1], Math.ceil((bin * cells - start) / step));
  let length = 0;
  while (from < to) {
    const cell = Math.floor((start + from * step) / bin);
    // The elements before the cell's end.
    const next = step >= bin ? from + 1 : Math.min(to, Math.ceil(((cell + 1) * bin - start) / step));
    found.cell[length] = cell;
    found.weight[length++] = next - from;
    from = next;
  }
  found.length = length;
}

/**
 * How many elements of the array each row and column of cells has.
 * @param {Frame} frame
 * @param {{ rows: number, columns: number }} grid
 */
export function cellSizes(frame, grid) {
  const rows = new Int32Array(frame.rows);
  const columns = new Int32Array(frame.columns);
  for (let row = 0; row < frame.rows; row++) {
    rows[row] = Math.max(0, Math.min(frame.binRows, grid.rows - frame.row - row * frame.binRows));
  }
  for (let column = 0; column < frame.columns; column++) {
    columns[column] = Math.max(0, Math.min(frame.binColumns, grid.columns - frame.column - column * frame.binColumns));
  }
  return { rows, columns };
}

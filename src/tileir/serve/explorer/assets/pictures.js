// Pictures of an array as numbers, one for each cell: which access touched it last or first, or how often.
//
// A cell is one element, or a bin of some rows and columns of elements where the array is larger than the picture.
// A picture at a later step is the one before with some accesses more; one at an earlier step begins again.

import { lowerBound } from "explorer/accesses.js";

export class Picture {
  /**
   * @param {Pieces} pieces
   * @param {ArrayLike<number>} kind  The kind of each access.
   * @param {Frame} frame
   * @param {"last" | "first" | "count"} quantity  Rows of accesses (from 1, 0 is none), or touched elements of a cell.
   * @param {ArrayLike<boolean>} kinds  Which kinds of access are counted.
   */
  constructor(pieces, kind, frame, quantity, kinds) {
    this.pieces = pieces;
    this.frame = frame;
    this.quantity = quantity;
    const cells = frame.rows * frame.columns;
    this.cells = quantity === "count" ? new Float64Array(cells) : new Int32Array(cells);
    this._rows = { cell: new Int32Array(frame.rows), weight: new Float64Array(frame.rows), length: 0 };
    this._columns = { cell: new Int32Array(frame.columns), weight: new Float64Array(frame.columns), length: 0 };
    this._visible = this._choose(kind, kinds);
    /** How many of the visible pieces are in `cells`. */
    this._done = 0;
    if (quantity === "first") this._seek(this._visible.length);
  }

  /** The pieces that touch the frame. @param {ArrayLike<number>} kind @param {ArrayLike<boolean>} kinds */
  _choose(kind, kinds) {
    const { pieces, frame } = this;
    const start = [...frame.slice, frame.row, frame.column];
    const extents = [...frame.slice.map(() => 1), frame.rows * frame.binRows, frame.columns * frame.binColumns];
    const isSeen = (/** @type {number} */ piece) => kinds[kind[pieces.row[piece]]] && pieces.touches(piece, start, extents);
    return Int32Array.from({ length: pieces.count }, (_, piece) => piece).filter(isSeen);
  }

  /** The picture after the first accesses of the launch. @param {number} rows @returns {Int32Array | Float64Array} */
  at(rows) {
    // The first access to a cell is the same at each step: whoever draws leaves out those that are yet to come.
    if (this.quantity === "first") return this.cells;
    this._seek(lowerBound(this._visible.length, (at) => this.pieces.row[this._visible[at]] < rows));
    return this.cells;
  }

  /** @param {number} target */
  _seek(target) {
    if (target < this._done) {
      this.cells.fill(0);
      this._done = 0;
    }
    while (this._done < target) this._add(this._visible[this._done++]);
  }

  /** @param {number} piece */
  _add(piece) {
    const { pieces, frame, cells, _rows: rows, _columns: columns } = this;
    const at = 3 * pieces.rank * piece + 3 * (pieces.rank - 2);
    weigh(pieces.spans, at, frame.row, frame.binRows, frame.rows, rows);
    weigh(pieces.spans, at + 3, frame.column, frame.binColumns, frame.columns, columns);
    const number = pieces.row[piece] + 1;
    const first = columns.cell[0];
    const isDense = columns.cell[columns.length - 1] - first + 1 === columns.length;
    for (let row = 0; row < rows.length; row++) {
      const base = rows.cell[row] * frame.columns;
      if (this.quantity === "last" && isDense) {
        cells.fill(number, base + first, base + first + columns.length);
        continue;
      }
      for (let column = 0; column < columns.length; column++) {
        const cell = base + columns.cell[column];
        if (this.quantity === "count") cells[cell] += rows.weight[row] * columns.weight[column];
        else if (this.quantity === "last" || cells[cell] === 0) cells[cell] = number;
      }
    }
  }
}

/**
 * The cells that a piece touches along a dimension, and how many of its elements are in each.
 * @param {Int32Array} spans @param {number} at @param {number} origin @param {number} bin @param {number} cells
 * @param {{ cell: Int32Array, weight: Float64Array, length: number }} found
 */
function weigh(spans, at, origin, bin, cells, found) {
  const [start, step] = [spans[at] - origin, spans[at + 2]];
  let from = Math.max(0, Math.ceil(-start / step));
  const to = Math.min(spans[at + 1], Math.ceil((bin * cells - start) / step));
  found.length = 0;
  while (from < to) {
    const cell = Math.floor((start + from * step) / bin);
    // The elements before the cell's end.
    const next = step >= bin ? from + 1 : Math.min(to, Math.ceil(((cell + 1) * bin - start) / step));
    found.cell[found.length] = cell;
    found.weight[found.length++] = next - from;
    from = next;
  }
}

/** How many elements of the array each cell has. @param {Frame} frame @param {Grid} grid */
export function cellSizes(frame, grid) {
  const size = (/** @type {number} */ bin, /** @type {number} */ left) => Math.max(0, Math.min(bin, left));
  return Int32Array.from({ length: frame.rows * frame.columns }, (_, cell) => {
    const [row, column] = [Math.floor(cell / frame.columns) * frame.binRows, (cell % frame.columns) * frame.binColumns];
    return size(frame.binRows, grid.rows - frame.row - row) * size(frame.binColumns, grid.columns - frame.column - column);
  });
}

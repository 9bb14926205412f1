// Pictures of an array as numbers, one for each cell: which access touched it last or first, or how often.
//
// A cell is one element, or a bin of some rows and columns of elements where the array is larger than the picture.
// A picture at a later step is the one before with some accesses more; one at an earlier step begins again.

import { lowerBound } from "explorer/accesses.js";
import { contiguous, Pieces } from "explorer/grid.js";
import { product } from "explorer/text.js";

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
    return Int32Array.from({ length: pieces.count }, (_, piece) => piece).filter((piece) => {
      if (!kinds[kind[pieces.row[piece]]] || !pieces.inSlice(piece, frame.slice)) return false;
      const at = 3 * pieces.rank * piece + 3 * (pieces.rank - 2);
      const rows = cellsAlong(pieces.spans, at, frame.row, frame.binRows, frame.rows);
      const columns = cellsAlong(pieces.spans, at + 3, frame.column, frame.binColumns, frame.columns);
      return rows * columns > 0;
    });
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
 * How many cells a piece touches along a dimension, at most.
 * @param {Int32Array} spans @param {number} at @param {number} origin @param {number} bin @param {number} cells
 */
function cellsAlong(spans, at, origin, bin, cells) {
  const [start, step] = [spans[at] - origin, spans[at + 2]];
  const from = Math.max(0, Math.ceil(-start / step));
  const to = Math.min(spans[at + 1], Math.ceil((bin * cells - start) / step));
  if (to <= from) return 0;
  if (step > bin) return to - from;
  return Math.floor((start + (to - 1) * step) / bin) - Math.floor((start + from * step) / bin) + 1;
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

// ---- Conflicts: elements that several tile blocks touch, one of them writing, unless both are atomic. ----
// Whether that is a race depends on what orders the accesses, which the sanitizer knows.

/** Elements that are looked at together, to bound memory. */
const WINDOW = 1 << 20;
const NONE = -1;
const SEVERAL = -2;
/** Milliseconds that the page may stand still. */
const PATIENCE = 12;

/**
 * The conflicts of an array, as pieces of its grid.
 * @param {Grid} grid @param {Pieces} pieces @param {AccessTable} table @returns {Promise<Conflicts>}
 */
export async function findConflicts(grid, pieces, table) {
  const flat = contiguous(grid);
  const found = new Pieces(flat);
  const rows = pieces.row.subarray(0, pieces.count);
  const isShared = rows.some((row) => table.block[row] !== table.block[rows[0]]);
  if (!isShared || rows.every((row) => table.kind[row] === 0)) return { pieces: found, elements: 0 };
  const total = product(grid.sizes);
  const bounds = boundsOf(pieces, flat.strides);
  const size = Math.min(WINDOW, total);
  const users = [0, 1, 2].map(() => new Int32Array(size));
  const [reader, writer, atomic] = users;
  let elements = 0;
  let rested = performance.now();
  for (let begin = 0; begin < total; begin += size) {
    const end = Math.min(total, begin + size);
    for (const user of users) user.fill(NONE);
    for (let piece = 0; piece < pieces.count; piece++) {
      if (bounds.low[piece] >= end || bounds.high[piece] < begin) continue;
      const row = pieces.row[piece];
      mark(pieces, piece, flat.strides, begin, end, users[table.kind[row]], table.block[row]);
      if ((piece & 63) === 0 && performance.now() - rested > PATIENCE) {
        await new Promise((resolve) => setTimeout(resolve));
        rested = performance.now();
      }
    }
    const conflicts = (/** @type {number} */ at) => at < end - begin && isConflict(reader[at], writer[at], atomic[at]);
    for (let at = 0; at < end - begin; at++) {
      const from = at;
      while (conflicts(at)) at++;
      if (at === from) continue;
      elements += at - from;
      found.addBox(0, begin + from, [[at - from, 1]]);
    }
  }
  return { pieces: found, elements };
}

/** @param {number} reader @param {number} writer @param {number} atomic */
function isConflict(reader, writer, atomic) {
  if (writer === SEVERAL) return true;
  if (writer !== NONE) return (reader !== NONE && reader !== writer) || (atomic !== NONE && atomic !== writer);
  return atomic !== NONE && reader !== NONE && (atomic === SEVERAL || reader === SEVERAL || atomic !== reader);
}

/** The first and the last element of each piece. @param {Pieces} pieces @param {number[]} strides */
function boundsOf(pieces, strides) {
  const low = new Float64Array(pieces.count);
  const high = new Float64Array(pieces.count);
  for (let piece = 0, at = 0; piece < pieces.count; piece++) {
    for (let dimension = 0; dimension < pieces.rank; dimension++, at += 3) {
      const start = pieces.spans[at] * strides[dimension];
      low[piece] += start;
      high[piece] += start + (pieces.spans[at + 1] - 1) * pieces.spans[at + 2] * strides[dimension];
    }
  }
  return { low, high };
}

/**
 * Marks the elements of a piece, within a window, as used by a tile block.
 * @param {Pieces} pieces @param {number} piece @param {number[]} strides
 * @param {number} begin @param {number} end @param {Int32Array} user @param {number} block
 */
function mark(pieces, piece, strides, begin, end, user, block) {
  /** @param {number} dimension @param {number} offset */
  const walk = (dimension, offset) => {
    const [start, count, by] = pieces.span(piece, dimension);
    const step = by * strides[dimension];
    const first = offset + start * strides[dimension];
    if (dimension < pieces.rank - 1) {
      for (let index = 0; index < count; index++) walk(dimension + 1, first + index * step);
      return;
    }
    const from = Math.max(0, Math.ceil((begin - first) / step));
    const to = Math.min(count, Math.ceil((end - first) / step));
    for (let index = from, element = first + from * step - begin; index < to; index++, element += step) {
      if (user[element] === NONE) user[element] = block;
      else if (user[element] !== block) user[element] = SEVERAL;
    }
  };
  walk(0, 0);
}

// The accesses to an array as pieces of its grid: for each dimension a start, a count and a step.

/** @typedef {import("./plot.js").Area} Area */

/** For each dimension of the grid a start, a count and a step, one after the other. */
export class Pieces {
  /** @param {number} rank */
  constructor(rank) {
    this.rank = rank;
    this.count = 0;
    /** Which row of the accesses each piece belongs to, never falling. */
    this.row = new Int32Array(1024);
    this.spans = new Int32Array(1024 * 3 * rank);
    /** Boxes that are drawn by their bounds, and boxes that are not within the array. */
    this.bounded = 0;
    this.outside = 0;
  }

  /**
   * @param {number} row
   * @returns {number} Where the spans of a new piece begin.
   */
  add(row) {
    if (this.count === this.row.length) {
      const row = new Int32Array(2 * this.count);
      const spans = new Int32Array(2 * this.spans.length);
      row.set(this.row);
      spans.set(this.spans);
      this.row = row;
      this.spans = spans;
    }
    this.row[this.count] = row;
    return 3 * this.rank * this.count++;
  }
}

/**
 * Whether a piece touches any element of a part of the grid: a start and an extent for each dimension.
 * @param {Pieces} pieces
 * @param {number} piece
 * @param {ArrayLike<number>} start
 * @param {ArrayLike<number>} extents
 */
export function touches(pieces, piece, start, extents) {
  const spans = pieces.spans;
  let at = 3 * pieces.rank * piece;
  for (let dimension = 0; dimension < pieces.rank; dimension++, at += 3) {
    const from = Math.max(0, Math.ceil((start[dimension] - spans[at]) / spans[at + 2]));
    const found = spans[at] + from * spans[at + 2];
    if (from >= spans[at + 1] || found >= start[dimension] + extents[dimension]) return false;
  }
  return true;
}

/**
 * A place that two pieces both touch, or null.
 * @param {Pieces} pieces
 * @param {number} one
 * @param {number} other
 */
export function meeting(pieces, one, other) {
  const { rank, spans } = pieces;
  /** @type {number[]} */
  const place = [];
  for (let dimension = 0; dimension < rank; dimension++) {
    const [start, count, step] = spans.subarray(3 * (rank * one + dimension), 3 * (rank * one + dimension + 1));
    const [begin, length, by] = spans.subarray(3 * (rank * other + dimension), 3 * (rank * other + dimension + 1));
    const end = Math.min(start + count * step, begin + length * by);
    let at = start + Math.max(0, Math.ceil((begin - start) / step)) * step;
    while (at < end && (at - begin) % by !== 0) at += step;
    if (at >= end) return null;
    place.push(at);
  }
  return place;
}

/**
 * The pieces of a range of accesses: the first, and the one behind the last.
 * @param {Pieces} pieces
 * @param {number} first
 * @param {number} end
 * @returns {[number, number]}
 */
export function piecesOfRows(pieces, first, end) {
  const find = (/** @type {number} */ row) => {
    let low = 0;
    let high = pieces.count;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (pieces.row[middle] < row) low = middle + 1;
      else high = middle;
    }
    return low;
  };
  return [find(first), find(end)];
}

/**
 * The rows and columns from the first to the last that a piece touches.
 * @param {Pieces} pieces
 * @param {number} piece
 * @returns {Area}
 */
export function areaOf({ rank, spans }, piece) {
  const at = 3 * rank * piece + 3 * (rank - 2);
  return {
    row: spans[at],
    column: spans[at + 3],
    rows: (spans[at + 1] - 1) * spans[at + 2] + 1,
    columns: (spans[at + 4] - 1) * spans[at + 5] + 1,
  };
}

/**
 * Whether a slice has a part of a piece.
 * @param {Pieces} pieces
 * @param {number} piece
 * @param {number[]} slice
 */
export function inSlice({ rank, spans }, piece, slice) {
  return slice.every((index, dimension) => {
    const at = 3 * rank * piece + 3 * dimension;
    const from = index - spans[at];
    return from >= 0 && from % spans[at + 2] === 0 && from / spans[at + 2] < spans[at + 1];
  });
}

/**
 * Whether a slice has a part of an access.
 * @param {Pieces} pieces
 * @param {number} row
 * @param {number[]} slice
 */
export function rowInSlice(pieces, row, slice) {
  const [from, to] = piecesOfRows(pieces, row, row + 1);
  for (let piece = from; piece < to; piece++) if (inSlice(pieces, piece, slice)) return true;
  return false;
}

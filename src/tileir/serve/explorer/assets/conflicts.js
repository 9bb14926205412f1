// Elements that several tile blocks touch, one of them writing: whether that is a race depends on what orders them,
// which the sanitizer knows; that blocks share these elements is a fact of the accesses alone.
//
// Two accesses of different blocks conflict if one of them writes, unless both are atomic.

import { contiguous, placeBox } from "explorer/grid.js";
import { Pieces } from "explorer/pieces.js";

/** @typedef {import("./grid.js").Grid} Grid */
/** @typedef {import("./accesses.js").AccessTable} AccessTable */

/** Elements that are looked at together, to bound memory. */
const WINDOW = 1 << 20;
const NONE = -1;
const SEVERAL = -2;
const [READ, WRITE, ATOMIC] = [0, 1, 2];
/** How long the page may stand still, in milliseconds. */
const PATIENCE = 12;

/** @typedef {{ pieces: Pieces, elements: number }} Conflicts */

/**
 * The conflicts of an array, as pieces of its grid.
 * @param {Grid} grid
 * @param {Pieces} pieces
 * @param {AccessTable} table
 * @returns {Promise<Conflicts>}
 */
export async function findConflicts(grid, pieces, table) {
  const found = new Pieces(grid.sizes.length);
  let elements = 0;
  if (!worthwhile(pieces, table)) return { pieces: found, elements };
  const flat = contiguous(grid);
  const total = grid.sizes.reduce((product, extent) => product * extent, 1);
  const bounds = boundsOf(pieces, flat.strides);
  const size = Math.min(WINDOW, total);
  const users = [READ, WRITE, ATOMIC].map(() => new Int32Array(size));
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
    const [reader, writer, atomic] = users;
    for (let at = 0; at < end - begin; ) {
      if (!conflicting(reader[at], writer[at], atomic[at])) {
        at++;
        continue;
      }
      const from = at;
      while (at < end - begin && conflicting(reader[at], writer[at], atomic[at])) at++;
      elements += at - from;
      placeBox(flat, found, 0, begin + from, [at - from], [1], 0, 1);
    }
  }
  return { pieces: found, elements };
}

/**
 * Whether several blocks touch the array and any of them writes.
 * @param {Pieces} pieces
 * @param {AccessTable} table
 */
function worthwhile(pieces, table) {
  let written = false;
  let several = false;
  for (let piece = 0; piece < pieces.count && !(written && several); piece++) {
    const row = pieces.row[piece];
    written ||= table.kind[row] !== READ;
    several ||= table.block[row] !== table.block[pieces.row[0]];
  }
  return written && several;
}

/**
 * @param {number} reader
 * @param {number} writer
 * @param {number} atomic
 */
function conflicting(reader, writer, atomic) {
  if (writer === SEVERAL) return true;
  if (writer !== NONE) return (reader !== NONE && reader !== writer) || (atomic !== NONE && atomic !== writer);
  return atomic !== NONE && reader !== NONE && (atomic === SEVERAL || reader === SEVERAL || atomic !== reader);
}

/**
 * The first and the last element of each piece.
 * @param {Pieces} pieces
 * @param {number[]} strides
 */
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
 * @param {Pieces} pieces
 * @param {number} piece
 * @param {number[]} strides
 * @param {number} begin
 * @param {number} end
 * @param {Int32Array} user
 * @param {number} block
 */
function mark(pieces, piece, strides, begin, end, user, block) {
  const { rank, spans } = pieces;
  const base = 3 * rank * piece;
  /**
   * @param {number} dimension
   * @param {number} offset
   */
  const walk = (dimension, offset) => {
    const at = base + 3 * dimension;
    const count = spans[at + 1];
    const step = spans[at + 2] * strides[dimension];
    const first = offset + spans[at] * strides[dimension];
    if (dimension < rank - 1) {
      for (let index = 0; index < count; index++) walk(dimension + 1, first + index * step);
      return;
    }
    const from = Math.max(0, Math.ceil((begin - first) / step));
    const to = Math.min(count, Math.ceil((end - first) / step));
    for (let index = from, element = first + from * step - begin; index < to; index++, element += step) {
      const known = user[element];
      if (known === NONE) user[element] = block;
      else if (known !== block) user[element] = SEVERAL;
    }
  };
  walk(0, 0);
}
